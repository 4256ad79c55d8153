"""Which kinds of a mixed load are judged alone: those that surely lose more than the rest.

A share of few transactions says little, and none of many is excused.  So no number of them
decides whether a kind is judged, but an interval of its loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

CHANCE = 1e-4
"""Probability with which a kind that loses no more than the others is judged alone."""
RARE = 0.002
"""Loss that any kind may have by chance (ratio)."""


class Counted(Protocol):
    """What came of some transactions."""

    @property
    def attempted(self) -> int:
        """Begun, or due."""

    @property
    def completed(self) -> int:
        """Of these in time."""


class Sum:
    """Counts of several trials together."""

    def __init__(self) -> None:
        self.attempted = self.completed = 0

    def add(self, counted: Counted) -> None:
        """Add those of a trial."""
        self.attempted += counted.attempted
        self.completed += counted.completed

    @property
    def loss_ratio(self) -> float:
        """Share of them that did not complete in time (0..1)."""
        return 1.0 - self.completed / self.attempted if self.attempted else 1.0


def deciding(whole: Counted, kinds: Mapping[str, Counted]) -> list[str]:
    """Return the kinds of a load that are judged alone: they lose more than the whole.

    The lower bound of their loss is above that of the whole, however few they are; it is
    Chernoff's, of a binomial distribution.
    """
    usual = max(RARE, 1.0 - whole.completed / (whole.attempted or 1))
    return [word for word, counted in kinds.items() if _exceeds(counted, usual)]


def _exceeds(counted: Counted, usual: float) -> bool:
    """Whether more was lost than chance explains where `usual` is lost (0..1)."""
    failed = counted.attempted - counted.completed
    if failed <= usual * counted.attempted:
        return False
    surprise = failed * math.log(failed / counted.attempted / usual)
    if counted.completed:
        kept = counted.completed / counted.attempted
        surprise += counted.completed * math.log(kept / (1.0 - usual))
    return surprise > -math.log(CHANCE)
