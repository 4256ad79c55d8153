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
"""Release, role, family and transport of the queries."""
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


@pytest.mark.night
def test_its_operations_take_effect_and_leave_its_files_as_they_were(host):
    check_operations(host)


@pytest.fixture(scope="module", params=["bind9", "knot", "nsd"])
def of_debian_13(request, network, tmp_path_factory):
    role, folder = request.param, tmp_path_factory.mktemp(request.param)
    template, packages = {"bind9": ("named", ["bind9", "bind9-utils"])}.get(
        role, (role, [role])
    )
    options = {**OPTIONS, "variant": "operated"}
    if role == "bind9":
        options["found"] = "9.20.0"
    host = Rooted(network, "trixie", packages, role, **options)
    host.write(folder, {f"{template}.conf.j2": "config_file"}, dns_data_zones=ZONES)
    with_zones(host, folder)
    if role == "bind9":
        rndc = host.settings["rndc"]
        host.put(rndc[rndc.index("-k") + 1], RNDC_KEY)
    host.put(host.settings["process"]["pid_file"], "")
    return host


def test_so_do_those_of_debian_13(of_debian_13):
    check_operations(of_debian_13)


def check_operations(host):
    folder = host.inner(host.settings["config_files"][1]).parent
    started = [json.loads(host.verb("start")[1])]
    files = sorted(folder.iterdir())
    try:
        made = host.operated()
        assert json.loads(host.verb("sample")[1].splitlines()[0])["rss_bytes"] > 0
        started.append(json.loads(host.verb("start")[1]))
    finally:
        host.verb("stop")
    zones, keys = {"reload", "add-zones", "remove-zones", "transfer"}, {"roll-keys"}
    zones |= {"transfer-in", "transfer-in-changes", "rotate-log"}
    own = {"nsd": zones, "yadifa": set()}.get(host.role, zones | keys)
    assert made.keys() == {"pause-100ms", "pause-1s", "restart", *own}
    assert started[0]["config_sha256"] == started[1]["config_sha256"]
    assert sorted(folder.iterdir()) == files


WITH_WRONG_PRIMARIES = """
import json, sys
sys.path.insert(0, "/opt/leaselab")
from leaselab_contract import dns, operations, primary, secondary
from ROLE_contract.server import Server

Primary = primary.Primary

class Cut(Primary):
    def answers(self, query):
        messages = super().answers(query)
        if len(messages) == 1:
            return messages
        return self.begun(messages[:-1])

    def begun(self, messages):
        yield from messages
        raise ConnectionResetError

class Whole(Primary):
    def change(self):
        super().change()
        self.changes = None

class Refusing(Primary):
    def answers(self, query):
        if dns.asked(query)[0] != dns.IXFR:
            return super().answers(query)
        answer = bytearray(dns.answer(query, b"", 0))
        answer[3] |= 4
        return [bytes(answer)]

with open("/opt/leaselab/variants/operated/server.json") as file:
    known = operations.known(Server(json.load(file)))
for kind in (Cut, Whole, Refusing):
    primary.Primary, is_cut = kind, kind is Cut
    name = "transfer-in" if is_cut else "transfer-in-changes"
    secondary.TAKEN_S = 0.5 if is_cut else operations.LIMIT_S
    print(json.dumps(operations.carried_out(known[name]())))
"""


def test_a_transfer_from_a_wrong_primary_says_why_and_leaves_its_files_as_they_were(
    of_debian_13,
):
    host = of_debian_13
    started = [json.loads(host.verb("start")[1])]
    try:
        code = WITH_WRONG_PRIMARIES.replace("ROLE", host.role)
        status, said = host.inside("python3", "-c", code)
        assert status == 0, said
        started.append(json.loads(host.verb("start")[1]))
    finally:
        host.verb("stop")
    cut, whole, refused = (json.loads(line) for line in said.splitlines())
    assert {answer["effect"] for answer in (cut, whole, refused)} == {None}
    assert cut["why"].startswith("it does not answer for the zone that it was sent: ")
    assert [whole["why"], refused["why"]] == ["it was sent AXFR (wanted IXFR)"] * 2
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
