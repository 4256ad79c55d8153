"""Whole configurations: recorded ones, loggers, what is inherited, hidden or not judged."""

import json
import re

import pytest
from tests.advising import (
    ALONE,
    CMDS,
    DATA,
    MYSQL,
    OUT,
    POOL,
    QUIET,
    SCENARIOS,
    advice,
    costs_of,
    hook,
    named,
    names,
    reserved,
    subnets,
)

from leaselab.inputs.advice import Given, advise
from leaselab.model.errors import LeaselabError


def test_the_configuration_of_a_pair_of_kea_2_2():
    advice = advise(DATA / "kea-2.2-dhcp4.conf", SCENARIOS, Given(version="2.2"))
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
    advice = advise(DATA / "kea-2.6-dhcp4.conf", SCENARIOS, Given(clients=65_000, processors=8))
    assert names(advice) == [
        "more-threads-than-processors",
        "long-queue",
        "run-script",
        "several-hooks",
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
    assert advise(DATA / "kea-3.0-dhcp6.conf", SCENARIOS, Given(clients=10**6)).findings == ()


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
    new, old = (advise(path, SCENARIOS, Given(version=item)) for item in ("3.0", "1.5"))
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
        advice = advise(path, SCENARIOS, Given())
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
    findings = advise(path, SCENARIOS, Given()).findings
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
        advise(path, SCENARIOS, Given())
