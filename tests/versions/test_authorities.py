"""Authorities behind the server contract, with what their roles write: the real ones."""

import json
from pathlib import Path

import pytest
from tests.rooted import Rooted, network_of, tasks_of
from tests.tools import AS_ROOT, run

ZONE = "@ 3600 SOA ns h 1 2 3 4 5\n@ 3600 NS ns\nns 3600 A 192.0.2.1\nwww 3600 A 192.0.2.2\n"
ZONES = {"folder": "/zones", "zones": 3, "sha256": "abc"}
SERVERS = [
    ("trixie", "knot", 4, "tcp"),
    ("trixie", "knot", 6, "dot"),
    ("bookworm", "nsd", 6, "dot"),
    ("trixie", "yadifa", 4, "tcp"),
]
"""Release, role, family and transport of the queries; no other tests have the same root."""
RNDC_KEY = 'key "leaselab" { algorithm hmac-sha256; secret "bGVhc2VsYWI="; };\n'
OPTIONS = {
    "variant": "three",
    "data": "zones",
    "size": 3,
    "test_interface": "lo",
    "test_address": "198.18.0.10",
    "test_address6": "2001:2:0:1::10",
}


@pytest.fixture(scope="module")
def network():
    with network_of("authority", "198.18.0.10/32", "2001:2:0:1::10/128") as words:
        yield words


@pytest.fixture(scope="module", params=SERVERS, ids=str)
def deployed(request, network, tmp_path_factory):
    """What a role writes for three zones that are asked over a family."""
    suite, role, family, transport = request.param
    host = Rooted(network, suite, [role], role, family=family, transport=transport, **OPTIONS)
    folder = tmp_path_factory.mktemp(role)
    host.write(folder, {f"{role}.conf.j2": "config_file"}, dns_data_zones=ZONES)
    return host


@pytest.fixture
def host(deployed, tmp_path):
    """The root with the server, the contract, three zones, and the role's list of them."""
    return with_zones(deployed, tmp_path)


def with_zones(host, folder):
    """Install a host with three zones and its list of them."""
    host.install()
    _, listed = host.settings["config_files"]
    own = [host.inner(path) for path in ("/zones", str(Path(listed).parent))]
    run(*AS_ROOT, "rm", "-rf", *own)
    names = [f"z{number:07d}.test." for number in (1, 2, 3)]
    for name in names:
        host.put(f"/zones/{name}zone", f"$ORIGIN {name}\n{ZONE}")
    host.put("/zones/zones.tsv", "".join(f"{name}\t{name}zone\n" for name in names))
    host.list_zones(folder, "/zones", listed)
    return host


def test_an_authority_serves_the_zones_of_its_role(host, tmp_path):
    check = tasks_of(host.role)["Render the configuration"]["ansible.builtin.template"]
    run(*AS_ROOT, "mkdir", "-p", host.place / "run/leaselab")
    if "validate" in check:
        words = (check["validate"] % host.settings["config_files"][0]).split()
        assert host.inside(*words)[0] == 0
    status, said = host.verb("start")
    try:
        assert status == 0, said
        started = json.loads(said)
        assert started["version"][0] in "234"
        assert Path(started["program"]).name in ("knotd", "nsd", "yadifad")
        own = host.values[f"{host.role}_transport"]
        # Knot serves nobody while a connection over TLS has asked nothing.
        kept = [] if (host.role, own) == ("knot", "dot") else [[own]]
        for transport in (["udp"], *kept, [own, "--fresh"]):
            words = ["--late", "20", "--transport", *transport]
            report = host.asked(tmp_path, "www.z0000002.test. A", words=words)
            assert report["counts"]["completed"] == 50, transport
        if own != "dot":
            report = host.asked(tmp_path, "www.z0000002.test. A", words=["--transport", "dot"])
            assert "refused" in report["connections"]["error"]
        assert json.loads(host.verb("reset")[1]) == {"held": None, "was": None}
    finally:
        ended = host.verb("stop")
    assert json.loads(ended[1]) == {"was_running": True}


def test_its_operations_take_effect_and_leave_its_files_as_they_were(host):
    check_operations(host)


def test_so_do_those_of_bind9(network, tmp_path):
    templates = {"named.conf.j2": "config_file"}
    options = {**OPTIONS, "variant": "operated", "found": "9.20.0"}
    host = Rooted(network, "trixie", ["bind9", "bind9-utils"], "bind9", **options)
    host.write(tmp_path, templates, "key_file", "allowed", dns_data_zones=ZONES)
    with_zones(host, tmp_path)
    host.put(host.paths["key_file"], RNDC_KEY)
    host.put(host.settings["process"]["pid_file"], "")
    check_operations(host)


def check_operations(host):
    started = [json.loads(host.verb("start")[1])]
    try:
        made = host.operated()
        assert json.loads(host.verb("sample")[1].splitlines()[0])["rss_bytes"] > 0
        started.append(json.loads(host.verb("start")[1]))
    finally:
        host.verb("stop")
    zones = (
        {"reload", "add-zones", "remove-zones", "transfer"} if host.role != "yadifa" else set()
    )
    assert made.keys() == {"pause-100ms", "pause-1s", *zones}
    assert started[0]["config_sha256"] == started[1]["config_sha256"]


def test_a_zone_that_it_cannot_load_is_a_failed_start(host):
    host.put("/zones/z0000002.test.zone", "broken\n")
    status, said = host.verb("start")
    host.verb("stop")
    assert status == 1
    assert "z0000002.test." in said


@pytest.mark.parametrize("family", [4, 6])
def test_bind9_has_no_ipv6_only_where_nobody_asks_over_it(network, tmp_path, family):
    host = Rooted(
        network, "trixie", ["bind9", "bind9-utils"], "bind9", family=family, **OPTIONS
    )
    host.write(tmp_path, {}, dns_data_zones=ZONES)
    assert ("-4" in host.settings["process"]["argv"]) == (family == 4)
    assert (":" in host.settings["address"]) == (family == 6)
