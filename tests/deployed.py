"""Servers of each kind in the root of a release, deployed as their roles do it."""

import json
from contextlib import contextmanager

from tests.contracts import ROLES
from tests.rooted import Rooted
from tests.tools import AS_ROOT, run

SUITE = "trixie"
COUNTERS = ("valgrind", "strace")
PACKAGES = [
    *("dbus-daemon", "dbus-bin", "dnsmasq-base", "isc-dhcp-server"),
    *("kea-dhcp4-server", "kea-dhcp6-server"),
    *("bind9", "bind9-utils", "knot", "nsd", "openssl", "unbound"),
    *("pdns-backend-bind", "pdns-backend-lmdb", "pdns-server"),
    *COUNTERS,
]
"""Of one root: most of each other's are what all servers need."""
PAIR = (["kea-dhcp4-server", "iproute2"], ["kea-dhcp4-server", "iproute2", "libfaketime"])
"""Of the roots of a server and of its partner."""
OF_AUTHORITY = ["strace", "nsd"]
"""Of the root of the authority that recursors ask."""
AT = {
    "variant": "deployed",
    "test_interface": "s0",
    "test_address": "198.18.0.10",
    "test_address6": "2001:2:0:1::10",
}
AUTHORITY = "198.18.0.20"
DHCP = {
    4: {"family": 4, "relay_addresses": ["198.18.0.30"], "subnet": "10.0.0.0/8"},
    6: {
        "family": 6,
        "relay_address6": "2001:2:0:1::30",
        "subnet": "2001:2:0:100::/64",
        "pool": "2001:2:0:100::/64",
    },
}
POOL = "10.0.0.1 - 10.0.3.254"
ZONES = 20
FOLDER = "/zones"
TEMPLATES = {
    "bind9": {"named.conf.j2": "config_file"},
    "dnsmasq": {"dnsmasq.conf.j2": "config_file", "bus.conf.j2": "bus_config_file"},
    "isc_dhcpd": {"dhcpd.conf.j2": "config_file"},
    "kea": {"kea-dhcp.json.j2": "config_file"},
    "knot": {"knot.conf.j2": "config_file"},
    "nsd": {"nsd.conf.j2": "config_file"},
    "powerdns": {"pdns.conf.j2": "config_file", "load.conf.j2": "load_file"},
    "unbound": {"unbound.conf.j2": "config_file"},
}
"""Templates of a role, and the variables that name their files."""
KEY = 'key "leaselab" { algorithm hmac-sha256; secret "bGVhc2VsYWI="; };\n'


def leases(network, folder, role, family, /, packages=PACKAGES, **options):
    """A server that gives leases, with a pool of some hundreds (v4)."""
    pool = {"pool": POOL} if family == 4 else {}
    given = {**AT, **DHCP[family], **pool, **options}
    root = Rooted(network, SUITE, packages, role, **given)
    root.write(folder, TEMPLATES[role], **(_of_kea(root, family) if role == "kea" else {}))
    root.install()
    folders = (root.inner(root.settings["lease_file"]).parent, root.place / "var/run/kea")
    run(*AS_ROOT, "mkdir", "-p", *folders)
    if root.settings.get("hosts_file"):
        root.put(root.settings["hosts_file"], "")
    return root


def pair(networks, folder, **options):
    """A DHCPv4 server and its partner, each a host of its own, of a pair with threads."""
    peers = [{"name": f"server{at}", "address": f"198.18.0.{at}0"} for at in (1, 2)]
    threads = dict.fromkeys(("threads", "pair_listener_threads", "pair_client_threads"), 2)
    given = {"partner": True, "peers": peers, "multi_threading": True, "queue_size": 64}
    given |= {**threads, **options}
    return [
        leases(
            *(network, folder, "kea", 4),
            packages=packages,
            test_address=peer["address"],
            **given,
        )
        for network, packages, peer in zip(networks, PAIR, peers, strict=True)
    ]


def _of_kea(root, family):
    """What the role has asked the host about its Kea."""
    text = (ROLES / "kea/files/known_words").read_text("utf-8")
    asked = ("python3", "-", f"/usr/sbin/kea-dhcp{family}", str(family))
    status, said = run(*root.words(*asked), input=text)
    assert status == 0, said
    return {"kea_known_words": json.loads(said), "ansible_facts": {"architecture": "x86_64"}}


def authority(network, folder, role, /, packages=PACKAGES, data="zones", **options):
    """An authority of some zones; data `hierarchy` is what recursors ask for."""
    root = Rooted(network, SUITE, packages, role, data=data, size=ZONES, **{**AT, **options})
    address = root.values["server_test_address"] if data == "hierarchy" else ""
    known = _made_zones(root, data, address)
    given = {
        "dns_data_zones": {**known, "folder": FOLDER},
        "bind9_found": "9.20.0",
        "powerdns_load_file": "{{ powerdns_load_folder }}/pdns.conf",
    }
    root.write(folder, TEMPLATES[role], **given)
    root.install()
    if role == "powerdns":
        run(*AS_ROOT, "rm", "-rf", root.inner(root.settings["state_folder"]))
        run(*AS_ROOT, "mkdir", "-p", root.inner(root.settings["state_folder"]).parent)
    else:
        listed = root.settings["config_files"][1]
        run(*AS_ROOT, "rm", "-f", root.inner(listed))
        root.list_zones(folder, FOLDER, listed)
    root.put("/etc/leaselab-bind9-deployed_rndc.key", KEY)
    return root


@contextmanager
def hierarchy(network, folder):
    """NSD with the hierarchy, which recursors ask."""
    run(*network, "ip", "address", "add", f"{AUTHORITY}/24", "dev", "s0")
    own = {"data": "hierarchy", "test_address": AUTHORITY}
    root = authority(network, folder, "nsd", packages=OF_AUTHORITY, **own)
    status, said = root.verb("start")
    try:
        assert status == 0, said
        yield
    finally:
        root.verb("stop")


def _made_zones(root, data, address):
    """Make the zone files in the root; what is known of them."""
    run(*AS_ROOT, "rm", "-rf", root.inner(FOLDER))
    run(*AS_ROOT, "mkdir", "-p", root.place / "opt/leaselab")
    for files in ("contract/files", "dns_data/files"):
        run(*AS_ROOT, "cp", "-rT", ROLES / files, root.place / "opt/leaselab")
    asked = [f"--folder={FOLDER}", f"--data={data}", f"--size={ZONES}"]
    asked += [f"--address={address}"] if address else []
    status, said = root.inside("python3", "/opt/leaselab/leaselab-dns-data", "zones", *asked)
    assert status == 0, said
    return json.loads(said)


def recursor(network, folder, role, /, **options):
    """A recursor that asks the authority of a hierarchy."""
    support = {"support": {"kind": "nsd"}, "support_address": AUTHORITY}
    root = Rooted(network, SUITE, PACKAGES, role, size=ZONES, **AT, **support, **options)
    given = {
        "bind9_found": "9.20.0",
        "dns_data_zones": {},
    }
    root.write(folder, {**TEMPLATES[role], "hints.zone.j2": "hints_file"}, **given)
    root.install()
    hints = root.paths["hints_file"]
    run(*AS_ROOT, "mkdir", "-p", root.inner(hints).parent)
    if role == "bind9":
        root.put(
            root.settings["config_files"][1], f'zone "." {{ type hint; file "{hints}"; }};\n'
        )
        root.put("/etc/leaselab-bind9-deployed_rndc.key", KEY)
    return root
