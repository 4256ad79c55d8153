"""The trimmed mean of a few runs, and how well it is known.

Nine runs with the highest and lowest dropped are not seven runs: the seven
survivors lie closer together than seven plain runs would, and their standard
deviation is about 30 % too small.  Tukey and McLaughlin take the error from the
*winsorized* sample instead, in which the dropped values are replaced by their
nearest kept neighbours.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leaselab.model.errors import usage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95


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

    Of equal values the earlier counts as the lower.  Raises usage_error as `check_trim` does.
    """
    check_trim(len(values), trim)
    order = sorted(range(len(values)), key=lambda index: (values[index], index))
    return tuple(sorted(order[:trim] + order[len(order) - trim :]))


def trimmed_mean(values: Sequence[float], trim: int) -> float:
    """The mean of what is left of the values.  Raises usage_error as `check_trim` does."""
    check_trim(len(values), trim)
    kept = sorted(values)[trim : len(values) - trim]
    return math.fsum(kept) / len(kept)


def interval(values: Sequence[float], trim: int) -> tuple[float, float] | None:
    """95 % confidence interval of the trimmed mean; None when only one value is left."""
    mean, error = trimmed_mean(values, trim), standard_error(values, trim)
    if error is None:
        return None
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import; `show` has no need of it

    reach = float(stdtrit(len(values) - 2 * trim - 1, (1 + CONFIDENCE) / 2)) * error
    return mean - reach, mean + reach


def standard_error(values: Sequence[float], trim: int) -> float | None:
    """Tukey-McLaughlin standard error of the trimmed mean: s_w / ((1 - 2 k/n) sqrt(n)).

    s_w is the standard deviation of the winsorized values.  None when only
    one value is left after trimming: one value says nothing about its error.
    """
    n = len(values)
    check_trim(n, trim)
    if n - 2 * trim == 1:
        return None
    deviation = math.sqrt(_variance(winsorized(values, trim)))
    return deviation / ((1 - 2 * trim / n) * math.sqrt(n))


def winsorized(values: Sequence[float], trim: int) -> list[float]:
    """The values in ascending order, the trimmed ones replaced by their kept neighbours."""
    check_trim(len(values), trim)
    kept = sorted(values)[trim : len(values) - trim]
    return [kept[0]] * trim + kept + [kept[-1]] * trim


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation of all values over their mean (ratio).

    None for one value, where the mean is 0, and where a value is below 0, as a slope may be: a
    ratio to a mean about 0 says nothing.
    """
    mean = math.fsum(values) / len(values)
    if len(values) < 2 or mean == 0 or min(values) < 0:
        return None
    return math.sqrt(_variance(values)) / mean


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
