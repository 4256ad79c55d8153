"""Where in a range of commits a figure changes: what all duels together say of it.

Places are 0 for the good end and 1, 2 … for the commits after it, the last one the bad end.  A
duel of two places gives the logarithm of the ratio of their figures, with an error.  The places
that have been in a duel divide the range into gaps.  A hypothesis says in which gaps the figure
changes (in none, in one, in several); each is weighed by how well it explains all duels at once
(Bayes' rule).  So a duel that was led astray by chance is outvoted by later ones, which a plain
bisection cannot do: that never comes back to a half that it has excluded.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leaselab.analysis.duels.duel import Answer, DuelVerdict

BUILD_SD = 0.003
"""By about how much two builds differ though no change between them matters: where the linker
has put their code (standard deviation of a ratio)."""
CHANGES = 1.0
"""How many changes a range is believed to have, beyond what the duels show."""
_SHRINK = 8
"""Rounds that what all duels scatter by counts for, beside the rounds of a duel itself."""
_MOST = 20_000
"""Most hypotheses: with many gaps, those of several changes are left out."""
_SD95 = 1.959964


@dataclass(frozen=True, slots=True)
class Duelled:
    """A duel of two places of the range, as the archive has it."""

    older: int
    newer: int
    began: str
    """When it began (ISO 8601, UTC); the order of duels is that of these."""
    minutes: float
    """Lab time that its rounds took (min)."""
    answer: Answer
    """Of the newer place against the older."""
    mean: float
    """Logarithm of the ratio of their figures, newer over older."""
    error: float
    """Its standard error, by the rounds of this duel alone."""
    rounds: int
    """Rounds that count, more than 2."""
    ci95: tuple[float, float] | None = None
    """95 % interval of the ratio, as the duel's verdict has it; None where it is made up."""
    id: str = ""
    """Of its experiment, where it is archived."""

    @property
    def ratio(self) -> float:
        """Figure of the newer place over that of the older."""
        return math.exp(self.mean)

    @classmethod
    def of(
        cls,
        places: tuple[int, int],
        began: str,
        minutes: float,
        verdict: DuelVerdict,
    ) -> Duelled:
        """Return the duel of a verdict."""
        return cls(
            *places,
            began,
            minutes,
            verdict.answer,
            math.log(verdict.ratio),
            verdict.error,
            verdict.rounds,
            verdict.ci95,
        )


@dataclass(frozen=True, slots=True)
class Gap:
    """The commits after one place that was in a duel, up to the next that was."""

    after: int
    place: int

    @property
    def commits(self) -> int:
        """Number of commits of which one contains the change."""
        return self.place - self.after


@dataclass(frozen=True, slots=True)
class Level:
    """How fast a place is against the good end: by its one duel, or pooled of several."""

    ratio: float
    """Its figure over that of the good end."""
    ci95: tuple[float, float] | None
    """95 % interval of the ratio: the duel's own where there is one."""
    duels: int
    """How many it is pooled of."""


def scatter(duels: Sequence[Duelled], unknown: float) -> float:
    """Return by how much one round of these duels scatters (ratio); `unknown` without any."""
    df = sum(duel.rounds - 2 for duel in duels)
    if not df:
        return unknown
    squares = math.fsum((duel.rounds - 2) * duel.rounds * duel.error**2 for duel in duels)
    return math.sqrt(squares / df)


class Changes:
    """What the duels of a range say of where its figure changes."""

    def __init__(
        self, count: int, duels: Sequence[Duelled], drop: float, *, rises: bool = False
    ) -> None:
        """Weigh all hypotheses.

        `count` is the place of the bad end; a change is a slowdown that counts where it is at
        least `drop` (0..1), or with `rises` a rise by that share.
        """
        self._duels = duels
        places = sorted(
            {0, count}.union(place for duel in duels for place in (duel.older, duel.newer))
        )
        self.gaps = tuple(itertools.starmap(Gap, itertools.pairwise(places)))
        self._count = count
        self._down = -1 if rises else 1
        self._cut = math.log1p(-self._down * drop)
        seen = np.array([duel.mean for duel in duels])
        self._weights = 1 / np.array(_variances(duels)) if duels else np.zeros(0)
        # Changes are believed to be of the size of what was seen.
        self._size = max(4 * drop, float(np.max(np.abs(seen), initial=0.0)))
        covers = np.array(
            [
                [duel.older <= gap.after and gap.place <= duel.newer for gap in self.gaps]
                for duel in duels
            ],
            dtype=float,
        ).reshape(len(duels), len(self.gaps))
        self._normal = covers.T @ (self._weights[:, None] * covers)
        self._right = covers.T @ (self._weights * seen)
        self._weigh()

    def _weigh(self) -> None:
        """Fill in the hypotheses: their gaps, and of each change the size and its error."""
        each = CHANGES / self._count
        # One commit of a gap or several may have changed it; what is seen is their sum.
        chances = [1 - (1 - min(each, 0.5)) ** gap.commits for gap in self.gaps]
        odds = np.array([math.log(chance / (1 - chance)) for chance in chances])
        self._hypotheses: list[
            tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]
        ] = []
        logs = [np.zeros(1)]
        total = 1
        for many in (1, 2, 3):
            total += math.comb(len(self.gaps), many)
            if many > len(self.gaps) or (many > 1 and total > _MOST):
                break
            chosen = np.array(list(itertools.combinations(range(len(self.gaps)), many)))
            normal = self._normal[chosen[:, :, None], chosen[:, None, :]]
            normal = normal + np.eye(many) / self._size**2
            right = self._right[chosen]
            spread = np.linalg.inv(normal)
            sizes = np.einsum("hij,hj->hi", spread, right)
            fits = np.einsum("hi,hi->h", right, sizes) / 2
            narrowness = np.linalg.slogdet(normal)[1] / 2 + many * math.log(self._size)
            logs.append(fits - narrowness + odds[chosen].sum(axis=1))
            errors = np.sqrt(np.einsum("hii->hi", spread))
            self._hypotheses.append((chosen, sizes, errors))
        joined = np.concatenate(logs)
        shares = np.exp(joined - joined.max())
        shares /= shares.sum()
        self._shares = np.split(shares, np.cumsum([len(log) for log in logs])[:-1])[1:]

    def first(self, without: frozenset[Gap] = frozenset()) -> list[float]:
        """Return for each gap how likely the first slowdown is in it (0..1).

        Gaps of `without` are passed over.  The sum is the chance that there is any.
        """
        found = np.zeros(len(self.gaps))
        counted = np.array([gap not in without for gap in self.gaps])
        for (chosen, sizes, errors), shares in zip(self._hypotheses, self._shares, strict=True):
            counts = self._slower(sizes, errors) * counted[chosen]
            none_before = shares.copy()
            for column in range(chosen.shape[1]):
                np.add.at(found, chosen[:, column], none_before * counts[:, column])
                none_before = none_before * (1 - counts[:, column])
        return [float(one) for one in found]

    def holds(self, gap: Gap) -> float:
        """Return how likely there is a slowdown in a gap (0..1)."""
        at, found = self.gaps.index(gap), 0.0
        for (chosen, sizes, errors), shares in zip(self._hypotheses, self._shares, strict=True):
            of_it = chosen == at
            counts = self._slower(sizes, errors) * of_it
            found += float((shares * counts.sum(axis=1)).sum())
        return found

    def size(self, gap: Gap) -> float:
        """Return the change in a gap, if there is one (logarithm of a ratio)."""
        at, found, weight = self.gaps.index(gap), 0.0, 0.0
        for (chosen, sizes, _), shares in zip(self._hypotheses, self._shares, strict=True):
            of_it = chosen == at
            found += float((shares * (sizes * of_it).sum(axis=1)).sum())
            weight += float((shares * of_it.any(axis=1)).sum())
        return found / weight if weight else 0.0

    def _slower(
        self, sizes: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """How likely changes of these sizes are slowdowns that count."""
        from scipy.special import ndtr  # noqa: PLC0415  # slow to import, seldom needed

        likely: NDArray[np.float64] = ndtr(self._down * (self._cut - sizes) / errors)
        return likely

    @cached_property
    def levels(self) -> Mapping[int, Level]:
        """How fast each place is that duels connect with the good end (least squares)."""
        reached = _connected(self._duels)
        places = sorted(reached - {0})
        at = {place: index for index, place in enumerate(places)}
        normal, right = np.zeros((len(places),) * 2), np.zeros(len(places))
        for one, weight in zip(self._duels, self._weights, strict=True):
            if one.older not in reached:
                continue
            row = np.zeros(len(places))
            for place, sign in ((one.newer, 1.0), (one.older, -1.0)):
                if place:
                    row[at[place]] = sign
            normal += weight * np.outer(row, row)
            right += weight * one.mean * row
        if not places:
            return {}
        spread = np.linalg.inv(normal)
        means, errors = spread @ right, np.sqrt(np.diag(spread))
        return {
            place: self._level(place, float(means[index]), float(errors[index]), reached)
            for place, index in at.items()
        }

    def _level(self, place: int, mean: float, error: float, reached: set[int]) -> Level:
        """The level of a place: what one duel alone says of it is the word of that duel."""
        of = [duel for duel in self._duels if place in (duel.older, duel.newer)]
        if any(duel.older for duel in of):
            of = [duel for duel in self._duels if duel.older in reached]
        if len(of) == 1:
            return Level(of[0].ratio, of[0].ci95, 1)
        reach = _SD95 * error
        return Level(math.exp(mean), (math.exp(mean - reach), math.exp(mean + reach)), len(of))


def _variances(duels: Sequence[Duelled]) -> list[float]:
    """Squared errors of the duels' means.

    A duel of few rounds knows little of its own error, so that of all is weighed in.
    """
    common = scatter(duels, 0.0) ** 2
    return [
        ((duel.rounds - 2) * duel.rounds * duel.error**2 + _SHRINK * common)
        / (duel.rounds - 2 + _SHRINK)
        / duel.rounds
        + 2 * BUILD_SD**2
        for duel in duels
    ]


def _connected(duels: Sequence[Duelled]) -> set[int]:
    reached, size = {0}, 0
    while len(reached) > size:
        size = len(reached)
        for duel in duels:
            if {duel.older, duel.newer} & reached:
                reached |= {duel.older, duel.newer}
    return reached
