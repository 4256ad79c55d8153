"""leaseload's command lines for DHCP, and what its recorded reports come to."""

import gzip
import json
import math

import pytest
from msgspec import structs
from tests.dns import Host, sums_up
from tests.leaseload import adapter, bench, left, report, words

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
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.observation import Generated
from leaselab.model.procedures import procedure_of
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.replay import Replay
from leaselab.model.record import GENERATOR_LIMITED, MALFORMED, TOO_FEW_CLIENTS
from leaselab.model.trial import WHOLE, Load

LOAD = Load(500, 2)


def trial(document, load, seen=None, procedure=None, **changed_load):
    made, _ = adapter(document, procedure=procedure, **changed_load)
    return made.offer(load, may_abort=True).trial(seen or Seen())


def test_clients_of_dhcpv4_are_behind_the_generators_relay_address():
    made, host = adapter(report("good"))
    assert made.capacity == addresses_of(made._bench.scenario) > 0
    made.offer(Load(500, 2), may_abort=True)
    assert words(host) == (
        "/opt/leaselab/leaseload dhcp4 --interface eth1 --server 198.18.0.10 "
        "--relay 198.18.0.30 --first-mac 00:0c:01:02:03:04 --threads 1 --seed 1 --seconds 2 "
        "--rate 500 --late 1 --grace 3 --quiet 0.25 --goal 0.025"
    )


def test_a_replay_is_one_load_in_parts_and_each_has_its_outcome():
    made, host = adapter(report("parts"), clients=100, renewals=0.5)
    load = Replay(arrivals=(100, 0, 300), speed=60).load
    made_trial = made.offer(load, may_abort=False).trial(Seen())
    assert "--seconds 3 --counts 100,0,300 --fill --mix new=0.5,renew=0.5 " in words(host)
    parts = made_trial.parts
    counts = [(part.attempted, part.completed, part.late, part.failed) for part in parts]
    assert counts == [(100, 88, 9, 3), (0, 0, 0, 0), (300, 265, 28, 7)]
    assert parts[1].p99_s is None
    assert made_trial.completed == sum(part.completed for part in parts)
    assert trial(report("good"), Load(500, 2)).parts == ()


def test_a_minute_that_a_generator_behind_its_load_has_lost_is_not_the_servers():
    load = Replay(arrivals=(9900, 100), speed=60).load
    good = {
        "attempted": 10_000,
        "completed": 9950,
        "late": 0,
        "lost": 50,
        "refused": 0,
        "open": 0,
    }
    times = {"p50_s": 0.001, "p99_s": 0.002}
    lacking = [
        {"attempted": 9900, "completed": 9900, "late": 0, **times},
        {"attempted": 100, "completed": 50, "late": 0, **times},
    ]
    behind = report("parts", counts=good, kinds={}, parts=lacking, fell_behind=True)
    assert trial(behind, load, clients=100).reason == GENERATOR_STALLED
    assert trial({**behind, "fell_behind": False}, load, clients=100).valid
    assert trial({**behind, "parts": lacking[:1]}, load, clients=100).valid


def test_what_is_under_way_after_a_busy_last_minute_is_no_queue():
    load = Replay(arrivals=(100, 0, 300), speed=60).load
    busy = report("parts", after_traffic=100)
    assert trial(busy, load).late == trial(report("parts"), load).late
    assert trial(busy, Load(133, 3)).late > trial(busy, load).late


def test_no_two_loads_begin_with_the_same_transaction_ids():
    made, host = adapter(report("good"), report("good"))
    for _ in range(2):
        made.offer(Load(500, 2), may_abort=True)
    seeds = [argv[argv.index("--seed") + 1] for argv in host.argvs]
    assert seeds == ["1", "2"]


COME_BACK = {"clients": 1000}
PROOF = Load(100, 60, clients=300, proof=True)


@pytest.mark.parametrize(
    ("changed", "load", "said", "unsaid"),
    [
        ({"family": 6}, LOAD, "dhcp6 --interface eth1 --first-mac ", "--goal"),
        (
            {"family": 6, "relayed": True},
            LOAD,
            "--server 198.18.0.10 --relay 2001:2:0:1::30 ",
            "",
        ),
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
        # clients with leases renew, release or start again by their shares
        (
            {**COME_BACK, "renewals": 0.5, "releases": 0.1},
            LOAD,
            "--fill --mix new=0.4,renew=0.5,release=0.1 --late",
            "",
        ),
        ({**COME_BACK, "renewals": 1.0}, LOAD, "--fill --mix renew=1 ", ""),
        (
            {**COME_BACK, "informs": 0.25, "rapids": 0.5},
            LOAD,
            "--mix new=0.25,rapid=0.5,inform=0.25 ",
            "--fill",
        ),
        (
            {**COME_BACK, "informs": 0.25, "rebinds": 0.5},
            LOAD,
            "--fill --mix new=0.25,rebind=0.5,inform=0.25 ",
            "",
        ),
        ({}, Load(0, 10, at_once=100), " --at-once 100 --retransmit --late 9 ", "--quiet"),
    ],
)
def test_the_command_line_says_what_clients_do(changed, load, said, unsaid):
    made, host = adapter(report("good"), **changed)
    made.offer(load, may_abort=False)
    assert said in words(host)
    assert not unsaid or unsaid not in host.argvs[0]
    assert (made.capacity is None) == ("clients" in changed)


def test_clients_whose_leases_have_clocks_hold_them_as_the_load_begins():
    made, host = adapter(report("good"), clients=100_000, lease_clock=True)
    made.offer(LOAD, may_abort=True)
    assert "--clients 100000 " in words(host)
    assert " --fill --lease-clock --late" in words(host)
    assert "--goal" not in host.argvs[0]  # leaseload cannot know how many there will be


def test_a_probe_gives_no_leases():
    """A server may take longer for those of all clients than a probe may last."""
    served = report("good")
    served["counts"] = {**served["counts"], "attempted": 1, "completed": 1, "lost": 0}
    made, host = adapter(served, clients=100_000, lease_clock=True, renewals=0.5)
    assert made.answers()
    assert not {"--fill", "--mix", "--lease-clock"} & set(host.argvs[0])


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
    with pytest.raises(LeaselabError, match=what) as caught:
        Leaseload.check_fits(made.scenario, made.procedure)
    assert caught.value.outcome is Outcome.USAGE


def test_an_event_has_its_completions_counted_by_milliseconds():
    procedure = procedure_of({"name": "event"})
    made, host = adapter(report("good"), procedure=procedure)
    reading = made.offer(Load(500, 2), may_abort=False)
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
    reading = made.offer(Load(500, 2), may_abort=False)
    assert "--history" in words(host)
    history = reading.history
    assert [Kind(kind).name for kind in history.kind] == [
        *("OFFERED", "GRANTED", "GRANTED", "RELEASED")
    ]
    assert history.done.tolist() == [900, 2000, 10_005_000, 10_006_000]
    assert [violation.rule for violation in check(history)] == ["twice"]
    assert reading.trial(Seen()).valid


def test_a_history_of_another_form_is_a_broken_lab():
    for line in (b"granted 1 2", b"given a b c 1 2 3 4 d", b"granted a b c 1 2 x 4 d"):
        made, _ = adapter(line + b"\n{}", procedure=procedure_of({"name": "event"}))
        with pytest.raises(LeaselabError, match="no line of a history") as caught:
            _ = made.offer(Load(500, 2), may_abort=False).history
        assert caught.value.outcome is Outcome.LAB


def test_a_probe_is_one_exchange_and_has_a_few_tries():
    lost = report("good")
    lost["counts"] = {**lost["counts"], "attempted": 1, "completed": 0, "lost": 1}
    served = report("good")
    served["counts"] = {**served["counts"], "attempted": 1, "completed": 1, "lost": 0}
    made, host = adapter(lost, served)
    assert made.answers()
    assert len(host.argvs) == 2
    assert words(host).endswith("--seconds 1 --rate 1 --late 1 --grace 0")
    made, _ = adapter(*[lost] * 5)
    assert not made.answers()


def test_what_completed_and_what_was_lost_is_as_reported():
    measured = trial(report("good"), Load(500, 2))
    assert (measured.attempted, measured.completed, measured.lost) == (1000, 987, 13)
    assert measured.valid
    assert not measured.aborted
    assert measured.traffic_s == 2
    assert list(measured.latency_s) == ["DISCOVER-OFFER", "REQUEST-ACK", WHOLE]
    assert 0 < measured.latency_s[WHOLE].p50 < measured.latency_s[WHOLE].max < 1
    assert [second.attempted for second in measured.per_second] == [500, 500]
    assert sums_up(measured)


def test_what_was_open_at_an_early_end_is_lost():
    measured = trial(report("overloaded"), Load(1000, 3))
    assert measured.aborted
    assert measured.valid
    assert (measured.completed, measured.lost) == (474, 76 + 732)
    assert measured.traffic_s == pytest.approx(1.28, abs=0.01)
    assert sums_up(measured)


def test_what_was_worked_off_after_the_traffic_is_late():
    document = report("good", after_traffic=200, early_mean_s=0.002)
    measured = trial(document, Load(500, 2))
    # 787 in 1.998 s and for 0.002 s more.
    assert measured.late == 200 - math.ceil(787 / 1.998 * 0.002)
    assert sums_up(measured)
    slow = report("good", after_traffic=200, early_mean_s=0.6)
    assert trial(slow, Load(500, 2)).late == 0, "a server that keeps up has so much under way"


def test_refusals_are_failures_and_doubt_a_pass():
    measured = trial(report("refused", fell_behind=False), Load(200, 1))
    assert measured.failures == {"NAK": 91}
    assert (measured.valid, sums_up(measured)) == (True, True)
    few = report("good", refused={"NAK": 1})
    few["counts"] = {**few["counts"], "completed": 986, "refused": 1}
    measured = trial(few, Load(500, 2))
    assert (measured.reason, sums_up(measured)) == (REJECTED, True)
    assert trial(report("good"), Load(500, 2), Seen(refused=1)).reason == REJECTED
    known = trial(few, Load(500, 2), Seen(refused=1), refuses=True)
    assert (known.valid, known.failures) == (True, {"NAK": 1})


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"malformed": 1}, MALFORMED),
        ({"duplicates": 1}, DUPLICATE_ADDRESS),
        ({"left_out": 50, "fell_behind": True}, GENERATOR_LIMITED),
        ({"fell_behind": True}, ""),
    ],
)
def test_a_pass_is_doubted_for_what_makes_it_no_proof(changed, word):
    assert trial(report("good", **changed), Load(500, 2)).reason == word


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"fell_behind": True}, GENERATOR_STALLED),
        ({"dropped": 800}, GENERATOR_STALLED),
        ({"unsent": 800}, GENERATOR_STALLED),
        ({"dropped": 10}, ""),
    ],
)
def test_a_failure_is_doubted_where_the_generator_may_have_caused_it(changed, word):
    assert trial(report("overloaded", **changed), Load(1000, 3)).reason == word


def test_a_pool_that_is_too_full_is_a_doubt_but_for_who_fills_it():
    small = "10.0.0.1 - 10.0.7.200"
    procedure = procedure_of({"name": "max-rate", "late_s": 1.0})
    assert trial(report("good"), Load(500, 2), procedure=procedure, pool=small).reason == (
        POOL_TOO_FULL
    )
    fill = procedure_of({"name": "fill", "late_s": 1.0, "rate": 500})
    measured = trial(report("good"), Load(500, 2), procedure=fill, pool=small)
    assert (measured.valid, measured.waived) == (True, (POOL_TOO_FULL,))


def test_a_pair_that_lost_an_update_does_not_pass():
    seen = Seen(held={"server": 987, "partner": 980})
    assert trial(report("good"), Load(500, 2), seen).reason == LOST_UPDATES
    assert trial(report("good"), Load(500, 2), Seen(held={"server": 987, "partner": 990})).valid


def test_clients_at_once_take_as_long_as_the_last_of_them():
    measured = trial(report("at-once"), Load(0, 10, at_once=100))
    whole = report("at-once")["whole"]["max_s"]
    assert (measured.completed, measured.traffic_s) == (100, whole)
    assert measured.figures == {"resent": 0.0}
    assert measured.rate == 0


@pytest.mark.parametrize("text", [b"", b"{}", b'{"ended": 1}', b"not JSON"])
def test_output_that_is_no_report_is_the_labs_fault(text):
    made, host = bench(), Host(left(text))
    with pytest.raises(LeaselabError) as caught:
        Leaseload(made, made.procedure, host).offer(Load(1, 1), may_abort=False).trial(Seen())
    assert caught.value.outcome is Outcome.LAB


@pytest.mark.parametrize(
    ("kind", "options"), [("pdns_recursor", {}), ("kea", {"poll_interval_s": 1.0})]
)
def test_a_server_that_works_by_the_clock_is_not_counted(kind, options):
    scenario = bench().scenario
    server = structs.replace(scenario.server, kind=kind, options=options)
    with pytest.raises(LeaselabError, match="this scenario cannot be counted"):
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


def test_leases_that_a_server_has_refused_are_no_want_of_clients():
    counts = {**report("good")["counts"], "completed": 900, "refused": 87}
    made = of_clients({"renew": 300}, counts=counts, refused={"NAK": 87})
    assert (made.valid, made.lost) == (True, 313)


def test_of_a_search_what_was_begun_may_show_that_the_goal_is_missed():
    """More clients would lose no less: what none could begin is the server's loss."""
    counts = {**report("good")["counts"], "completed": 970, "lost": 30}
    made = of_clients({"renew": 300}, counts=counts)
    assert (made.valid, made.lost, made.attempted) == (True, 330, 1300)


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


@pytest.mark.parametrize(
    "generated",
    [
        Generated(
            1, gzip.compress(b""), "leaseload: --fill: found 9 leases, expected 60: no more"
        ),
        left(
            report(
                "good",
                ended="interrupted",
                counts=dict.fromkeys(report("good")["counts"], 0),
                kinds={},
                filled={"clients": 60, "leases": 9},
            ),
            status=124,
        ),
    ],
)
def test_a_server_that_leases_too_slowly_before_a_load_is_not_the_labs_fault(generated):
    made, host = adapter(report("good"), clients=60, renewals=0.5)
    host.outputs = [generated]
    with pytest.raises(LeaselabError, match="9 leases of 60 clients") as caught:
        made.offer(Load(500, 2), may_abort=True).trial(Seen())
    assert caught.value.outcome is Outcome.INVALID
