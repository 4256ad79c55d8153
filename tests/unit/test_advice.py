"""Known costs in configurations of servers, as roles declare them."""

import json
from pathlib import Path

import pytest

from leaselab.lab.advice import addresses, advise, inside, known_costs, matches
from leaselab.lab.catalog import load_scenarios
from leaselab.lab.commented_json import read_commented_json
from leaselab.model.errors import LeaselabError, Outcome

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios"
DATA = ROOT / "tests/data/advice"
HA = {"mode": "hot-standby"}
PAIR = [{"library": "/hooks/libdhcp_ha.so", "parameters": {"high-availability": [HA]}}]
SINGLE = {"enable-multi-threading": False}
QUIET = {"loggers": [{"name": "kea-dhcp4", "severity": "WARN"}]}


def reserved(count):
    return [{"hw-address": "02:00:00:00:00:01", "ip-address": "192.0.2.1"}] * count


def named(count, **rest):
    return [{"name": f"c{number}", **rest} for number in range(count)]


def subnets(count, **rest):
    return [{"id": number + 1, "subnet": "192.0.2.0/24", **rest} for number in range(count)]


POOL = {"pools": [{"pool": "192.0.2.1 - 192.0.2.100"}]}
MYSQL = {"type": "mysql", "host": "localhost"}
OUT = {"reservations-out-of-pool": True}
MAC = {"host-reservation-identifiers": ["hw-address"]}

# Of each cost: a configuration that has it, one that nearly has it, and the options needed.
CASES = {
    "debug-logging": ({"loggers": [{"severity": "debug"}]}, QUIET),
    "info-logging": ({"loggers": [{"severity": "INFO"}]}, QUIET),
    "client-lists": (
        {"client-classes": named(20, test="pkt4.mac == 0x1")},
        {"client-classes": named(19, test="pkt4.mac == 0x1")},
    ),
    "many-expressions": (
        {"client-classes": named(20, test="'a' == 'a'")},
        {"client-classes": [*named(19, test="'a' == 'a'"), *named(20)]},
    ),
    "many-classes": ({"client-classes": named(50)}, {"client-classes": named(49)}),
    "pair-without-threads": (
        {"hooks-libraries": PAIR, "multi-threading": SINGLE},
        {"hooks-libraries": PAIR},
    ),
    "one-thread": (
        {"multi-threading": SINGLE},
        {"multi-threading": SINGLE, "hooks-libraries": PAIR},
    ),
    "more-threads-than-processors": (
        {"multi-threading": {"thread-pool-size": 5}},
        {"multi-threading": {"thread-pool-size": 4}},
        {"processors": 4},
    ),
    "long-queue": (
        {"multi-threading": {"packet-queue-size": 256}},
        {"multi-threading": {"packet-queue-size": 256, **SINGLE}},
    ),
    "short-queue": (
        {"multi-threading": {"packet-queue-size": 15}},
        {"multi-threading": {"packet-queue-size": 0}},  # no limit
    ),
    "run-script": (
        {"hooks-libraries": [{"library": "/hooks/libdhcp_run_script.so"}]},
        {"hooks-libraries": [{"library": "/hooks/libdhcp_lease_cmds.so"}]},
    ),
    "several-hooks": (
        {"hooks-libraries": [{"library": "a.so"}] * 4},
        {"hooks-libraries": [{"library": "a.so"}] * 3},
    ),
    "polling": (
        {"hooks-libraries": [{"library": "/hooks/libdhcp_stat_cmds.so"}]},
        {"hooks-libraries": []},
    ),
    "pool-nearly-full": (
        {"subnet4": subnets(2, **POOL)},
        {"subnet4": subnets(3, **POOL)},
        {"clients": 160},
    ),
    "pool-reserved": (
        {"subnet4": subnets(1, **POOL, reservations=reserved(50))},
        {"subnet4": subnets(1, pools=[{"pool": "192.0.2.8/29"}], reservations=reserved(50))},
    ),
    "iterative-allocator": (
        {"subnet4": subnets(1, **POOL)},
        {"subnet4": subnets(1, **POOL), "allocator": "flq"},
        {"clients": 80},
    ),
    "reservations-in-pool": ({"reservations": reserved(1)}, {"reservations": [], **OUT}),
    "global-reservations": (
        {"reservations-global": True},
        {"reservations-global": True, "reservations-in-subnet": False},
    ),
    "many-reservations": (
        {"reservations": reserved(5000), "subnet4": subnets(1, reservations=reserved(5000))},
        {"reservations": reserved(5000), "subnet4": subnets(1, reservations=reserved(4999))},
    ),
    "reservations-in-database": ({"hosts-databases": [MYSQL]}, {"lease-database": MYSQL}),
    "unused-identifiers": ({"hosts-database": MYSQL}, {"hosts-database": MYSQL, **MAC}),
    "leases-in-database": (
        {"lease-database": {"type": "postgresql"}},
        {"lease-database": {"type": "memfile"}},
    ),
    "distant-database": (
        {"lease-database": {"type": "mysql", "host": "db1"}},
        {"lease-database": MYSQL},
    ),
    "no-persistence": (
        {"lease-database": {"type": "memfile", "persist": False}},
        {"lease-database": {"type": "memfile", "persist": True}},
    ),
    "frequent-cleaning": (
        {"lease-database": {"type": "memfile", "lfc-interval": 299}},
        {"lease-database": {"type": "memfile", "lfc-interval": 300}},
    ),
    "no-cleaning": (
        {"lease-database": {"type": "memfile", "lfc-interval": 0}},
        {"lease-database": {"type": "memfile", "lfc-interval": 0, "persist": False}},
    ),
    "no-lease-cache": (
        {"valid-lifetime": 3600},
        {"valid-lifetime": 3600, "cache-threshold": 0.25},
        {"version": "2.6"},
    ),
    "many-subnets": (
        {
            "subnet4": subnets(999),
            "shared-networks": [{"name": "n", "subnet4": subnets(1)}],
        },
        {"subnet4": subnets(999)},
    ),
    "large-shared-network": (
        {"shared-networks": [{"name": "n", "subnet4": subnets(10)}]},
        {"shared-networks": [{"name": "n", "subnet4": subnets(9)}], "subnet4": subnets(10)},
    ),
    "many-pools": (
        {"subnet4": subnets(1, pools=[{"pool": "192.0.2.8/29"}] * 50)},
        {"subnet4": subnets(2, pools=[{"pool": "192.0.2.8/29"}] * 49)},
    ),
}


def advice(folder, content, name="Dhcp4", **options):
    path = folder / "kea.conf"
    path.write_text(json.dumps({name: content}, indent=1), encoding="utf-8")
    return advise(path, SCENARIOS, **options)


def names(found):
    return [finding.name for finding in found.findings]


def refusal(folder, content, name="Dhcp4", **options):
    with pytest.raises(LeaselabError) as caught:
        advice(folder, content, name, **options)
    assert caught.value.outcome is Outcome.USAGE
    return str(caught.value)


def test_each_cost_that_kea_declares_has_a_case():
    assert list(CASES) == [cost.name for cost in known_costs()["kea"].costs]


def test_the_paper_names_each_cost_once():
    paper = (ROOT / "docs/advise.md").read_text(encoding="utf-8")
    table = paper.partition("## Which costs are known")[2].partition("## Adding")[0]
    rows = (line for line in table.splitlines() if line.startswith("|"))
    told = [name for row in rows for name in row.split("`")[1::2]]
    assert sorted(told) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_cost_is_found_where_it_is_and_nowhere_else(tmp_path, name):
    having, lacking, *rest = CASES[name]
    options = rest[0] if rest else {}
    assert name in names(advice(tmp_path, having, **options))
    assert name not in names(advice(tmp_path, lacking, **options))


@pytest.mark.parametrize("name", CASES)
def test_each_pair_of_points_is_of_a_configuration(tmp_path, name):
    finding = next(
        one
        for one in advice(tmp_path, CASES[name][0], **dict(*CASES[name][2:])).findings
        if one.name == name
    )
    declared = next(one for one in known_costs()["kea"].costs if one.name == name)
    assert bool(finding.costs) == bool(declared.pairs) or name == "several-hooks"
    for cost in finding.costs:
        assert cost.command == f"leaselab run {cost.point} {cost.base}"


@pytest.mark.parametrize(
    ("prefixes", "pair"),
    [
        (prefixes, pair)
        for costs in known_costs().values()
        for prefixes in costs.objects.values()
        for cost in costs.costs
        for pair in cost.pairs
    ],
    ids=str,
)
def test_each_declared_pair_is_of_scenarios_that_exist_for_each_object(prefixes, pair):
    known = load_scenarios(SCENARIOS).keys()
    assert pair.point != pair.base
    assert any({f"{one}-{pair.point}", f"{one}-{pair.base}"} <= known for one in prefixes)


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
    short = {"valid-lifetime": 600}
    assert "no-lease-cache" in names(advice(tmp_path, short, version="2.6"))
    assert "no-lease-cache" not in names(advice(tmp_path, short, version="3.0"))


def test_every_place_of_a_cost_is_told_with_its_line(tmp_path):
    content = {"loggers": [{"severity": "DEBUG"}, {"severity": "WARN"}, {"severity": "DEBUG"}]}
    finding, *_ = advice(tmp_path, content).findings
    found = [(place.path, place.line) for place in finding.places]
    assert found == [("Dhcp4.loggers[0]", 4), ("Dhcp4.loggers[2]", 10)]


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"loggers": [3]},
        {"loggers": [{"severity": None}, {"severity": "DEBUG", "debuglevel": "high"}]},
        {"lease-database": None},
        {"multi-threading": {"packet-queue-size": "64"}},
        {"valid-lifetime": "3600"},
        {"subnet4": [{"pools": [{"pool": "192.0.2.1 to 192.0.2.9"}]}]},
        {"hooks-libraries": [{"library": 4}] * 4},
    ],
    ids=str,
)
def test_values_of_other_types_are_refused_with_their_place(tmp_path, content):
    told = refusal(tmp_path, content)
    assert "kea.conf:" in told
    assert "has another type or form than the server takes" in told
    assert "have the server itself check" in told


def test_another_programs_configuration_is_refused(tmp_path):
    told = refusal(tmp_path, {"http-port": 8000}, "Control-agent")
    assert "found Control-agent, wanted an object with Dhcp4 or Dhcp6" in told


def test_a_release_is_digits_and_dots(tmp_path):
    assert "found latest, wanted as 3.0" in refusal(tmp_path, {}, version="latest")


def test_a_pattern_finds_what_is_below_it_in_order(tmp_path):
    path = tmp_path / "kea.conf"
    path.write_text('{"a": {"b1": [{"c": 1}, {"c": 2}], "b2": [{"d": 3}], "c": 4}}')
    top = read_commented_json(path).top
    found = [(one.path, one.value) for one in matches(top, "a", "b?[*].c")]
    assert found == [("a.b1[0].c", 1), ("a.b1[1].c", 2)]
    assert [one.path for one in matches(top, "a", "")] == ["a"]


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
        inside(["192.0.2.1", "192.0.2.9", "192.0.3.1"], ["192.0.2.0/29", "192.0.2.0/28"]) == 2
    )


def test_the_configuration_of_a_pair_of_kea_2_2():
    found = advise(DATA / "kea-2.2-dhcp4.conf", SCENARIOS, version="2.2")
    told = {finding.name: finding for finding in found.findings}
    assert list(told) == [
        "debug-logging",
        "client-lists",
        "pair-without-threads",
        "reservations-in-pool",
        "frequent-cleaning",
        "no-lease-cache",
    ]
    assert told["client-lists"].found.startswith("20 comparisons")
    assert [place.line for place in told["client-lists"].places] == [32]
    assert told["pair-without-threads"].costs[0].point == "v4-memfile-hs"
    assert told["debug-logging"].places[0].path == "Dhcp4.loggers[0]"


def test_the_configuration_of_a_kea_2_6_with_databases_and_included_files():
    found = advise(DATA / "kea-2.6-dhcp4.conf", SCENARIOS, clients=65_000, processors=8)
    assert names(found) == [
        "more-threads-than-processors",
        "long-queue",
        "run-script",
        "several-hooks",
        "polling",
        "pool-nearly-full",
        "iterative-allocator",
        "reservations-in-pool",
        "reservations-in-database",
        "unused-identifiers",
        "leases-in-database",
        "distant-database",
    ]
    assert found.unread == ("/nowhere/kea/secret.json",)
    hooks = next(one for one in found.findings if one.name == "several-hooks")
    assert hooks.found.startswith("4 hooks: libdhcp_bootp, libdhcp_lease_cmds,")
    points = ["v4-hooks-lease-cmds", "v4-hooks-stat-cmds", "v4-hooks-bootp"]
    assert [cost.point for cost in hooks.costs] == points
    pools = next(one for one in found.findings if one.name == "pool-nearly-full")
    assert pools.found == "65000 clients for 65736 addresses in pools: 99 %"


def test_the_configuration_of_a_kea_3_0_for_dhcpv6_has_no_known_cost():
    assert advise(DATA / "kea-3.0-dhcp6.conf", SCENARIOS, clients=10**6).findings == ()
