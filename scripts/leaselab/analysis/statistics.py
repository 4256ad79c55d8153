"""The trimmed mean of a few runs, and how well it is known.

Nine runs with the highest and lowest dropped are not seven runs: the seven
survivors lie closer together than seven plain runs would, and their standard
deviation is about 30 % too small.  Tukey and McLaughlin take the error from the
*winsorized* sample instead, in which the dropped values are replaced by their
nearest kept neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.model.errors import usage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A trimmed mean with its error; all values in the unit of the runs."""

    trimmed_mean: float
    ci95: tuple[float, float] | None
    """95 % confidence interval; None when only one run is left after trimming."""
    n: int
    """Runs, the dropped ones included."""
    trim: int
    """Runs dropped at each end."""
    standard_error: float | None
    """Tukey-McLaughlin standard error; None when only one run is left."""
    spread: float | None
    """Standard deviation of all n over their mean (ratio); None for one run."""
    minimum: float
    maximum: float


def check_trim(n: int, trim: int) -> None:
    """Raises usage_error unless something is left of n runs after trimming."""
    if trim < 0 or n <= 2 * trim:
        raise usage_error(
            "too few runs to drop the highest and lowest",
            found=f"{n} runs, trim {trim}",
            wanted=f"at least {2 * max(trim, 0) + 1} runs, or a smaller trim",
        )


def trimmed_indices(values: Sequence[float], trim: int) -> tuple[int, ...]:
    """Positions of the `trim` lowest and `trim` highest values, ascending.

    Of equal values the earlier counts as the lower.  Raises usage_error as
    `check_trim` does.
    """
    check_trim(len(values), trim)
    order = sorted(range(len(values)), key=lambda index: (values[index], index))
    return tuple(sorted(order[:trim] + order[len(order) - trim :]))


def estimate(values: Sequence[float], trim: int) -> Estimate:
    """The trimmed mean of the runs.  Raises usage_error as `check_trim` does."""
    n = len(values)
    check_trim(n, trim)
    ordered = sorted(values)
    kept = ordered[trim : n - trim]
    mean = math.fsum(kept) / len(kept)
    error = standard_error(values, trim)
    return Estimate(
        trimmed_mean=mean,
        ci95=None if error is None else _interval(mean, error, n - 2 * trim - 1),
        n=n,
        trim=trim,
        standard_error=error,
        spread=_spread(ordered),
        minimum=ordered[0],
        maximum=ordered[-1],
    )


def standard_error(values: Sequence[float], trim: int) -> float | None:
    """Tukey-McLaughlin standard error of the trimmed mean: s_w / ((1 - 2 k/n) sqrt(n)).

    s_w is the standard deviation of the winsorized values.  None when only
    one value is left after trimming: one value says nothing about its error.
    """
    n = len(values)
    check_trim(n, trim)
    if n - 2 * trim == 1:
        return None
    spread = math.sqrt(_variance(winsorized(values, trim)))
    return spread / ((1 - 2 * trim / n) * math.sqrt(n))


def winsorized(values: Sequence[float], trim: int) -> list[float]:
    """The values in ascending order, the trimmed ones replaced by their kept neighbours."""
    check_trim(len(values), trim)
    kept = sorted(values)[trim : len(values) - trim]
    return [kept[0]] * trim + kept + [kept[-1]] * trim


def _interval(mean: float, error: float, freedom: int) -> tuple[float, float]:
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import; `show` has no need of it

    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    return mean - reach, mean + reach


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _spread(values: Sequence[float]) -> float | None:
    mean = math.fsum(values) / len(values)
    if len(values) < 2 or mean == 0:
        return None
    return math.sqrt(_variance(values)) / mean
