"""Known costs in configurations of servers, as roles declare them."""

import json
import re
from pathlib import Path

import pytest

from leaselab.lab.advice import advise
from leaselab.lab.catalog import load_scenarios
from leaselab.lab.commented_json import read_commented_json
from leaselab.lab.configuration import Configuration, addresses, inside
from leaselab.lab.known_costs import known_costs
from leaselab.model.errors import LeaselabError, Outcome

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios"
DATA = ROOT / "tests/data/advice"
HA = {"mode": "hot-standby"}
PAIR = [{"library": "/hooks/libdhcp_ha.so", "parameters": {"high-availability": [HA]}}]
ALONE = [
    {
        "library": "libdhcp_ha.so",
        "parameters": {
            "high-availability": [{"mode": "hot-standby", "send-lease-updates": False}]
        },
    }
]
SINGLE = {"enable-multi-threading": False}
QUIET = {"loggers": [{"name": "kea-dhcp4", "severity": "WARN"}]}


def reserved(count):
    return [{"hw-address": "02:00:00:00:00:01", "ip-address": "192.0.2.1"}] * count


def hook(name, **parameters):
    return {"library": f"/hooks/libdhcp_{name}.so", "parameters": parameters}


def network(**rest):
    """A shared network, whose subnets say the rest."""
    return {"shared-networks": [{"name": "n", "subnet4": subnets(1, **rest)}]}


def named(count, **rest):
    return [{"name": f"c{number}", **rest} for number in range(count)]


def subnets(count, **rest):
    return [{"id": number + 1, "subnet": "192.0.2.0/24", **rest} for number in range(count)]


POOL = {"pools": [{"pool": "192.0.2.1 - 192.0.2.100"}]}
CMDS = ("lease_cmds", "host_cmds", "stat_cmds", "subnet_cmds", "class_cmds", "mysql")
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
        {"hooks-libraries": [hook("run_script")]},
        {"hooks-libraries": [hook("lease_cmds")]},
    ),
    "ping-check": (
        {"hooks-libraries": [hook("ping_check")]},
        {"hooks-libraries": [hook("ping_check", **{"enable-ping-check": False})]},
    ),
    "legal-log": (
        {"hooks-libraries": [hook("legal_log")]},
        {"hooks-libraries": [hook("host_cmds")]},
    ),
    "radius": (
        {"hooks-libraries": [hook("radius")]},
        {"hooks-libraries": [hook("host_cache")]},
    ),
    "limits": (
        {
            "hooks-libraries": [hook("limits")],
            "client-classes": named(
                1, **{"user-context": {"limits": {"rate-limit": "1 packet per second"}}}
            ),
        },
        {"hooks-libraries": [hook("limits")], "client-classes": named(1)},
    ),
    "several-hooks": (
        {"hooks-libraries": [hook(item) for item in ("bootp", "flex_id", "perfmon", "limits")]},
        {"hooks-libraries": [hook(cmd) for cmd in ("bootp", "flex_id", "perfmon", *CMDS)]},
    ),
    "polling": (
        {"hooks-libraries": [hook("stat_cmds")], "subnet4": subnets(1)},
        {"hooks-libraries": [hook("stat_cmds")], "subnet4": []},
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
    "reservations-in-pool": (
        {"subnet4": subnets(1, reservations=reserved(1))},
        {"subnet4": subnets(1, reservations=reserved(1), **OUT)},
    ),
    "global-reservations": (
        {"reservations-global": True, "reservations": reserved(1), "subnet4": subnets(1)},
        {
            "reservations-global": True,
            "reservations": reserved(1),
            "subnet4": subnets(1, **{"reservations-in-subnet": False}),
        },
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
        {"valid-lifetime": 3600, "subnet4": subnets(1)},
        {"valid-lifetime": 3600, "subnet4": subnets(1, **{"cache-threshold": 0.25})},
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


def names(advised):
    return [finding.name for finding in advised.findings]


def costs_of(folder, content, name="Dhcp4", **options):
    """Names of the costs of a configuration whose log costs nothing."""
    return names(advice(folder, {**QUIET, **content}, name, **options))


def refusal(folder, content, name="Dhcp4", **options):
    with pytest.raises(LeaselabError) as caught:
        advice(folder, content, name, **options)
    assert caught.value.outcome is Outcome.USAGE
    return str(caught.value)


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


def test_the_configuration_of_a_pair_of_kea_2_2():
    advice = advise(DATA / "kea-2.2-dhcp4.conf", SCENARIOS, version="2.2")
    reported = {finding.name: finding for finding in advice.findings}
    assert list(reported) == [
        "debug-logging",
        "client-lists",
        "pair-without-threads",
        "reservations-in-pool",
        "frequent-cleaning",
        "no-lease-cache",
    ]
    assert reported["client-lists"].found.startswith("20 comparisons")
    assert [place.line for place in reported["client-lists"].places] == [32]
    assert reported["pair-without-threads"].costs[0].point == "v4-memfile-hs"
    assert reported["debug-logging"].places[0].path == "Dhcp4.loggers[0]"


def test_the_configuration_of_a_kea_2_6_with_databases_and_included_files():
    advice = advise(DATA / "kea-2.6-dhcp4.conf", SCENARIOS, clients=65_000, processors=8)
    assert names(advice) == [
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
    assert [item.what for item in advice.not_judged] == [
        "included file not read: /nowhere/kea/secret.json"
    ]
    hooks = next(finding for finding in advice.findings if finding.name == "several-hooks")
    assert (
        hooks.found == "4 hooks that look at packets: bootp, flex_option, perfmon, run_script"
    )
    points = ["v4-hooks-flex-option", "v4-hooks-perfmon", "v4-hooks-bootp"]
    assert [cost.point for cost in hooks.costs] == points
    pools = next(finding for finding in advice.findings if finding.name == "pool-nearly-full")
    assert pools.found == "65000 clients for 65736 addresses in pools: 99 %"


def test_the_configuration_of_a_kea_3_0_for_dhcpv6_has_no_known_cost():
    assert advise(DATA / "kea-3.0-dhcp6.conf", SCENARIOS, clients=10**6).findings == ()


LOG = {"name": "kea-dhcp4", "severity": "WARN"}


@pytest.mark.parametrize(
    ("loggers", "expected"),
    [
        (None, ["info-logging"]),
        ([], ["info-logging"]),
        ([{"name": "kea-dhcp4"}], ["info-logging"]),
        ([{"name": "kea-dhcp4.hosts", "severity": "ERROR"}], ["info-logging"]),
        ([{"name": "kea-dhcp6", "severity": "WARN"}], ["info-logging"]),
        ([LOG], []),
        ([LOG, {"name": "kea-dhcp6", "severity": "DEBUG"}], []),
        ([LOG, {"name": "kea-dhcp4.commands", "severity": "DEBUG"}], []),
        ([LOG, {"name": "kea-dhcp4.leases", "severity": "INFO"}], ["info-logging"]),
        ([LOG, {"name": "kea-dhcp4.hosts", "severity": "INFO"}], []),
        ([LOG, {"name": "kea-dhcp4.packets", "severity": "DEBUG"}], ["debug-logging"]),
        ([{**LOG, "severity": "INFO"}, {"name": "leases", "severity": "WARN"}], []),
    ],
)
def test_loggers_cost_where_they_write_of_packets(tmp_path, loggers, expected):
    assert names(advice(tmp_path, {} if loggers is None else {"loggers": loggers})) == expected


def test_loggers_of_old_files_are_beside_the_server(tmp_path):
    path = tmp_path / "kea.conf"
    logger = {"name": "kea-dhcp4", "severity": "DEBUG"}
    path.write_text(json.dumps({"Dhcp4": {}, "Logging": {"loggers": [logger]}}, indent=1))
    new, old = (advise(path, SCENARIOS, version=item) for item in ("3.0", "1.5"))
    for finding in (new, old):
        assert [(item.name, item.places[0].path) for item in finding.findings][:1] == [
            ("debug-logging", "Logging.loggers[0]")
        ]
    assert [(item.what, item.why) for item in new.not_judged] == [
        ("keyword Logging", "only releases before 1.8 have it; judged as 3.0")
    ]
    assert old.not_judged == ()


@pytest.mark.parametrize(
    ("keyword", "value", "version", "why"),
    [
        ("control-sockets", [], "2.6", "since 2.7.2"),
        ("reservation-mode", "all", "2.6", "before 2.6"),
        ("multi-threading", {}, "1.6.2", "since 1.7.7"),
        ("reservation-mode", "all", "2.4.1", ""),
        ("control-sockets", [], "3.0", ""),
        ("user-context", {"control-sockets": 1}, "2.2", ""),
    ],
)
def test_keywords_of_another_release_are_not_judged(tmp_path, keyword, value, version, why):
    content = {**QUIET, keyword: value}
    judged = advice(tmp_path, content, version=version).not_judged
    assert [item.why.partition("releases ")[2].partition(" have")[0] for item in judged] == (
        [why] if why else []
    )


@pytest.mark.parametrize(
    ("content", "whats"),
    [
        ({"config-control": {"config-databases": [MYSQL]}}, ["configuration in a database"]),
        ({"config-control": {"config-databases": []}}, []),
        ({"hooks-libraries": [hook("own"), hook("own"), hook("bootp")]}, ["hook libdhcp_own"]),
        ({"client-classes": named(2, test="pkt4.mac = 1")}, ["expression of a class"]),
        ({"client-classes": named(1, **{"template-test": "option[12].hex"})}, []),
    ],
)
def test_what_a_configuration_hides_is_not_judged(tmp_path, content, whats):
    judged = advice(tmp_path, {**QUIET, **content}).not_judged
    assert [item.what for item in judged] == whats
    assert all(finding.why and finding.places for finding in judged)


def test_nothing_is_known_of_a_logger_in_a_file_that_was_not_read(tmp_path):
    path = tmp_path / "kea.conf"
    for members in ('"loggers": <?include "gone"?>', '<?include "gone"?>'):
        path.write_text(f'{{"Dhcp4": {{{members}}}}}')
        advice = advise(path, SCENARIOS)
        assert (advice.findings, [finding.what for finding in advice.not_judged]) == (
            (),
            ["included file not read: gone"],
        )


def at_each_level(keyword, value, other):
    """Configurations in which a subnet has a value: from itself, its network, or the server."""
    rest = {"reservations": reserved(1), "valid-lifetime": 60, **POOL}
    mine, others = {keyword: value}, {keyword: other}
    for subnet, network_of, server in (
        (mine, others, others),
        ({}, mine, others),
        ({}, {}, mine),
    ):
        inner = {"name": "n", "subnet4": subnets(1, **rest, **subnet), **network_of}
        yield {"shared-networks": [inner], **server}
    yield {"subnet4": subnets(1, **rest, **mine), **others}
    yield {"subnet4": subnets(1, **rest), **mine}


@pytest.mark.parametrize(
    ("keyword", "without", "having", "cost"),
    [
        ("reservations-out-of-pool", True, False, ("reservations-in-pool", {})),
        ("reservations-in-subnet", False, True, ("reservations-in-pool", {})),
        (
            "reservation-mode",
            "out-of-pool",
            "all",
            ("reservations-in-pool", {"version": "2.4"}),
        ),
        ("reservation-mode", "disabled", "all", ("reservations-in-pool", {"version": "2.4"})),
        ("reservations-global", False, True, ("global-reservations", {})),
        ("allocator", "flq", "iterative", ("iterative-allocator", {"clients": 80})),
        ("cache-threshold", 0.5, 0, ("no-lease-cache", {})),
        ("cache-max-age", 9, 0, ("no-lease-cache", {"version": "2.6"})),
    ],
)
def test_settings_are_inherited(tmp_path, keyword, without, having, cost):
    cost, options = cost
    for content in at_each_level(keyword, without, having):
        assert cost not in costs_of(tmp_path, content, **options), content
    for content in at_each_level(keyword, having, without):
        assert cost in costs_of(tmp_path, content, **options), content


def test_the_place_of_a_cost_is_where_its_value_stands(tmp_path):
    content = {
        "valid-lifetime": 600,
        "subnet4": [*subnets(2), {"id": 3, "subnet": "192.0.2.0/24", "valid-lifetime": 60}],
        "shared-networks": [{"name": "n", "valid-lifetime": 9000, "subnet4": subnets(1)}],
    }
    [finding] = advice(tmp_path, {**QUIET, **content}, version="2.6").findings
    assert finding.found == "valid-lifetime 60 s, no lease cache"
    assert [place.path for place in finding.places] == [
        "Dhcp4.valid-lifetime",
        "Dhcp4.subnet4[2].valid-lifetime",
    ]


ONLY = ("only-if-required", "only-in-additional-list")
REQUIRE = ("require-client-classes", "evaluate-additional-classes")


@pytest.mark.parametrize("flag", ONLY)
@pytest.mark.parametrize("key", REQUIRE)
def test_classes_cost_where_they_are_worked_out(tmp_path, flag, key):
    """Each subnet requires one of them; or one subnet, its network or a pool requires all."""
    classes = named(60, test="member('ALL')", **{flag: True})
    every = {key: [class_["name"] for class_ in classes]}
    each = [subnet | {key: [f"c{number}"]} for number, subnet in enumerate(subnets(60))]
    for content in ({}, {"subnet4": each}, {"subnet4": subnets(2, **{key: ["other"]})}):
        assert costs_of(tmp_path, {"client-classes": classes, **content}) == []
    for content in (
        {"subnet4": subnets(1, **every)},
        {"shared-networks": [{"name": "n", "subnet4": subnets(1), **every}]},
        {"subnet4": subnets(1, pools=[{"pool": "192.0.2.8/29", **every}])},
        {
            "subnet4": subnets(
                1,
                **{key: every[key][:10]},
                pools=[{"pool": "192.0.2.8/29", key: every[key][10:20]}],
            )
        },
    ):
        assert costs_of(tmp_path, {"client-classes": classes, **content}) == [
            "many-expressions"
        ]


@pytest.mark.parametrize(
    "content",
    [
        {"hooks-libraries": [hook(name) for name in CMDS]},
        {"hooks-libraries": ALONE},
        {
            "multi-threading": {},
            "hooks-libraries": [hook("ping_check")],
            "subnet4": subnets(
                2, **{"user-context": {"ping-check": {"enable-ping-check": False}}}
            ),
        },
        {"hosts-database": MYSQL, "reservations-in-subnet": False, "subnet4": subnets(1)},
        {"subnet4": subnets(1, **POOL, reservations=reserved(50), **OUT)},
        {"lease-database": {"type": "memfile", "persist": True, "lfc-interval": 300}},
    ],
    ids=str,
)
def test_what_costs_nothing_is_no_cost(tmp_path, content):
    assert costs_of(tmp_path, content) == []


def test_a_full_pool_whose_free_addresses_are_known_is_no_cost(tmp_path):
    content = {"subnet4": subnets(1, **POOL, allocator="flq")}
    assert costs_of(tmp_path, content, clients=99) == []


def test_leases_that_are_not_kept_are_not_cleaned(tmp_path):
    lease = {"lease-database": {"type": "memfile", "persist": False, "lfc-interval": 60}}
    assert costs_of(tmp_path, lease) == ["no-persistence"]


CONFIGURATION = {"Dhcp4": {"loggers": [{"name": "kea-dhcp4", "severity": "DEBUG"}]}}
ANSWER = {"result": 0, "arguments": {**CONFIGURATION, "hash": "0"}}


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        (ANSWER, ["arguments.Dhcp4.loggers[0]"]),
        ([ANSWER], ["[0].arguments.Dhcp4.loggers[0]"]),
        (
            [ANSWER, ANSWER],
            ["[0].arguments.Dhcp4.loggers[0]", "[1].arguments.Dhcp4.loggers[0]"],
        ),
        ([{"result": 1, "text": "no"}, ANSWER], ["[1].arguments.Dhcp4.loggers[0]"]),
        ({"command": "config-set", **ANSWER}, ["arguments.Dhcp4.loggers[0]"]),
    ],
)
def test_answers_of_servers_are_read(tmp_path, document, paths):
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    findings = advise(path, SCENARIOS).findings
    assert [place.path for finding in findings for place in finding.places] == paths


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[]", "a list"),
        ("[1]", "a list"),
        ("3", "a number"),
        ("null", "null"),
        ('"Dhcp4"', "a string"),
        ("{}", "an empty object"),
        ('{"result": 1, "text": "unsupported"}', "result, text"),
        ('{"arguments": {"arguments": {"Dhcp4": {}}}}', "arguments"),
        ('{"\\u001b[31mx": 1}', "?[31mx"),
    ],
)
def test_json_without_a_configuration_is_reported_as_what_it_is(tmp_path, text, what):
    path = tmp_path / "kea.conf"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LeaselabError, match=re.escape(f"are known (found {what}, wanted")):
        advise(path, SCENARIOS)
