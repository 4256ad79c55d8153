"""kxdpgun's command line, its recorded output read critically, and dnsperf as its proof.

The recordings in tests/data/kxdpgun are whole outputs of kxdpgun 3.4.6 for 2 s from a Docker
container, in copy mode on its veth, against BIND 9.20 with 1000 delegations.
"""

import json

import pytest
from tests.dns import DATA, PROOF, STAGE, Host, dns_bench, left

from leaselab.measure.generators import adapter_of, check_fits
from leaselab.measure.generators.adapter import Seen
from leaselab.measure.generators.dns_answers import Expected
from leaselab.measure.generators.dnsperf import DnsperfReading
from leaselab.measure.generators.kxdpgun import Kxdpgun, KxdpgunReading, parse
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures import procedure_of
from leaselab.model.record import GENERATOR_LIMITED
from leaselab.model.trial import Load

LOAD = Load(1000, 2)
DENIED = "error: failed to initialize XDP socket#0 on interface eth1 (program not loaded)"


def recorded(name):
    return (DATA / "kxdpgun" / f"{name}.json").read_bytes()


def bench(**how):
    settings = {"mode": "copy", "batch": 10, "proof": PROOF}
    return dns_bench("kxdpgun", settings=settings, **how)


def adapter(*outputs, **how):
    made, host = bench(**how), Host(*outputs)
    return Kxdpgun(made, made.procedure, host), host


def trial(name, load=LOAD, misses=0.0):
    made = bench()
    return KxdpgunReading(
        made, made.procedure, load, (), left(recorded(name)), Expected(misses)
    ).trial(Seen())


def test_the_command_line_names_the_test_interface():
    made, host = adapter(left(recorded("good")))
    made.offer(LOAD, may_abort=True)
    assert " ".join(host.argvs[0]) == (
        "/usr/bin/kxdpgun -j -S 1000 -m copy -b 10 -I eth1 -l 198.18.0.30 -t 2 -Q 1000 "
        "-i /var/lib/q.txt 198.18.0.10"
    )


def test_a_good_trial_has_counts_and_no_latency():
    measured = trial("good")
    assert (measured.attempted, measured.completed, measured.lost, measured.valid) == (
        2010,
        2010,
        0,
        True,
    )
    assert measured.latency_s == {STAGE: None}
    assert [second.attempted for second in measured.per_second] == [1010, 1000]
    assert measured.completed_rate == pytest.approx(1005, rel=0.01)


def test_what_nobody_answers_is_lost_although_it_calls_nothing_lost():
    measured = trial("dead")
    assert (measured.attempted, measured.completed, measured.lost) == (2000, 0, 2000)
    assert measured.valid


def test_a_server_that_refuses_completes_nothing():
    measured = trial("refused")
    assert (measured.completed, measured.failures) == (0, {"REFUSED": 2010})


def test_names_that_do_not_exist_are_expected_for_their_share():
    assert trial("misses", misses=0.1).failures == {}
    assert trial("misses").failures.keys() == {"NXDOMAIN"}


def test_a_generator_that_sends_too_little_is_limited():
    measured = trial("overload", Load(60_000, 2))
    assert (measured.reason, measured.attempted) == (GENERATOR_LIMITED, 38_480)


def test_a_result_is_confirmed_and_a_server_probed_by_dnsperf():
    answer = left((DATA / "dnsperf" / "2.14_good.txt").read_bytes())
    made, host = adapter(answer)
    assert made.answers()
    proof = made.offer(Load(300, 3, proof=True), may_abort=True)
    assert isinstance(proof, DnsperfReading)
    assert {argv[0] for argv in host.argvs} == {"/usr/bin/dnsperf"}
    assert "/var/lib/q.txt" in host.argvs[0]
    trial = proof.trial(Seen())
    assert trial.valid
    assert trial.latency_s[STAGE].p99 < 0.1


def test_a_host_that_lets_it_send_nothing_is_a_broken_lab_and_says_why():
    made, _ = adapter(left("[\n]\n", error=f"libbpf: denied\n{DENIED}\n"))
    with pytest.raises(LeaselabError, match="program not loaded") as raised:
        made.offer(LOAD, may_abort=True).trial(Seen())
    assert raised.value.outcome is Outcome.LAB


def changed(**entries):
    """The good recording with these fields of its sum changed."""
    document = json.loads(recorded("good"))
    document[-1] |= entries
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "does not parse"),
        (recorded("good")[:-40], "does not parse"),
        (b"{}", "no entry 'stats_sum'"),
        (changed(responses=2009), "by RCODE"),
        (changed(queries=2000), "more responses"),
        (changed(queries=None), "does not parse"),
    ],
)
def test_output_that_does_not_parse_is_an_error_and_no_loss(text, words):
    with pytest.raises(LeaselabError, match=words) as raised:
        parse(text)
    assert raised.value.outcome is Outcome.LAB


@pytest.mark.parametrize(
    ("load", "procedure", "words"),
    [
        ({}, {"name": "fixed-load", "rate": 1000}, "cannot offer queries in that way"),
        ({}, {"name": "flood"}, "cannot offer queries in that way"),
        ({"transport": "tcp"}, {}, "does not send queries that way"),
    ],
)
def test_what_it_cannot_do_is_refused(load, procedure, words):
    scenario = bench(load=load).scenario
    assert adapter_of(scenario) is Kxdpgun
    with pytest.raises(LeaselabError, match=words):
        check_fits(scenario, procedure_of({"name": "max-rate", **procedure}))
