"""flame's command line, its recorded output read critically, and dnsperf as its proof.

The recordings in tests/data/flame are whole outputs of Flamethrower 0.12.0, built on Debian 13,
against NSD 4.12 with 1000 delegations on one host: the name of each says what the server did.
"""

import json

import pytest
from msgspec import structs
from tests.dns import DATA, PROOF, STAGE, Host, dns_bench, left, sums_up
from tests.refusals import refused

from leaselab.measure.generators import adapter_of, check_fits
from leaselab.measure.generators.adapter import GENERATOR_STALLED, Seen
from leaselab.measure.generators.dns.answers import NAMES_REPEATED, Expected
from leaselab.measure.generators.dnsperf.command import DnsperfReading
from leaselab.measure.generators.flame.command import Flame, FlameReading
from leaselab.measure.generators.flame.output import parse
from leaselab.model.errors import Outcome
from leaselab.model.procedures import procedure_of
from leaselab.model.record import GENERATOR_LIMITED
from leaselab.model.trial import HostUse, Load

QUIET = HostUse(work_s=(0.003, 0.003), steal_s=0, throttled_s=0, receive_errors=0)


def recorded(name):
    return (DATA / "flame" / f"{name}.jsonl").read_bytes()


def changed(name="good", **entries):
    """A recording with these fields of its last report changed; None removes one."""
    *lines, end = recorded(name).splitlines()
    document = {**json.loads(end), **entries}
    kept = {key: value for key, value in document.items() if value is not None}
    return b"\n".join([*lines, json.dumps(kept).encode()])


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


def command(asked, **how):
    return adapter(b"", **how)[0].command(asked)


def test_the_command_line_is_a_flow_whose_first_part_is_the_lead():
    assert " ".join(command(Load(1000, 3))) == (
        "/usr/bin/flame -v 0 -o /dev/stdout -F inet -P udp -b 198.18.0.30 -p 53 "
        "-f /var/lib/q.txt -c 10 -q 10 -d 1 -t 1 -l 5 --qps-flow 10,2000;1000,3000 198.18.0.10"
    )


@pytest.mark.parametrize(("rate", "asked"), [(1, 10), (1005, 1010), (2000, 2000)])
def test_a_rate_is_that_of_all_senders_and_none_of_it_is_lost_by_dividing(rate, asked):
    """The time in which an answer must come is whole seconds to flame."""
    argv = command(Load(rate, 5), procedure={"late_s": 1.5, "wait_s": 2.0})
    assert argv[argv.index("--qps-flow") + 1] == f"10,2000;{asked},5000"
    assert argv[argv.index("-t") + 1] == "2"


@pytest.mark.parametrize(
    ("name", "load", "counts", "seconds"),
    [
        ("good", Load(1000, 3), (3000, 3000, 0), [990, 1000, 1010]),
        ("dead", Load(500, 2), (1000, 0, 1000), [0, 0]),
        ("refused", Load(1000, 2), (2000, 0, 10), [990, 1000]),
        ("misses", Load(1000, 2), (2000, 1791, 10), [990, 1000]),
        ("stops", Load(1000, 4), (4000, 1490, 2510), [990, 500, 0, 0]),
        # answers that come up to a second after the time-out count: flame says no more of them
        ("stands", Load(1000, 4), (4000, 2848, 1152), [996, 192, 660, 1000]),
        # it sends too little
        ("overload", Load(90_000, 2), (146_180, 126_860, 19_320), [58_571, 68_289]),
    ],
)
def test_a_trial_has_the_counts_of_each_second_and_no_latency(name, load, counts, seconds):
    """What nobody answers is lost, and flame sends on."""
    measured = trial(name, load)
    assert measured.reason == (GENERATOR_LIMITED if name == "overload" else "")
    assert (measured.attempted, measured.completed, measured.lost) == counts
    assert [second.completed for second in measured.per_second] == seconds
    failed = {"refused": {"REFUSED": 1990}, "misses": {"NXDOMAIN": 199}}
    assert measured.failures == failed.get(name, {})
    assert sums_up(measured)
    left_out = measured.attempted - sum(second.attempted for second in measured.per_second)
    assert 0 <= left_out <= 0.01 * measured.attempted, "due, and not begun"
    assert measured.latency_s == {STAGE: None}


def test_a_load_of_a_part_of_the_flow_counts_from_where_that_begins():
    """What was sent before is the lead's, and what came for it as well."""
    whole = parse(recorded("flow"), 3).whole
    assert (whole.seconds, whole.queries, whole.responses) == (3, 23_984, 23_984)
    assert whole.rcodes == {"NOERROR": 23_984}


def test_names_that_do_not_exist_are_expected_for_their_share():
    assert trial("misses", Load(1000, 2), misses=0.1).failures == {}


@pytest.mark.parametrize(
    ("text", "load", "host", "reason"),
    [
        ("overload", Load(73_000, 2), {}, ""),
        ("overload", Load(73_000, 2), {"receive_errors": 19_320}, GENERATOR_STALLED),
        ("overload", Load(73_000, 2), {"receive_errors": 300}, ""),
        ("overload", Load(73_000, 2), {"steal_s": 1.2}, GENERATOR_STALLED),
        ("overload", Load(73_000, 2), {"steal_s": 0.5}, ""),
        # packets that it failed to send explain a loss
        (changed("stops", total_net_errors=3), Load(1000, 4), {}, GENERATOR_STALLED),
    ],
)
def test_what_the_generator_or_its_host_dropped_is_no_loss_of_the_server(
    text, load, host, reason
):
    assert trial(text, load, host=structs.replace(QUIET, **host)).reason == reason


@pytest.mark.parametrize(("queries", "reason"), [(31_480, ""), (31_479, NAMES_REPEATED)])
def test_what_the_lead_asked_for_is_no_longer_cold(queries, reason):
    """The last part of a flow that has sent 7496 queries before it."""
    made = bench(load={"cache": "cold", "queries": queries})
    reading = FlameReading(
        made, made.procedure, Load(7995, 3), (), left(recorded("flow")), Expected(0.0)
    )
    trial = reading.trial(Seen(generator=QUIET))
    assert (trial.attempted, trial.reason) == (23_984, reason)


def test_a_result_is_confirmed_and_a_server_probed_by_dnsperf():
    answer = left((DATA / "dnsperf" / "2.14_good.txt").read_bytes())
    made, host = adapter(answer)
    assert made.answers()
    proof = made.offer(Load(300, 3, proof=True), may_abort=True)
    assert isinstance(proof, DnsperfReading)
    assert {argv[0] for argv in host.argvs} == {"/usr/bin/dnsperf"}
    assert proof.trial(Seen()).latency_s[STAGE].p99 < 0.1


@pytest.mark.parametrize(
    ("output", "words"),
    [
        # a million lines took it fifteen seconds: it sent nothing, and ended well
        (left(recorded("slow_start")), "still read its query file"),
        (left(b"", 1, "generator error: unable to open /var/lib/q.txt"), "unable to open"),
    ],
)
def test_a_flame_that_cannot_begin_is_a_broken_lab_and_says_why(output, words):
    made, _ = adapter(output)
    with refused(words, Outcome.LAB):
        made.offer(Load(1000, 3), may_abort=True).trial(Seen())


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
    with refused(words, Outcome.LAB):
        parse(text, 3)


@pytest.mark.parametrize("name", ["max-rate", "ramp"])
def test_it_searches_and_ramps(name):
    scenario = bench().scenario
    assert adapter_of(scenario) is Flame
    check_fits(scenario, procedure_of({"name": name}))


@pytest.mark.parametrize(
    ("load", "procedure", "words"),
    [
        ({}, "fixed-load", "cannot offer queries .* wanted max-rate or ramp"),
        ({}, "burst", "cannot offer queries in that way"),
        ({"transport": "tcp"}, "max-rate", "does not send queries that way"),
        ({"transport": "dot"}, "max-rate", "does not send queries that way"),
    ],
)
def test_what_it_cannot_do_is_refused(load, procedure, words):
    with refused(words):
        check_fits(bench(load=load).scenario, procedure_of({"name": procedure}))
