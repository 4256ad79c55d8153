"""perfdhcp's command line, the loads that fit it, and what a load comes to.

The recordings in tests/data/perfdhcp are whole outputs of perfdhcp 2.2 (and 2.6: silent,
aborted, error) at 50 exchanges/s for 2 s, and of 40 and 70 clients that begin at once, the
latter stopped after 1 s.
"""

import gzip
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from benchmarks._packets import perfdhcp_text
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as change
from tests.bench_document import DOCUMENT
from tests.dns import Host, left
from tests.refusals import refused

from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.generators import check_fits
from leaselab.measure.generators.adapter import GENERATOR_STALLED, Seen
from leaselab.measure.generators.dhcp_load import REJECTED
from leaselab.measure.generators.perfdhcp import command as perfdhcp
from leaselab.measure.generators.perfdhcp import output as perfdhcp_output
from leaselab.measure.generators.perfdhcp.command import Perfdhcp
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.observation import Generated
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.event import Event
from leaselab.model.procedures.fill import Fill
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.ramp import Ramp
from leaselab.model.procedures.replay import Replay
from leaselab.model.record import GENERATOR_LIMITED
from leaselab.model.scenario import Scenario
from leaselab.model.trial import WHOLE, HostUse, Load

DATA = Path(__file__).parents[1] / "data" / "perfdhcp"
RATE = 300
LOAD = Load(RATE, 2)
LATER = replace(LOAD, first_client=7)
BURST = Load(0, 60, at_once=40)
PROCEDURE = MaxRate(wait_s=2.0, late_s=2.0)
SIX = {"family": 6, "relayed": True}
SMALL = {"pool": "10.0.0.0/16"}
FILL = Fill(fill=0.5, rate=10, fill_rate=1000)


def recorded(name):
    return (DATA / f"{name}.txt").read_bytes()


# --- the command line ---------------------------------------------------------------


def adapter(procedure=PROCEDURE, *, load=None, address="198.18.0.11", host=None, **scenario):
    """The adapter of a bench whose variant has an address of its own."""
    server = {**DOCUMENT["servers"]["server"], "test_address": address}
    asked = {**DOCUMENT["scenario"], "load": DOCUMENT["scenario"]["load"] | (load or {})}
    document = {**DOCUMENT, "servers": {"server": server}, "scenario": asked}
    bench = parse_bench(document, "tests")
    bench = replace(bench, scenario=change(bench.scenario, **scenario))
    return Perfdhcp(bench, procedure, host)


def command(*, may_abort=False, offered=LOAD, **fields):
    limit = perfdhcp.abort_after(offered, PROCEDURE) if may_abort else None
    return adapter(**fields).command(offered, limit)


def option(argv, flag):
    return [argv[at + 1] for at, word in enumerate(argv) if word == flag]


def test_the_command_asks_for_times_and_waits_for_late_replies():
    """Each exchange is of a new client, and both stages end by the same count."""
    assert " ".join(command()) == (
        "/usr/sbin/perfdhcp -4 -g multi -l eth1 -r 300 -R 2198 -p 2 -n 599 -n 599 -W 2000000 "
        "-d 2 -u -t 1 -x t 198.18.0.11"
    )


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


@pytest.mark.parametrize(
    ("asked", "flag", "words"),
    [
        # the first client is that of the load, and of a later one the next
        ({}, "-b", []),
        ({"load": {"first_client": "00:0c:01:02:03:04"}}, "-b", []),
        ({"load": {"first_client": "00:0c:01:02:04:00"}}, "-b", ["mac=00:0c:01:02:04:00"]),
        ({"offered": Load(300, 2, 0x10203)}, "-b", ["mac=00:0c:01:03:05:07"]),
        # clients that come back do so in turn, and may keep their addresses
        ({"load": {"clients": 1000}, "offered": LATER}, "-R", ["1000"]),
        ({"load": {"clients": 1000}, "offered": LATER}, "-b", []),
        ({"load": {"clients": 1000}, "offered": LATER}, "-u", []),
        ({"offered": LATER}, "-u", ["-t"]),
        # 2.5 % of 600, and half a second's load that may be in flight
        ({"may_abort": True}, "-D", ["165"]),
        ({}, "-D", []),
        # clients that begin at once have a receiver of their own; some may not be served
        ({"offered": BURST}, "-g", ["multi"]),
        ({"offered": BURST}, "--scenario", ["avalanche"]),
        ({"offered": BURST}, "-R", ["40"]),
        *(({"offered": BURST}, flag, []) for flag in ("-p", "-r", "-n", "-D", "-b")),
        ({"offered": replace(BURST, first_client=7)}, "-b", ["mac=00:0c:01:02:03:0b"]),
    ],
)
def test_the_command_line_says_what_clients_do(asked, flag, words):
    assert option(command(**asked), flag) == words


def test_clients_that_begin_at_once_are_asked_to_stop():
    """Without the signal it goes on for ever where one client is not served."""
    argv = command(offered=BURST)
    assert argv[:4] == ["timeout", "--signal=INT", "--preserve-status", "60"]


@pytest.mark.parametrize(
    ("load", "procedure", "words"),
    [
        *(
            ({"clients": 10, **wanted}, MaxRate(), "only ask for new addresses")
            for wanted in (
                *({"renewals": 0.5}, {"releases": 0.5}, {"resends": True}),
                *({"lease_clock": True}, {"want": "prefix"}),
            )
        ),
        *(
            ({"clients": number}, MaxRate(), "not a number of")
            for number in (-1, 1.5, "x", True)
        ),
        (
            *({"clients": 200, "pool": "10.0.0.0/24"}, MaxRate()),
            "found 256 addresses, wanted at least 400",
        ),
        ({"clients": 100, **SMALL}, FILL, "returning clients cannot fill a pool"),
        ({"clients": 100}, Burst(clients=100), "clients of a burst do not come back"),
        ({}, MaxRate(reset="at-start"), "clients would come again"),
        ({}, Replay(arrivals=(60,)), "perfdhcp cannot offer exchanges"),
        ({"clients": 100, "pool": "10.0.0.0/24"}, MaxRate(), None),
        (SMALL, FILL, None),
        ({}, Burst(clients=100), None),
        ({"clients": 100}, MaxRate(reset="at-start"), None),
    ],
)
def test_what_it_cannot_offer_is_refused(load, procedure, words):
    example = scenario()
    asked = change(example, load={**example.load, **load})
    with refused(words) if words else nullcontext() as caught:
        check_fits(asked, procedure)
    assert words is None or caught.value.where.startswith("scenario v4-memfile")


@given(st.integers(10, 200_000), st.integers(1, 60))
def test_the_count_is_what_was_asked_to_within_half_a_percent(rate, seconds):
    asked = rate * seconds
    assert 0.995 * asked <= perfdhcp.exchanges(Load(rate, seconds)) <= asked


@pytest.mark.parametrize(
    ("fields", "family", "relayed", "target"),
    [
        ({}, "-4", False, "198.18.0.11"),
        ({"address": ""}, "-4", False, "198.18.0.10"),  # a bench of an older release
        ({"partner": True}, "-4", False, "all"),
        ({"load": {"family": 6}, "address": "2001:2::11"}, "-6", False, "all"),
        ({"load": {"family": 6, "relayed": False}}, "-6", False, "all"),
        ({"load": {"family": 6}, "address": "2001:2::11", "partner": True}, "-6", False, "all"),
        ({"load": SIX, "address": "2001:2::11"}, "-6", True, "2001:2::11"),
        ({"load": SIX, "address": "2001:2::11", "partner": True}, "-6", True, "all"),
        ({"load": {"family": 4, "relayed": True}}, "-4", False, "198.18.0.11"),
    ],
)
def test_v6_and_a_pair_are_reached_by_a_packet_to_all(fields, family, relayed, target):
    """Unless v6 is relayed: of two servers on a network one is measured."""
    argv = command(**fields)
    assert (argv[1], "-A1" in argv, argv[-1]) == (family, relayed, target)


# --- which loads a scenario can hold ------------------------------------------------


def scenario(lease_lifetime_s=10**9, pool="10.0.0.1 - 10.255.255.254"):
    options = {} if lease_lifetime_s is None else {"lease_lifetime_s": lease_lifetime_s}
    document = {
        **DOCUMENT["scenario"],
        "server": {"kind": "kea", "options": options},
        "load": {"family": 4, "subnet": "10.0.0.0/8", "pool": pool},
    }
    return msgspec.convert(document, Scenario)


@pytest.mark.parametrize("procedure", [MaxRate(), FixedLoad(rate=10), Event(rate=10)])
def test_a_lease_must_outlast_the_longest_measurement(procedure):
    longest = int(procedure.longest_s)
    Perfdhcp.check_fits(scenario(longest + 1), procedure)
    with refused("leases could expire while", where="scenario v4-memfile") as caught:
        Perfdhcp.check_fits(scenario(longest), procedure)
    assert caught.value.found == f"lease_lifetime_s {longest}"


def test_leases_of_clients_that_come_back_and_of_no_server_may_expire():
    """They take no other addresses, and how a server reclaims leases is a question."""
    short = scenario(5)
    returning = change(short, load={**short.load, "clients": 1000})
    Perfdhcp.check_fits(returning, FixedLoad(rate=10))
    Perfdhcp.check_fits(scenario(None), MaxRate())


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
    with refused("the load could fill the pool") as caught:
        Perfdhcp.check_fits(scenario(pool="10.0.0.1 - 10.0.3.231"), procedure)
    assert caught.value.found == "999 addresses"
    assert caught.value.wanted.startswith("at least 1000,")


def test_a_filling_needs_no_pool_of_twice_its_size_but_one_that_takes_its_load():
    """1000 addresses, 900 of them filled: the rule of half a pool would refuse 501."""
    fill = Fill(fill=0.9, rate=10, fill_rate=100, duration_s=10)
    Perfdhcp.check_fits(scenario(pool="10.0.0.1 - 10.0.3.232"), fill)
    less = scenario(pool="10.0.0.1 - 10.0.3.231")
    with refused("what is free .found 10/s for 10 s into 99 of 999"):
        Perfdhcp.check_fits(less, fill)
    with refused("could fill the pool beyond half"):
        Perfdhcp.check_fits(less, Burst(clients=500))


# --- clients that begin at once -----------------------------------------------------


def burst(name, load=BURST, family=4, **seen):
    """The trial that the adapter makes of a recorded burst."""
    host = Host(left(recorded(name)))
    item = adapter(Burst(clients=load.at_once), load={"family": family}, host=host)
    return item.offer(load, may_abort=False).trial(Seen(**seen))


@pytest.mark.parametrize(
    ("name", "family", "load", "served", "traffic_s", "resent"),
    [
        ("v4_avalanche", 4, BURST, 40, 1.442381, 22),
        ("v6_avalanche", 6, BURST, 40, 2.230766, 20),
        ("v4_avalanche_interrupted", 4, Load(0, 1, at_once=70), 8, 1.0, 42),
    ],
)
def test_a_recorded_burst_says_how_many_were_served_and_when(
    *, name, family, load, served, traffic_s, resent
):
    trial = burst(name, load, family)
    clients = load.at_once
    assert (trial.valid, trial.attempted, trial.rate, trial.load) == (True, clients, 0, load)
    assert (trial.completed, trial.lost) == (served, clients - served)
    assert sum(second.completed for second in trial.per_second) == served
    assert trial.figures == {"resent": resent}
    assert trial.traffic_s == pytest.approx(traffic_s)
    if served == clients:
        assert trial.latency_s[WHOLE].max == trial.traffic_s


HOST = {"work_s": (0.01, 0.01), "steal_s": 0.0, "throttled_s": 0.0}


@pytest.mark.parametrize(
    ("load", "seen", "word"),
    [
        (Load(0, 60, at_once=41), {}, GENERATOR_LIMITED),
        (BURST, {"refused": 1}, REJECTED),
        (BURST, {"generator": HostUse(**HOST, receive_errors=0)}, ""),
        (BURST, {"generator": HostUse(**HOST, receive_errors=1)}, GENERATOR_STALLED),
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


@pytest.mark.parametrize(
    ("load", "may_abort", "lost", "aborted", "conclusive"),
    [
        # 15 of the 600 that were asked for are 2.5 %
        (LOAD, True, 16, True, True),
        (LOAD, True, 15, True, False),
        (Load(RATE, 100), True, 200, True, False),
        (Load(RATE, 100), False, 200, False, True),
    ],
)
def test_an_early_end_is_conclusive_where_the_whole_trial_could_not_have_passed(
    *, load, may_abort, lost, aborted, conclusive
):
    """400 started at the full rate, of which the first ones are unanswered."""
    pairs = [(at / RATE, at / RATE + 1e-4) for at in range(lost, 400)]
    text = perfdhcp_text(400, pairs, pairs).encode()
    reading = adapter(host=Host(left(text, 3))).offer(load, may_abort=may_abort)
    assert (reading.aborted, reading.conclusive) == (aborted, conclusive)
    assert reading.trial(Seen()).aborted is aborted


# --- the probe ----------------------------------------------------------------------


def probe_output(received, name="v4_clean"):
    text = recorded(name).replace(b": 99\n", f": {received}\n".encode())
    return text[: text.index(b"***Timestamps")]


def test_the_probe_is_one_exchange_and_is_tried_again():
    host = Host(left(probe_output(0), 3), left(probe_output(1)))
    assert adapter(host=host).answers()
    first, second = host.argvs
    assert first == second
    assert first[:2] == ["/usr/sbin/perfdhcp", "-4"]
    assert (option(first, "-n"), option(first, "-r")) == (["1", "1"], ["1"])
    assert first[-1] == "198.18.0.11"
    host = Host(left(probe_output(0), 3))
    assert not adapter(host=host).answers()
    assert len(host.argvs) == perfdhcp.PROBES


def test_the_probe_of_a_relayed_load_is_relayed_too():
    host = Host(left(probe_output(1, "v6_clean")))
    assert adapter(host=host, load=SIX, address="2001:2::11").answers()
    (argv,) = host.argvs
    assert ("-A1" in argv, argv[-1]) == (True, "2001:2::11")


def test_a_probe_that_printed_nothing_is_a_broken_lab():
    with refused(outcome=Outcome.LAB):
        adapter(host=Host(left())).answers()


# --- a load that was offered --------------------------------------------------------


def test_a_load_is_read_into_a_trial():
    host, load = Host(left(recorded("v4_late"), 3)), Load(50, 2)
    reading = adapter(host=host).offer(load, may_abort=True)
    assert host.timeout_s > load.duration_s + PROCEDURE.wait_s
    assert [list(reading.argv)] == host.argvs == [command(may_abort=True, offered=load)]
    assert gzip.decompress(reading.output_gz) == recorded("v4_late")
    assert reading.conclusive
    assert reading.answered_at.size == 78
    trial = reading.trial(Seen())
    assert (trial.rate, trial.duration_s, trial.argv) == (50, 2, reading.argv)
    assert (trial.attempted, trial.completed, trial.late, trial.lost) == (99, 78, 0, 21)
    assert list(trial.latency_s) == ["DISCOVER-OFFER", "REQUEST-ACK", WHOLE]
    offer, ack, whole = trial.latency_s.values()
    assert max(offer.p50, ack.p50) < whole.p50 <= offer.max + ack.max
    assert [second.t for second in trial.per_second] == [0, 1]
    assert (trial.valid, trial.reason, trial.aborted) == (True, "", False)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (left(status=127, error="sh: perfdhcp: not found\n"), "not found on the host: sh: pe"),
        (left(status=137), "was killed, or did not end in time"),
        (left(status=-11), "was ended by signal 11"),
        (left(status=134), "was ended by signal 6"),
        (left(b"bad option\n", status=1), "failed with exit status 1: bad option"),
        (left(status=3, error="Something went wrong: no route"), "its receiver has ended"),
        (Generated(0, b"no gzip", ""), "its output is cut short"),
        (Generated(127, b"", "sh: gzip: not found"), "not found on the host: sh: gzip"),
    ],
)
def test_a_perfdhcp_that_left_no_measurement_is_a_broken_lab(output, words):
    reading = adapter(host=Host(output)).offer(LOAD, may_abort=False)
    with refused(words, Outcome.LAB, "leaselab-generator"):
        reading.trial(Seen())
