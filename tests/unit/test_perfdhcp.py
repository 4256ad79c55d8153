"""perfdhcp's command line, and its recorded output read critically.

The recordings in tests/data/perfdhcp are whole outputs of perfdhcp 2.6 at 300
exchanges/s for 2 s, and of 400 and 700 clients that begin at once, the latter stopped after
1 s.
"""

import gzip
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from benchmarks._packets import perfdhcp_text
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as change
from tests.bench_document import DOCUMENT

from leaselab.lab.bench_file import parse_bench
from leaselab.measure.generators import perfdhcp, perfdhcp_output, perfdhcp_reading
from leaselab.measure.generators.adapter import GENERATOR_LIMITED, GENERATOR_STALLED, Seen
from leaselab.measure.generators.dhcp_load import REJECTED
from leaselab.measure.generators.perfdhcp import Perfdhcp
from leaselab.measure.generators.perfdhcp_output import Output, Stage
from leaselab.measure.generators.transactions import Transactions
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.load import Load
from leaselab.model.observation import Generated
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.event import Event
from leaselab.model.procedures.fill import Fill
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.flood import Flood
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.ramp import Ramp
from leaselab.model.record import Scenario
from leaselab.model.trial import WHOLE, HostUse

DATA = Path(__file__).parents[1] / "data" / "perfdhcp"
LATE_S = 2.0
RATE = 300
LOAD = Load(RATE, 2)
PROCEDURE = MaxRate(wait_s=2.0, late_s=2.0)
MICROSECONDS_A_DAY = 24 * 3600 * 10**6


def recorded(name):
    return (DATA / f"{name}.txt").read_bytes()


def document(pairs, *, sent=None, second=((0, 1),)):
    """An output whose first stage has these (sent, received) times (us), or text lines."""

    def stage(name, times, sent_packets):
        return (
            f"***Statistics for: {name}***\nsent packets: {sent_packets}\n"
            f"received packets: {len(times)}\nrejected leases: 0\nnon unique addresses: 0\n\n"
        )

    def stamps(name, times):
        lines = "".join(
            f"sent / received: {clock(before)} / {clock(after)}\n" for before, after in times
        )
        return f"***Timestamps for packets: {name}***\n{lines}\n"

    first, other = perfdhcp_output.STAGES[4]
    return (
        stage(first, pairs, len(pairs) if sent is None else sent)
        + stage(other, second, len(second))
        + stamps(first, pairs)
        + stamps(other, second)
    ).encode()


def clock(microseconds):
    """Write a time as perfdhcp does: HHMMSS, and a fraction only where there is one."""
    if isinstance(microseconds, str):
        return microseconds
    seconds, fraction = divmod(microseconds, 10**6)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    text = f"{hour:02}{minute:02}{second:02}"
    return f"{text}.{fraction:06}" if fraction else text


def stage(sent, latencies):
    """A stage of which as many exchanges were answered as there are latencies (s)."""
    sent_at = np.arange(len(latencies), dtype=float) / 300
    return Stage(sent, len(latencies), 0, 0, sent_at, sent_at + np.array(latencies))


# --- the command line ---------------------------------------------------------------


def adapter(procedure=PROCEDURE, *, load=None, address="198.18.0.11", host=None, **scenario):
    """The adapter of a bench whose variant has an address of its own."""
    servers = {"server": {**DOCUMENT["servers"]["server"], "test_address": address}}
    document = {**DOCUMENT, "servers": servers}
    document["scenario"] = {
        **DOCUMENT["scenario"],
        "load": {**DOCUMENT["scenario"]["load"], **(load or {})},
    }
    bench = parse_bench(document, "tests")
    return Perfdhcp(
        replace(bench, scenario=change(bench.scenario, **scenario)), procedure, host
    )


@pytest.mark.parametrize(
    "load",
    [
        {"renewals": 0.5},
        {"releases": 0.5},
        {"resends": True},
        {"lease_clock": True},
        {"want": "prefix"},
    ],
    ids=str,
)
def test_clients_that_want_more_than_a_new_address_are_refused(load):
    few = scenario()
    with pytest.raises(LeaselabError, match="only ask for new addresses") as caught:
        Perfdhcp.check_fits(change(few, load={**few.load, "clients": 10, **load}), MaxRate())
    assert caught.value.outcome is Outcome.USAGE


def command(*, may_abort=False, offered=LOAD, **fields):
    limit = perfdhcp.abort_after(offered, PROCEDURE) if may_abort else None
    return adapter(**fields).command(offered, limit)


def option(argv, flag):
    return [argv[at + 1] for at, word in enumerate(argv) if word == flag]


def test_the_command_asks_for_times_and_waits_for_late_replies():
    argv = command()
    assert argv[:2] == ["/usr/sbin/perfdhcp", "-4"]
    assert argv[-1] == "198.18.0.11"
    assert option(argv, "-l") == ["eth1"]
    assert option(argv, "-x") == ["t"]
    assert option(argv, "-W") == ["2000000"]
    assert option(argv, "-d") == ["2"]
    assert option(argv, "-r") == ["300"]
    assert option(argv, "-p") == ["2"]
    assert option(argv, "-D") == []
    assert "-A1" not in argv


@pytest.mark.parametrize("offered", [LOAD, Load(0, 60, at_once=400)])
def test_what_gives_it_a_receive_buffer_runs_it(offered):
    """Within the time of clients that begin at once: what ends perfdhcp is to reach it."""
    launcher = ["/opt/leaselab/receive-buffer", "16777216"]
    document = {**DOCUMENT, "generator": {**DOCUMENT["generator"], "launcher": launcher}}
    bench = parse_bench(document, "tests")
    launched = Perfdhcp(bench, PROCEDURE, None).command(offered, None)
    plain = command(offered=offered, address=bench.hosts["server"].test_address)
    at = plain.index("/usr/sbin/perfdhcp")
    assert launched == [*plain[:at], *launcher, *plain[at:]]


def test_every_exchange_of_a_trial_is_a_new_client():
    assert int(option(command(), "-R")[0]) > LOAD.rate * LOAD.duration_s


def test_clients_that_come_back_do_so_in_turn_and_may_keep_their_addresses():
    offered = replace(LOAD, first_client=7)
    argv = command(load={"clients": 1000}, offered=offered)
    assert option(argv, "-R") == ["1000"]
    assert "-u" not in argv
    assert "-b" not in argv
    assert {"-u", "-b"} < set(command(offered=offered))


def test_the_first_client_is_the_one_that_the_load_names():
    argv = command(load={"first_client": "00:0c:01:02:04:00"}, offered=LOAD)
    assert option(argv, "-b") == ["mac=00:0c:01:02:04:00"]
    assert "-b" not in command(load={"first_client": "00:0c:01:02:03:04"}, offered=LOAD)


def test_a_pool_must_hold_twice_the_clients_that_come_back():
    fits = scenario(pool="10.0.0.0/24")
    few = change(fits, load={**fits.load, "clients": 100})
    Perfdhcp.check_fits(few, MaxRate())
    with pytest.raises(LeaselabError, match="found 256 addresses, wanted at least 400"):
        Perfdhcp.check_fits(change(few, load={**few.load, "clients": 200}), MaxRate())


def test_clients_that_come_back_cannot_fill_a_pool():
    one = scenario(pool="10.0.0.0/16")
    few = change(one, load={**one.load, "clients": 100})
    fill = Fill(fill=0.5, rate=10, fill_rate=1000)
    Perfdhcp.check_fits(one, fill)
    with pytest.raises(LeaselabError, match="clients that come back fill no pool") as caught:
        Perfdhcp.check_fits(few, fill)
    assert caught.value.outcome is Outcome.USAGE


def test_clients_that_come_back_make_no_burst():
    few = change(scenario(), load={**scenario().load, "clients": 100})
    Perfdhcp.check_fits(scenario(), Burst(clients=100))
    with pytest.raises(LeaselabError, match="clients of a burst do not come back") as caught:
        Perfdhcp.check_fits(few, Burst(clients=100))
    assert caught.value.outcome is Outcome.USAGE


def test_it_cannot_flood():
    with pytest.raises(LeaselabError, match="perfdhcp cannot flood") as caught:
        Perfdhcp.check_fits(scenario(), Flood())
    assert caught.value.outcome is Outcome.USAGE
    assert caught.value.where == "scenario v4-memfile"


def test_only_clients_that_come_back_meet_a_server_that_was_not_reset():
    kept = MaxRate(reset="at-start")
    with pytest.raises(LeaselabError, match="clients would come again") as caught:
        Perfdhcp.check_fits(scenario(), kept)
    assert caught.value.outcome is Outcome.USAGE
    Perfdhcp.check_fits(change(scenario(), load={**scenario().load, "clients": 100}), kept)


@pytest.mark.parametrize("clients", [-1, 1.5, "many", True])
def test_a_number_of_clients_is_one(clients):
    one = scenario()
    with pytest.raises(LeaselabError, match="not a number of clients") as caught:
        Perfdhcp.check_fits(change(one, load={**one.load, "clients": clients}), MaxRate())
    assert caught.value.outcome is Outcome.USAGE


def test_a_load_after_another_one_begins_with_the_next_client():
    assert option(command(), "-b") == []
    assert option(command(offered=Load(300, 2, 0x10203)), "-b") == ["mac=00:0c:01:03:05:07"]


def test_both_stages_end_by_the_same_count():
    assert option(command(), "-n") == [str(perfdhcp.exchanges(LOAD))] * 2


@given(st.integers(10, 200_000), st.integers(1, 60))
def test_the_count_is_what_was_asked_to_within_half_a_percent(rate, seconds):
    asked = rate * seconds
    assert 0.995 * asked <= perfdhcp.exchanges(Load(rate, seconds)) <= asked


def test_only_a_trial_that_may_abort_has_a_limit_of_drops():
    # 2.5 % of 600, and half a second's load that may be in flight
    assert option(command(may_abort=True), "-D") == ["165"]


def test_a_bench_of_an_older_release_has_the_address_of_its_host():
    assert command(address="")[-1] == "198.18.0.10"


@pytest.mark.parametrize(
    ("fields", "family", "target"),
    [
        ({}, "-4", "198.18.0.11"),
        ({"partner": True}, "-4", "all"),
        ({"load": {"family": 6}, "address": "2001:2::11"}, "-6", "all"),
        ({"load": {"family": 6}, "address": "2001:2::11", "partner": True}, "-6", "all"),
    ],
)
def test_v6_and_a_pair_are_reached_by_a_packet_to_all(fields, family, target):
    argv = command(**fields)
    assert (argv[1], argv[-1]) == (family, target)


@pytest.mark.parametrize(
    ("fields", "relayed", "target"),
    [
        ({}, True, "2001:2::11"),
        ({"partner": True}, True, "all"),
        ({"load": {"family": 6, "relayed": False}}, False, "all"),
        ({"load": {"family": 4, "relayed": True}}, False, "2001:2::11"),
    ],
)
def test_a_relayed_v6_load_goes_to_one_server_alone(fields, relayed, target):
    """So that of two servers on a network one is measured; relays of v4 have no option."""
    given = {"load": {"family": 6, "relayed": True}, "address": "2001:2::11", **fields}
    argv = command(**given)
    assert ("-A1" in argv, argv[-1]) == (relayed, target)


# --- which loads a scenario can hold ------------------------------------------------


def scenario(lease_lifetime_s=10**9, pool="10.0.0.1 - 10.255.255.254"):
    document = {
        **DOCUMENT["scenario"],
        "server": {"kind": "kea", "options": {"lease_lifetime_s": lease_lifetime_s}},
        "load": {"family": 4, "subnet": "10.0.0.0/8", "pool": pool},
    }
    return msgspec.convert(document, Scenario)


@pytest.mark.parametrize("procedure", [MaxRate(), FixedLoad(rate=10), Event(rate=10)])
def test_a_lease_must_outlast_the_longest_measurement(procedure):
    longest = int(procedure.longest_s)
    Perfdhcp.check_fits(scenario(longest + 1), procedure)
    with pytest.raises(LeaselabError, match="leases could expire while the sweep") as caught:
        Perfdhcp.check_fits(scenario(longest), procedure)
    assert caught.value.found == f"lease_lifetime_s {longest}"
    assert caught.value.where == "scenario v4-memfile"
    assert caught.value.outcome is Outcome.USAGE


def test_leases_of_clients_that_come_back_may_expire():
    """They take no other addresses, and how a server reclaims leases is a question."""
    short = scenario(5)
    returning = change(short, load={**short.load, "clients": 1000})
    Perfdhcp.check_fits(returning, FixedLoad(rate=10))


@pytest.mark.parametrize(
    "procedure",
    [
        MaxRate(max_rate=100, trial_s=5),
        FixedLoad(rate=5, duration_s=100, trial_s=100),
        Event(rate=50, before_s=2, after_s=8),
        Ramp(rates=(10, 30, 10), step_s=10),
    ],
)
def test_a_pool_must_hold_twice_what_is_offered_until_a_reset(procedure):
    Perfdhcp.check_fits(scenario(pool="10.0.0.1 - 10.0.3.232"), procedure)
    with pytest.raises(LeaselabError, match="the load could fill the pool") as caught:
        Perfdhcp.check_fits(scenario(pool="10.0.0.1 - 10.0.3.231"), procedure)
    assert caught.value.found == "999 addresses"
    assert caught.value.wanted.startswith("at least 1000,")


def test_a_server_without_leases_outlasts_everything():
    document = {**DOCUMENT["scenario"], "server": {"kind": "kea"}}
    Perfdhcp.check_fits(msgspec.convert(document, Scenario), MaxRate())


@given(st.integers(11, 1_000_000), st.integers(1, 120))
def test_what_fits_never_fills_the_pool_beyond_the_limit(max_rate, trial_s):
    procedure = MaxRate(max_rate=max_rate, trial_s=trial_s)
    if max_rate * trial_s <= 16_777_214 / 2:
        Perfdhcp.check_fits(scenario(), procedure)
    else:
        with pytest.raises(LeaselabError, match="the load could fill the pool"):
            Perfdhcp.check_fits(scenario(), procedure)


def test_a_filling_needs_no_pool_of_twice_its_size_but_one_that_takes_its_load():
    """1000 addresses, 900 of them filled: the rule of half a pool would refuse 501."""
    fill = Fill(fill=0.9, rate=10, fill_rate=100, duration_s=10)
    Perfdhcp.check_fits(scenario(pool="10.0.0.1 - 10.0.3.232"), fill)
    with pytest.raises(LeaselabError, match="does not fit into what is free") as caught:
        Perfdhcp.check_fits(scenario(pool="10.0.0.1 - 10.0.3.231"), fill)
    assert caught.value.found == "10/s for 10 s into 99 of 999"
    assert caught.value.where == "scenario v4-memfile"
    with pytest.raises(LeaselabError, match="could fill the pool beyond half"):
        Perfdhcp.check_fits(scenario(pool="10.0.0.1 - 10.0.3.231"), Burst(clients=500))


# --- clients that begin at once -----------------------------------------------------


BURST = Load(0, 60, at_once=400)


def burst(name, load=BURST, family=4, **seen):
    """The trial that the adapter makes of a recorded burst."""
    host = Host(left(recorded(name)))
    one = adapter(Burst(clients=load.at_once), load={"family": family}, host=host)
    return one.offer(load, may_abort=False).trial(Seen(**seen))


def test_clients_that_begin_at_once_are_asked_to_stop_and_have_a_receiver_of_their_own():
    """Without the signal it goes on for ever where one client is not served."""
    argv = command(offered=BURST)
    assert argv[:4] == ["timeout", "--signal=INT", "--preserve-status", "60"]
    assert argv[argv.index("-g") + 1] == "multi"
    assert argv[argv.index("--scenario") + 1 : argv.index("-u")] == ["avalanche", "-R", "400"]
    assert not {"-p", "-r", "-n", "-D", "-b"} & set(argv)
    later = command(offered=Load(0, 60, 7, at_once=400))
    assert later[later.index("-b") + 1] == "mac=00:0c:01:02:03:0b"


@pytest.mark.parametrize(
    ("name", "family", "served_s", "resent"),
    [("v4_avalanche", 4, 1.669824, 279), ("v6_avalanche", 6, 2.247524, 197)],
)
def test_a_recorded_burst_says_when_all_were_served(name, family, served_s, resent):
    trial = burst(name, family=family)
    assert (trial.valid, trial.attempted, trial.completed, trial.lost) == (True, 400, 400, 0)
    assert trial.traffic_s == pytest.approx(served_s)
    assert trial.figures == {"resent": resent}
    assert (trial.rate, trial.at_once, trial.load) == (0, 400, BURST)
    assert trial.latency_s[WHOLE].max == pytest.approx(served_s)
    assert sum(second.completed for second in trial.per_second) == 400


def test_a_recorded_burst_that_was_stopped_counts_who_was_served():
    load = Load(0, 1, at_once=700)
    trial = burst("v4_avalanche_interrupted", load)
    assert (trial.valid, trial.attempted, trial.completed, trial.lost) == (True, 700, 293, 407)
    assert (trial.traffic_s, trial.figures) == (1.0, {"resent": 433})


HOST = {"work_s": (0.01, 0.01), "steal_s": 0.0, "throttled_s": 0.0}


@pytest.mark.parametrize(
    ("load", "seen", "word"),
    [
        (Load(0, 60, at_once=401), {}, GENERATOR_LIMITED),
        (BURST, {"refused": 1}, REJECTED),
        (BURST, {"generator": HostUse(**HOST, receive_errors=4)}, ""),
        (BURST, {"generator": HostUse(**HOST, receive_errors=5)}, GENERATOR_STALLED),
    ],
)
def test_what_makes_a_burst_doubtful(load, seen, word):
    trial = burst("v4_avalanche", load, **seen)
    assert (trial.valid, trial.reason) == (not word, word)


def test_a_burst_whose_end_is_missing_is_no_measurement():
    text = recorded("v4_avalanche").partition(b"It took")[0]
    with pytest.raises(LeaselabError, match="how many packets were resent"):
        perfdhcp_output.parse_resent(text)
    older = b"It took 00:00:02 to provision 9 clients. 19 packets were sent, 1 retransmissions "
    assert perfdhcp_output.parse_resent(older + b"needed, received 18 responses.") == 1


# --- recorded outputs ---------------------------------------------------------------


@pytest.mark.parametrize(("name", "family"), [("v4_clean", 4), ("v6_clean", 6)])
def test_a_clean_trial(name, family):
    output = perfdhcp_output.parse(recorded(name), family)
    assert (output.first.sent, output.first.received) == (599, 599)
    assert (output.second.sent, output.second.received) == (599, 599)
    counts = perfdhcp_reading.judge(output, LATE_S, RATE)
    assert (counts.attempted, counts.completed, counts.late, counts.lost) == (599, 599, 0, 0)


def test_times_and_counters_tell_the_same_story():
    """perfdhcp's own mean delay comes out of the times again."""
    text = recorded("v4_clean")
    means = [float(found) for found in re.findall(rb"avg delay: ([\d.]+) ms", text)]
    output = perfdhcp_output.parse(text, 4)
    assert 1000 * output.first.latency_s.mean() == pytest.approx(means[0], abs=0.01)
    assert 1000 * output.second.latency_s.mean() == pytest.approx(means[1], abs=0.01)


def test_the_printed_rate_is_not_the_offered_one():
    """It divides by the exit wait, too: half of 300 for 2 s of traffic and 2 s of wait."""
    rate = float(re.search(rb"^Rate: ([\d.]+)", recorded("v4_clean"), re.M)[1])
    assert rate == pytest.approx(149.7, abs=0.1)
    output = perfdhcp_output.parse(recorded("v4_clean"), 4)
    assert perfdhcp_reading.judge(output, LATE_S, RATE).completed / LOAD.duration_s == 299.5


def test_a_trial_with_losses_in_both_stages():
    """599 started, 486 offers, 443 ACKs: the second stage's `sent` hides the first's loss."""
    output = perfdhcp_output.parse(recorded("v4_late"), 4)
    assert (output.first.sent, output.second.sent) == (599, 486)
    counts = perfdhcp_reading.judge(output, LATE_S, RATE)
    assert (counts.attempted, counts.completed, counts.late, counts.lost) == (599, 443, 0, 156)


def test_in_order_late_replies_count_as_late_although_perfdhcp_received_them():
    """Judged at 0.5 s, offers of the same recording are late; nothing becomes lost by it."""
    output = perfdhcp_output.parse(recorded("v4_late"), 4)
    slow = int((perfdhcp_output.join(output).latency_s > 0.5).sum())
    assert 0 < slow < 443
    counts = perfdhcp_reading.judge(output, 0.5, RATE)
    assert (counts.completed, counts.late, counts.lost) == (443 - slow, slow, 156)


@pytest.mark.parametrize("name", ["v4_silent", "v4_aborted"])
def test_a_silent_server_completes_nothing(name):
    output = perfdhcp_output.parse(recorded(name), 4)
    assert output.first.sent > 0
    assert output.first.latency_s.shape == (0,)
    counts = perfdhcp_reading.judge(output, LATE_S, RATE)
    assert (counts.completed, counts.late, counts.lost) == (0, 0, output.first.sent)
    assert perfdhcp_output.percentiles(output.first.latency_s) is None


def test_an_error_of_perfdhcp_is_no_measurement():
    with pytest.raises(LeaselabError, match="does not parse") as caught:
        perfdhcp_output.parse(recorded("v4_error"), 4)
    assert caught.value.outcome is Outcome.LAB
    assert "Invalid argument" in caught.value.found


def test_no_output_at_all_is_said_so():
    with pytest.raises(LeaselabError, match="found nothing"):
        perfdhcp_output.parse(b"", 4)


def test_output_of_the_other_family_does_not_parse():
    with pytest.raises(LeaselabError, match="SOLICIT-ADVERTISE"):
        perfdhcp_output.parse(recorded("v4_clean"), 6)


@pytest.mark.parametrize("name", ["v4_clean", "v4_late"])
def test_output_cut_short_at_any_line_raises(name):
    """Never fewer exchanges than there were: a cut is no loss."""
    lines = recorded(name).splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if line.startswith(b"sent / received"))
    # every boundary before the times, and a spread of those between them
    times = min(at for at, line in enumerate(lines) if line.startswith(b"sent / received"))
    for length in [*range(times + 1), *range(times + 1, last, 37), last]:
        with pytest.raises(LeaselabError, match="does not parse") as caught:
            perfdhcp_output.parse(b"".join(lines[:length]), 4)
        assert caught.value.outcome is Outcome.LAB
    perfdhcp_output.parse(b"".join(lines[: last + 1]), 4)


@given(st.integers(0, 10**6))
def test_a_line_lost_in_the_middle_raises_or_changes_nothing(at):
    lines = recorded("v4_late").splitlines(keepends=True)
    at %= len(lines)
    rest = b"".join(lines[:at] + lines[at + 1 :])
    try:
        counts = perfdhcp_reading.judge(perfdhcp_output.parse(rest, 4), LATE_S, RATE)
    except LeaselabError:
        return
    assert counts == perfdhcp_reading.judge(
        perfdhcp_output.parse(recorded("v4_late"), 4), LATE_S, RATE
    )


@pytest.mark.parametrize("rubbish", ["x", "1.2.3", "0.1 0.2", "--", "", "nan", "inf"])
def test_times_that_are_no_times_raise(rubbish):
    with pytest.raises(LeaselabError, match="times of DISCOVER-OFFER"):
        perfdhcp_output.parse(document([(0, rubbish)]), 4)


def test_a_counter_that_is_no_number_raises():
    text = document([(0, 1)]).replace(b"sent packets: 1", b"sent packets: many")
    with pytest.raises(LeaselabError, match="no 'sent packets' of DISCOVER-OFFER"):
        perfdhcp_output.parse(text, 4)


# --- times --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("000000.000001", 1e-6),
        ("000059.5", 59.5),
        ("000100.25", 60.25),
        ("000102", 62.0),
        ("010203.5", 3723.5),
        ("000005", 5.0),
    ],
)
def test_a_time_is_hours_minutes_seconds(text, seconds):
    output = perfdhcp_output.parse(document([("000000", text)]), 4)
    assert output.first.received_at.tolist() == [seconds]


@given(
    st.lists(
        st.lists(st.integers(0, MICROSECONDS_A_DAY - 1), min_size=2, max_size=2).map(sorted),
        min_size=1,
        max_size=20,
    )
)
def test_times_survive_the_round_trip(pairs):
    output = perfdhcp_output.parse(document(pairs), 4)
    assert output.first.sent_at == pytest.approx([before / 1e6 for before, _ in pairs])
    assert output.first.received_at == pytest.approx([after / 1e6 for _, after in pairs])


# --- judging ------------------------------------------------------------------------

latencies = st.lists(st.floats(0, 5, allow_nan=False), max_size=30)


@given(latencies, latencies, st.integers(0, 30))
def test_counts_add_up_and_are_never_negative(first, second, unanswered):
    second = second[: len(first)]
    output = Output(stage(len(first) + unanswered, first), stage(len(first), second), ())
    counts = perfdhcp_reading.judge(output, LATE_S, RATE)
    assert counts.completed + counts.late + counts.lost == counts.attempted == output.first.sent
    assert min(counts.completed, counts.late, counts.lost) >= 0


def exchanges(offer_s, ack_s, *, rate=RATE, requests_follow_s=1e-5):
    """An output of exchanges started at a rate, by the delays of both stages (s; inf: lost)."""
    offer_s, ack_s = np.asarray(offer_s, float), np.asarray(ack_s, float)
    started = np.arange(offer_s.size) / rate
    offered = started + offer_s
    came = np.isfinite(offered)
    order = np.argsort(offered[came])
    requested = offered[came][order] + requests_follow_s
    acked = requested + ack_s[came][order]
    done = np.isfinite(acked)
    first = Stage(
        offer_s.size, int(came.sum()), 0, 0, started[came][order], offered[came][order]
    )
    second = Stage(int(came.sum()), int(done.sum()), 0, 0, requested[done], acked[done])
    return Output(first, second, ())


def test_a_reply_exactly_at_the_limit_is_in_time():
    counts = perfdhcp_reading.judge(
        exchanges([0.125] * 4, [1.75, 1.874, 1.876, 0.1]), LATE_S, 1
    )
    assert (counts.late, counts.lost) == (1, 0)


def test_an_exchange_that_is_late_and_then_lost_is_counted_once():
    """The stages are joined: the one whose offer is late is the one that lost its ACK."""
    offers = [0.1, 2.5, 0.1, 0.1] * 5
    acks = [0.1, np.inf, 0.1, 0.1] * 5
    counts = perfdhcp_reading.judge(exchanges(offers, acks), LATE_S, 1)
    assert (counts.completed, counts.late, counts.lost) == (15, 0, 5)


@given(
    st.lists(
        st.tuples(st.floats(1e-4, 3) | st.just(np.inf), st.floats(1e-4, 3) | st.just(np.inf)),
        min_size=1,
        max_size=40,
    )
)
def test_the_stages_are_joined_exchange_by_exchange(delays):
    offers, acks = zip(*delays, strict=True)
    joined = perfdhcp_output.join(exchanges(offers, acks, requests_follow_s=1e-6))
    wanted = sorted(
        at / RATE + offer + ack
        for at, (offer, ack) in enumerate(delays)
        if np.isfinite(offer + ack)
    )
    assert sorted(joined.answered_at) == pytest.approx(wanted, abs=1e-4)
    assert (joined.latency_s >= 0).all()
    assert joined.started_at.size == len(wanted)


@pytest.mark.parametrize("name", ["v4_clean", "v6_clean", "v4_late"])
def test_a_request_follows_its_offer_at_once_in_every_recorded_output(name):
    output = perfdhcp_output.parse(recorded(name), 6 if name.startswith("v6") else 4)
    offered = np.sort(output.first.received_at)
    follows = [sent - offered[offered <= sent].max() for sent in output.second.sent_at]
    assert max(follows) < 0.0003


def buffered(rate, capacity, seconds, buffer):
    """A server that completes `capacity` exchanges/s and keeps up to `buffer` waiting.

    What comes to a full buffer is lost.  Whole exchanges; a real one is of packets
    (`leaselab dev bench faults`).
    """
    free_at, delays = 0.0, []
    for number in range(rate * seconds):
        now = number / rate
        free_at = max(free_at, now)
        waiting = (free_at - now) * capacity
        if waiting > buffer:
            delays.append(np.inf)
        else:
            free_at += 1 / capacity
            delays.append(free_at - now)
    return exchanges([1e-5] * len(delays), delays, rate=rate)


@pytest.mark.parametrize("rate", [500, 1000, 4000])
def test_what_lay_in_a_buffer_as_the_traffic_ended_was_not_served_in_its_time(rate):
    """At 4 % too much nothing needs to be lost in 5 s, as a buffer takes it all."""
    output = buffered(rate, rate / 1.04, 5, buffer=138)
    counts = perfdhcp_reading.judge(output, LATE_S, rate)
    assert (counts.late + counts.lost) / counts.attempted == pytest.approx(0.0385, abs=0.004)


@pytest.mark.parametrize("latency_s", [0.001, 0.1, 0.5])
def test_what_is_under_way_in_a_server_that_keeps_up_is_no_loss(latency_s):
    count = 5 * RATE
    output = exchanges([latency_s / 2] * count, [latency_s / 2] * count)
    counts = perfdhcp_reading.judge(output, LATE_S, RATE)
    assert counts.completed >= 0.995 * count


def test_a_receiver_that_has_ended_says_so_on_standard_error_only():
    told = "Something went wrong: boost::bad_lexical_cast"
    assert perfdhcp_output.complaint(f"noise\n{told}\n") == told
    assert perfdhcp_output.complaint("WARNING: no route") == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"sent packets: 599", b"sent packets: 598"),
        (
            b"sent packets: 486\nreceived packets: 443",
            b"sent packets: 487\nreceived packets: 443",
        ),
    ],
)
def test_counts_that_contradict_each_other_are_no_measurement(old, new):
    text = recorded("v4_late" if b"486" in old else "v4_clean")
    assert old in text
    with pytest.raises(LeaselabError, match="it contradicts itself"):
        perfdhcp_output.parse(text.replace(old, new, 1), 4)


def test_a_reply_before_its_request_is_no_measurement():
    with pytest.raises(LeaselabError, match="a reply before its request"):
        perfdhcp_output.parse(document([(2, 1)]), 4)


def test_malformed_packets_are_counted():
    text = recorded("v4_clean").replace(b"Malformed packets: 0", b"Malformed packets: 400")
    assert perfdhcp_output.parse(text, 4).malformed == 400


@given(st.integers(10, 100_000), st.integers(1, 60), st.floats(0.001, 0.5))
def test_what_may_be_in_flight_comes_on_top_of_what_may_be_lost(rate, seconds, loss):
    load, procedure = Load(rate, seconds), MaxRate(loss_ratio=loss)
    assert perfdhcp.abort_after(load, procedure) > loss * rate * seconds


@pytest.mark.parametrize(("lost", "conclusive"), [(10, False), (11, True)])
def test_an_early_end_proves_what_the_whole_trial_may_not_lose(lost, conclusive):
    """15 of the 600 that were asked for are 2.5 %."""
    reading = adapter(host=Host(left(b"", 3))).offer(LOAD, may_abort=True)
    counts = Transactions(due=100, begun=100, answered=100 - lost, slow=5)
    reading.__dict__.update(aborted=True, counts=counts)
    assert reading.conclusive is conclusive


def test_percentiles_of_a_stage():
    found = perfdhcp_output.percentiles(np.array([at / 100 for at in range(101)]))
    assert (found.p50, found.p90, found.p99, found.max) == pytest.approx((0.5, 0.9, 0.99, 1.0))


@pytest.mark.parametrize(
    ("reports", "attempted"),
    [
        # the last report may be missing: what is left was sent in the last second
        (((2, 2, 2, 2), (4, 3, 3, 3)), [2, 2, 1]),
        (((2, 2, 2, 2), (4, 3, 3, 3), (5, 3, 4, 3)), [2, 2, 1]),
        (((2, 2, 2, 2),), [2, None, None]),
    ],
)
def test_per_second_splits_starts_and_completions(reports, attempted):
    first = Stage(5, 4, 0, 0, np.array([0.1, 0.6, 1.2, 1.9]), np.array([0.2, 0.9, 1.3, 2.4]))
    second = Stage(4, 3, 0, 0, np.array([0.2, 0.9, 1.3]), np.array([0.3, 1.0, 1.4]))
    rows = perfdhcp_output.per_second(Output(first, second, reports), 3)
    assert [row.attempted for row in rows] == attempted
    assert [row.completed for row in rows] == [2, 1, 0]
    assert rows[0].p50_s == pytest.approx(0.2)
    assert rows[2].p50_s is None


# --- the probe ----------------------------------------------------------------------


def probe_output(received):
    text = recorded("v4_clean").replace(b"599", str(received).encode())
    return text[: text.index(b"***Timestamps")]


@pytest.mark.parametrize(("received", "answered"), [(1, True), (0, False)])
def test_a_probe_is_answered_when_its_ack_came(received, answered):
    assert perfdhcp_output.parse_probe(probe_output(received), 4) is answered


def test_a_probe_that_printed_nothing_is_a_broken_lab():
    with pytest.raises(LeaselabError) as caught:
        perfdhcp_output.parse_probe(b"", 4)
    assert caught.value.outcome is Outcome.LAB


class Host:
    """A generator's host on which perfdhcp leaves these behind, one after the other."""

    def __init__(self, *left):
        self.left, self.asked = list(left), []

    def generate(self, argv, environment, timeout_s):
        self.asked.append((argv, dict(environment), timeout_s))
        return self.left.pop(0)


def left(text=b"", status=0, error=""):
    return Generated(status, gzip.compress(text, mtime=0), error)


def test_the_probe_is_one_exchange_and_is_tried_again():
    host = Host(left(probe_output(0), 3), left(probe_output(1)))
    assert adapter(host=host).answers()
    assert host.left == []
    argv = host.asked[0][0]
    assert argv[:2] == ["/usr/sbin/perfdhcp", "-4"]
    assert option(argv, "-n") == ["1", "1"]
    assert option(argv, "-r") == ["1"]
    assert argv[-1] == "198.18.0.11"


def test_the_probe_of_a_relayed_load_is_relayed_too():
    host = Host(
        left(
            probe_output(1)
            .replace(b"DISCOVER-OFFER", b"SOLICIT-ADVERTISE")
            .replace(b"REQUEST-ACK", b"REQUEST-REPLY")
        )
    )
    load = {"family": 6, "relayed": True}
    assert adapter(host=host, load=load, address="2001:2::11").answers()
    argv = host.asked[0][0]
    assert "-A1" in argv
    assert argv[-1] == "2001:2::11"


def test_a_server_that_answers_no_probe_does_not_answer():
    host = Host(*[left(probe_output(0), 3)] * perfdhcp.PROBES)
    assert not adapter(host=host).answers()
    assert host.left == []


# --- a load that was offered --------------------------------------------------------


def test_a_load_is_read_into_a_trial():
    host = Host(left(recorded("v4_late"), 3))
    reading = adapter(host=host).offer(LOAD, may_abort=True)
    ((argv, _, timeout_s),) = host.asked
    assert timeout_s > LOAD.duration_s + PROCEDURE.wait_s
    assert list(reading.argv) == argv == command(may_abort=True)
    assert gzip.decompress(reading.output_gz) == recorded("v4_late")
    assert reading.conclusive
    assert reading.answered_at.size == 443
    trial = reading.trial(Seen())
    assert (trial.rate, trial.duration_s, trial.argv) == (RATE, 2, reading.argv)
    assert (trial.attempted, trial.completed, trial.late, trial.lost) == (599, 443, 0, 156)
    assert list(trial.latency_s) == ["DISCOVER-OFFER", "REQUEST-ACK", WHOLE]
    offer, ack, whole = trial.latency_s.values()
    assert max(offer.p50, ack.p50) < whole.p50 <= offer.max + ack.max
    assert [second.t for second in trial.per_second] == [0, 1]
    assert (trial.valid, trial.reason, trial.aborted) == (True, "", False)


@pytest.mark.parametrize(
    ("load", "may_abort", "aborted", "conclusive"),
    [
        (LOAD, True, True, True),
        (Load(RATE, 100), True, True, False),
        (Load(RATE, 100), False, False, True),
    ],
)
def test_an_early_end_is_conclusive_where_the_whole_trial_could_not_have_passed(
    load, may_abort, aborted, conclusive
):
    """400 started at the full rate, half of them unanswered: too many of 600."""
    pairs = [(at / RATE, at / RATE + 1e-4) for at in range(0, 400, 2)]
    text = perfdhcp_text(400, pairs, pairs).encode()
    reading = adapter(host=Host(left(text, 3))).offer(load, may_abort=may_abort)
    assert (reading.aborted, reading.conclusive) == (aborted, conclusive)
    assert reading.trial(Seen()).aborted is aborted


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            left(status=127, error="sh: perfdhcp: not found\n"),
            "not found on the host: sh: perf",
        ),
        (left(status=137), "was killed, or did not end in time"),
        (left(status=-11), "was ended by signal 11"),
        (left(status=134), "was ended by signal 6"),
        (left(b"bad option\n", status=1), "failed with exit status 1: bad option"),
        (left(status=3, error="Something went wrong: no route"), "its receiver has ended"),
        (Generated(0, b"no gzip", ""), "its output is cut short"),
        (Generated(127, b"", "sh: gzip: not found"), "not found on the host: sh: gzip"),
    ],
)
def test_a_perfdhcp_that_left_no_measurement_is_a_broken_lab(found, words):
    reading = adapter(host=Host(found)).offer(LOAD, may_abort=False)
    with pytest.raises(LeaselabError, match=words) as caught:
        reading.trial(Seen())
    assert caught.value.outcome is Outcome.LAB
    assert caught.value.where == "leaselab-generator"
