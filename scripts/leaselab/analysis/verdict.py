"""The verdict on two results: whether the second server is slower than the first."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaselab.analysis.hindrances import hindrances
from leaselab.analysis.ratio import SIGNIFICANT, ratio, runs_of
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
        return 1.0 - self.ratio / self.ci95[1]

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
    differ at 5 %.  Raises server_broken for a server that did not build or
    start, invalid_measurement for a result without figure and for runs too
    few or too unsteady for an interval, usage_error for two that are not like
    with like.
    """
    if base["id"] == other["id"]:
        raise usage_error("a result is not compared with itself", found=f"{base['id']} twice")
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
