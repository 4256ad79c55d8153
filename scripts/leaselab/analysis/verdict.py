"""The verdict on two results: whether the second server is slower than the first."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaselab.analysis.hindrances import hindrances
from leaselab.analysis.ratio import SIGNIFICANT, against, ratio, runs_of
from leaselab.model.errors import (
    LeaselabError,
    Outcome,
    invalid_measurement,
    server_broken,
    usage_error,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leaselab.analysis.ratio import Ratio, Runs

THRESHOLD_PERCENT = 5.0
"""Change of the max rate that counts, unless another is asked for (%)."""
FIRST = "first"
"""Word for a result that there is nothing to compare with."""


class Change(enum.Enum):
    """What became of the max rate; the value is the word for it."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    NONE = "no change"


class Limit(enum.Enum):
    """How a ratio is to be read where one result has no max rate, but proves something."""

    NONE = "none"
    """Both have one: the ratio is measured."""
    AT_MOST = "at most"
    """A passed all that its bench could offer: its max rate is higher, the ratio lower."""
    AT_LEAST = "at least"
    """B passed all that its bench could offer: the ratio is higher."""
    NO_LOAD = "no load"
    """B loses at any load: it has no max rate, and the ratio is 0."""


_FASTER_THAN_ITS_BENCH = frozenset({"generator-limited", "above-max-rate"})
"""Reasons of results whose server passed at all that could be offered."""
_NO_LOAD = frozenset({"loses-at-any-load"})
"""Reasons of results that are a fault of the server, and not of the measurement."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What two results say of two servers."""

    change: Change
    ratio: float
    """Trimmed mean of the second over that of the first."""
    ci95: tuple[float, float]
    p: float
    """Yuen's test that the means are equal (0..1)."""
    threshold_percent: float
    limit: Limit = Limit.NONE
    """What the ratio is a limit of, where one of the two has no max rate."""

    @property
    def differs(self) -> bool:
        """Whether the means differ at 5 %, by however little; 1 is then outside of `ci95`."""
        return self.p < SIGNIFICANT

    @property
    def smallest_drop(self) -> float:
        """The least drop of the mean that runs with this scatter show (0..1).

        Runs times a factor have this interval times the factor: it leaves 1
        out, downwards, as soon as the ratio is below ratio / upper end.
        """
        return 1.0 - self.ratio / self.ci95[1] if self.ci95[1] else 0.0

    @property
    def sees_threshold(self) -> bool:
        """Whether a drop as large as the threshold shows in runs with this scatter."""
        return 100 * self.smallest_drop <= self.threshold_percent


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results and what came of comparing them: a verdict, an error, or neither."""

    other: Mapping[str, Any]
    """The result.json that is judged."""
    base: Mapping[str, Any] | None = None
    """The one it is compared with; None where there is none."""
    verdict: Verdict | None = None
    error: LeaselabError | None = None
    """Why there is no verdict.  Without one, it is the first of its kind."""
    threshold_percent: float = THRESHOLD_PERCENT

    @property
    def outcome(self) -> Outcome:
        """How the comparison ends; an improvement is no failure."""
        if self.error is not None:
            return self.error.outcome
        if self.verdict is not None and self.verdict.change is Change.REGRESSION:
            return Outcome.REGRESSION
        return Outcome.OK

    @property
    def word(self) -> str:
        """The same in a word or two, changes and firsts told apart."""
        if self.error is not None:
            return self.error.outcome.label
        return self.verdict.change.value if self.verdict is not None else FIRST


def compare(
    base: Mapping[str, Any] | None,
    other: Mapping[str, Any],
    threshold_percent: float = THRESHOLD_PERCENT,
) -> Comparison:
    """Compare a result.json with an earlier one; None for a first of its kind.

    `threshold_percent`: as of `check_threshold`.  What `verdict` raises becomes
    the comparison's error.
    """
    found = error = None
    try:
        if base is None:
            measured_runs(other)
        else:
            found = verdict(base, other, threshold_percent)
    except LeaselabError as caught:
        error = caught
    return Comparison(other, base, found, error, threshold_percent)


def verdict(
    base: Mapping[str, Any],
    other: Mapping[str, Any],
    threshold_percent: float = THRESHOLD_PERCENT,
) -> Verdict:
    """Judge one result.json against another.

    A change is one when the means are further apart than the threshold and
    differ at 5 %.  A result without a max rate may still prove that its server passes
    a rate, or that it keeps the goal at none: then the ratio is a limit (`Limit`), and
    there is a verdict where that suffices for one.  Raises server_broken for a server
    that did not build or start, invalid_measurement for a result without figure and for
    runs too few or too far apart for an interval, usage_error for two that are not like
    with like.
    """
    if base["id"] == other["id"]:
        raise usage_error("a result is not compared with itself", found=f"{base['id']} twice")
    limited = _limited(base, other, threshold_percent)
    if limited is not None:
        _like_with_like(base, other)
        return limited
    runs = measured_runs(other)
    baseline = measured_runs(base, baseline=True)
    _like_with_like(base, other)
    found = ratio(baseline, runs)
    if found.ci95 is None or found.p is None:
        raise invalid_measurement(
            "the runs differ so much that the ratio has no interval",
            where=base["id"],
            found=", ".join(f"{rate:.0f}" for rate in baseline.rates) + " exchanges/s",
            todo="measure again with more --runs, on a steadier machine",
        )
    return Verdict(
        _change(found, threshold_percent), found.value, found.ci95, found.p, threshold_percent
    )


def proven_rate(document: Mapping[str, Any]) -> float | None:
    """A rate that the server of a result without max rate passed in every run (1/s).

    Only where nothing but its bench kept it from passing more; else None.
    """
    words = {reason["word"] for reason in document["reasons"]}
    rate = document["summary"].get("at_least")
    return float(rate) if rate and words & _FASTER_THAN_ITS_BENCH else None


def _limited(
    base: Mapping[str, Any], other: Mapping[str, Any], threshold_percent: float
) -> Verdict | None:
    """The verdict where one of the two has no max rate; None where that is not enough."""
    threshold = threshold_percent / 100
    runs, baseline = runs_of(other), runs_of(base)
    before, now = proven_rate(base), proven_rate(other)
    if any(reason["word"] in _NO_LOAD for reason in other["reasons"]) and (baseline or before):
        return Verdict(
            Change.REGRESSION, 0.0, (0.0, 0.0), 0.0, threshold_percent, Limit.NO_LOAD
        )
    if runs is not None and before is not None and runs.kept > 1:
        value, ends, p = against(runs, before)
        if p < SIGNIFICANT and value < 1 - threshold:
            return Verdict(Change.REGRESSION, value, ends, p, threshold_percent, Limit.AT_MOST)
    if baseline is not None and now is not None and baseline.kept > 1:
        below, (low, high), p = against(baseline, now)
        value, ends = 1 / below, (1 / high, 1 / low if low > 0 else float("inf"))
        if p < SIGNIFICANT and value > 1 + threshold:
            return Verdict(
                Change.IMPROVEMENT, value, ends, p, threshold_percent, Limit.AT_LEAST
            )
        if value >= 1 - threshold:
            return Verdict(Change.NONE, value, ends, p, threshold_percent, Limit.AT_LEAST)
    return None


def measured_runs(document: Mapping[str, Any], *, baseline: bool = False) -> Runs:
    """The runs of a result.json that can be compared; raises as `verdict` does.

    A `baseline` whose server did not build is no fault of the other's.
    """
    runs = runs_of(document)
    if runs is None:
        failed = document["outcome"] == Outcome.BUILD.label and not baseline
        raise (server_broken if failed else invalid_measurement)(
            "; ".join(reason["text"] for reason in document["reasons"]) or "it has no max rate",
            where=document["id"],
            found=f"a result that is {document['outcome']}",
        )
    if runs.kept < 2:
        raise invalid_measurement(
            "too few runs are left after trimming to tell a change from chance",
            where=document["id"],
            found=f"{runs.kept} of {len(runs.rates)}, {runs.trim} dropped at each end",
            wanted="2 or more",
            todo="measure again with more --runs, or with a lower --trim",
        )
    return runs


def check_threshold(percent: float) -> None:
    """Raise a usage error for what is no threshold."""
    if not 0 <= percent < 100:
        raise usage_error(
            "the threshold is not a change of a rate",
            found=f"{percent:g} %",
            wanted="0 or more, below 100",
        )


def _like_with_like(base: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    found = hindrances(base, other)
    if found:
        raise usage_error(
            f"not like with like: another {', another '.join(one.name for one in found)}",
            where=f"{other['id']} against {base['id']}",
            found=", ".join(one.found for one in found),
            wanted=", ".join(one.wanted for one in found),
            todo="measure both on one bench, in one environment, by one scenario and goal",
        )


def _change(found: Ratio, threshold_percent: float) -> Change:
    threshold = threshold_percent / 100
    if not found.differs:
        return Change.NONE
    if found.value < 1 - threshold:
        return Change.REGRESSION
    return Change.IMPROVEMENT if found.value > 1 + threshold else Change.NONE
