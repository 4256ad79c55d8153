"""The verdict on two results: whether the second is slower than the first.

`compare` alone gives the interval and the word of two results; what shows them asks it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from types import MappingProxyType

from leaselab.analysis.comparison.basis import Anchors, alternated, common_anchor, ratio_of
from leaselab.analysis.comparison.cost import LEAST_RATIO, CostVerdict, judge_cost
from leaselab.analysis.comparison.incompatibilities import incompatibilities
from leaselab.analysis.comparison.ratio import (
    PAIRED,
    SIGNIFICANT,
    STUDENT,
    Basis,
    Ratio,
    Runs,
    against,
    runs_of,
)
from leaselab.analysis.duels.duel import LEAST_LOSS, Answer, DuelVerdict, judge
from leaselab.analysis.duels.error_budget import ErrorBudget
from leaselab.model.contest import Contest, contest_by
from leaselab.model.errors import (
    BELIEVED,
    LeaselabError,
    Outcome,
    invalid_measurement,
    server_broken,
    usage_error,
)
from leaselab.model.policy import Ruling
from leaselab.model.procedures.cost import INSTRUCTIONS, Cost
from leaselab.model.procedures.duel import LEAST_ROUNDS
from leaselab.model.record import NOT_OFFERED, Record
from leaselab.model.server import server_name

THRESHOLD_PERCENT = 5.0
"""Change of the figure that counts, unless another is asked for (%)."""
_NO_ANCHORS: Anchors = MappingProxyType({})
FIRST, NOT_COMPARABLE = "first", "not comparable"
"""Words for a result that there is nothing to compare with, and for two that differ in more
than their servers."""


_OTHERWISE = {
    **{answer: answer.value for answer in Answer},
    Answer.SLOWER: "worse",
    Answer.FASTER: "better",
}
"""Words for changes of figures that are no rates."""


_OF_COUNTS = {
    **{answer: answer.value for answer in Answer},
    Answer.SLOWER: "more",
    Answer.FASTER: "less",
}
"""Words for changes of counts, which are no speed."""


def answer_word(answer: Answer, metric: str) -> str:
    """The word for an answer on a metric: slower or faster by a rate, else worse or better."""
    if metric == INSTRUCTIONS:
        return _OF_COUNTS[answer]
    return answer.value if metric.endswith("_rate") else _OTHERWISE[answer]


class Limit(enum.Enum):
    """How a ratio is to be read where one result has no figure, but proves something.

    Of a duel: where the faster server was not at its limit.
    """

    NONE = "none"
    """Both have one: the ratio is measured."""
    AT_MOST = "at most"
    """A passed all that its bench could offer: its figure is higher, the ratio lower."""
    AT_LEAST = "at least"
    """B passed all that its bench could offer: the ratio is higher."""
    NO_LOAD = "no load"
    """B sustains no load: it has no figure, and the ratio is 0."""


_FASTER_THAN_ITS_BENCH = frozenset({*NOT_OFFERED, "above-max-rate"})
"""Reasons of results whose server passed at all that could be offered."""
_NO_LOAD = frozenset({"loses-at-any-load", "below-min-rate", "not-sustained"})
"""Reasons of results that are a fault of the server, and not of the measurement."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What two results say of two servers."""

    answer: Answer
    """By the figure that decides."""
    ratio: float
    """Figure of the second over that of the first."""
    ci95: tuple[float, float]
    p: float
    """Test that the figures are equal (0..1)."""
    threshold_percent: float
    limit: Limit = Limit.NONE
    """What the ratio is a limit of, where one of the two has no figure."""
    higher_is_better: bool = True
    test: str = STUDENT
    """Which test `p` is of, in words."""
    basis: Basis = Basis.SESSIONS
    anchor: str = ""
    """The common anchor in words, where the ratio is by one."""
    duel: DuelVerdict | None = None
    """What the duel came to that both results are of; None where they are of none."""
    cost: CostVerdict | None = None
    """What was counted of both; None where they were timed."""

    @property
    def regressed(self) -> bool:
        """Whether it is worse by more than is allowed, or a duel says so of another figure."""
        if self.cost is not None:
            return bool(self.cost.grown)
        if self.duel is not None:
            return self.answer is Answer.SLOWER or bool(self.duel.worse)
        return self.answer is Answer.SLOWER and abs(self.ratio - 1) > (
            self.threshold_percent / 100
        )

    @property
    def differs(self) -> bool:
        """Whether they differ at 5 %, by however little; 1 is then outside of `ci95`."""
        return self.p < SIGNIFICANT

    @property
    def smallest_seen(self) -> float:
        """The least change for the worse that runs with this scatter show (0..).

        Runs times a factor have this interval times the factor: it leaves 1
        out, downwards, as soon as the ratio is below ratio / upper end; upwards likewise.
        """
        end = self.ci95[1] if self.higher_is_better else self.ci95[0]
        return abs(1.0 - self.ratio / end) if end else 0.0

    @property
    def sees_threshold(self) -> bool:
        """Whether a change as large as the threshold shows in runs with this scatter."""
        return 100 * self.smallest_seen <= self.threshold_percent


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results and what came of comparing them: a verdict, an error, or neither."""

    other: Record
    """The result that is judged."""
    base: Record | None = None
    """The one it is compared with; None where there is none."""
    verdict: Verdict | None = None
    error: LeaselabError | None = None
    """Why there is no verdict.  Without one, it is the first of its kind."""
    threshold_percent: float = THRESHOLD_PERCENT
    budget: ErrorBudget | None = None
    """The power of duels on this bench; None where it is not calibrated, and where the two are
    of no duel."""
    counted: CostVerdict | None = None
    """What was counted of the two of a duel; None where nothing was."""
    ruling: Ruling | None = None
    """What the policy of the server's repository says of it; None where none is in force."""

    @property
    def outcome(self) -> Outcome:
        """How the comparison ends; an improvement is no failure."""
        if self.error is not None:
            return self.error.outcome
        if self.ruling is not None:
            return self.ruling.outcome
        if self.verdict is not None and self.verdict.regressed:
            return Outcome.REGRESSION
        if self.verdict is not None and self.verdict.answer is Answer.UNKNOWN:
            return Outcome.INVALID
        return Outcome.OK

    @property
    def word(self) -> str:
        """The word for it in every place: slower, faster, equal, cannot tell, invalid, first.

        Of figures that are no rates, worse and better; also worse where a duel says that of
        another figure than the one that decides.
        """
        if self.error is not None:
            usage = self.error.outcome is Outcome.USAGE
            return NOT_COMPARABLE if usage else self.error.outcome.label
        if self.verdict is None:
            return FIRST
        answer, duel = self.verdict.answer, self.verdict.duel
        if duel is not None and duel.worse and answer is not Answer.SLOWER:
            return _OTHERWISE[Answer.SLOWER]
        return answer_word(answer, self.other.figure.name)

    @property
    def apart(self) -> bool:
        """Whether drift of the machine between two sessions is part of the verdict."""
        return self.verdict is not None and self.verdict.basis is Basis.SESSIONS

    @property
    def words(self) -> str:
        """`word`, with what the verdict rests on where that is two sessions.

        Of a change for the worse that the policy allows, with that.
        """
        allowed = f", {self.ruling.word}" if self.ruling and self.ruling.word else ""
        return f"{self.word} {Basis.SESSIONS.value}" if self.apart else self.word + allowed


def compare(
    base: Record | None,
    other: Record,
    threshold_percent: float = THRESHOLD_PERCENT,
    anchors: Anchors = _NO_ANCHORS,
) -> Comparison:
    """Compare a result with an earlier one; None for a first of its kind.

    `threshold_percent`: as of `check_threshold`.  `anchors`: results that the two name as their
    anchors, by id; without these, drift of the machine is in the ratio of two sessions, and the
    verdict notes that.  What `verdict` raises becomes the comparison's error.
    """
    found = error = None
    try:
        if base is None:
            measured_runs(other)
        else:
            found = verdict(base, other, threshold_percent, anchors)
    except LeaselabError as caught:
        error = caught
    return Comparison(other, base, found, error, threshold_percent)


def verdict(
    base: Record,
    other: Record,
    threshold_percent: float = THRESHOLD_PERCENT,
    anchors: Anchors = _NO_ANCHORS,
) -> Verdict:
    """Judge one result against another, by the figure that their procedure is about.

    The answer is that of `answer_of`, and a change for the worse beyond the threshold is a
    regression.  A result without a figure may still prove that its server passes
    a rate, or that it keeps the goal at none: then the ratio is a limit (`Limit`), and
    there is a verdict where that suffices for one.  Raises server_broken for a server
    that did not build or start, invalid_measurement for a result without figure and for
    runs too few or too far apart for an interval, usage_error for two that are not like
    with like, and for a figure of which neither more nor less is better.
    """
    if base.id == other.id:
        raise usage_error(
            "a result is not compared with itself",
            found=f"{base.id} twice",
            wanted="two results",
        )
    if duel_of(other, base):
        raise usage_error(
            "the two of a duel are compared in its order",
            where=other.id,
            found=f"{base.id} {other.id}",
            wanted=f"{other.id} {base.id}",
        )
    contest = duel_of(base, other)
    if contest is not None and other.is_by_procedure:
        return _of_duel(contest)
    if other.is_by_procedure and isinstance(other.procedure, Cost):
        return _of_counts(base, other)
    limited = _limited(base, other, threshold_percent) if other.is_by_procedure else None
    if limited is not None:
        _like_with_like(base, other)
        turns = Basis.TURNS if alternated(base, other) else Basis.SESSIONS
        return replace(limited, basis=turns)
    measured_runs(other)
    baseline = measured_runs(base, baseline=True)
    _like_with_like(base, other)
    if other.figure.better == "neither":
        raise usage_error(
            f"no verdict on {other.figure.title}: neither a higher nor a lower value is better",
            where=other.id,
            wanted="results whose figure has a better direction, such as max rate or latency",
        )
    _not_the_anchor_twice(base, other, anchors)
    found = ratio_of(base, other, anchors)
    if found is None or found.ci95 is None or found.p is None:
        raise invalid_measurement(
            "the runs differ so much that the ratio has no interval",
            where=base.id,
            found=f"{', '.join(f'{rate:.0f}' for rate in baseline.values)} {base.figure.unit}",
            todo="measure again with more rounds (--set rounds=N), on a steadier machine",
        )
    higher = other.figure.better == "higher"
    return Verdict(
        answer_of(found, threshold_percent, higher_is_better=higher),
        found.value,
        found.ci95,
        found.p,
        threshold_percent,
        higher_is_better=higher,
        test=found.test,
        basis=found.basis,
        anchor=_anchor_words(base, other, anchors) if found.basis is Basis.ANCHOR else "",
    )


def _not_the_anchor_twice(base: Record, other: Record, anchors: Anchors) -> None:
    ids = (base.id, other.id)
    common = common_anchor(base, other, anchors)
    if common is not None and tuple(one.id for one in common) == ids:
        raise usage_error(
            "both are results of the anchor: what differs between them is the machine",
            where=other.id,
            found=_anchor_words(base, other, anchors),
            wanted="a result that was measured in turn with it",
        )


def _anchor_words(base: Record, other: Record, anchors: Anchors) -> str:
    common = common_anchor(base, other, anchors)
    return server_name(common[0].server) if common else ""


def duel_of(base: Record, other: Record) -> Contest[Record] | None:
    """The duel that two results are of, the first the one that the load followed, or None."""
    points = base.experiment.points if base.experiment is not None else ()
    of_one = points == (base.id, other.id) and alternated(base, other)
    return contest_by(base.procedure, base, other) if of_one else None


def _of_duel(contest: Contest[Record]) -> Verdict:
    """The verdict of a duel, by rules of its own, for any settings of the two."""
    base, other, plan = contest.a, contest.b, contest.plan
    for record, baseline in ((other, False), (base, True)):
        if record.outcome not in BELIEVED:
            measured_runs(record, baseline=baseline)
    found = judge(plan, base.rounds, other.rounds)
    if found is None:
        why = f", in some of which both lost less than {LEAST_LOSS:.0%} of the load"
        raise invalid_measurement(
            "too few rounds count for a verdict",
            where=other.id,
            found=f"{len(other.rounds)} rounds{why * plan.at_limit}",
            wanted=f"{LEAST_ROUNDS} that count",
            todo="measure again with more --budget",
        )
    limit = Limit.NONE
    if found.capped:
        limit = Limit.AT_LEAST if found.ratio > 1 else Limit.AT_MOST
    return Verdict(
        found.answer,
        found.ratio,
        found.ci95,
        found.p,
        100 * plan.find,
        limit,
        higher_is_better=plan.higher_is_better,
        test=f"one-sided {PAIRED}, look {found.look} of {found.looks}",
        basis=Basis.TURNS,
        duel=found,
    )


def _of_counts(base: Record, other: Record) -> Verdict:
    """The verdict of two counts; more of anything that was counted is worse."""
    measured_runs(other)
    measured_runs(base, baseline=True)
    _like_with_like(base, other)
    found = judge_cost(base, other)
    if found is None:
        raise invalid_measurement(
            "no instructions were counted of one of the two", where=f"{base.id}, {other.id}"
        )
    answer = Answer.SLOWER if found.grown else Answer.FASTER if found.fallen else Answer.SAME
    return Verdict(
        answer,
        found.ratio,
        found.instructions.bounds,
        1.0 if answer is Answer.SAME else 0.0,
        100 * LEAST_RATIO,
        higher_is_better=False,
        test="counted",
        basis=Basis.TURNS,
        cost=found,
    )


def proven_rate(record: Record) -> float | None:
    """A rate that the server of a result without figure passed in every run (1/s).

    Only where nothing but its bench kept it from passing more; else None.
    """
    faster = any(reason.word in _FASTER_THAN_ITS_BENCH for reason in record.reasons)
    return (record.at_least or None) if faster else None


def _limited(base: Record, other: Record, threshold_percent: float) -> Verdict | None:
    """The verdict where one of the two has no figure; None where that is not enough."""
    threshold = threshold_percent / 100
    runs, baseline = runs_of(other), runs_of(base)
    before, now = proven_rate(base), proven_rate(other)
    if any(reason.word in _NO_LOAD for reason in other.reasons) and (baseline or before):
        return Verdict(Answer.SLOWER, 0.0, (0.0, 0.0), 0.0, threshold_percent, Limit.NO_LOAD)
    if runs is not None and before is not None and runs.kept > 1:
        value, ends, p = against(runs, before)
        if p < SIGNIFICANT and value < 1 - threshold:
            return Verdict(Answer.SLOWER, value, ends, p, threshold_percent, Limit.AT_MOST)
    if baseline is not None and now is not None and baseline.kept > 1:
        below, (low, high), p = against(baseline, now)
        value, ends = 1 / below, (1 / high, 1 / low if low > 0 else float("inf"))
        if p < SIGNIFICANT and value > 1 + threshold:
            return Verdict(Answer.FASTER, value, ends, p, threshold_percent, Limit.AT_LEAST)
        if value >= 1 - threshold:
            return Verdict(Answer.SAME, value, ends, p, threshold_percent, Limit.AT_LEAST)
    return None


def measured_runs(record: Record, *, baseline: bool = False) -> Runs:
    """The runs of a result that can be compared; raises as `verdict` does.

    A `baseline` whose server did not build is no fault of the other's.
    """
    runs = runs_of(record)
    if runs is None:
        failed = record.outcome == Outcome.BUILD.label and not baseline
        raise (server_broken if failed else invalid_measurement)(
            "; ".join(reason.text for reason in record.reasons)
            or f"it has no {record.figure.title}",
            where=record.id,
            found=f"a result that is {record.outcome}",
        )
    if runs.kept < 2:
        raise invalid_measurement(
            "too few runs are left after trimming to distinguish a change from chance",
            where=record.id,
            found=f"{runs.kept} of {len(runs.values)}, {runs.trim} dropped at each end",
            wanted="2 or more",
            todo="measure again with more rounds (--set rounds=N), or with a lower trim",
        )
    return runs


def check_threshold(percent: float) -> None:
    """Raise a usage error for what is no threshold."""
    if not 0 <= percent < 100:
        raise usage_error(
            "the threshold is out of range",
            found=f"{percent:g} %",
            wanted="0 or more, below 100",
        )


def _like_with_like(base: Record, other: Record) -> None:
    found = incompatibilities(base, other)
    if found:
        raise usage_error(
            f"not comparable: another {', another '.join(one.name for one in found)}",
            where=f"{other.id} against {base.id}",
            found=", ".join(one.found for one in found),
            wanted=", ".join(one.wanted for one in found),
            todo="measure both on one bench, in one environment, by one scenario and procedure",
        )


def answer_of(
    found: Ratio, threshold_percent: float = THRESHOLD_PERCENT, *, higher_is_better: bool
) -> Answer:
    """The answer of a ratio of two results that are of no duel.

    They differ where p is below 5 %.  Across sessions a difference below the threshold is none,
    as the drift of the machine is in it.  Unknown without p.
    """
    if found.differs is None:
        return Answer.UNKNOWN
    drift = threshold_percent / 100 if found.basis is Basis.SESSIONS else 0.0
    if not found.differs or abs(found.value - 1) <= drift:
        return Answer.SAME
    return Answer.FASTER if (found.value > 1) == higher_is_better else Answer.SLOWER


def ratio_word(ratio: Ratio, metric: str, better: str) -> str:
    """The word for a ratio, as of `Comparison.word`, of a metric and what of it is better."""
    answer = Answer.UNKNOWN
    if better != "neither":
        answer = answer_of(ratio, higher_is_better=better == "higher")
    return answer_word(answer, metric)
