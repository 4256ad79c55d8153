"""The limit of a generator: looked for, kept, and held against results."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.examples import archive_result, example_result, trial_of

from leaselab.analysis.figures.credibility import flags
from leaselab.archive.calibration import FRESH, ceiling_for, under
from leaselab.archive.store import Store
from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.search import search
from leaselab.measure.trials import of_generator
from leaselab.model import moment
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import GENERATOR_LIMITED, Ceiling

LIMIT = MaxRate(rounds=1, limit="generator")
TRIAL = trial_of(1000, attempted=4000)


@pytest.mark.parametrize(
    ("reason", "left", "waived"),
    [
        (GENERATOR_LIMITED, "", (GENERATOR_LIMITED,)),
        (GENERATOR_STALLED, "", (GENERATOR_STALLED,)),
        ("foreign-reply", "foreign-reply", ()),
    ],
)
def test_what_was_due_and_not_begun_is_lost_and_no_doubt(reason, left, waived):
    result = of_generator(replace(TRIAL, valid=False, reason=reason))
    assert (result.attempted, result.completed, result.lost) == (5000, 4000, 1000)
    assert (result.valid, result.reason, result.waived) == (not left, left, waived)


def test_the_search_ends_at_what_the_generator_can_begin():
    """Of a server that loses nothing, where a search of the server's limit has no figure."""

    def measure(load):
        begun = min(load.rate, 15_000) * load.duration_s
        limited = begun < 0.99 * load.rate * load.duration_s
        why = {"valid": not limited, "reason": GENERATOR_LIMITED if limited else ""}
        return of_generator(trial_of(load.rate, load.duration_s, attempted=begun, **why))

    assert search(measure, LIMIT).max_rate == pytest.approx(15_000 / 0.975, rel=0.01)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def ceiling(store, **changed):
    """A ceiling of 20 000/s in the archive, ended a day before the example result."""
    base = example_result()
    ended = datetime.fromisoformat(base.finished_at) - changed.pop("age", timedelta(days=1))
    made = replace(
        base,
        id=f"{ended:%Y%m%dT%H%M%SZ}-responder-v4-uncapped-0000",
        scenario=replace(base.scenario, name="responder-v4-uncapped"),
        procedure=replace(base.procedure, limit="generator"),
        started_at=moment.timestamp(ended),
        finished_at=moment.timestamp(ended),
        metrics=(replace(base.figure, value=20_000.0), *base.metrics[1:]),
    )
    return archive_result(store.root, replace(made, **changed)).id


def test_the_newest_that_fits_is_that_of_a_result(store):
    ceiling(store, age=timedelta(days=2))
    newest = ceiling(store)
    assert ceiling_for(store, example_result()) == Ceiling(rate=20_000.0, id=newest)


def another(part, **changed):
    return {part: replace(getattr(example_result(), part), **changed)}


@pytest.mark.parametrize(
    "changed",
    [
        {"age": FRESH + timedelta(days=1)},
        {"age": -timedelta(days=1)},
        {"outcome": "invalid"},
        another("bench", name="rack"),
        another("bench", environment="another"),
        another("generator", version="9"),
        another("scenario", load={"transport": "tcp"}),
        another("procedure", limit="server"),
    ],
    ids=" ".join,
)
def test_one_that_does_not_fit_is_none(store, changed):
    ceiling(store, **changed)
    assert ceiling_for(store, example_result()) is None


@pytest.mark.parametrize(("share", "limited"), [(0.79, False), (0.81, True)])
def test_a_result_near_it_says_so_first(share, limited):
    result = example_result()
    limit = Ceiling(rate=result.figure.value / share, id="20260101T000000Z-c-0000")
    outcome = under(limit, result)
    assert (outcome.ceiling, outcome.figure) == (limit, result.figure)
    assert ("generator-limited" in {reason.word for reason in outcome.reasons}) is limited
    words = [flag.word for flag in flags(outcome)]
    assert (words[0] == "generator-limited") is limited
    assert "no ceiling" not in words


def test_a_result_without_one_says_so_and_a_ceiling_needs_none():
    result = example_result()
    assert under(None, result) == result
    assert "no ceiling" in {flag.word for flag in flags(result)}
    of_generator_ = replace(result, procedure=replace(result.procedure, limit="generator"))
    assert "no ceiling" not in {flag.word for flag in flags(of_generator_)}
    assert under(Ceiling(rate=1.0, id="x"), of_generator_) == of_generator_
