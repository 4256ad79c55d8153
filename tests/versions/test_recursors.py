"""Recursors behind the server contract, with NSD as their authority: the real ones."""

import json
import time
from pathlib import Path

import pytest
from tests.contracts import ROLES
from tests.nightly import but_at_night
from tests.rooted import Rooted, network_of
from tests.tools import AS_ROOT, run

SIZE = 500
LAST = f"z{SIZE:07d}.test."
ADDRESSES = {"recursor": "198.18.0.10", "authority": "198.18.0.20"}
ADDRESS6 = "2001:2:0:1::10"
ON_LOOPBACK = {"test_interface": "lo", "size": SIZE}
WORDS = ["--recursion", "--late", "20", "--edns", "1232", "--subnets", "10.0.0.0/24*5"]
"""Of leaseload: as clients ask whose network is named."""
UNBOUND = ["openssl", "unbound"]
"""What makes its certificate, and the package of the role."""
ROOMY = {"open_connections": 100}
"""Of them 50 are open at most: Unbound closes slow ones where most of its own 10 are."""
RECURSORS = {
    "4.8 over IPv6": ("bookworm", ["pdns-recursor"], "recursor.conf.j2", {"family": 6}),
    "5.2": ("trixie", ["pdns-recursor"], "recursor.conf.j2", {}),
    "unbound 1.17": ("bookworm", UNBOUND, "unbound.conf.j2", {"transport": "https", **ROOMY}),
    "unbound 1.26 over IPv6": (
        *("trixie", UNBOUND, "unbound.conf.j2"),
        {"family": 6, "transport": "dot", **ROOMY},
    ),
}
"""Release, packages, template of the configuration, and options of the role."""
NEWEST = ["5.2", "unbound 1.26 over IPv6"]
NAMES = [f"www.z{number:07d}.test. A" for number in range(1, 51)]


@pytest.fixture(scope="module")
def network():
    addresses = (*(f"{address}/32" for address in ADDRESSES.values()), f"{ADDRESS6}/128")
    with network_of("recursor", *addresses) as words:
        yield words


@pytest.fixture(scope="module")
def authority(network, tmp_path_factory):
    """NSD with the hierarchy, as role nsd deploys it; it serves."""
    address = ADDRESSES["authority"]
    host = Rooted(
        *(network, "trixie", ["nsd"], "nsd"),
        **{"variant": "authority", "data": "hierarchy", "test_address": address, **ON_LOOPBACK},
    )
    zones = {"folder": "/zones", "zones": SIZE + 2, "sha256": "abc"}
    folder = tmp_path_factory.mktemp("nsd")
    host.write(folder, {"nsd.conf.j2": "config_file"}, dns_data_zones=zones)
    host.install()
    run(*AS_ROOT, "rm", "-rf", host.place / "zones")
    run(*AS_ROOT, "cp", "-rT", ROLES / "dns_data/files", host.place / "opt/leaselab")
    made = ("python3", "/opt/leaselab/leaselab-dns-data", "zones", "--folder=/zones")
    asked = ("--data=hierarchy", f"--size={SIZE}", f"--address={address}")
    assert host.inside(*made, *asked)[0] == 0
    run(*AS_ROOT, "rm", "-f", host.inner(host.settings["config_files"][1]))
    host.list_zones(folder, "/zones", host.settings["config_files"][1])
    status, said = host.verb("start")
    assert status == 0, said
    yield host
    host.verb("stop")


@pytest.fixture(scope="module", params=but_at_night(NEWEST, RECURSORS))
def deployed(request, network, authority, tmp_path_factory):
    """What a role of a recursor writes for a release."""
    suite, packages, template, options = RECURSORS[request.param]
    package = packages[-1]
    host = Rooted(
        *(network, suite, packages, package.replace("-", "_")),
        variant="cold",
        test_address=ADDRESSES["recursor"],
        test_address6=ADDRESS6,
        support={"kind": "nsd"},
        support_address=authority.settings["address"],
        **{**ON_LOOPBACK, **options},
    )
    templates = {template: "config_file", "hints.zone.j2": "hints_file"}
    seen = {"packages": {package: [{"version": f"{request.param.split()[0]}.1-1"}]}}
    host.write(tmp_path_factory.mktemp("recursor"), templates, ansible_facts=seen)
    return host


@pytest.fixture
def recursor(deployed):
    deployed.install()
    yield deployed
    deployed.verb("stop")


def sample(host):
    status, said = host.verb("sample")
    assert status == 0, said
    return json.loads(said.splitlines()[0])


def test_it_answers_names_of_the_hierarchy_and_forgets_them_at_a_reset(recursor, tmp_path):
    status, said = recursor.verb("start")
    assert status == 0, said
    started = json.loads(said)
    assert Path(started["program"]).name in ("pdns_recursor", "unbound")
    first = sample(recursor)
    assert first["held"] <= 2  # it looks for its root by itself
    report = recursor.asked(tmp_path, *NAMES, words=WORDS)
    assert report["counts"]["completed"] == 50
    # A thread of PowerDNS Recursor 5 publishes its counters with the next query that it gets.
    time.sleep(0.2)
    assert recursor.asked(tmp_path, *NAMES, words=WORDS)["counts"]["completed"] == 50
    after = sample(recursor)
    new = {name: count - first["counters"][name] for name, count in after["counters"].items()}
    assert all(new[name] in range(50, 103) for name in ("QUERY", "NOERROR"))
    assert new["QryRecursion"] in range(50, 53)  # the second time from its cache
    assert new["Queryv4"] >= 50
    assert after["held"] > 100  # the names' own records, and their packets
    emptied = json.loads(recursor.verb("reset")[1])
    assert emptied["held"] == 0
    assert emptied["was"] > 100
    assert json.loads(recursor.verb("stop")[1]) == {"was_running": True}


@pytest.mark.night
def test_its_operations_take_effect_and_leave_its_files_as_they_were(recursor, tmp_path):
    started = [json.loads(recursor.verb("start")[1])]
    assert recursor.asked(tmp_path, *NAMES, words=WORDS)["counts"]["completed"] == 50
    made = recursor.operated()
    started.append(json.loads(recursor.verb("start")[1]))
    own = {"flush"}
    if recursor.role == "unbound":
        own = {"reload", "reload-keep-cache", "blocklist", "rotate-log"}
    assert made.keys() == {"pause-100ms", "pause-1s", "restart", *own}
    assert started[0]["config_sha256"] == started[1]["config_sha256"]


@pytest.mark.parametrize("connections", [[], ["--fresh"]], ids=str)
def test_it_answers_over_the_transport_of_the_load_after_a_reset_too(
    recursor, tmp_path, connections
):
    transport = recursor.values.get(f"{recursor.role}_transport", "tcp")
    status, said = recursor.verb("start")
    assert status == 0, said
    for word in ("tcp", transport):
        words = [*WORDS, "--transport", word, *connections]
        report = recursor.asked(tmp_path, *NAMES, words=words)
        assert report["connections"]["error"] is None
        assert report["counts"]["completed"] == 50, word
        assert json.loads(recursor.verb("reset")[1])["held"] == 0
    for other in {"dot", "https"} - {transport}:
        report = recursor.asked(tmp_path, *NAMES, words=[*WORDS, "--transport", other])
        assert "refused" in report["connections"]["error"]


def test_one_without_its_authority_does_not_start(recursor, authority):
    authority.verb("stop")
    recursor.install(start_s=3.0)
    try:
        status, said = recursor.verb("start")
    finally:
        begun = authority.verb("start")
    assert begun[0] == 0, begun
    assert status == 1
    assert f"for the SOA of {LAST}" in said or "timed out" in said


def test_a_setting_that_it_does_not_know_is_its_reason(recursor):
    config = recursor.settings["config_files"][0]
    recursor.put(config, "nonsense=1\n")
    status, said = recursor.verb("start")
    assert status == 1
    assert "nonsense" in said or "fatal" in said
