"""Whether a change is of the code, or of its place in the program.

The same source, linked with its functions in another order, is some per cent faster or slower:
caches and predictors of branches meet other addresses.  A tight interval proves that one build
is slower, and no more.  So both servers are built in several orders, and each order has a duel.
"""

from __future__ import annotations

import enum
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from leaselab.analysis.duels.duel import Answer
from leaselab.analysis.figures.statistics import quantile


class Cause(enum.Enum):
    """What duels of several layouts say together; the value is the words for it."""

    CODE = "slower in every layout: it is the code"
    PLACE = "slower in some layouts only: it is the place of the code"
    NONE = "slower in no layout"
    UNKNOWN = "cannot tell: not every layout has an answer"


@dataclass(frozen=True, slots=True)
class LayoutVerdict:
    """What the duel of one layout said."""

    seed: int
    answer: Answer
    ratio: float
    """Of the second server to the first."""
    error: float
    """Standard error of its logarithm."""


@dataclass(frozen=True, slots=True)
class OverLayouts:
    """The duels of all layouts."""

    layouts: tuple[LayoutVerdict, ...]
    """At least one."""

    @property
    def cause(self) -> Cause:
        """What they say together.

        A slower and an equal layout are an answer, also where a third one has none.
        """
        answers = {layout.answer for layout in self.layouts}
        if answers == {Answer.SLOWER}:
            return Cause.CODE
        if Answer.SLOWER in answers and answers & {Answer.SAME, Answer.FASTER}:
            return Cause.PLACE
        return Cause.UNKNOWN if Answer.UNKNOWN in answers else Cause.NONE

    @property
    def ratio(self) -> float:
        """The geometric mean of the ratios."""
        return math.exp(statistics.fmean(self._logs))

    @property
    def ci95(self) -> tuple[float, float] | None:
        """Interval of that over layouts; None of fewer than two."""
        count = len(self.layouts)
        if count < 2:
            return None
        error = statistics.stdev(self._logs) / math.sqrt(count)
        reach = quantile(count - 1) * error
        mean = statistics.fmean(self._logs)
        return math.exp(mean - reach), math.exp(mean + reach)

    @property
    def scatter(self) -> float | None:
        """Standard deviation of the ratio from layout to layout (0..), less that of the duels.

        None of fewer than two layouts.
        """
        if len(self.layouts) < 2:
            return None
        noise = statistics.fmean(layout.error**2 for layout in self.layouts)
        return math.sqrt(max(0.0, statistics.variance(self._logs) - noise))

    @property
    def _logs(self) -> Sequence[float]:
        return [math.log(layout.ratio) for layout in self.layouts]
