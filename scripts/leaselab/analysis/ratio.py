"""The ratio of two trimmed means, how well it is known, and whether it is none at all."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from leaselab.analysis.statistics import CONFIDENCE, estimate
from leaselab.model.errors import BELIEVED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SIGNIFICANT = 1 - CONFIDENCE
"""Chance of a difference among equals (0..1) below which one counts as seen."""
_FIRST_STEP = 1e-3
_FURTHEST = math.log(1000)
"""Steps in which an end of an interval is looked for, as logarithms of a factor."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The max rates of one sweep."""

    rates: tuple[float, ...]
    """Of all runs, the dropped ones included, each above 0 (exchanges/s)."""
    trim: int
    """How many of them are dropped at each end."""

    @property
    def kept(self) -> int:
        """Runs that are left after trimming."""
        return len(self.rates) - 2 * self.trim

    @property
    def mean(self) -> float:
        """The trimmed mean (exchanges/s)."""
        return estimate(self.rates, self.trim).trimmed_mean

    @property
    def steady(self) -> bool:
        """Whether all that are left are the same."""
        left = sorted(self.rates)[self.trim : len(self.rates) - self.trim]
        return left[0] == left[-1]


@dataclass(frozen=True, slots=True)
class Ratio:
    """One mean over another."""

    value: float
    ci95: tuple[float, float] | None
    """95 % interval; None where runs are too few, differ without bound, or were trimmed
    by different shares."""
    p: float | None
    """Yuen's test that the means are equal (0..1); None where `ci95` is for want of runs
    or of one share."""

    @property
    def differs(self) -> bool | None:
        """Whether the means differ at 5 %; the interval then leaves 1 out.  None without p."""
        return None if self.p is None else self.p < SIGNIFICANT


def runs_of(document: Mapping[str, Any]) -> Runs | None:
    """The runs of a result.json; None where it has no figure that is one."""
    rate = document["summary"]["max_rate"] if document["outcome"] in BELIEVED else None
    if not rate or not rate["trimmed_mean"]:
        return None
    return Runs(tuple(run["max_rate"] for run in document["runs"]), rate["trim"])


def common_share(base: Runs, other: Runs) -> float | None:
    """The share of the runs (0..0.5) that drops from each what its sweep dropped.

    Both means are trimmed by one share, and of n runs the whole part of share
    times n is dropped at each end.  1 of 9 is any share from 1/9 to below 2/9,
    so this is the middle of what fits both: a share such as 1/49 would drop
    none of 49, by rounding.  None where nothing fits both: 1 of 9 and 1 of 20
    are means of different parts of their runs.
    """
    low = max(runs.trim / len(runs.rates) for runs in (base, other))
    high = min((runs.trim + 1) / len(runs.rates) for runs in (base, other))
    return (low + high) / 2 if low < high else None


def ratio(base: Runs, other: Runs) -> Ratio:
    """How much of `base` `other` is.

    p is Yuen's (1974): Welch's test with trimmed means and winsorized
    variances.  The interval holds every ratio that the same test does not
    refuse, of the runs of `other` against those of `base` times the ratio
    (Fieller 1954).  So 1 is outside of it where p is below 5 %, the interval
    of the inverse is the inverse, and units do not matter.
    """
    value = other.mean / base.mean
    share = common_share(base, other)
    if share is None or min(base.kept, other.kept) < 2:
        return Ratio(value, None, None)
    if base.steady and other.steady:
        return Ratio(value, (value, value), float(value == 1.0))
    p_of = partial(_p_of, base, other, share)
    low, high = _reach(p_of, value, -1), _reach(p_of, value, +1)
    ends = None
    if high is not None:
        ends = (value * math.exp(-low) if low is not None else 0.0, value * math.exp(high))
    return Ratio(value, ends, p_of(1.0))


def against(runs: Runs, rate: float) -> tuple[float, tuple[float, float], float]:
    """Ratio of the mean of runs to a rate known without error, its 95 % interval, and p.

    p is of Student's t test for a trimmed mean (Tukey and McLaughlin) that the mean is the
    rate.  Raises ValueError where fewer than two runs are kept.
    """
    from scipy.special import stdtr  # noqa: PLC0415  # slow to import, and seldom needed

    found = estimate(runs.rates, runs.trim)
    if found.ci95 is None or found.standard_error is None:
        raise ValueError(f"{runs.kept} run is kept")
    away = abs(found.trimmed_mean - rate)
    t = away / found.standard_error if found.standard_error else math.inf * away
    p = 2.0 * float(stdtr(runs.kept - 1, -t)) if away else 1.0
    low, high = found.ci95
    return found.trimmed_mean / rate, (low / rate, high / rate), p


def differs(base: Runs, other: Runs) -> bool:
    """Whether p is below 5 %, for runs of which the same share is dropped; without interval.

    Raises ValueError where the shares are not the same.
    """
    share = common_share(base, other)
    if share is None:
        raise ValueError(
            f"trim {base.trim} of {len(base.rates)}, {other.trim} of {len(other.rates)}"
        )
    return _p_of(base, other, share, 1.0) < SIGNIFICANT


def _p_of(base: Runs, other: Runs, share: float, factor: float) -> float:
    """Yuen's p that the mean of `other` is `factor` times that of `base`."""
    from scipy.stats import ttest_ind  # noqa: PLC0415  # slow to import, and seldom needed

    scaled = [factor * rate for rate in base.rates]
    with warnings.catch_warnings():
        # that runs are nearly the same is no fault of theirs
        warnings.simplefilter("ignore", RuntimeWarning)
        found = ttest_ind(list(other.rates), scaled, trim=share, equal_var=False)
    return float(found.pvalue)


def _reach(p_of: Callable[[float], float], value: float, sign: int) -> float | None:
    """How far from `value`, as a logarithm, p is at 5 %; None where that is nowhere near."""
    from scipy.optimize import brentq  # noqa: PLC0415  # as above

    def above(reach: float) -> float:
        return p_of(value * math.exp(sign * reach)) - SIGNIFICANT

    near, far = 0.0, _FIRST_STEP
    while above(far) >= 0:
        near, far = far, 2 * far
        if far > _FURTHEST:
            return None
    return float(brentq(above, near, far, xtol=1e-12))
