"""A believable bench.json, for tests of what reads one."""


def host(name, address):
    return {
        "access": {
            "name": name,
            "address": "127.0.0.1",
            "port": 22041,
            "user": "root",
            "key_file": "/keys/client",
            "known_hosts_file": "/keys/known_hosts",
        },
        "test_interface": "eth1",
        "test_address": address,
        "facts": {"kernel": "6.12", "cpu_count": 2, "governor": None},
    }


DOCUMENT = {
    "schema_version": 2,
    "name": "docker",
    "inventory": "inventory/docker",
    "environment": "1-0123456789ab",
    "hosts": {
        "server": host("leaselab-server", "198.18.0.10"),
        "generator": host("leaselab-generator", "198.18.0.30"),
    },
    "servers": {
        "server": {
            "name": "kea",
            "version": "2.6.3",
            "commit": None,
            "contract": "/opt/leaselab/server",
            "variant": "v4-memfile",
            "holds": "leases",
            "capabilities": ["pair", "crash", "list", "two-addresses"],
            "test_address": "198.18.0.10",
            "config_file": "/etc/kea/leaselab-v4-memfile_dhcp.json",
            "config_sha256": "0" * 64,
            "running_config_sha256": "1" * 64,
        },
    },
    "generator": {"name": "perfdhcp", "path": "/usr/sbin/perfdhcp", "version": "2.6.3"},
    "scenario": {
        "name": "v4-memfile",
        "description": "",
        "server": {
            "kind": "kea",
            "options": {"backend": "memfile", "lease_lifetime_s": 86_400},
        },
        "generator": "perfdhcp",
        "transaction": {
            "name": "DHCPv4 exchange",
            "plural": "exchanges",
            "stages": ["DISCOVER-OFFER", "REQUEST-ACK"],
        },
        "load": {
            "family": 4,
            "subnet": "10.0.0.0/8",
            "pool": "10.0.0.1 - 10.255.255.254",
        },
        "factors": {"protocol": "DHCPv4", "backend": "memfile"},
    },
    "procedure": {"name": "max-rate", "rounds": 3, "late_s": 1.0},
}
