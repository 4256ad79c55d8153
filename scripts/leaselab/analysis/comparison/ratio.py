"""The ratio of two figures, how well it is known, and whether they differ at all."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from leaselab.analysis.figures.statistics import (
    CONFIDENCE,
    drift,
    lasting_error,
    quantile,
    standard_error,
    trimmed_mean,
)
from leaselab.model.errors import BELIEVED
from leaselab.model.record import Record

SIGNIFICANT = 1 - CONFIDENCE
"""Chance of a difference among equals (0..1) below which one counts as seen."""
YUEN, PAIRED, STUDENT = "Yuen's test", "t test of the rounds' ratios", "t test"
ANCHORED = "t test of the rounds' ratios to the anchor"
"""Tests that two figures are equal: of `ratio`, of `paired_ratio`, of `against`, and of
`anchored_ratio`."""
_FIRST_STEP = 1e-3
_FURTHEST = math.log(1000)
_EXACT = 1e-12
"""Steps in which an end of an interval is looked for, as logarithms of a factor."""


class Basis(enum.Enum):
    """What a comparison of two results rests on; the value is the phrase for it."""

    TURNS = "measured in turn"
    """Their rounds took turns: drift of the machine cancels within each round."""
    ANCHOR = "by the common anchor"
    """Each took turns with the same fixed reference: drift cancels in the ratios to that."""
    SESSIONS = "across sessions"
    """Neither: drift of the machine between the two is part of the ratio."""


_TESTS = {Basis.TURNS: PAIRED, Basis.ANCHOR: ANCHORED, Basis.SESSIONS: YUEN}


@dataclass(frozen=True, slots=True)
class Runs:
    """What the runs of one result came to, in the unit of its figure."""

    values: tuple[float, ...]
    """Of all runs, the dropped ones included, each above 0."""
    trim: int
    """How many of them are dropped at each end."""
    in_order: bool = False
    """Whether they are in the order in which they were measured."""

    @property
    def kept(self) -> int:
        """Runs that are left after trimming."""
        return len(self.values) - 2 * self.trim

    @property
    def mean(self) -> float:
        """The trimmed mean."""
        return trimmed_mean(self.values, self.trim)

    @property
    def drift(self) -> float:
        """Standard deviation of the level of such sessions, by how it moved in this one."""
        return drift(self.values, self.trim) if self.in_order else 0.0

    @property
    def steady(self) -> bool:
        """Whether all that are left are the same."""
        left = sorted(self.values)[self.trim : len(self.values) - self.trim]
        return left[0] == left[-1]


@dataclass(frozen=True, slots=True)
class Ratio:
    """One figure over another."""

    value: float
    ci95: tuple[float, float] | None
    """95 % interval; None where runs are too few, differ without bound, or were trimmed
    by different shares."""
    p: float | None
    """Test that the figures are equal (0..1); None where `ci95` is for want of runs or of
    one share."""
    basis: Basis = Basis.SESSIONS

    @property
    def test(self) -> str:
        """Which test `p` is of, in words."""
        return _TESTS[self.basis]

    @property
    def differs(self) -> bool | None:
        """Whether they differ at 5 %; the interval then leaves 1 out.  None without p."""
        return None if self.p is None else self.p < SIGNIFICANT


def runs_of(record: Record) -> Runs | None:
    """The runs of a record; None where it has no figure that is one."""
    figure = record.figure
    if record.outcome not in BELIEVED or not figure.value:
        return None
    values = record.values(figure.name)
    return Runs(
        tuple(value for value in values if value is not None), figure.trim, in_order=True
    )


def common_share(base: Runs, other: Runs) -> float | None:
    """The share of the runs (0..0.5) that drops from each what its result dropped.

    Both means are trimmed by one share, and of n runs the whole part of share times n is
    dropped at each end.  1 of 9 is any share from 1/9 to below 2/9, so this is the middle of
    what fits both: a share such as 1/49 would drop none of 49, by rounding.  None where nothing
    fits both: 1 of 9 and 1 of 20 are means of different parts of their runs.
    """
    low = max(runs.trim / len(runs.values) for runs in (base, other))
    high = min((runs.trim + 1) / len(runs.values) for runs in (base, other))
    return (low + high) / 2 if low < high else None


def ratio(base: Runs, other: Runs) -> Ratio:
    """How much of `base` `other` is.

    p is Yuen's (1974): Welch's test with trimmed means and winsorized variances.  The interval
    holds every ratio that the same test does not refuse, of the runs of `other` against those
    of `base` times the ratio (Fieller 1954).  So 1 is outside of it where p is below 5 %, the
    interval of the inverse is the inverse, and units do not matter.
    """
    value = other.mean / base.mean
    if common_share(base, other) is None or min(base.kept, other.kept) < 2:
        return Ratio(value, None, None)
    if base.steady and other.steady:
        return Ratio(value, (value, value), float(value == 1.0))
    p_of = _yuen(base, other)
    low, high = _reach(p_of, value, -1), _reach(p_of, value, +1)
    ends = None
    if high is not None:
        ends = (value * math.exp(-low) if low is not None else 0.0, value * math.exp(high))
    return Ratio(value, ends, p_of(1.0))


def paired_ratio(base: Sequence[float], other: Sequence[float]) -> Ratio:
    """How much of `base` `other` is, where each round measured both, one after the other.

    `base` and `other`: values above 0, by round.  The ratio is the geometric mean of the
    rounds' ratios; interval and p are of Student's t test on their logarithms.  A machine that
    drifts makes all points of a round slower alike: within a round that cancels, while between
    rounds it hides differences that `ratio` would have to separate from the drift.  None is
    dropped: what disturbs a whole round cancels, too.  Raises ValueError without rounds, or
    for lists of different lengths.
    """
    from scipy.special import stdtr  # noqa: PLC0415  # slow to import, and seldom needed

    logs = [math.log(two / one) for one, two in zip(base, other, strict=True)]
    if not logs:
        raise ValueError("no round has both")
    mean, error = trimmed_mean(logs, 0), lasting_error(logs, 0)
    if error is None:
        return Ratio(math.exp(mean), None, None, Basis.TURNS)
    t = abs(mean) / error if error else math.inf * abs(mean)
    p = 2.0 * float(stdtr(len(logs) - 1, -t)) if mean else 1.0
    reach = quantile(len(logs) - 1) * error
    return Ratio(
        math.exp(mean), (math.exp(mean - reach), math.exp(mean + reach)), p, Basis.TURNS
    )


def anchored_ratio(base: Sequence[float], other: Sequence[float]) -> Ratio:
    """How much of one figure another is, where each was measured in turn with one anchor.

    `base` and `other`: logarithms of the rounds' ratios to the anchor; empty for a result of
    the anchor itself, whose ratio is 1 by definition.  Interval and p are of Welch's t test,
    with the drift of the ratios.  Without interval and p where one has a single round, and
    where both are of the anchor.
    """
    sides = [side for side in (base, other) if side]
    mean = (fmean(other) if other else 0.0) - (fmean(base) if base else 0.0)
    value = math.exp(mean)
    known = [
        (error**2, len(side) - 1)
        for side in sides
        if (error := lasting_error(side, 0)) is not None
    ]
    if not sides or len(known) < len(sides):
        return Ratio(value, None, None, Basis.ANCHOR)
    variance = math.fsum(square for square, _ in known)
    if not variance:
        return Ratio(value, (value, value), float(mean == 0.0), Basis.ANCHOR)
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415  # slow to import, seldom needed

    freedom = variance**2 / math.fsum(square**2 / free for square, free in known)
    error = math.sqrt(variance)
    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    p = 2.0 * float(stdtr(freedom, -abs(mean) / error))
    return Ratio(value, (math.exp(mean - reach), math.exp(mean + reach)), p, Basis.ANCHOR)


def against(runs: Runs, value: float) -> tuple[float, tuple[float, float], float]:
    """Ratio of the mean of runs to a value known without error, its 95 % interval, and p.

    p is of Student's t test for a trimmed mean (Tukey and McLaughlin) that the mean is the
    value.  Raises ValueError where fewer than two runs are kept.
    """
    from scipy.special import stdtr  # noqa: PLC0415  # slow to import, and seldom needed

    error = standard_error(runs.values, runs.trim)
    if error is None:
        raise ValueError(f"{runs.kept} run is kept")
    error = math.hypot(error, runs.drift)
    away, reach = abs(runs.mean - value), quantile(runs.kept - 1) * error
    t = away / error if error else math.inf * away
    p = 2.0 * float(stdtr(runs.kept - 1, -t)) if away else 1.0
    return runs.mean / value, ((runs.mean - reach) / value, (runs.mean + reach) / value), p


def differs(base: Runs, other: Runs) -> bool:
    """Whether p is below 5 %, for runs of which the same share is dropped; without interval.

    Raises ValueError where the shares are not the same.
    """
    if common_share(base, other) is None:
        raise ValueError(
            f"trim {base.trim} of {len(base.values)}, {other.trim} of {len(other.values)}"
        )
    return _yuen(base, other)(1.0) < SIGNIFICANT


def _yuen(base: Runs, other: Runs) -> Callable[[float], float]:
    """Yuen's p that the mean of `other` is a factor times that of `base`, by that factor.

    It is not a number where one run is left of a result.
    """
    from scipy.special import stdtr  # noqa: PLC0415  # slow to import, and seldom needed

    squares = [
        error**2
        for runs in (base, other)
        if (error := standard_error(runs.values, runs.trim)) is not None
    ]
    if len(squares) < 2:
        return lambda _factor: math.nan
    # Yuen's squared error of a mean, over that of Tukey and McLaughlin.
    over = [
        (len(runs.values) - 1) * runs.kept / (len(runs.values) * (runs.kept - 1))
        for runs in (base, other)
    ]
    drifts = [runs.drift**2 for runs in (base, other)]
    means = (base.mean, other.mean)

    def p_of(factor: float) -> float:
        parts = (squares[0] * factor**2, squares[1])
        gap, whole = abs(means[1] - factor * means[0]), sum(parts)
        if not whole:
            return float(not gap)
        ours = [part * each for part, each in zip(parts, over, strict=True)]
        variance = math.fsum(ours)
        freedom = variance**2 / math.fsum(
            part**2 / (runs.kept - 1) for part, runs in zip(ours, (base, other), strict=True)
        )
        # Another session may meet another level.
        variance += drifts[0] * factor**2 + drifts[1]
        return 2.0 * float(stdtr(freedom, -gap / math.sqrt(variance)))

    return p_of


def _reach(p_of: Callable[[float], float], value: float, sign: int) -> float | None:
    """How far from `value`, as a logarithm, p is at 5 %; None where that is nowhere near."""

    def above(reach: float) -> bool:
        return p_of(value * math.exp(sign * reach)) >= SIGNIFICANT

    near, far = 0.0, _FIRST_STEP
    while above(far):
        near, far = far, 2 * far
        if far > _FURTHEST:
            return None
    while far - near > _EXACT:
        middle = (near + far) / 2
        near, far = (middle, far) if above(middle) else (near, middle)
    return near
