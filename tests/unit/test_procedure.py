"""The parameters of each procedure, and what follows from them."""

import math
from functools import partial

import msgspec
import msgspec.inspect
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import trial_of
from tests.refusals import refused

from leaselab.catalog.family import Family
from leaselab.model.procedure import MEDIAN, PAUSE_LIMIT_S, SPOILED_LIMIT, STALLED_LIMIT
from leaselab.model.procedures import PROCEDURES, procedure_of
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.duel import LEAST_ROUNDS
from leaselab.model.procedures.event import Event
from leaselab.model.procedures.fill import Fill
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.ramp import Ramp

STEADY = ("fixed-load", "event", "operate", "fill", "profile")
LONG = FixedLoad(rate=10, duration_s=150, trial_s=60)


made = partial(trial_of, 100, 1)


@given(st.integers(-3, 30), st.integers(-3, 15), st.sampled_from(list(PROCEDURES)))
def test_something_is_left_after_trimming_or_it_is_refused(rounds, trim, name):
    parameters = {"name": name, "rounds": rounds, "trim": trim}
    kept = rounds - 2 * trim
    # Each has bounds by itself as well: a duel, a profile and a count have no trim that depends
    # on the rounds, and a duel has more rounds.
    assume(rounds >= (LEAST_ROUNDS if name == "duel" else 1))
    assume(trim >= (0 if name in ("duel", "profile", "cost") else -1))
    if trim == -1:
        assert procedure_of(parameters).trim == int(rounds >= 5)
    elif kept > 0 and (kept > 1 or trim == 0):
        assert procedure_of(parameters).rounds == rounds
    else:
        with refused("would be left after trimming"):
            procedure_of(parameters)


@pytest.mark.parametrize(
    ("name", "counted"),
    [("max-rate", (9, 1)), *((name, (3, 0)) for name in STEADY if name != "profile")],
)
def test_a_search_drops_the_ends_of_nine_rounds_and_a_steady_load_none_of_three(name, counted):
    procedure = procedure_of({"name": name})
    assert (procedure.rounds, procedure.trim) == counted
    assert procedure_of({}) == MaxRate()


@pytest.mark.parametrize("name", PROCEDURES)
@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"wait_s": 1.9, "late_s": 2.0}, r"wait_s 1.9, late_s 2, wanted wait_s of 2 or more"),
        ({"warm_up_rate": 5, "warm_up_s": 0}, "a load for no time"),
        ({"reset": "never"}, "reset is not valid .*never.*, wanted after-trial or at-start"),
    ],
)
def test_parameters_that_no_measurement_could_meet_are_refused(name, fields, match):
    with refused(match, where="parameters of the measurement"):
        procedure_of({"name": name, **fields})


@pytest.mark.parametrize(
    ("name", "fields", "match"),
    [
        ("max-rate", {"min_rate": 500, "max_rate": 500}, "no room to search"),
        ("max-rate", {"max_trials": 1}, "max_trials is not valid .found 1, wanted a whole"),
        ("max-rate", {"confirm_s": -1}, "found -1, wanted a whole number from 0 to 604800"),
        ("max-rate", {"rounds": "many"}, 'rounds is not valid .found "many", wanted a whole'),
        ("max-rate", {"trial_s": 1.5}, "trial_s is not valid .found 1.5, wanted a whole"),
        *(
            (name, {"share": 0.0}, "found 0.0, wanted a number above 0 to 10")
            for name in STEADY
        ),
        ("fill", {"fill": 1.0}, "fill is not valid .found 1.0, .* above 0 and below 1"),
        ("ramp", {"rates": []}, "found .., wanted 1 to 100 of them, each a whole number from"),
        ("ramp", {"rates": [5, 0]}, "rates is not valid .found .5, 0."),
        ("ramp", {"step_s": 5}, "step_s is not valid .found 5, wanted .* from 6 to"),
        ("operate", {"operations": []}, "found .., wanted 1 to 50 of them, each a word of"),
        ("operate", {"operations": ["a b"]}, "operations is not valid .found ..a b"),
        ("operate", {"operations": "reload"}, "operations is not valid .found .reload"),
        ("operate", {"every_s": 896}, "too long .*found .*: 901 s, wanted 900 s or less"),
        ("event", {"event": "stop"}, "event is not valid .found .stop., wanted crash"),
        # what no procedure has, with the nearest
        ("max-rat", {}, "procedure.*max-rat.*max-rate"),
        ("max-rate", {"start_rat": 5}, "parameter of max-rate.*start_rat.*start_rate"),
        ("event", {"start_rate": 5}, "no parameter of event .wanted procedure max-rate"),
        ("fixed-load", {"before_s": 5}, "of fixed-load .wanted procedure event or operate"),
    ],
)
def test_so_are_those_of_each_procedure(name, fields, match):
    with refused(match):
        procedure_of({"name": name, **fields})


CHOICES = {"name", "event", "who", "reset", "limit", "metric", "operations", "seed", "simulate"}
NUMBERS = [
    (name, field.name)
    for name, kind in PROCEDURES.items()
    for field in msgspec.inspect.type_info(kind).fields
    if field.name not in CHOICES
]
NONE = (math.nan, math.inf, -math.inf, 10**30, -(10**30), "", "5", True, [], {})


@pytest.mark.parametrize("value", NONE, ids=repr)
def test_every_parameter_has_a_lower_and_an_upper_bound(value):
    """And what is no number is none, whatever it looks like."""
    for name, parameter in NUMBERS:
        with refused(f"{parameter} is not valid .found .*, wanted .* (from|above) .*"):
            procedure_of({"name": name, parameter: value})


OTHERS = {
    "max-rate": {"start_rate": 700},
    "burst": {"clients": 7},
    "ramp": {"rates": (70, 7), "reset": "at-start"},
    "replay": {"arrivals": (70, 7), "speed": 7.0},
    "duel": {"find": 0.05, "rate": 700},
    "cost": {"transactions": 70, "clients": 700},
}


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_procedure_is_written_and_read_back_as_it_is(name):
    """Also once its share has become a rate."""
    given = {"share": 0.5, "rate": 700} if name in STEADY else OTHERS[name]
    procedure = procedure_of({"name": name, "rounds": 7, **given})
    assert procedure_of(msgspec.to_builtins(procedure)) == procedure
    assert msgspec.to_builtins(procedure)["name"] == name


# --- a rate, or a share of the max rate ---------------------------------------------


@pytest.mark.parametrize(
    ("name", "share"), [("fixed-load", 0.8), ("event", 0.5), ("operate", 0.5)]
)
def test_without_a_load_it_is_a_share_of_the_max_rate(name, share):
    procedure = procedure_of({"name": name})
    assert (procedure.share, procedure.rate) == (share, None)
    assert procedure_of({"name": name, "rate": 300}).share is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rate": 500}, "500/s"),
        ({"share": 0.5}, "0.5 of the max rate"),
        ({"share": 0.5, "rate": 500}, "0.5 of the max rate (500/s)"),
        ({}, "0.8 of the max rate"),
    ],
)
def test_the_load_in_words(fields, words):
    assert FixedLoad(**fields).load_words == words
    assert FixedLoad(**fields).words == f"{words} for 60 s, replies within 2 s"


def test_loads_that_are_the_same_share_are_compared_and_rates_as_they_are():
    same = [FixedLoad(share=0.5, rate=rate).ruler() for rate in (None, 500, 700)]
    assert same == [same[0]] * 3
    assert FixedLoad(rate=500).ruler() != FixedLoad(rate=700).ruler()
    assert FixedLoad(share=0.5, rate=500).ruler() != FixedLoad(rate=500).ruler()


def a_family(varied=(), **procedure):
    """A family of one scenario with these parameters: gives its procedure."""
    name = "v4-memfile"
    of = Family("v4", {name: None}, {name: procedure}, {name: frozenset(varied)})
    return partial(of.procedure_of, name)


@pytest.mark.parametrize(
    ("file", "asked", "load"),
    [
        ({"share": 0.7}, {"rate": 500}, (500, None)),
        ({"rate": 500}, {"share": 0.7}, (None, 0.7)),
        ({"share": 0.7}, {"duration_s": 5}, (None, 0.7)),
        ({"share": 0.7, "name": "event"}, {}, (None, 0.8)),
    ],
)
def test_a_load_that_was_asked_for_comes_instead_of_the_files(file, asked, load):
    """Else a rate would be taken for the file's share, and compared as such."""
    of_family = a_family(**{"name": "fixed-load", **file})
    procedure = of_family({"name": "fixed-load", **asked})
    assert (procedure.rate, procedure.share) == load


def test_a_rate_and_a_share_at_once_are_refused():
    with refused("exclude each other .found rate 5 and share 0.5, wanted one"):
        a_family()({"name": "event", "rate": 5, "share": 0.5})


@pytest.mark.parametrize(
    "procedure",
    [
        MaxRate(),
        FixedLoad(rate=300),
        FixedLoad(share=0.5).at_max_rate(1000),
        Fill(share=0.8, fill=0.5, fill_rate=900).at_max_rate(1000),
    ],
)
def test_a_whole_procedure_is_what_it_is(procedure):
    """So a load that a command has worked out passes through the playbooks unchanged."""
    whole = msgspec.to_builtins(procedure)
    assert a_family(["fill"], name="fill", fill=0.9)(whole) == procedure


def test_a_parameter_that_is_a_factor_is_not_overridden():
    """The scenario's name and its factors would say another number of clients."""
    of_family = a_family(["clients"], name="burst", clients=5000)
    with refused("clients is a factor of this scenario") as caught:
        of_family({"clients": 7})
    assert "leaselab list --scenarios v4" in caught.value.todo
    assert of_family({"clients": 5000, "limit_s": 9}).limit_s == 9
    assert of_family({"name": "max-rate"}) == MaxRate()


# --- bursts and fillings ------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "fits", "does_not", "refusal"),
    [
        # 90 % of 2000 addresses are filled: 200 are free
        ({"fill": 0.9, "rate": 100}, 2000, 1999, "free .found 100/s for 2 s into 199 of 1999"),
        ({"fill_limit_s": 60}, 12_000, 12_002, "takes longer than .* .found 6001 at 100/s: 60"),
    ],
)
def test_a_filling_fits_into_its_pool_and_its_time(fields, fits, does_not, refusal):
    fill = Fill(**{"fill": 0.5, "rate": 10, "fill_rate": 100, "duration_s": 2, **fields})
    fill.check_capacity(fits, "here")
    with refused(refusal):
        fill.check_capacity(does_not, "here")
    with refused("this load has no pool"):
        fill.check_capacity(None, "here")


def test_a_filling_at_a_share_of_the_max_rate_has_a_load_when_that_is_known():
    fill = Fill(share=0.5)
    assert (fill.share_of_max_rate, fill.offered, fill.filling_rate) == (0.5, 0, 0)
    known = fill.at_max_rate(4000.0)
    assert (known.share_of_max_rate, known.rate, known.offered) == (None, 2000, 10_000)
    assert known.filling_rate == 2000
    assert (Burst().share_of_max_rate, Burst().at_max_rate(9.0)) == (None, Burst())


@pytest.mark.parametrize(
    ("procedure", "round_s", "trial_s"),
    [
        (Burst(), 7 * (120 + 9), 120),
        (Fill(rate=1), 1200 + 30 + 9 + 7 * (5 + 9), 30),
        (LONG, 150 + STALLED_LIMIT * 60 + (3 + STALLED_LIMIT) * 9, 60),
        (Event(rate=10), 10 + 30 + 9, 40),
        (Ramp(step_s=60), 3 * 3 * (60 + 9), 60),
    ],
)
def test_the_longest_of_three_rounds_is_bounded(procedure, round_s, trial_s):
    """With what stalls may spoil in each; 9 s are the waits beside a trial."""
    assert procedure.longest_trial_s == trial_s
    assert procedure.longest_s == 3 * (1 + 9 + round_s + 60) + PAUSE_LIMIT_S
    assert FixedLoad(duration_s=9).longest_trial_s == 9


# --- what is compared ---------------------------------------------------------------


SAME = {"rounds": 5, "trim": 0, "start_rate": 9, "max_trials": 9, "confirm_s": 0}
OTHER = {"trial_s": 6, "scout_s": 2, "warm_up_s": 0, "late_s": 1.0, "wait_s": 5.0}
OTHER |= {"loss_ratio": 0.03, "relative_width": 0.02, "max_rate": 9999, "min_rate": 11}


@pytest.mark.parametrize(("name", "value"), (SAME | OTHER).items())
def test_the_ruler_is_what_moves_a_figure(name, value):
    assert (MaxRate(**{name: value}).ruler() == MaxRate().ruler()) is (name in SAME)


# --- how much, and for how long -----------------------------------------------------


def test_the_longest_search_has_all_trials_of_all_rounds_and_of_the_confirmation():
    stretches = 7 * (60 + 20 * (4 + 5))
    spoiled = SPOILED_LIMIT * (4 * 60 + 4 + 5)
    confirmation = stretches + spoiled + SPOILED_LIMIT * (3 + 4 + 5) + 60
    rounds = 9 * (40 * (3 + 4 + 5) + (1 + 4 + 5) + 60)
    assert MaxRate().longest_s == rounds + confirmation + PAUSE_LIMIT_S


@pytest.mark.parametrize(
    ("procedure", "most"),
    [
        (MaxRate(max_rate=100, trial_s=5), 500),
        # what a stall spoils stays, and is offered again
        (FixedLoad(rate=10, duration_s=60, trial_s=60), 600),
        (FixedLoad(rate=10, duration_s=120, trial_s=60), 1200 + STALLED_LIMIT * 600),
        (Event(rate=10, before_s=10, after_s=30), 400),
        (Event(), 0),
        (Ramp(rates=(10, 20), step_s=6), 180),
    ],
)
def test_what_a_server_may_have_to_hold_at_once(procedure, most):
    assert procedure.most_attempted == most


@pytest.mark.parametrize(("confirm_s", "seconds"), [(60, 73), (1, 14), (0, 0)])
def test_a_confirmation_is_a_stretch_and_three_trials(confirm_s, seconds):
    assert MaxRate(confirm_s=confirm_s).confirming_s == seconds
    assert FixedLoad().confirming_s == Event().confirming_s == 0


def test_each_stage_of_a_transaction_is_waited_for():
    procedure = procedure_of({"late_s": 1.5, "wait_s": 2.0})
    procedure.check_replies(1, "queries")
    with refused("would count as lost: each of their 2 ") as caught:
        procedure.check_replies(2, "exchanges")
    assert caught.value.wanted == "wait_s of 3 or more"
    with refused("queries that are in time would count as lost .found wait_s 2"):
        msgspec.structs.replace(procedure, late_s=2.5).check_replies(1, "queries")


# --- figures ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        *(("ramp", "completed_rate"), ("max-rate", "max_rate"), ("fixed-load", "p99_s")),
        *(("event", "outage_s"), ("fill", "completed_rate"), ("operate", "stall_s")),
    ],
)
def test_the_figure_that_a_procedure_is_about_is_its_first(name, figure):
    kinds = procedure_of({"name": name}).metrics("queries")
    assert kinds[0].name == figure
    assert len({kind.name for kind in kinds}) == len(kinds)
    assert all(kind.title and kind.unit for kind in kinds)


def test_units_are_those_of_the_transactions():
    units = [kind.unit for kind in MaxRate().metrics("queries")]
    assert units == ["queries/s", "queries/s", "µs per query"]
    assert {kind.how for kind in Event().metrics("queries")} == {MEDIAN}
    better = {kind.name: kind.better for kind in FixedLoad().metrics("queries")}
    assert better.pop("completed_rate") == "higher"
    assert set(better.values()) == {"lower"}


@pytest.mark.parametrize(
    ("procedure", "spent"), [(MaxRate(), 40.0), (FixedLoad(), 70.0), (Event(), 70.0)]
)
def test_cpu_time_is_that_of_the_trials_that_count(procedure, spent):
    """Of a search those that passed; of a load whose losses are the answer, all valid ones."""
    trials = [
        made(0, cpu_us=40.0),
        made(50, cpu_us=130.0),
        made(0, cpu_us=500.0, valid=False, reason="generator-stalled"),
        made(0),
    ]
    assert procedure.cpu_us(trials) == pytest.approx(spent)
    assert procedure.cpu_us(trials[2:]) is None
