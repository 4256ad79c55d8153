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
from tests.dns import DATA, SETTINGS, STAGE, Host, dns_bench, left, sums_up
from tests.refusals import refused

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
from leaselab.model.errors import Outcome
from leaselab.model.procedures import procedure_of
from leaselab.model.record import GENERATOR, GENERATOR_LIMITED
from leaselab.model.trial import HostUse, Load

QUIET = HostUse(work_s=(0.003, 0.003), steal_s=0, throttled_s=0, receive_errors=0)
REFERRALS = Expected(0.0, 107)
"""Every name is delegated, and an answer of the recordings has 107 bytes."""
ALL = sorted(path.stem for path in (DATA / "dnsperf").glob("*.txt"))


def recorded(name):
    return (DATA / "dnsperf" / f"{name}.txt").read_bytes()


def reading(text, asked, *, expected=REFERRALS, outstanding=250, **bench):
    made = dns_bench(settings={**SETTINGS, "outstanding": outstanding}, **bench)
    return DnsperfReading(made, made.procedure, asked, ("dnsperf",), left(text), expected)


def trial(name, asked, **how):
    return reading(recorded(name), asked, **how).trial(Seen(generator=QUIET))


def command(asked, **bench):
    made = dns_bench(**bench)
    return Dnsperf(made, made.procedure, Host(b"")).command(asked)


def test_the_command_line_of_a_rate():
    assert " ".join(command(Load(300, 3))) == (
        "/usr/bin/dnsperf -f inet -m udp -s 198.18.0.10 -p 53 -a 198.18.0.30 -d /var/lib/q.txt "
        "-c 1 -T 1 -q 60000 -l 3 -t 1 -S 0.1 -Q 300 -O latency-histogram "
        "-O verbose-interval-stats"
    )


def test_queries_over_tls_have_another_port():
    argv = command(Load(100, 30), load={"transport": "dot"})
    assert argv[argv.index("-S") + 1] == "1"
    words = " ".join(argv[argv.index("-m") + 1 : argv.index("-a")])
    assert words == "dot -s 198.18.0.10 -p 853"


OWN = {"query_file": "a" * 64, "edns_bytes": 4096, "dnssec_ok": True}


def test_a_users_own_queries_may_have_edns_and_answers_of_either_kind_and_any_size():
    assert {"-e", "-D"} <= set(command(Load(300, 3), load=OWN))
    expected = expected_of(dns_bench(load=OWN).scenario)
    assert expected.failures({"NOERROR": 5, "NXDOMAIN": 90, "REFUSED": 2}) == {"REFUSED": 2}
    assert dataclasses.replace(expected, answer_bytes=100).same_size(400)
    with refused("other RCODEs", Outcome.BUILD) as caught:
        expected.check_probe({"REFUSED": 5, "NOERROR": 5}, "server")
    assert caught.value.wanted == "NOERROR or NXDOMAIN"


@pytest.mark.parametrize("name", ALL)
def test_every_recording_parses_and_its_seconds_are_the_whole(name):
    result = parse(recorded(name))
    whole, seconds = result.whole, result.seconds
    assert sum(whole.rcodes.values()) == whole.completed
    assert bool(seconds) == name.startswith("2.14") != bool(result.completed)
    if seconds:
        assert sum(second.sent for second in seconds) == whole.sent
    parts = [second.completed for second in seconds] or result.completed
    assert sum(parts) == whole.completed


@pytest.mark.parametrize(
    ("name", "load", "outstanding", "counts", "reason"),
    [
        ("2.14_good", Load(300, 3), 250, (900, 897, 0, 3), ""),
        ("2.10_good", Load(300, 3), 250, (900, 900, 0, 0), ""),
        # a server that it waits for has failed, and dnsperf has not: it sends a sixth of what
        # was asked to a dead server, and waits for each fifty
        ("2.14_dead", Load(300, 2), 50, (600, 0, 0, 600), ""),
        ("2.10_stops", Load(2000, 3), 250, (6000, 3390, 0, 2610), ""),
        # of what was answered, as many as may wait at once came after the traffic
        ("2.14_overload", Load(200_000, 2), 100, (400_000, 37_163, 100, 362_737), ""),
        ("2.10_refused", Load(1000, 2), 250, (2000, 0, 0, 0), ""),
        # it sends too little although nothing waits
        ("2.14_good", Load(600, 3), 250, (897, 897, 0, 0), GENERATOR_LIMITED),
    ],
)
def test_a_trial_has_the_counts_of_its_recording(*, name, load, outstanding, counts, reason):
    made = trial(name, load, outstanding=outstanding)
    assert (made.attempted, made.completed, made.late, made.lost) == counts
    assert (made.valid, made.reason) == (not reason, reason)
    assert made.failures == ({"REFUSED": 2000} if name.endswith("refused") else {})
    assert sums_up(made)


def test_a_good_trial_has_latencies_and_seconds_but_for_older_versions():
    measured, older = (trial(name, Load(300, 3)) for name in ("2.14_good", "2.10_good"))
    latency = measured.latency_s[STAGE]
    assert 0.00002 < latency.p50 < latency.p99 <= latency.max < 0.1
    assert [second.attempted for second in measured.per_second] == [301, 300, 296]
    assert all(second.p50_s <= second.p99_s for second in measured.per_second)
    assert older.latency_s == {STAGE: None}
    assert {second.attempted for second in older.per_second} == {None}


def test_a_generator_that_was_held_up_once_is_not_too_slow():
    seconds = tuple(
        Tally(sent=sent, completed=sent, lost=0, run_s=at, mean_latency_s=0.0001)
        for at, sent in enumerate([1000, 1000, 700], start=1)
    )
    whole = Tally(2700, 2700, 0, 3.0, 0.0001, {"NOERROR": 2700}, 107)
    made = reading("", Load(1000, 3))
    made.__dict__["output"] = Output(whole, seconds)
    assert made.trial(Seen(generator=QUIET)).reason == GENERATOR_STALLED


def test_names_that_do_not_exist_are_expected_for_their_share():
    text, load = recorded("2.10_misses"), Load(930, 2)
    assert reading(text, load, expected=Expected(0.1, 105)).failures == {}
    none = reading(text, load, expected=Expected(0.0, 105))
    assert none.failures == {"NXDOMAIN": parse(text).whole.rcodes["NXDOMAIN"]}


def test_answers_of_another_size_make_a_pass_doubtful_and_no_failure():
    small = Expected(0.0, 60)
    assert trial("2.14_good", Load(300, 3), expected=small).reason == OTHER_ANSWERS
    assert trial("2.14_dead", Load(300, 2), expected=small, outstanding=50).valid


def test_answers_that_the_generators_host_dropped_explain_a_failure():
    made = reading(recorded("2.14_good"), Load(300, 3))
    fewer = {"completed": 797, "lost": 100, "rcodes": {"NOERROR": 797}, "histogram": None}
    whole = dataclasses.replace(made.output.whole, **fewer)
    made.__dict__["output"] = Output(whole, made.output.seconds)
    dropped = structs.replace(QUIET, receive_errors=100)
    reasons = [made.trial(Seen(generator=host)).reason for host in (QUIET, dropped)]
    assert reasons == ["", GENERATOR_STALLED]


def test_late_answers_are_those_beyond_the_limit_in_the_histogram():
    made = reading(recorded("2.14_good"), Load(300, 3), procedure={"late_s": 0.005})
    assert made.counts.slow == made.output.whole.later_than(0.005) > 0
    trial = made.trial(Seen(generator=QUIET))
    assert trial.completed == 897 - trial.late
    assert sums_up(trial)


CODES = "Response codes:       NOERROR 897"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("complete (time limit)", "complete (interrupted)", "its time was over"),
        (CODES, CODES.replace("897", "896"), "by RCODE"),
        (f"Queries lost:         0 (0.00%)\n\n  {CODES}", "", "lost"),
        ("Run time (s):         3.000599", "Run time:", "Run time"),
    ],
)
def test_output_that_does_not_parse_is_an_error_and_no_loss(old, new, words):
    text = recorded("2.14_good").decode()
    assert old in text
    with refused(words, Outcome.LAB):
        parse(text.replace(old, new).encode())


@given(st.integers(0, 4000))
def test_output_that_is_cut_short_is_an_error(length):
    with refused(outcome=Outcome.LAB):
        parse(recorded("2.14_good")[:length])


def probed(name, **procedure):
    bench, host = dns_bench(procedure=procedure), Host(left(recorded(name)))
    return Dnsperf(bench, bench.procedure, host), host


def test_the_probe_takes_the_size_of_answers_and_asks_not_how_fast_they_come():
    """Each trial is held to that size."""
    made, host = probed("2.14_good", late_s=0.02)
    assert made.answers()
    assert made.offer(Load(300, 3), may_abort=True).expected == Expected(0.0, 107)
    assert [argv[argv.index("-t") + 1] for argv in host.argvs] == ["1", "0.02"]


def test_a_server_that_answers_nothing_is_asked_a_few_times():
    made, host = probed("2.14_dead")
    assert not made.answers()
    assert len(host.argvs) == PROBES


def test_a_server_that_refuses_is_broken_and_says_how():
    made, _ = probed("2.10_refused")
    with refused("other RCODEs .*found REFUSED 2000", Outcome.BUILD):
        made.answers()


@pytest.mark.parametrize(
    ("load", "procedure", "words"),
    [
        ({}, "burst", "dnsperf cannot offer queries in that way"),
        ({}, "event", "dnsperf cannot offer queries in that way"),
        ({"transport": "doh"}, "max-rate", "does not send queries that way"),
        ({"misses": 1.5}, "max-rate", "not a share"),
        ({"cache": "cold"}, "max-rate", "would become warm"),
        (
            {"connections": "fresh", "transport": "tcp"},
            "max-rate",
            "does not send such queries",
        ),
        ({"client_subnets": "10.0.0.0/8"}, "max-rate", "does not send such queries"),
        ({"edns_bytes": 1232}, "max-rate", "does not send EDNS of this size"),
        ({"queries_file": {"escaped": 1}}, "max-rate", "another character"),
    ],
)
def test_what_queries_cannot_hold_is_refused(load, procedure, words):
    scenario = dns_bench(load=load).scenario
    assert adapter_of(scenario) is Dnsperf
    with refused(words):
        check_fits(scenario, procedure_of({"name": procedure}))


def test_queries_go_over_ipv6_where_the_load_says_so():
    bench = dns_bench(load={"family": 6})
    own = structs.replace(bench.hosts[GENERATOR], test_address6="2001:2:0:1::30")
    bench = dataclasses.replace(bench, hosts={**bench.hosts, GENERATOR: own})
    argv = Dnsperf(bench, bench.procedure, Host()).command(Load(400, 1))
    assert argv[1:3] == ["-f", "inet6"]
    assert argv[argv.index("-a") + 1] == "2001:2:0:1::30"


def test_a_generator_without_ipv6_says_who_has_it():
    four, six = (dns_bench("flame", load={"family": of}).scenario for of in (4, 6))
    with refused("flame does not send such queries") as caught:
        check_fits(six, procedure_of({}))
    assert caught.value.todo == "add --generator dnsperf or leaseload"
    check_fits(four, procedure_of({}))


def test_names_repeated_is_a_doubt_of_a_cold_cache():
    cold = {"cache": "cold", "queries": 500}
    made = trial("2.14_good", Load(300, 3), expected=Expected(0.0), load=cold)
    assert made.reason == NAMES_REPEATED
