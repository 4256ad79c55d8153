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
    "schema_version": 1,
    "name": "docker",
    "inventory": "inventory/docker",
    "environment": "1-0123456789ab",
    "hosts": {
        "server": host("leaselab-server", "198.18.0.10"),
        "generator": host("leaselab-generator", "198.18.0.30"),
    },
    "server": {
        "name": "kea",
        "version": "2.6.3",
        "commit": None,
        "contract": "/opt/leaselab/server",
        "config_file": "/etc/kea/leaselab-dhcp4.json",
        "config_sha256": "0" * 64,
        "running_config_sha256": "1" * 64,
    },
    "generator": {"name": "perfdhcp", "path": "/usr/sbin/perfdhcp", "version": "2.6.3"},
    "scenario": {
        "name": "v4-memfile",
        "description": "",
        "family": 4,
        "server": "kea",
        "backend": "memfile",
        "pool": {"subnet": "10.0.0.0/8", "range": "10.0.0.1 - 10.255.255.254"},
    },
    "plan": {"runs": 3, "goal": {"late_s": 1}},
}
