"""A scenario asks of its server only what the server's role declares, and says all of it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.roles import ROLES, apart, lab_roles, options_of, resolved, roles_of
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.scenario import ServerOptions

ROOT = Path(__file__).parents[2]
CATALOGUE = Catalogue(ROOT)
DNSMASQ = CATALOGUE.find("v4-dnsmasq")
KEA = CATALOGUE.find("v4-memfile")
PDNS = CATALOGUE.find("powerdns-lmdb-uncached")
COLD = CATALOGUE.find("powerdns-lmdb-cold")
RESPONDER = CATALOGUE.find("responder-v4-capped")
NSD = CATALOGUE.find("nsd-delegations-size-10000")
KNOT = CATALOGUE.find("knot-delegations-size-10000")
UNBOUND = CATALOGUE.find("unbound-recursive-hot")
UPDATED = {**PDNS.load, "updates": 1.0}
SIX = {"family": 6, "subnet": "2001:2::/64", "pool": "2001:2::/64"}
TEN = {**KEA.load, "clients": 10, "first_client": "00:0c:01:02:03:04"}
MYSQL = CATALOGUE.find("v4-mysql")
APART = CATALOGUE.find("v4-mysql-apart")
THREE = ServerOptions(kind="mysql", options={"nodes": 3})


def asking(scenario, kind=None, **options):
    """The scenario, with these options and no others."""
    kind = kind or scenario.server.kind
    return replace(scenario, server=ServerOptions(kind=kind, options=options))


def responding(**options):
    """The responder with a capacity, and with these options."""
    return asking(RESPONDER, **{"capacity": 2000.0, **options})


def test_every_scenario_that_ships_is_one_that_its_server_has():
    kinds = {scenario.server.kind for scenario in CATALOGUE.scenarios.values()}
    assert kinds == {*roles_of("server")}


def test_an_option_that_is_not_asked_for_has_the_roles_default():
    options = resolved(asking(KEA, pair_max_ack_delay_s=3), "here").server.options
    declared = options_of("kea", "scenario")
    assert list(options) == list(declared)
    assert {name for name in options if options[name] != declared[name]["default"]} == {
        "pair_max_ack_delay_s"
    }
    assert type(options["pair_max_ack_delay_s"]) is float


@pytest.mark.parametrize("kind", roles_of("server"))
def test_no_default_of_an_option_has_to_be_worked_out(kind):
    """The resolved scenario says it, and no playbook has run."""
    for name, option in options_of(kind, "scenario").items():
        assert "{{" not in str(option["default"]), name


def test_settings_beside_the_server_are_those_asked_for():
    """An inventory may set the others; all are read back into the result."""
    changed = replace(MYSQL, beside={"mysql": {"innodb_log_mib": 64}})
    assert resolved(changed, "here").beside == {"mysql": {"innodb_log_mib": 64}}


def test_scenarios_lie_side_by_side_as_far_as_they_ask_the_same_of_the_hosts():
    tuned = {
        value: resolved(replace(KEA, hosts={"host_tuning": {"governor": value}}), "here")
        for value in ("performance", "powersave")
    }
    assert tuned["powersave"].hosts == {"host_tuning": {"governor": "powersave"}}
    why = lab_roles()["host_tuning"].apart
    assert why
    assert apart([KEA, MYSQL]) == ""
    assert apart([tuned["powersave"], replace(tuned["powersave"], name="another")]) == ""
    assert apart(tuned.values()) == why
    assert apart([KEA, tuned["powersave"]]) == why
    assert apart([tuned["powersave"], KEA]) == why


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (replace(KEA, hosts={"mysql": {}}), "unknown role that sets hosts 'mysql'"),
        (
            replace(KEA, hosts={"host_tuning": {"governer": "powersave"}}),
            "unknown setting of host_tuning 'governer'; did you mean 'governor'?",
        ),
        (
            replace(KEA, hosts={"host_tuning": {"enabled": True}}),
            "unknown setting of host_tuning 'enabled'",
        ),
        (
            replace(KEA, hosts={"host_tuning": {"smt": True}}),
            "smt: value of another type (found True, wanted str)",
        ),
        (
            asking(DNSMASQ, backend="memroy"),
            "backend: value not allowed (found memroy, wanted memory or file)",
        ),
        (asking(DNSMASQ, threads=4), "unknown option of dnsmasq 'threads'"),
        (asking(DNSMASQ, lease_max=4), "unknown option of dnsmasq 'lease_max'"),
        (asking(DNSMASQ, lease_lifetime_s=119), "no lease for less than two minutes"),
        (
            replace(DNSMASQ, partner=True),
            "not support this part of the scenario (found partner",
        ),
        (
            replace(DNSMASQ, beside={"mysql": {}}),
            "not support this part of the scenario (found beside",
        ),
        (asking(PDNS, backend="postgresql"), "Found: backend postgresql, beside nothing."),
        (replace(PDNS, beside={"postgresql": {}}), "Found: backend lmdb, beside postgresql."),
        (asking(PDNS, cache_ttl_s=20), "Found: cache none, cache_ttl_s 20,"),
        (responding(stall_ms=20.0), "Found: stall_ms 20.0, stall_every_ms 0.0."),
        (responding(delay_least_ms=2.0), "Found: delay_least_ms 2.0, delay_most_ms 0.0."),
        (responding(warm_up_ms=9.0), "Found: warm_up_factor 1.0, warm_up_ms 9.0."),
        (responding(refuse=1.1), "refuse 1.1,"),
        (responding(queue=-1), "queue -1,"),
        (responding(capacity=0.0, doubled_by=9), "Found: capacity 0.0, overload holds,"),
        (asking(PDNS, queue_limit_ms=0), "queue_limit_ms 0,"),
        (asking(COLD), "Found: cache cold, cache_ttl_s 0,"),
        (
            replace(PDNS, load={**PDNS.load, "data": "hierarchy"}),
            "wanted articles or delegations or zones",
        ),
        *(
            (replace(PDNS, load={**PDNS.load, "transport": transport}), f"(found {transport}, ")
            for transport in ("dot", "https")
        ),
        (replace(PDNS, load=UPDATED), "Found: backend lmdb, data articles, cache none."),
        (
            replace(
                asking(PDNS, backend="postgresql"), beside={"postgresql": {}}, load=UPDATED
            ),
            "Found: backend postgresql, data articles,",
        ),
        (replace(NSD, load={**NSD.load, "transport": "https"}), "wanted udp or tcp or dot"),
        (
            replace(NSD, load={**NSD.load, "updates": 0.1}),
            "nsd does not serve that load (found",
        ),
        (replace(KNOT, load={**KNOT.load, "transport": "https"}), "wanted udp or tcp or dot"),
        (
            replace(KNOT, load={**KNOT.load, "transport": "dot"}),
            "dot, connections kept. Wanted:",
        ),
        (
            replace(KNOT, load={**KNOT.load, "updates": 0.1, "data": "zones"}),
            "Found: data zones. Wanted: delegations.",
        ),
        (asking(UNBOUND, open_connections=0), "open_connections 0."),
        (replace(UNBOUND, load={**UNBOUND.load, "updates": 1.0}), "(found 1.0, wanted 0"),
        (replace(PDNS, load={**PDNS.load, "size": 100_001}), "size 100001"),
        (asking(KEA, backend="memory"), "wanted memfile or mysql or postgresql"),
        (asking(KEA, test_interface="eth1"), "unknown option of kea 'test_interface'"),
        (asking(KEA, "kae"), "unknown kind of server 'kae'; did you mean 'kea'?"),
        (asking(KEA, "mysql"), "unknown kind of server 'mysql'"),
        (replace(KEA, generator="kea"), "unknown generator 'kea'"),
        (asking(KEA, backend="mysql"), "Found: backend mysql, beside nothing."),
        (replace(KEA, beside={"mysql": {}}), "Found: backend memfile, beside mysql."),
        (replace(KEA, beside={"mysqll": {}}), "unknown role beside a server 'mysqll'"),
        (
            replace(MYSQL, beside={"mysql": {"inodb_log_mib": 1}}),
            "unknown setting of mysql 'inodb_log_mib'; "
            "did you mean 'innodb_log_mib' or 'innodb_buffer_pool_mib'?",
        ),
        (
            replace(MYSQL, beside={"mysql": {"package": "mariadb-server"}}),
            "unknown setting of mysql 'package'",
        ),
        (
            replace(MYSQL, beside={"mysql": {"innodb_flush_log_at_trx_commit": 3}}),
            "innodb_flush_log_at_trx_commit: value not allowed (found 3, wanted 0 or 1 or 2)",
        ),
        (
            asking(KEA, multi_threading=True, threads=4),
            "Found: threads 4, queue_size 0. Wanted: both 1 or more.",
        ),
        (asking(KEA, multi_threading=True, queue_size=64), "Found: threads 0, queue_size 64."),
        (asking(KEA, pair_mode="hot-standby"), "Found: partner False, pair_mode hot-standby."),
        (replace(KEA, partner=True), "Found: partner True, pair_mode none."),
        (
            asking(KEA, hooks=["lease_cmds", "flex_id"]),
            "hooks: value not allowed (found flex_id",
        ),
        (
            replace(asking(KEA, pair_mode="hot-standby", hooks=[]), partner=True),
            "Found: hooks none. Wanted: lease_cmds",
        ),
        (replace(asking(KEA, hooks=["bootp"]), load={**KEA.load, **SIX}), "are for IPv4 only."),
        (
            replace(asking(KEA, hooks=["ping_check"]), load={**KEA.load, **SIX}),
            "Found: hooks ping_check, family 6.",
        ),
        (replace(asking(KEA, allocator="flq"), load={**KEA.load, **SIX}), "Found: family 6."),
        (
            replace(
                asking(MYSQL, backend="mysql", allocator="shared-flq"),
                load={**KEA.load, **SIX},
            ),
            "Found: family 6.",
        ),
        (asking(KEA, allocator="shared-flq"), "Found: backend memfile. Wanted: backend mysql"),
        (asking(KEA, cache_threshold=1.0), "Found: cache_threshold 1.0."),
        (asking(KEA, classes="simple"), "Found: classes simple, class_count 0."),
        (asking(KEA, class_count=1), "Found: classes none, class_count 1."),
        (asking(KEA, subnets=0), "Found: subnets 0,"),
        (replace(KEA, beside={"delayed_link": {}}), "this scenario has none."),
        (
            replace(APART, beside={"delayed_link": {}}),
            "Found: backend mysql, beside delayed_link, support mysql. Wanted:",
        ),
        (
            replace(DNSMASQ, support=THREE),
            "not support this part of the scenario (found support",
        ),
        (replace(KEA, support=THREE), "beside nothing, support mysql."),
        (replace(MYSQL, support=THREE), "beside mysql, support mysql."),
        (replace(APART, partner=True), "partner and support are mutually exclusive"),
        (
            replace(APART, support=ServerOptions(kind="kea")),
            "unknown kind of support 'kea'",
        ),
        (
            replace(APART, support=ServerOptions(kind="mysql", options={"nodes": 2})),
            "Found: nodes 2. Wanted: 1,",
        ),
        (
            replace(APART, support=ServerOptions(kind="mysql", options={"node": 3})),
            "unknown option of mysql 'node'; did you mean 'nodes'?",
        ),
        (asking(KEA, poll_interval_s=1, poll_subnets=1), "subnets 1, hooks lease_cmds."),
        (
            asking(KEA, poll_interval_s=1, poll_subnets=2, hooks=["stat_cmds"]),
            "poll_interval_s 1.0, poll_subnets 2, subnets 1,",
        ),
        (asking(KEA, poll_subnets=1), "poll_interval_s 0.0, poll_subnets 1,"),
        (asking(KEA, reservations=9, reservations_share=0.5), "Found: reservations 9,"),
        (
            replace(asking(KEA, reservations=9, reservations_share=1.0), load=TEN),
            "reservations_share 1.0, clients 10,",
        ),
        (asking(KEA, reservations=9, reservations_in="mysql"), "(reservations_in mysql)"),
        (asking(KEA, reservations_by="flex-id"), "Found: reservations 0,"),
        (
            asking(KEA, reservations=9, reservations_by="flex-id"),
            "Found: reservations_by flex-id, reservations_identifiers hw-address, duid,",
        ),
        (
            replace(asking(KEA, reservations=9), load={**KEA.load, **SIX}),
            "Found: family 6, partner False.",
        ),
        (
            asking(MYSQL, backend="mysql", reservations=9, reservations_in="postgresql"),
            "Found: backend mysql, reservations_in postgresql.",
        ),
        (asking(KEA, log_severity="INFO", log_debug_level=1), "Found: log_severity INFO,"),
        (asking(KEA, log_severity="DEBUG", log_debug_level=100), "Wanted: 0 to 99 with DEBUG"),
        (asking(KEA, memfile_persist=False, lfc_interval_s=10), "Found: lfc_interval_s 10,"),
        (
            replace(asking(KEA, pair_mode="load-balancing", pools_per_subnet=2), partner=True),
            "Found: pools_per_subnet 2.",
        ),
        (
            replace(
                asking(
                    KEA,
                    pair_mode="hot-standby",
                    multi_threading=True,
                    threads=4,
                    queue_size=64,
                    pair_client_threads=4,
                ),
                partner=True,
            ),
            "Found: multi_threading True, pair_listener_threads 0, pair_client_threads 4.",
        ),
    ],
)
def test_what_a_server_does_not_have_is_refused_by_name(scenario, said):
    with pytest.raises(LeaselabError) as caught:
        resolved(scenario, "here")
    assert caught.value.outcome is Outcome.USAGE
    assert said in str(caught.value)
    assert caught.value.where.startswith("here")


def test_a_support_has_every_option_of_its_role():
    assert APART.support.options == {
        name: option["default"] for name, option in options_of("mysql", "scenario").items()
    }
    assert APART.support.defaulted == tuple(APART.support.options)


def test_results_with_and_without_a_support_differ_and_an_option_that_one_lacks_does_not():
    beside, apart = MYSQL.beside_another(APART), APART.beside_another(MYSQL)
    assert (beside["support"], apart["support"]) == (None, {"kind": "mysql", "options": {}})
    less = ServerOptions(kind="mysql", options={"innodb_log_mib": 256})
    older = replace(APART, support=less)
    assert APART.beside_another(older)["support"] == {
        "kind": "mysql",
        "options": {"innodb_log_mib": 256},
    }


def test_every_role_of_a_server_declares_its_options_and_what_the_lab_must_know():
    servers = {
        path.parent.parent.name
        for path in ROLES.glob("*/meta/argument_specs.yml")
        if options_of(path.parent.parent.name, "scenario")
    }
    supports = {name for name, role in lab_roles().items() if role.supports}
    assert set(roles_of("server")) == {
        *(
            "kea",
            "dnsmasq",
            "isc_dhcpd",
            "bind9",
            "nsd",
            "knot",
            "unbound",
            "pdns_recursor",
            "powerdns",
            "responder",
            "yadifa",
        )
    }
    assert set(roles_of("host")) == {"host_tuning"}
    assert supports == {"mysql", "postgresql", "bind9", "nsd"}
    assert servers == {*roles_of("server"), *roles_of("host"), *supports}
    assert all(role.programs for role in lab_roles().values() if role.part != "host")
    assert set(roles_of("beside")) == {"mysql", "postgresql", "delayed_link"}
    assert all(options_of(role, "tune") for role in roles_of("beside"))
