"""Module lab_probe of role lab_check: reading what programs and /proc print."""

import json
import os
import socket
from pathlib import Path

import pytest
import yaml
from tests.role_modules import ended, load

ROOT = Path(__file__).parents[2]
lab_probe = load("lab_check", "lab_probe")


def test_addresses_are_those_of_links_and_routes_those_to_others_by_each_of_their_ways():
    links = [
        {"ifname": "eth1", "addr_info": [{"local": "198.18.0.10", "prefixlen": 24}, {}]},
        {"ifname": "eth2"},
    ]
    assert lab_probe.parse_addresses(json.dumps(links)) == [
        {"interface": "eth1", "address": "198.18.0.10", "prefix": 24}
    ]
    hops = [{"gateway": "192.0.2.1", "dev": "eth0"}, {"gateway": "198.18.0.1", "dev": "eth1"}]
    listing = [
        {"dst": "default", "nexthops": hops, "flags": []},
        {"type": "local", "dst": "192.0.2.2", "dev": "eth0", "table": "local"},
        {"type": "broadcast", "dst": "192.0.2.255", "dev": "eth0"},
        {"type": "multicast", "dst": "ff00::/8", "dev": "eth0"},
        {"dst": "127.0.0.0/8", "dev": "lo"},
        {"type": "blackhole", "dst": "10.0.0.0/8"},
    ]
    ways = [("default", "eth0"), ("default", "eth1"), ("10.0.0.0/8", "")]
    assert lab_probe.parse_routes(json.dumps(listing)) == [
        {"destination": to, "interface": by} for to, by in ways
    ]
    assert lab_probe.parse_routes("") == lab_probe.parse_addresses("") == []


@pytest.mark.parametrize("above", [False, True], ids=["its own", "of sudo's caller"])
def test_the_address_that_the_login_came_to_is_found(tmp_path, monkeypatch, above):
    own, caller = tmp_path / "7", tmp_path / "5"
    for folder, parent in ((own, 5), (caller, 1)):
        folder.mkdir()
        (folder / "stat").write_text(f"{folder.name} (a) b) S {parent} 0", encoding="ascii")
        (folder / "environ").touch()
    monkeypatch.setattr(lab_probe.os, "getpid", lambda: 7)
    assert lab_probe.management(str(tmp_path)) == ""
    environ = "HOME=/root\0SSH_CONNECTION=192.0.2.9 50000 fe80::7%eth0 22\0"
    ((caller if above else own) / "environ").write_text(environ, encoding="ascii")
    assert lab_probe.management(str(tmp_path)) == "fe80::7"


def test_package_versions_installed_and_offered():
    policy = """\
kea-admin:
  Installed: 2.6.3-1
  Candidate: 2.6.3-1
  Version table:
 *** 2.6.3-1 500
        100 /var/lib/dpkg/status
kea-dhcp6-server:
  Installed: (none)
  Candidate: (none)
"""
    assert lab_probe.parse_policy(policy) == {
        name: dict.fromkeys(("installed", "candidate"), version)
        for name, version in (("kea-admin", "2.6.3-1"), ("kea-dhcp6-server", ""))
    }


@pytest.mark.parametrize(
    ("local", "address"),
    [
        ("0A0012C6", "198.18.0.10"),
        # The kernel writes an address as words of the processor: 2001:0002:0000:0001 is
        # 20010002 00000001 in the packet, 02000120 01000000 on a little-endian machine.
        ("02000120010000000000000010000000", "2001:2:0:1::10"),
    ],
)
def test_sockets_have_their_address_port_and_inode(local, address):
    first = f"0: {local}:0043 0:0 07 0:0 00:0 0 0 0 4711 2 0 0"
    table = f"  sl  local_address ...\n   {first}\n   1: 0000:0044 0:0 07 0:0 0:0 0 0 0 1 2"
    assert lab_probe.parse_sockets(table, [67, 547]) == [(67, address, "4711")]


def test_a_listener_is_named_with_its_process_which_is_known_by_its_name():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        (listener,) = lab_probe.listeners([port])
    me = {"pid": os.getpid(), "name": lab_probe.program(os.getpid())}
    assert listener == {**listener, "port": port, "address": "127.0.0.1", **me}
    assert lab_probe.listeners([port]) == []
    assert me in lab_probe.processes([me["name"]])


def test_what_is_not_there_is_nothing_and_a_folder_has_the_space_of_its_parent(tmp_path):
    assert lab_probe.processes(["no-such-program"]) == []
    assert lab_probe.output("no-such-program") == ""
    assert lab_probe.output("sh", "-c", "echo words; exit 1") == ""
    assert lab_probe.free_mib(str(tmp_path / "not" / "there")) > 0


def test_the_documented_options_are_those_that_it_takes():
    """And what it reads is what was recorded."""
    documented = yaml.safe_load(lab_probe.DOCUMENTATION)["options"]
    said = ended(lab_probe, **{name: [] for name in documented})
    recorded = json.loads((ROOT / "tests/data/lab_check/reading.json").read_text("utf-8"))
    assert said["changed"] is False
    assert set(said["probe"]) == set(recorded["controller"]["probe"])
