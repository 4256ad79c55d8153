"""leaseload's command lines for DHCP, and what its recorded reports come to."""

import gzip
import json
import math

import pytest
from msgspec import structs
from tests.dns import sums_up
from tests.leaseload import adapter, bench, left, report, words
from tests.refusals import refused

from leaselab.leases.check import check
from leaselab.leases.history import Kind
from leaselab.measure.generators import check_fits
from leaselab.measure.generators.adapter import GENERATOR_STALLED, Seen
from leaselab.measure.generators.dhcp_load import (
    DUPLICATE_ADDRESS,
    LOST_UPDATES,
    POOL_TOO_FULL,
    REJECTED,
    addresses_of,
    too_few_words,
)
from leaselab.measure.generators.leaseload.command import Leaseload
from leaselab.model.errors import Outcome
from leaselab.model.observation import Generated
from leaselab.model.procedures import procedure_of
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.replay import Replay
from leaselab.model.record import GENERATOR_LIMITED, MALFORMED, TOO_FEW_CLIENTS
from leaselab.model.trial import WHOLE, Load

LOAD, HEAVY = Load(500, 2), Load(1000, 3)


def trial(document, load=LOAD, seen=None, procedure=None, **changed_load):
    made, _ = adapter(document, procedure=procedure, **changed_load)
    return made.offer(load, may_abort=True).trial(seen or Seen())


def counted(name, **changed):
    """A report with these counts changed."""
    return report(name, counts={**report(name)["counts"], **changed})


LOST = counted("good", attempted=1, completed=0, lost=1)
SERVED = counted("good", attempted=1, completed=1, lost=0)


MINUTES = Replay(arrivals=(100, 0, 300), speed=60).load


def test_a_replay_is_one_load_in_parts_and_each_has_its_outcome():
    made, host = adapter(report("parts"), clients=100, renewals=0.5)
    replayed = made.offer(MINUTES, may_abort=False).trial(Seen())
    assert "--seconds 3 --counts 100,0,300 --fill --mix new=0.5,renew=0.5 " in words(host)
    parts = replayed.parts
    counts = [(part.attempted, part.completed, part.late, part.failed) for part in parts]
    assert counts == [(100, 88, 9, 3), (0, 0, 0, 0), (300, 265, 28, 7)]
    assert parts[1].p99_s is None
    assert replayed.completed == sum(part.completed for part in parts)
    assert trial(report("good")).parts == ()


def test_a_minute_that_a_generator_behind_its_load_has_lost_is_not_the_servers():
    load = Replay(arrivals=(9900, 100), speed=60).load
    parts = [
        {"attempted": begun, "completed": done, "late": 0, "p50_s": 0.001, "p99_s": 0.002}
        for begun, done in ((9900, 9900), (100, 50))
    ]
    lost = counted("parts", attempted=10_000, completed=9950, late=0, lost=50, refused=0)
    behind = {**lost, "kinds": {}, "parts": parts, "fell_behind": True}
    assert trial(behind, load, clients=100).reason == GENERATOR_STALLED
    assert trial({**behind, "fell_behind": False}, load, clients=100).valid
    assert trial({**behind, "parts": parts[:1]}, load, clients=100).valid


def test_what_is_under_way_after_a_busy_last_minute_is_no_queue():
    busy = report("parts", after_traffic=100)
    assert trial(busy, MINUTES).late == trial(report("parts"), MINUTES).late
    assert trial(busy, Load(133, 3)).late > trial(busy, MINUTES).late


def test_clients_of_dhcpv4_are_behind_the_generators_relay_address():
    """No two loads begin with the same transaction IDs."""
    made, host = adapter(report("good"))
    assert made.capacity == addresses_of(made._bench.scenario) > 0
    for seed, argv in enumerate((offered(made, host), offered(made, host)), start=1):
        assert argv == (
            "/opt/leaselab/leaseload dhcp4 --interface eth1 --server 198.18.0.10 --relay "
            f"198.18.0.30 --first-mac 00:0c:01:02:03:04 --threads 1 --seed {seed} --seconds 2 "
            "--rate 500 --late 1 --grace 3 --quiet 0.25 --goal 0.025"
        )


def offered(made, host):
    """The words of a load that is offered."""
    made.offer(LOAD, may_abort=True)
    return " ".join(host.argvs[-1])


COME_BACK = {"clients": 1000}
PROOF = Load(100, 60, clients=300, proof=True)


@pytest.mark.parametrize(
    ("changed", "load", "said", "unsaid"),
    [
        ({"family": 6}, LOAD, "dhcp6 --interface eth1 --first-mac ", "--goal"),
        ({"family": 6, "relayed": True}, LOAD, ".10 --relay 2001:2:0:1::30 ", ""),
        ({"relays": ["198.18.0.30", "198.18.0.31"]}, LOAD, "0.30 --relay 198.18.0.31 ", ""),
        ({"family": 6, "want": "prefix"}, LOAD, "--want prefix ", ""),
        ({"family": 6, "want": "both"}, LOAD, "--want both ", ""),
        (COME_BACK, Load(500, 2, first_client=5), "01:02:03:04 --clients 1000 ", "--fill"),
        ({}, Load(500, 2, first_client=0x100), "--first-mac 00:0c:01:02:04:04 ", ""),
        ({**COME_BACK, "resends": True}, LOAD, "--retransmit ", "--quiet"),
        # a confirmation has no more clients than a trial of the search, so the server holds no
        # more than there, unless all have their leases in each trial
        (COME_BACK, PROOF, "--clients 300 ", ""),
        ({**COME_BACK, "renewals": 0.5}, PROOF, "--clients 1000 ", ""),
        ({}, Load(0, 10, at_once=100), " --at-once 100 --retransmit --late 9 ", "--quiet"),
    ],
)
def test_the_command_line_says_what_clients_do(changed, load, said, unsaid):
    made, host = adapter(report("good"), **changed)
    made.offer(load, may_abort=False)
    assert said in words(host)
    assert not unsaid or unsaid not in host.argvs[0]
    assert (made.capacity is None) == ("clients" in changed)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"renewals": 0.5, "releases": 0.1},
            "--fill --mix new=0.4,renew=0.5,release=0.1 --late",
        ),
        ({"renewals": 1.0}, "--fill --mix renew=1 "),
        ({"informs": 0.25, "rapids": 0.5}, "--rate 500 --mix new=0.25,rapid=0.5,inform=0.25 "),
        ({"informs": 0.25, "rebinds": 0.5}, "--fill --mix new=0.25,rebind=0.5,inform=0.25 "),
        ({"lease_clock": True}, "--rate 500 --fill --lease-clock --late"),
    ],
)
def test_clients_with_leases_do_their_shares_or_what_the_clocks_of_their_leases_say(
    asked, said
):
    """How many the clocks make is not known, so such a load has no goal."""
    argv = offered(*adapter(report("good"), **COME_BACK, **asked))
    assert said in argv
    assert ("--goal" in argv) is ("lease_clock" not in asked)


def test_a_probe_is_one_exchange_without_leases_and_has_a_few_tries():
    """A server may take longer for leases of all clients than a probe may last."""
    made, host = adapter(LOST, SERVED, clients=100_000, lease_clock=True, renewals=0.5)
    assert made.answers()
    assert len(host.argvs) == 2
    assert words(host).endswith("--seconds 1 --rate 1 --late 1 --grace 0")
    made, _ = adapter(*[LOST] * 5)
    assert not made.answers()


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"clients": 10, "renewals": 0.9, "releases": 0.2}, "not shares of the exchanges"),
        ({"clients": 10, "renewals": -0.1}, "not shares of the exchanges"),
        ({"renewals": 0.1}, "have no lease"),
        ({"lease_clock": True}, "have no lease"),
        ({"want": "prefix"}, "cannot ask for that"),
        ({"family": 6, "want": "all"}, "cannot ask for that"),
    ],
)
def test_wishes_that_cannot_be_are_refused(changed, what):
    made = bench(**changed)
    with refused(what):
        Leaseload.check_fits(made.scenario, made.procedure)


def test_an_event_has_its_completions_counted_by_milliseconds():
    procedure = procedure_of({"name": "event"})
    made, host = adapter(report("good"), procedure=procedure)
    reading = made.offer(LOAD, may_abort=False)
    assert "--bin 0.001" in words(host)
    times = reading.answered_at
    assert times.size == 987  # one for each that completed
    assert 0 < times.min() < times.max() < 2.2


HISTORY = b"""\
offered 000c01020304 10.0.0.1 - 100 900 - 3600 198.18.0.10
granted 000c01020304 10.0.0.1 10.0.0.1 1000 2000 - 3600 198.18.0.10
granted 000c01020305 10.0.0.1 10.0.0.1 3000 4000 5000 3600 198.18.0.10
released 000c01020305 - 2001:2::/56 6000 - - 0 -
"""


@pytest.mark.parametrize("name", ["event", "operate"])
def test_a_history_is_before_its_report_and_judges_addresses_of_two(name):
    text = HISTORY + json.dumps(report("good", duplicates=1)).encode()
    made, host = adapter(text, procedure=procedure_of({"name": name}))
    reading = made.offer(LOAD, may_abort=False)
    assert "--history" in words(host)
    history = reading.history
    kinds = [Kind.OFFERED, Kind.GRANTED, Kind.GRANTED, Kind.RELEASED]
    assert history.kind.tolist() == kinds
    assert history.done.tolist() == [900, 2000, 10_005_000, 10_006_000]
    assert [violation.rule for violation in check(history)] == ["twice"]
    assert reading.trial(Seen()).valid


@pytest.mark.parametrize(
    "line", [b"granted 1 2", b"given a b c 1 2 3 4 d", b"granted a b c 1 2 x 4 d"]
)
def test_a_history_of_another_form_is_a_broken_lab(line):
    made, _ = adapter(line + b"\n{}", procedure=procedure_of({"name": "event"}))
    with refused("no line of a history", Outcome.LAB):
        _ = made.offer(LOAD, may_abort=False).history


FEW_REFUSED = {**counted("good", completed=986, refused=1), "refused": {"NAK": 1}}
AT_ONCE = report("at-once")


@pytest.mark.parametrize(
    ("document", "load", "counts", "traffic_s", "failures"),
    [
        (report("good"), LOAD, (1000, 987, 13), 2, {}),
        # what was open at an early end is lost
        (report("overloaded"), HEAVY, (1282, 474, 76 + 732), 1.28, {}),
        (report("refused", fell_behind=False), Load(200, 1), (200, 109, 0), 1, {"NAK": 91}),
        # clients at once take as long as the last of them
        (AT_ONCE, Load(0, 10, at_once=100), (100, 100, 0), AT_ONCE["whole"]["max_s"], {}),
    ],
)
def test_what_completed_and_what_was_lost_is_as_reported(
    document, load, counts, traffic_s, failures
):
    measured = trial(document, load)
    assert (measured.attempted, measured.completed, measured.lost) == counts
    assert measured.traffic_s == pytest.approx(traffic_s, abs=0.01)
    assert measured.failures == failures
    assert measured.aborted is (load == HEAVY)
    assert (measured.valid, sums_up(measured)) == (True, True)
    assert measured.figures == ({"resent": 0.0} if load.at_once else {})
    assert measured.rate == load.rate


def test_a_trial_has_latencies_of_each_stage_and_its_seconds():
    measured = trial(report("good"))
    assert list(measured.latency_s) == ["DISCOVER-OFFER", "REQUEST-ACK", WHOLE]
    assert 0 < measured.latency_s[WHOLE].p50 < measured.latency_s[WHOLE].max < 1
    assert [second.attempted for second in measured.per_second] == [500, 500]
    known = trial(FEW_REFUSED, seen=Seen(refused=1), refuses=True)
    assert (known.valid, known.failures, sums_up(known)) == (True, {"NAK": 1}, True)


def test_what_was_worked_off_after_the_traffic_is_late():
    measured = trial(report("good", after_traffic=200, early_mean_s=0.002))
    # 787 in 1.998 s and for 0.002 s more.
    assert measured.late == 200 - math.ceil(787 / 1.998 * 0.002)
    assert sums_up(measured)
    slow = trial(report("good", after_traffic=200, early_mean_s=0.6))
    assert slow.late == 0, "a server that keeps up has so much under way"


@pytest.mark.parametrize(
    ("document", "load", "seen", "word"),
    [
        (report("good", malformed=1), LOAD, {}, MALFORMED),
        (report("good", duplicates=1), LOAD, {}, DUPLICATE_ADDRESS),
        (report("good", left_out=50, fell_behind=True), LOAD, {}, GENERATOR_LIMITED),
        (report("good", fell_behind=True), LOAD, {}, ""),
        (FEW_REFUSED, LOAD, {}, REJECTED),
        (report("good"), LOAD, {"refused": 1}, REJECTED),
        # a pair that lost an update does not pass
        (report("good"), LOAD, {"held": {"server": 987, "partner": 980}}, LOST_UPDATES),
        (report("good"), LOAD, {"held": {"server": 987, "partner": 990}}, ""),
        # a failure is doubted where the generator may have caused it
        (report("overloaded", fell_behind=True), HEAVY, {}, GENERATOR_STALLED),
        (report("overloaded", dropped=800), HEAVY, {}, GENERATOR_STALLED),
        (report("overloaded", unsent=800), HEAVY, {}, GENERATOR_STALLED),
        (report("overloaded", dropped=10), HEAVY, {}, ""),
    ],
)
def test_a_trial_is_doubted_for_what_makes_it_no_proof(document, load, seen, word):
    assert trial(document, load, Seen(**seen)).reason == word


def test_a_pool_that_is_too_full_is_a_doubt_but_for_who_fills_it():
    small = {"pool": "10.0.0.1 - 10.0.7.200"}
    search = procedure_of({"name": "max-rate", "late_s": 1.0})
    assert trial(report("good"), procedure=search, **small).reason == POOL_TOO_FULL
    fill = procedure_of({"name": "fill", "late_s": 1.0, "rate": 500})
    measured = trial(report("good"), procedure=fill, **small)
    assert (measured.valid, measured.waived) == (True, (POOL_TOO_FULL,))


@pytest.mark.parametrize("text", [b"", b"{}", b'{"ended": 1}', b"not JSON"])
def test_output_that_is_no_report_is_the_labs_fault(text):
    with refused(outcome=Outcome.LAB):
        trial(text, Load(1, 1))


@pytest.mark.parametrize(
    ("kind", "options"), [("pdns_recursor", {}), ("kea", {"poll_interval_s": 1.0})]
)
def test_a_server_that_works_by_the_clock_is_not_counted(kind, options):
    scenario = bench().scenario
    server = structs.replace(scenario.server, kind=kind, options=options)
    with refused("this scenario cannot be counted"):
        check_fits(structs.replace(scenario, server=server), procedure_of({"name": "cost"}))


def of_clients(starved, kinds=("renew",), **changed):
    """The report of a load of clients, and how many more of each kind none could begin."""
    whole = report("good")
    document = {**whole, "starved": sum(starved.values()), **changed}
    share = whole["kinds"]["new"]
    counts = {"renew": (987, 13)} if len(kinds) < 2 else {"new": (940, 10), "renew": (47, 3)}
    document["kinds"] = {
        word: {**share, "attempted": done + lost, "completed": done, "lost": lost}
        for word, (done, lost) in counts.items()
    }
    times = {
        word: {"due": sum(counts.get(word, ())) + starved.get(word, 0), "answered": 0}
        | {"sent": sum(counts.get(word, ()))}
        for word in counts.keys() | starved
    }
    document["seconds"] = [{**whole["seconds"][0], "kinds": times}, whole["seconds"][1]]
    document["seconds"][1]["kinds"] = {}
    file = {"scale": 2.0, "clients": 30}
    load = {"clients": 60, "renewals": 0.5, "clients_file": file, "addresses": 10**6}
    return trial(document, Load(500, 2), **load)


@pytest.mark.parametrize(
    ("starved", "changed", "reason"),
    [
        ({"renew": 5}, {}, ""),
        ({"renew": 11}, {}, TOO_FEW_CLIENTS),
        ({"renew": 9}, {"left_out": 12}, GENERATOR_LIMITED),
        ({"rebind": 11}, {}, TOO_FEW_CLIENTS),
        ({"renew": 9}, {"kinds": ("new", "renew")}, TOO_FEW_CLIENTS),
    ],
)
def test_what_no_client_could_begin_is_lost_or_the_trial_does_not_count(
    starved, changed, reason
):
    made = of_clients(starved, **changed)
    assert made.reason == reason
    assert (made.lost, made.attempted) == ((13, 1000) if reason else (18, 1005))
    assert sums_up(made)
    assert not made.kinds or sum(kind.attempted for kind in made.kinds.values()) == 1000
    if reason == TOO_FEW_CLIENTS:
        assert made.detail == "60 clients; 500/s may need 120 (--scale 4)"


@pytest.mark.parametrize(
    ("counts", "lost"),
    [
        ({"completed": 900, "refused": 87}, 313),  # refused leases are no want of clients
        ({"completed": 970, "lost": 30}, 330),  # more clients would lose no less
    ],
)
def test_what_was_begun_may_show_that_the_goal_is_missed(counts, lost):
    changed = {"counts": counted("good", **counts)["counts"]}
    changed |= {"refused": {"NAK": counts["refused"]}} if "refused" in counts else {}
    made = of_clients({"renew": 300}, **changed)
    assert (made.valid, made.lost, made.attempted) == (True, lost, 1300)


@pytest.mark.parametrize(
    ("load", "reply_s", "wanted"),
    [
        ({}, None, 1000),
        ({}, 0.02, 500 * (0.2 + 0.025 * 2)),
        ({}, 0.001, 2 * 60),
        ({}, 1.5, 1000),
        ({"releases": 0.5}, None, 1500),
    ],
)
def test_so_many_clients_are_needed_as_wait_for_replies_or_have_no_lease(load, reply_s, wanted):
    scenario = bench(**{"renewals": 0.5, "clients": 60, **load}).scenario
    limits = MaxRate(late_s=1.0, wait_s=2.0)
    words = too_few_words(scenario, Load(500, 2), limits, reply_s)
    assert words == f"60 clients; 500/s may need {wanted:.0f}"


SLOW = {"counts": dict.fromkeys(report("good")["counts"], 0), "kinds": {}}
SLOW |= {"ended": "interrupted", "filled": {"clients": 60, "leases": 9}}
NO_MORE = "leaseload: --fill: found 9 leases, expected 60: no more"


@pytest.mark.parametrize(
    "generated",
    [Generated(1, gzip.compress(b""), NO_MORE), left(report("good", **SLOW), status=124)],
)
def test_a_server_that_leases_too_slowly_before_a_load_is_not_the_labs_fault(generated):
    made, host = adapter(report("good"), clients=60, renewals=0.5)
    host.outputs = [generated]
    with refused("9 leases of 60 clients", Outcome.INVALID):
        made.offer(LOAD, may_abort=True).trial(Seen())
