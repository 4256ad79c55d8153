"""What archived results say of a range of commits."""

import msgspec
import pytest
from tests.examples import round_of
from tests.formula import archived

from leaselab.analysis.comparison.archived_duels import FAILURES, facts_of
from leaselab.analysis.duels.duel import Answer
from leaselab.model.errors import Outcome
from leaselab.model.procedures.duel import Duel
from leaselab.model.record import Experiment, Reason

HASHES = [f"{number}" * 40 for number in range(1, 5)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return archived(tmp_path_factory.mktemp("archive"), 1)


@pytest.fixture
def pair(made):
    """Make the two results of a duel of two places."""
    count = 0

    def pair(older, newer, ratio=0.95, **changes):
        nonlocal count
        count += 1
        ids = tuple(f"20261124T1200{count:02d}Z-x-000{side}" for side in (1, 2))
        records = [
            msgspec.structs.replace(
                made,
                id=ids[side],
                started_at=f"2026-11-24T12:00:{count:02d}.000Z",
                procedure=Duel(),
                servers={"server": msgspec.structs.replace(made.server, commit=HASHES[place])},
                rounds=_rounds(speed, side),
                wall_s=120.0 + side,
                experiment=Experiment(id=ids[0], points=ids, interleaved=True, both_up=True),
            )
            for side, (place, speed) in enumerate([(older, 1.0), (newer, ratio)])
        ]
        records[1] = msgspec.structs.replace(records[1], **changes)
        return records

    return pair


def _rounds(speed, side):
    """Rounds that scatter a little on one side."""
    rates = [1000 * speed * (1 + 0.001 * side * (index % 3)) for index in range(1, 13)]
    return tuple(
        round_of(index=index, metrics={"completed_rate": rate, "loss_ratio": 0.05}, wall_s=20.0)
        for index, rate in enumerate(rates, start=1)
    )


FAILED = {"outcome": "invalid", "reasons": (Reason(word="invalid-trial", text="no answer"),)}
UNBUILT = {
    "outcome": Outcome.BUILD.label,
    "reasons": (Reason(word="build-failed", text="it does not start"),),
}


@pytest.mark.parametrize(
    ("both_up", "find", "answer", "seconds"),
    # by the drop that a search is to find
    [(True, 0.03, Answer.SLOWER, 121), (False, 0.2, Answer.SAME, 241)],
)
def test_a_duel_is_read_with_its_ratio_its_time_and_its_id(
    *, pair, both_up, find, answer, seconds
):
    records = pair(0, 3)
    experiment = msgspec.structs.replace(records[0].experiment, both_up=both_up)
    records = [msgspec.structs.replace(item, experiment=experiment) for item in records]
    (duel,) = facts_of(HASHES, records, find).known.duels
    assert (duel.older, duel.newer, duel.answer, duel.id) == (0, 3, answer, records[0].id)
    assert duel.ratio == pytest.approx(0.95, abs=0.005)
    assert duel.ci95[0] < duel.ratio < duel.ci95[1]
    assert duel.minutes == pytest.approx(seconds / 60)


def test_half_a_duel_and_one_of_the_newer_against_the_older_are_none(pair):
    records = [pair(0, 3)[0], *pair(2, 1)]
    assert facts_of(HASHES, records, 0.03).known.duels == ()


def test_a_commit_whose_duels_have_no_verdict_is_left_out_after_some(pair):
    records = []
    for number in range(1, FAILURES + 1):
        records += pair(0, 2, **FAILED)
        facts = facts_of(HASHES, records, 0.03)
        assert len(facts.spoiled[0, 2]) == number
        assert (facts.known.broken == {2}) == (number == FAILURES)
    assert facts.reasons[2] == "no answer"
    assert facts.unbuilt == frozenset()


def test_what_does_not_build_or_start_is_left_out_at_once(pair):
    facts = facts_of(HASHES, [pair(0, 2, **UNBUILT)[1]], 0.03)
    assert (facts.known.broken, facts.unbuilt) == ({2}, {2})
    assert facts.reasons == {2: "it does not start"}


def test_what_was_measured_all_the_same_is_not_left_out(pair):
    records = [*pair(0, 2, **UNBUILT), *pair(0, 2, **FAILED), *pair(0, 2, **FAILED)]
    facts = facts_of(HASHES, [*records, *pair(0, 2)], 0.03)
    assert facts.known.broken == frozenset()
    assert len(facts.known.duels) == 1
