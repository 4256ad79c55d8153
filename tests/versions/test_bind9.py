"""BIND 9 behind the contract, updated and asked over HTTPS by leaseload: the real named."""

import json

import pytest
from tests.rooted import Rooted, network_of
from tests.tools import AS_ROOT, run

KEY = 'key "leaselab" { algorithm hmac-sha256; secret "bGVhc2VsYWI="; };\n'
SIGNS = "leaselab.test:bGVhc2VsYWI="
ZONE = "$TTL 300\n@ SOA ns h 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n"
MADE = "/var/lib/leaselab-dns/delegations-3"
NAMES = ["h0000001.tld.test.", "h0000002.tld.test."]
LINES = [f"{name} UPDATE tld.test." for name in NAMES]


@pytest.fixture(scope="module")
def network():
    with network_of("updates", "198.18.0.10/32") as words:
        yield words


@pytest.fixture(scope="module", params=[(SIGNS, "https"), ("", "udp")], ids=str)
def host(request, network, tmp_path_factory):
    """A root with named as its role writes it for a key and a transport; it serves."""
    key, transport = request.param
    given = {
        "variant": "updated",
        "data": "delegations",
        "size": 3,
        "updates": 1.0,
        "update_key": key,
        "transport": transport,
        "test_interface": "lo",
        "test_address": "198.18.0.10",
        "found": "9.18.0",
    }
    host = Rooted(network, "bookworm", ["bind9", "bind9-utils"], "bind9", **given)
    host.write(
        tmp_path_factory.mktemp("bind9"),
        {"named.conf.j2": "config_file"},
        *("key_file", "allowed"),
        dns_data_zones={"folder": MADE, "zones": 1, "sha256": "abc"},
    )
    host.install()
    run(*AS_ROOT, "rm", "-rf", *map(host.inner, (MADE, "/var/lib/leaselab-bind9")))
    host.put(host.paths["key_file"], KEY)
    host.put(host.settings["process"]["pid_file"], "")
    host.put(f"{MADE}/tld.zone", ZONE)
    host.put(f"{MADE}/zones.tsv", "tld.test.\ttld.zone\n")
    listed, folder = host.settings["config_files"][1], host.settings["zone_folder"]
    host.list_zones(MADE, listed, folder, "text", host.paths["allowed"])
    status, reported = host.verb("start")
    assert status == 0, reported
    yield host
    assert json.loads(host.verb("stop")[1]) == {"was_running": True}


def updated(host, folder, key):
    words = ["--tsig", key] if key else []
    return host.asked(folder, *LINES, words=[*words, "--late", "20"])


def answers(host, folder):
    """How many queries for an updated name are answered with it."""
    return host.asked(folder, f"{NAMES[0]} A")["replies"]


def test_updates_are_carried_out_and_a_reset_takes_them_back(host, tmp_path):
    key = host.values["bind9_update_key"]
    assert answers(host, tmp_path).keys() == {"NXDOMAIN"}
    for _ in range(2):
        assert updated(host, tmp_path, key)["counts"]["completed"] == 50
        assert answers(host, tmp_path).keys() == {"NOERROR"}
        assert json.loads(host.verb("reset")[1]) == {"held": 0, "was": 50}
        assert answers(host, tmp_path).keys() == {"NXDOMAIN"}
    updated(host, tmp_path, key)
    (sample,) = map(json.loads, host.verb("sample")[1].splitlines())
    assert sample["held"] == 50
    counts = {"UPDATE": 50, "UpdateDone": 50, "UpdateFail": 0, "UpdateQuota": 0}
    assert counts.items() <= sample["counters"].items()


def test_a_zone_begins_without_what_an_earlier_start_was_given(host, tmp_path):
    updated(host, tmp_path, host.values["bind9_update_key"])
    status, reported = host.verb("start")
    assert status == 0, reported
    assert json.loads(host.verb("reset")[1]) == {"held": 0, "was": 0}
    assert answers(host, tmp_path).keys() == {"NXDOMAIN"}


def test_updates_by_a_wrong_key_are_refused(host, tmp_path):
    """And by none, where there is one: leaseload's signature is what named verifies."""
    if host.values["bind9_update_key"]:
        report = updated(host, tmp_path, "")
        assert report["refused"] == {"REFUSED": 50}
    report = updated(host, tmp_path, "leaselab.test:bGVhc2VsYWJh")
    assert report["refused"] == {"NOTAUTH": 50}


@pytest.mark.parametrize("connections", [[], ["--fresh"]], ids=str)
def test_it_answers_over_https_where_the_load_is_so(host, tmp_path, connections):
    words = ["--transport", "https", *connections, "--late", "20"]
    report = host.asked(tmp_path, "ns.tld.test. A", "nope.tld.test. A", words=words)
    opened = report["connections"]
    if host.values["bind9_transport"] == "https":
        assert report["replies"].keys() == {"NOERROR", "NXDOMAIN"}
        assert [report["replies"][word]["count"] for word in ("NOERROR", "NXDOMAIN")] == [
            25,
            25,
        ]
        assert opened["error"] is None
        assert opened["wanted"] == (50 if connections else 4)
    else:
        assert "refused" in opened["error"]
        assert report["replies"] == {}
