"""Known costs of a configuration: each is found where it is and nowhere else."""

import re
import socket

import pytest
from tests.advising import (
    CASES,
    PAIR,
    QUIET,
    ROOT,
    SCENARIOS,
    advice,
    named,
    names,
    network,
    refusal,
    subnets,
)

from leaselab.catalog.catalogue import load_scenarios
from leaselab.inputs.commented_json import read_commented_json
from leaselab.inputs.configuration import Configuration, addresses, inside
from leaselab.inputs.known_costs import known_costs

PREFIXES = {"prefix": "2001:db8:1:8000::", "prefix-len": 52, "delegated-len": 60}


def test_each_cost_that_kea_declares_has_a_case():
    assert list(CASES) == [cost.name for cost in known_costs()["kea"].costs]


def test_the_page_names_each_cost_once():
    page = (ROOT / "docs/how-to/advise.md").read_text(encoding="utf-8")
    table = page.partition("## Known costs")[2].partition("## Adding")[0]
    rows = (line for line in table.splitlines() if line.startswith("|"))
    reported = [name for row in rows for name in row.split("`")[1::2]]
    assert sorted(reported) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_cost_is_found_where_it_is_and_nowhere_else(tmp_path, name):
    having, lacking, *rest = CASES[name]
    options = rest[0] if rest else {}
    by_name = {
        finding.name: finding for finding in advice(tmp_path, having, **options).findings
    }
    assert name not in names(advice(tmp_path, lacking, **options))
    declared = next(cost for cost in known_costs()["kea"].costs if cost.name == name)
    costs = by_name[name].costs
    assert bool(costs) == bool(declared.pairs) or name == "several-hooks"
    assert all(cost.command == f"leaselab run {cost.point} {cost.base}" for cost in costs)


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        *(("localhost.localdomain", True), ("LOCALHOST", True), ("localhost.", True)),
        *(("127.0.1.1", True), ("127.1", True), ("::1", True), ("[::1]", True)),
        *(("::ffff:127.0.0.1", True), ("/run/postgresql", True), ("", True)),
        *((socket.gethostname(), True), ("db.localhost", True), ("0.0.0.0", True)),  # noqa: S104
        *(("db1", False), ("128.0.0.1", False), ("localhost.example", False)),
        *(("2001:db8::1", False), ("1.2.3.4.5", False)),
    ],
)
def test_a_database_is_distant_unless_its_host_is_the_servers(tmp_path, host, is_local):
    database = {"lease-database": {"type": "mysql", "host": host}}
    assert ("distant-database" not in names(advice(tmp_path, database))) is is_local


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ({}, "no"),
        ({"pools": [{"pool": "2001:db8:1::/64"}]}, "no"),
        ({"pd-pools": [PREFIXES]}, "1000 clients for 256 prefixes in pools: 391 %"),
        (
            {"pools": [{"pool": "2001:db8:1::/64"}], "pd-pools": [PREFIXES]},
            "1000 clients for 256 prefixes in pools: 391 %",
        ),
        (
            {"pools": [{"pool": "2001:db8:1::/121"}], "pd-pools": [PREFIXES]},
            "1000 clients for 128 addresses in pools: 781 %",
        ),
    ],
)
@pytest.mark.parametrize("allocator", ["iterative", "random", "flq"])
def test_a_pool_of_fewer_leases_than_clients_is_full_whatever_allocates(
    tmp_path, network, expected, allocator
):
    top = {"allocator": allocator, "pd-allocator": allocator}
    held = {"subnet6": [{"id": 1, "subnet": "2001:db8:1::/48", **network}], **top}
    seen = advice(tmp_path, held, "Dhcp6", clients=1000).findings
    full = [finding.found for finding in seen if finding.name == "pool-nearly-full"]
    assert full == ([] if expected == "no" else [expected])


def test_each_declared_pair_is_of_scenarios_that_exist_for_each_object():
    known = load_scenarios(SCENARIOS).keys()
    for costs in known_costs().values():
        for pair in (pair for cost in costs.costs for pair in cost.pairs):
            assert pair.point != pair.base
            for prefixes in costs.objects.values():
                named = [
                    {f"{prefix}-{pair.point}", f"{prefix}-{pair.base}"} for prefix in prefixes
                ]
                assert any(both <= known for both in named), (prefixes, pair)


def test_a_configuration_without_known_costs_has_none(tmp_path):
    assert advice(tmp_path, {"valid-lifetime": 86400, **QUIET}).findings == ()


def test_dhcpv6_is_compared_with_its_own_points_where_it_has_some(tmp_path):
    content = {
        "client-classes": named(20, test="'a' == 'a'"),
        "loggers": [{"severity": "DEBUG", "debuglevel": 99}],
    }
    costs = {
        finding.name: [cost.point for cost in finding.costs]
        for finding in advice(tmp_path, content, "Dhcp6").findings
    }
    assert costs["many-expressions"] == ["v6-classes-simple"]
    assert costs["debug-logging"] == ["v4-log-debug-99"]


@pytest.mark.parametrize(
    ("level", "point"),
    [(0, "v4-log-debug-0"), (40, "v4-log-debug-50"), (99, "v4-log-debug-99")],
)
def test_the_nearest_point_is_named(tmp_path, level, point):
    content = {"loggers": [{"severity": "DEBUG", "debuglevel": level}]}
    finding, *_ = advice(tmp_path, content).findings
    assert [cost.point for cost in finding.costs] == [point]
    assert finding.found == f"severity DEBUG, level {level}"


def test_what_a_file_leaves_out_is_as_the_release_has_it(tmp_path):
    assert "pair-without-threads" not in names(advice(tmp_path, {"hooks-libraries": PAIR}))
    older = advice(tmp_path, {"hooks-libraries": PAIR}, version="2.2.0")
    assert "pair-without-threads" in names(older)
    assert older.version == "2.2.0"
    assert "one-thread" in names(advice(tmp_path, {}, version="2.2"))
    short = {"valid-lifetime": 600, "subnet4": subnets(1)}
    assert "no-lease-cache" in names(advice(tmp_path, short, version="2.6"))
    assert "no-lease-cache" not in names(advice(tmp_path, short, version="3.0"))


def test_every_place_of_a_cost_is_reported_with_its_line(tmp_path):
    content = {"loggers": [{"severity": "DEBUG"}, {"severity": "WARN"}, {"severity": "DEBUG"}]}
    finding, *_ = advice(tmp_path, content).findings
    results = [(place.path, place.line) for place in finding.places]
    assert results == [("Dhcp4.loggers[0]", 4), ("Dhcp4.loggers[2]", 10)]


@pytest.mark.parametrize(
    ("content", "path", "line"),
    [
        ([], "Dhcp4", 2),
        ({"loggers": [3]}, "Dhcp4.loggers[0]", 4),
        (
            {"loggers": [{"severity": "WARN"}, {"severity": None}]},
            "Dhcp4.loggers[1].severity",
            8,
        ),
        ({"loggers": [{"debuglevel": "high"}]}, "Dhcp4.loggers[0].debuglevel", 5),
        ({"lease-database": None}, "Dhcp4.lease-database", 3),
        (
            {"multi-threading": {"packet-queue-size": "64"}},
            "Dhcp4.multi-threading.packet-queue-size",
            4,
        ),
        ({"valid-lifetime": "3600"}, "Dhcp4.valid-lifetime", 3),
        ({"valid-lifetime": True}, "Dhcp4.valid-lifetime", 3),
        (
            {"subnet4": [{"pools": [{"pool": "192.0.2.1 to 192.0.2.9"}]}]},
            "Dhcp4.subnet4[0].pools[0].pool",
            7,
        ),
        (
            {"subnet4": [{"pools": [{"pool": "192.0.2.9 - 192.0.2.1"}]}]},
            "Dhcp4.subnet4[0].pools[0].pool",
            7,
        ),
        (
            {"subnet4": [{"reservations": [{"ip-address": "one"}]}]},
            "Dhcp4.subnet4[0].reservations[0].ip-address",
            7,
        ),
        (
            network(**{"cache-threshold": "x"}),
            "Dhcp4.shared-networks[0].subnet4[0].cache-threshold",
            10,
        ),
        ({"client-classes": {}}, "Dhcp4.client-classes", 3),
        ({"hooks-libraries": [{"library": 4}] * 4}, "Dhcp4.hooks-libraries[0].library", 5),
        ({"reservations-global": "no"}, "Dhcp4.reservations-global", 3),
    ],
    ids=str,
)
def test_a_value_of_another_form_is_refused_with_its_place(tmp_path, content, path, line):
    words = refusal(tmp_path, content)
    assert re.search(rf"kea\.conf:{line}:\d+: {re.escape(path)}: a value of another", words)
    assert "than the server takes (found" in words
    assert "have the server itself check" in words


def test_another_programs_configuration_is_refused(tmp_path):
    message = refusal(tmp_path, {"http-port": 8000}, "Control-agent")
    assert "found Control-agent, wanted an object with Dhcp4 or Dhcp6" in message


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("2.6", "2.6"),
        ("2.6.3-1+deb13u1", "2.6.3"),
        ("1:2.4.1~rc1", "2.4.1"),
        ("3.0.1-isc20250821145232", "3.0.1"),
        ("2.6.3_1", "2.6.3"),
        ("v3.0.0", "3.0.0"),
        ("3", "3"),
    ],
)
def test_a_version_of_a_package_is_one_of_its_release(tmp_path, version, release):
    assert advice(tmp_path, {}, version=version).version == release


@pytest.mark.parametrize("version", ["latest", "2.6.", "2..6", "", "9" * 5000, "2.6 3"])
def test_a_release_is_digits_and_dots(tmp_path, version):
    words = refusal(tmp_path, {}, version=version)
    assert "--server-version: not a release" in words
    assert "wanted as 3.0" in words


def test_a_pattern_finds_what_is_below_it_in_order(tmp_path):
    path = tmp_path / "kea.conf"
    path.write_text('{"a": {"b1": [{"c": 1}, {"c": 2}], "b2": [{"d": 3}], "c": 4}}')
    configuration = Configuration("a", read_commented_json(path).top)
    results = [(item.path, item.value) for item in configuration.at("b?[*].c")]
    assert results == [("a.b1[0].c", 1), ("a.b1[1].c", 2)]
    assert [item.path for item in configuration.at("")] == ["a"]


@pytest.mark.parametrize(
    ("pool", "count"),
    [
        ("192.0.2.1 - 192.0.2.10", 10),
        ("192.0.2.1-192.0.2.1", 1),
        ("10.0.0.0/8", 2**24),
        ("2001:db8::/64", 2**64),
        ("2001:db8::1 - 2001:db8::ffff", 0xFFFF),
    ],
)
def test_addresses_of_a_pool_are_counted(pool, count):
    assert addresses(pool) == count


def test_addresses_in_pools_are_counted_once():
    assert (
        inside(["192.0.2.1", "192.0.2.9", "192.0.3.1"], ["192.0.2.0/28", "192.0.2.0/29"]) == 2
    )
