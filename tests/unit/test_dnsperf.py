"""dnsperf's command line, and its recorded output read critically.

The recordings in tests/data/dnsperf are whole outputs of dnsperf 2.10 and 2.14, against BIND
9.20 with 1000 delegations: the name of each says the version, and what the server did.  That
of an overload is without its histograms, that of a dead server without most of its time-outs.
"""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.dns import DATA, STAGE, Host, dns_bench, left, sums_up

from leaselab.measure.generators import adapter_of, check_fits
from leaselab.measure.generators.adapter import GENERATOR_STALLED, Seen
from leaselab.measure.generators.dns.answers import (
    NAMES_REPEATED,
    OTHER_ANSWERS,
    Expected,
    expected_of,
)
from leaselab.measure.generators.dnsperf.command import PROBES, Dnsperf, DnsperfReading
from leaselab.measure.generators.dnsperf.output import Output, Tally, parse
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures import procedure_of
from leaselab.model.record import GENERATOR, GENERATOR_LIMITED
from leaselab.model.trial import HostUse, Load

QUIET = HostUse(work_s=(0.003, 0.003), steal_s=0, throttled_s=0, receive_errors=0)
REFERRALS = Expected(0.0, 107)
"""Every name is delegated, and an answer of the recordings has 107 bytes."""
ALL = sorted(path.stem for path in (DATA / "dnsperf").glob("*.txt"))


def recorded(name):
    return (DATA / "dnsperf" / f"{name}.txt").read_bytes()


def reading(text, load, *, expected=REFERRALS, outstanding=250, **bench):
    made = dns_bench(**bench)
    settings = {**made.generator.settings, "outstanding": outstanding}
    tool = dataclasses.replace(made.generator, settings=settings)
    made = dataclasses.replace(made, generator=tool)
    return DnsperfReading(made, made.procedure, load, ("dnsperf",), left(text), expected)


def trial(name, load, **how):
    return reading(recorded(name), load, **how).trial(Seen(generator=QUIET))


def test_the_command_line_of_a_rate():
    bench = dns_bench()
    host = Host(left(recorded("2.14_good")))
    Dnsperf(bench, bench.procedure, host).offer(Load(300, 3), may_abort=True)
    assert " ".join(host.argvs[0]) == (
        "/usr/bin/dnsperf -f inet -m udp -s 198.18.0.10 -p 53 -a 198.18.0.30 -d /var/lib/q.txt "
        "-c 1 -T 1 -q 60000 -l 3 -t 1 -S 0.1 -Q 300 -O latency-histogram "
        "-O verbose-interval-stats"
    )


OWN = {"query_file": "a" * 64, "edns_bytes": 4096, "dnssec_ok": True}


def test_a_users_own_queries_may_have_edns_and_answers_of_either_kind_and_any_size():
    bench = dns_bench(load=OWN)
    argv = Dnsperf(bench, bench.procedure, Host(b"")).command(Load(300, 3))
    assert {"-e", "-D"} <= set(argv)
    expected = expected_of(bench.scenario)
    assert expected.failures({"NOERROR": 5, "NXDOMAIN": 90, "REFUSED": 2}) == {"REFUSED": 2}
    assert dataclasses.replace(expected, answer_bytes=100).same_size(400)
    with pytest.raises(LeaselabError, match="other RCODEs") as raised:
        expected.check_probe({"REFUSED": 5, "NOERROR": 5}, "server")
    assert raised.value.wanted == "NOERROR or NXDOMAIN"


def test_queries_over_tls_have_another_port():
    bench = dns_bench(load={"transport": "dot"})
    argv = Dnsperf(bench, bench.procedure, Host(b"")).command(Load(100, 30))
    assert argv[argv.index("-S") + 1] == "1"
    assert argv[argv.index("-m") + 1 : argv.index("-a")] == [
        "dot",
        "-s",
        "198.18.0.10",
        *("-p", "853"),
    ]


@pytest.mark.parametrize("name", ALL)
def test_every_recording_parses_and_its_seconds_are_the_whole(name):
    result = parse(recorded(name))
    assert sum(result.whole.rcodes.values()) == result.whole.completed
    if name.startswith("2.14"):
        assert sum(second.sent for second in result.seconds) == result.whole.sent
        assert sum(second.completed for second in result.seconds) == result.whole.completed
        assert result.completed == ()
    else:
        assert sum(result.completed) == result.whole.completed
        assert result.seconds == ()


def test_a_good_trial_has_all_figures():
    measured = trial("2.14_good", Load(300, 3))
    assert (measured.attempted, measured.completed, measured.lost, measured.valid) == (
        900,
        897,
        3,
        True,
    )
    latency = measured.latency_s[STAGE]
    assert 0.00002 < latency.p50 < latency.p99 <= latency.max < 0.1
    assert [second.attempted for second in measured.per_second] == [301, 300, 296]
    assert all(second.p50_s <= second.p99_s for second in measured.per_second)


def test_an_older_version_reports_no_percentiles_and_half_of_the_seconds():
    measured = trial("2.10_good", Load(300, 3))
    assert (measured.attempted, measured.completed, measured.valid) == (900, 900, True)
    assert measured.latency_s == {STAGE: None}
    assert {second.attempted for second in measured.per_second} == {None}


@pytest.mark.parametrize(
    ("name", "load", "outstanding"),
    [
        ("2.14_dead", Load(300, 2), 50),
        ("2.10_stops", Load(2000, 3), 250),
    ],
)
def test_a_server_that_it_waits_for_has_failed_and_dnsperf_has_not(name, load, outstanding):
    """It sends a sixth of what was asked to a dead server, and waits for each fifty."""
    measured = trial(name, load, outstanding=outstanding)
    assert (measured.valid, measured.reason) == (True, "")
    assert measured.attempted == load.rate * load.duration_s
    assert measured.loss_ratio > 0.4
    assert sums_up(measured)


def test_too_much_for_the_server_is_its_failure():
    measured = trial("2.14_overload", Load(200_000, 2), outstanding=100)
    assert measured.valid
    # of what was answered, as many as may wait at once came after the traffic
    assert (measured.attempted, measured.completed, measured.late) == (400_000, 37_163, 100)


def test_a_generator_that_sends_too_little_although_nothing_waits_is_too_slow():
    measured = trial("2.14_good", Load(600, 3))
    assert (measured.reason, measured.attempted) == (GENERATOR_LIMITED, 897)


def test_a_generator_that_was_held_up_once_is_not_too_slow():
    seconds = tuple(
        Tally(sent=sent, completed=sent, lost=0, run_s=at, mean_latency_s=0.0001)
        for at, sent in enumerate([1000, 1000, 700], start=1)
    )
    whole = Tally(2700, 2700, 0, 3.0, 0.0001, {"NOERROR": 2700}, 107)
    made = reading("", Load(1000, 3))
    made.__dict__["output"] = Output(whole, seconds)
    assert made.trial(Seen(generator=QUIET)).reason == GENERATOR_STALLED


def test_a_server_that_refuses_fast_completes_nothing():
    measured = trial("2.10_refused", Load(1000, 2))
    assert measured.completed == 0
    assert measured.failures == {"REFUSED": measured.attempted - measured.lost}
    assert measured.loss_ratio == 1.0
    assert sums_up(measured)


def test_names_that_do_not_exist_are_expected_for_their_share():
    text = recorded("2.10_misses")
    load = Load(930, 2)
    wanted = reading(text, load, expected=Expected(0.1, 105))
    assert wanted.failures == {}
    none = reading(text, load, expected=Expected(0.0, 105))
    assert none.failures == {"NXDOMAIN": parse(text).whole.rcodes["NXDOMAIN"]}


def test_answers_of_another_size_make_a_pass_doubtful_and_no_failure():
    small = Expected(0.0, 60)
    assert trial("2.14_good", Load(300, 3), expected=small).reason == OTHER_ANSWERS
    assert trial("2.14_dead", Load(300, 2), expected=small, outstanding=50).valid


def test_answers_that_the_generators_host_dropped_explain_a_failure():
    made = reading(recorded("2.14_good"), Load(300, 3))
    whole = dataclasses.replace(made.output.whole, completed=797, lost=100)
    whole = dataclasses.replace(whole, rcodes={"NOERROR": 797}, histogram=None)
    made.__dict__["output"] = Output(whole, made.output.seconds)
    assert made.trial(Seen(generator=QUIET)).reason == ""
    dropped = HostUse(work_s=(0.003, 0.003), steal_s=0, throttled_s=0, receive_errors=100)
    assert made.trial(Seen(generator=dropped)).reason == GENERATOR_STALLED


def test_late_answers_are_those_beyond_the_limit_in_the_histogram():
    made = reading(recorded("2.14_good"), Load(300, 3), procedure={"late_s": 0.005})
    assert made.counts.slow == made.output.whole.later_than(0.005) > 0
    trial = made.trial(Seen(generator=QUIET))
    assert trial.completed == 897 - trial.late
    assert sums_up(trial)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "Testing complete (time limit)",
            "Testing complete (interrupted)",
            "its time was over",
        ),
        ("Response codes:       NOERROR 897", "Response codes:       NOERROR 896", "by RCODE"),
        ("Queries lost:         0 (0.00%)\n\n  Response codes:       NOERROR 897", "", "lost"),
        ("Run time (s):         3.000599", "Run time:", "Run time"),
    ],
)
def test_output_that_does_not_parse_is_an_error_and_no_loss(old, new, words):
    text = recorded("2.14_good").decode()
    assert old in text
    with pytest.raises(LeaselabError, match=words) as raised:
        parse(text.replace(old, new).encode())
    assert raised.value.outcome is Outcome.LAB


@given(st.integers(0, 4000))
def test_output_that_is_cut_short_is_an_error(length):
    with pytest.raises(LeaselabError):
        parse(recorded("2.14_good")[:length])


def test_the_probe_takes_the_size_of_answers_and_each_trial_is_held_to_it():
    bench = dns_bench()
    made = Dnsperf(bench, bench.procedure, Host(left(recorded("2.14_good"))))
    assert made.answers()
    assert made.offer(Load(300, 3), may_abort=True).expected == Expected(0.0, 107)


def test_a_server_that_answers_nothing_is_asked_a_few_times():
    bench = dns_bench()
    host = Host(left(recorded("2.14_dead")))
    assert not Dnsperf(bench, bench.procedure, host).answers()
    assert len(host.argvs) == PROBES


def test_the_probe_asks_whether_the_server_answers_and_not_how_fast():
    bench = dns_bench()
    host = Host(left(recorded("2.14_good")))
    made = Dnsperf(bench, structs.replace(bench.procedure, late_s=0.02), host)
    assert made.answers()
    made.offer(Load(300, 3), may_abort=True)
    assert [argv[argv.index("-t") + 1] for argv in host.argvs] == ["1", "0.02"]


def test_a_server_that_refuses_is_broken_and_says_how():
    bench = dns_bench()
    made = Dnsperf(bench, bench.procedure, Host(left(recorded("2.10_refused"))))
    with pytest.raises(LeaselabError, match="other RCODEs") as raised:
        made.answers()
    assert raised.value.outcome is Outcome.BUILD
    assert raised.value.found.startswith("REFUSED 2000")


@pytest.mark.parametrize(
    ("load", "procedure", "words"),
    [
        ({}, {"name": "burst"}, "dnsperf cannot offer queries in that way"),
        ({}, {"name": "event"}, "dnsperf cannot offer queries in that way"),
        ({"transport": "doh"}, {}, "does not send queries that way"),
        ({"misses": 1.5}, {}, "not a share"),
        ({"cache": "cold"}, {}, "would become warm"),
        ({"connections": "fresh", "transport": "tcp"}, {}, "does not send such queries"),
        ({"client_subnets": "10.0.0.0/8"}, {}, "does not send such queries"),
        ({"edns_bytes": 1232}, {}, "does not send EDNS of this size"),
        ({"queries_file": {"escaped": 1}}, {}, "another character"),
    ],
)
def test_what_queries_cannot_hold_is_refused(load, procedure, words):
    scenario = dns_bench(load=load).scenario
    with pytest.raises(LeaselabError, match=words):
        check_fits(scenario, procedure_of({"name": "max-rate", **procedure}))


def test_queries_go_over_ipv6_where_the_load_says_so():
    bench = dns_bench(load={"family": 6})
    own = structs.replace(bench.hosts[GENERATOR], test_address6="2001:2:0:1::30")
    bench = dataclasses.replace(bench, hosts={**bench.hosts, GENERATOR: own})
    argv = Dnsperf(bench, bench.procedure, Host()).command(Load(400, 1))
    assert argv[1:3] == ["-f", "inet6"]
    assert argv[argv.index("-a") + 1] == "2001:2:0:1::30"


def test_a_generator_without_ipv6_says_who_has_it():
    scenario = dns_bench("flame", load={"family": 6}).scenario
    with pytest.raises(LeaselabError, match="flame does not send such queries") as raised:
        check_fits(scenario, procedure_of({"name": "max-rate"}))
    assert raised.value.todo == "add --generator dnsperf or leaseload"
    check_fits(
        dns_bench("flame", load={"family": 4}).scenario, procedure_of({"name": "max-rate"})
    )


def test_it_is_the_adapter_of_its_name():
    assert adapter_of(dns_bench().scenario) is Dnsperf


def test_names_repeated_is_a_doubt_of_a_cold_cache():
    bench = dns_bench(load={"cache": "cold", "queries": 500})
    made = DnsperfReading(
        bench, bench.procedure, Load(300, 3), (), left(recorded("2.14_good")), Expected(0.0)
    )
    assert made.trial(Seen(generator=QUIET)).reason == NAMES_REPEATED
