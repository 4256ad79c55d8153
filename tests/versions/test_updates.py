"""Authorities behind the contract, updated and asked over HTTPS by leaseload: the real ones."""

import json

import pytest
from tests.nightly import but_at_night
from tests.rooted import Rooted, network_of
from tests.tools import AS_ROOT, run

RNDC_KEY = 'key "leaselab" { algorithm hmac-sha256; secret "bGVhc2VsYWI="; };\n'
SIGNS = "leaselab.test:bGVhc2VsYWI="
ZONE = "$ORIGIN tld.test.\n$TTL 300\n@ SOA ns h 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n"
MADE = "/var/lib/leaselab-dns/delegations-3"
LOAD = "/etc/leaselab-powerdns/updated/load/pdns.conf"
NAMES = ["h0000001.tld.test.", "h0000002.tld.test."]
LINES = [f"{name} UPDATE tld.test." for name in NAMES]
BIND = ("bookworm", ["bind9", "bind9-utils"], "bind9", {"named.conf.j2": "config_file"})
KNOT = ("bookworm", ["knot"], "knot", {"knot.conf.j2": "config_file"})
POWERDNS = (
    *("trixie", ["pdns-server", "pdns-backend-lmdb", "pdns-backend-bind"], "powerdns"),
    {"pdns.conf.j2": "config_file", "load.conf.j2": "load_file"},
)
ROOM = {"max_queue_length": 100_000}
SERVERS = {
    "bind9 by key and over HTTPS": (*BIND, SIGNS, {"transport": "https", "found": "9.18.0"}),
    "bind9": (*BIND, "", {"transport": "udp", "found": "9.18.0"}),
    "knot by key": (*KNOT, SIGNS, {}),
    "knot": (*KNOT, "", {}),
    "powerdns by key": (*POWERDNS, SIGNS, {"queue_limit_ms": 500, **ROOM}),
    "powerdns": (*POWERDNS, "", ROOM),
}
"""Release, packages, role, templates, key of updates, and options; no other file of tests has
the same roots."""
KEYED = [name for name in SERVERS if "by key" in name]


@pytest.fixture(scope="module")
def network():
    with network_of("updates", "198.18.0.10/32") as words:
        yield words


@pytest.fixture(scope="module", params=but_at_night(KEYED, SERVERS))
def host(request, network, tmp_path_factory):
    """A root with a server as its role writes it for a key and a transport; it serves."""
    suite, packages, role, templates, key, options = SERVERS[request.param]
    given = {
        "variant": "updated",
        "data": "delegations",
        "size": 3,
        "updates": 1.0,
        "update_key": key,
        "test_interface": "lo",
        "test_address": "198.18.0.10",
    }
    host = Rooted(network, suite, packages, role, **given, **options)
    made = {"folder": MADE, "zones": 1, "records": 3, "sha256": "abc"}
    named = ("key_file", "allowed") if role == "bind9" else ()
    folder = tmp_path_factory.mktemp(role)
    host.write(folder, templates, *named, dns_data_zones=made, powerdns_load_file=LOAD)
    host.install()
    run(*AS_ROOT, "rm", "-rf", *map(host.inner, (MADE, f"/var/lib/leaselab-{role}")))
    host.put(f"{MADE}/tld.zone", ZONE)
    host.put(f"{MADE}/zones.tsv", "tld.test.\ttld.zone\n")
    if role == "bind9":
        host.put(host.paths["key_file"], RNDC_KEY)
        host.put(host.settings["process"]["pid_file"], "")
    if "config_files" in host.settings:
        config, listed = host.settings["config_files"]
        host.list_zones(folder, MADE, listed)
    if role == "knot":
        assert host.inside("/usr/sbin/knotc", "-c", config, "conf-check")[0] == 0
    status, reported = host.verb("start")
    assert status == 0, reported
    yield host
    assert json.loads(host.verb("stop")[1]) == {"was_running": True}


def key_of(host):
    return host.values["server_update_key"]


def updated(host, folder, key):
    words = ["--tsig", key] if key else []
    return host.asked(folder, *LINES, words=[*words, "--late", "20"])


def answers(host, folder):
    """How many queries for an updated name are answered with it."""
    return host.asked(folder, f"{NAMES[0]} A")["replies"]


def counts_of(host):
    """How much a server that was updated 50 times may say that it holds."""
    return range(1, 51) if host.role == "knot" else [50]


def test_updates_are_carried_out_and_a_reset_takes_them_back(host, tmp_path):
    key = key_of(host)
    assert answers(host, tmp_path).keys() == {"NXDOMAIN"}
    for _ in range(2):
        assert updated(host, tmp_path, key)["counts"]["completed"] == 50
        assert answers(host, tmp_path).keys() == {"NOERROR"}
        status, reported = host.verb("reset")
        assert status == 0, reported
        emptied = json.loads(reported)
        assert emptied["held"] == 0
        assert emptied["was"] in counts_of(host)
        assert answers(host, tmp_path).keys() == {"NXDOMAIN"}
    updated(host, tmp_path, key)
    (sample,) = map(json.loads, host.verb("sample")[1].splitlines())
    assert sample["held"] in counts_of(host)
    counts = {
        "bind9": {"UPDATE": 50, "UpdateDone": 50, "UpdateFail": 0, "UpdateQuota": 0},
        "powerdns": {"dnsupdate-queries": 50, "dnsupdate-answers": 50, "dnsupdate-refused": 0},
    }
    assert counts.get(host.role, {}).items() <= sample["counters"].items()


def test_updates_beyond_what_it_syncs_are_counted_apart(host, tmp_path):
    """PowerDNS answers in time by its limit of half a second; by its own, late in the end."""
    key = key_of(host)
    words = ["--tsig", key] if key else []
    words += ["--rate", "9000", "--seconds", "3", "--late", "1", "--grace", "3"]
    report = host.asked(tmp_path, LINES[0], "ns.tld.test. A", words=words)
    kinds = report["kinds"]
    begun = [kinds[kind]["attempted"] for kind in ("query", "update")]
    assert abs(begun[0] - begun[1]) <= 1
    assert sum(begun) == report["counts"]["attempted"]
    assert kinds["update"]["completed"] > 0
    if host.role == "powerdns":
        (sample,) = map(json.loads, host.verb("sample")[1].splitlines())
        assert sample["counters"]["timedout-packets"] > 0
        has_limit = "powerdns_queue_limit_ms" in host.values
        assert (report["whole"]["p90_s"] < 1.0) == has_limit


def test_a_zone_begins_without_what_an_earlier_start_was_given(host, tmp_path):
    updated(host, tmp_path, key_of(host))
    status, reported = host.verb("start")
    assert status == 0, reported
    assert json.loads(host.verb("reset")[1]) == {"held": 0, "was": 0}
    assert answers(host, tmp_path).keys() == {"NXDOMAIN"}


def test_updates_by_a_wrong_key_are_refused(host, tmp_path):
    """And by none, where there is one: leaseload's signature is what the server verifies."""
    if key_of(host):
        report = updated(host, tmp_path, "")
        assert report["refused"] in ({"REFUSED": 50}, {"NOTAUTH": 50})
    report = updated(host, tmp_path, "leaselab.test:bGVhc2VsYWJh")
    assert report["refused"] in ({"NOTAUTH": 50}, {"REFUSED": 50})


@pytest.mark.parametrize("connections", [[], ["--fresh"]], ids=str)
def test_it_answers_over_https_where_the_load_is_so(host, tmp_path, connections):
    words = ["--transport", "https", *connections, "--late", "20"]
    report = host.asked(tmp_path, "ns.tld.test. A", "nope.tld.test. A", words=words)
    opened = report["connections"]
    if host.values.get(f"{host.role}_transport") == "https":
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
