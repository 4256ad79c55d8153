"""flame's command line, its recorded output read critically, and dnsperf as its proof.

The recordings in tests/data/flame are whole outputs of Flamethrower 0.12.0, built on Debian 13,
against NSD 4.12 with 1000 delegations on one host: the name of each says what the server did.
"""

import json

import pytest
from msgspec import structs
from tests.dns import DATA, PROOF, STAGE, Host, dns_bench, left, sums_up

from leaselab.measure.generators import adapter_of, check_fits
from leaselab.measure.generators.adapter import GENERATOR_STALLED, Seen
from leaselab.measure.generators.dns.answers import NAMES_REPEATED, Expected
from leaselab.measure.generators.dnsperf.command import DnsperfReading
from leaselab.measure.generators.flame.command import Flame, FlameReading
from leaselab.measure.generators.flame.output import parse
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures import procedure_of
from leaselab.model.record import GENERATOR_LIMITED
from leaselab.model.trial import HostUse, Load

QUIET = HostUse(work_s=(0.003, 0.003), steal_s=0, throttled_s=0, receive_errors=0)


def recorded(name):
    return (DATA / "flame" / f"{name}.jsonl").read_bytes()


def bench(**how):
    settings = {"senders": 10, "batch": 10, "proof": PROOF}
    return dns_bench("flame", settings=settings, **how)


def adapter(*outputs, **how):
    made, host = bench(**how), Host(*outputs)
    return Flame(made, made.procedure, host), host


def trial(text, load, *, misses=0.0, host=QUIET):
    made = bench()
    output = left(text if isinstance(text, bytes) else recorded(text))
    reading = FlameReading(made, made.procedure, load, (), output, Expected(misses))
    return reading.trial(Seen(generator=host))


def test_the_command_line_is_a_flow_whose_first_part_is_the_lead():
    made, host = adapter(left(recorded("good")))
    made.offer(Load(1000, 3), may_abort=True)
    assert " ".join(host.argvs[0]) == (
        "/usr/bin/flame -v 0 -o /dev/stdout -F inet -P udp -b 198.18.0.30 -p 53 "
        "-f /var/lib/q.txt -c 10 -q 10 -d 1 -t 1 -l 5 --qps-flow 10,2000;1000,3000 198.18.0.10"
    )


@pytest.mark.parametrize(("rate", "asked"), [(1, 10), (1005, 1010), (2000, 2000)])
def test_a_rate_is_that_of_all_senders_and_none_of_it_is_lost_by_dividing(rate, asked):
    made, _ = adapter(b"")
    argv = made.command(Load(rate, 5))
    assert argv[argv.index("--qps-flow") + 1] == f"10,2000;{asked},5000"


@pytest.mark.parametrize(
    ("name", "load", "counts", "seconds"),
    [
        ("good", Load(1000, 3), (3000, 3000, 0), [990, 1000, 1010]),
        ("dead", Load(500, 2), (1000, 0, 1000), [0, 0]),
        ("refused", Load(1000, 2), (2000, 0, 10), [990, 1000]),
        ("stops", Load(1000, 4), (4000, 1490, 2510), [990, 500, 0, 0]),
    ],
)
def test_a_trial_has_the_counts_of_each_second_and_no_latency(name, load, counts, seconds):
    """What nobody answers is lost, and flame sends on."""
    measured = trial(name, load)
    assert measured.valid
    assert (measured.attempted, measured.completed, measured.lost) == counts
    assert [second.completed for second in measured.per_second] == seconds
    assert measured.failures == ({"REFUSED": 1990} if name == "refused" else {})
    assert measured.latency_s == {STAGE: None}


def test_a_time_in_which_an_answer_must_come_is_whole_seconds_to_flame():
    made, _ = adapter(b"", procedure={"late_s": 1.5, "wait_s": 2.0})
    argv = made.command(Load(1000, 5))
    assert argv[argv.index("-t") + 1] == "2"


def test_a_flow_keeps_each_of_its_rates():
    """Three seconds each of 500/s, 2000/s and 8000/s, within a report's few milliseconds."""
    sent = [second.queries for second in parse(recorded("flow"), 9).seconds]
    for at, rate in enumerate([500, 2000, 8000]):
        assert sum(sent[3 * at : 3 * at + 3]) == pytest.approx(3 * rate, rel=0.005)


def test_a_load_of_a_part_of_the_flow_counts_from_where_that_begins():
    """What was sent before is the lead's, and what came for it as well."""
    whole = parse(recorded("flow"), 3).whole
    assert (whole.seconds, whole.queries, whole.responses) == (3, 23_984, 23_984)
    assert whole.rcodes == {"NOERROR": 23_984}


def test_names_that_do_not_exist_are_expected_for_their_share():
    assert trial("misses", Load(1000, 2), misses=0.1).failures == {}
    assert trial("misses", Load(1000, 2)).failures.keys() == {"NXDOMAIN"}


def test_a_server_that_stalls_for_a_moment_shows_it_second_by_second():
    """Answers that come up to a second after the time-out count: flame says no more of them."""
    measured = trial("stands", Load(1000, 4))
    assert [second.completed for second in measured.per_second] == [996, 192, 660, 1000]
    assert measured.loss_ratio == pytest.approx(0.288, abs=0.001)


def test_a_generator_that_sends_too_little_is_limited():
    measured = trial("overload", Load(90_000, 2))
    assert (measured.reason, measured.attempted) == (GENERATOR_LIMITED, 146_180)


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ({}, ""),
        ({"receive_errors": 19_320}, GENERATOR_STALLED),
        ({"receive_errors": 300}, ""),
        ({"steal_s": 1.2}, GENERATOR_STALLED),
        ({"steal_s": 0.5}, ""),
    ],
)
def test_answers_that_the_host_dropped_or_held_up_are_no_loss_of_the_server(host, reason):
    use = structs.replace(QUIET, **host)
    assert trial("overload", Load(73_000, 2), host=use).reason == reason


@pytest.mark.parametrize(("queries", "reason"), [(31_480, ""), (31_479, NAMES_REPEATED)])
def test_what_the_lead_asked_for_is_no_longer_cold(queries, reason):
    """The last part of a flow that has sent 7496 queries before it."""
    made = bench(load={"cache": "cold", "queries": queries})
    reading = FlameReading(
        made, made.procedure, Load(7995, 3), (), left(recorded("flow")), Expected(0.0)
    )
    trial = reading.trial(Seen(generator=QUIET))
    assert (trial.attempted, trial.reason) == (23_984, reason)


def test_packets_that_it_failed_to_send_explain_a_loss():
    text = changed("stops", total_net_errors=3)
    assert trial(text, Load(1000, 4)).reason == GENERATOR_STALLED


@pytest.mark.parametrize(
    "name", ["dead", "good", "misses", "overload", "refused", "stands", "stops"]
)
def test_every_trial_sums_up(name):
    header = json.loads(recorded(name).splitlines()[0])
    rate, length_ms = header["cmdline"].split(";")[1].split(" ")[0].split(",")
    measured = trial(name, Load(int(rate), int(length_ms) // 1000))
    assert sums_up(measured)
    left_out = measured.attempted - sum(second.attempted for second in measured.per_second)
    assert 0 <= left_out <= 0.01 * measured.attempted, "due, and not begun"
    assert measured.duration_s == len(measured.per_second)


def test_a_result_is_confirmed_and_a_server_probed_by_dnsperf():
    answer = left((DATA / "dnsperf" / "2.14_good.txt").read_bytes())
    made, host = adapter(answer)
    assert made.answers()
    proof = made.offer(Load(300, 3, proof=True), may_abort=True)
    assert isinstance(proof, DnsperfReading)
    assert {argv[0] for argv in host.argvs} == {"/usr/bin/dnsperf"}
    assert proof.trial(Seen()).latency_s[STAGE].p99 < 0.1


def test_a_query_file_that_takes_too_long_to_read_is_a_broken_lab_and_no_loss():
    """A million lines took it fifteen seconds: it sent nothing, and ended well."""
    made, _ = adapter(left(recorded("slow_start")))
    with pytest.raises(LeaselabError, match="still read its query file") as raised:
        made.offer(Load(1000, 3), may_abort=True).trial(Seen())
    assert raised.value.outcome is Outcome.LAB


def test_a_flame_that_cannot_begin_is_a_broken_lab_and_says_why():
    made, _ = adapter(left(b"", 1, "generator error: unable to open /var/lib/q.txt"))
    with pytest.raises(LeaselabError, match="unable to open") as raised:
        made.offer(Load(1000, 3), may_abort=True).trial(Seen())
    assert raised.value.outcome is Outcome.LAB


def changed(name="good", **entries):
    """A recording with these fields of its last report changed; None removes one."""
    *lines, end = recorded(name).splitlines()
    document = {**json.loads(end), **entries}
    kept = {key: value for key, value in document.items() if value is not None}
    return b"\n".join([*lines, json.dumps(kept).encode()])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "does not parse"),
        (recorded("good")[:-40], "does not parse"),
        (recorded("good").splitlines()[0], "0 reports of all senders"),
        (b"\n".join(recorded("good").splitlines()[1:]), "does not parse: KeyError"),
        (b"[]", "does not parse"),
        (changed(total_r_count=2999), "by RCODE"),
        (changed(total_responses={"NOERROR": 3001}, total_r_count=3001), "more responses"),
        (changed(total_responses={"NOERROR": 900}, total_r_count=900), "go back"),
        (changed(total_bad_count=None), "does not parse: KeyError"),
    ],
)
def test_output_that_does_not_parse_is_an_error_and_no_loss(text, words):
    with pytest.raises(LeaselabError, match=words) as raised:
        parse(text, 3)
    assert raised.value.outcome is Outcome.LAB


@pytest.mark.parametrize(
    "procedure", [{"name": "max-rate"}, {"name": "ramp", "rates": (1000, 2000), "step_s": 10}]
)
def test_it_searches_and_ramps(procedure):
    scenario = bench().scenario
    assert adapter_of(scenario) is Flame
    check_fits(scenario, procedure_of(procedure))


@pytest.mark.parametrize(
    ("load", "procedure", "words"),
    [
        (
            {},
            {"name": "fixed-load", "rate": 1000},
            "cannot offer queries .* wanted max-rate or ramp",
        ),
        ({}, {"name": "burst"}, "cannot offer queries in that way"),
        ({"transport": "tcp"}, {}, "does not send queries that way"),
        ({"transport": "dot"}, {}, "does not send queries that way"),
    ],
)
def test_what_it_cannot_do_is_refused(load, procedure, words):
    scenario = bench(load=load).scenario
    with pytest.raises(LeaselabError, match=words) as raised:
        check_fits(scenario, procedure_of({"name": "max-rate", **procedure}))
    assert raised.value.outcome is Outcome.USAGE
