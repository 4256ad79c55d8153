"""Which commit of a range made it slower: the next duel to be made, or the end of the search.

All that is known is a value: which commits do not build, and which duels there are.  The next
step follows from it and from nothing else.  So a search that was interrupted goes on as if it
had not been, and duels that were made for another reason count like those made for this one.

The steps: a duel of the two ends; duels of the good end with the place that divides what is
still likely into halves; and for the commit that is left a duel with its parent.  A commit is
named when that last duel says that it is slower, and not before.
"""

from __future__ import annotations

import enum
import itertools
import math
import statistics
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from leaselab.analysis.duels.culprits import BUILD_SD, Changes, Duelled, Gap, Level, scatter
from leaselab.analysis.duels.duel import Answer
from leaselab.model.procedure import COMPLETED
from leaselab.model.procedures.duel import LEAST_ROUNDS, Duel

# `leaselab dev bench bisect` says how often searches with these values are right
# (benchmarks/results/bisect.md).
ROUND_SD = 0.02
"""By how much a round of a duel scatters, before any duel shows it (ratio)."""
SURE = 2.0
"""How many standard errors a duel that halves the range should leave between no change and all
of it, to each side of the middle."""
LIKELY = 0.7
"""How likely a commit is the culprit when a duel with its parent is due (0..1)."""
CONFIRMED = 0.9
"""How likely it is the culprit by all duels when it is named (0..1)."""
UNLIKELY = 0.1
"""How likely a further culprit is when the search ends (0..1)."""
FEWEST = 6
"""Fewest rounds of a duel that halves the range: a round that does not count may be missed."""
TRIES = 3
"""Most duels for one question: each without an answer is followed by one of twice as many
rounds."""
WHOLE = 0.6
"""Share of the wanted rounds (0..1) that a duel needs to count as one of these, where it does
not answer: one that was cut short, for want of budget, may be made again."""
LEAST_BUILDS, UNSEEN_SD = 4, 0.01
"""Fewest builds that show how far builds scatter, and what is assumed of fewer (ratio)."""
_SAMPLES = 8
"""Simulated searches, each with a likely culprit, that estimate the cost of a search."""


class Why(enum.Enum):
    """What a duel is for; the value is the words for it."""

    ENDS = "do the ends differ?"
    HALVE = "on which side is the change?"
    CONFIRM = "is it worse than its parent?"


class Ending(enum.Enum):
    """How a search can end; the value is the words for it."""

    FOUND = "found"
    OPEN = "not decided within this budget"
    SAME = "the ends do not differ"
    FASTER = "the bad end is better than the good end"
    UNKNOWN = "cannot tell at this budget whether the ends differ"
    SCATTERED = "no single commit explains the difference of the ends"
    BROKEN = "an end of the range cannot be measured"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a search is to find, and what it may cost."""

    find: float = 0.03
    """Smallest change for the worse that a duel is to find; half of it counts (0..1)."""
    rounds: int = Duel().rounds
    """Most rounds of a duel at its first try."""
    round_minutes: float = Duel().round_s / 60
    """Lab time of a round (min)."""
    budget_minutes: float = 240.0
    """Lab time for all duels since the first of the two ends (min)."""
    metric: str = COMPLETED
    """The figure that decides."""

    @property
    def rises(self) -> bool:
        """Whether a rise of the figure is a change for the worse."""
        return self.metric != COMPLETED


@dataclass(frozen=True, slots=True)
class Step:
    """A duel that is to be made."""

    older: int
    newer: int
    rounds: int
    """Most rounds."""
    why: Why


@dataclass(frozen=True, slots=True)
class Culprit:
    """What made it slower: one commit, or several that no duel can separate."""

    gap: Gap
    """All of its commits but the last do not build, if there are several."""
    level: Level
    """Figure after it over that before it, by the duels of just these two places."""


@dataclass(frozen=True, slots=True)
class End:
    """What came of the search."""

    ending: Ending
    culprits: tuple[Culprit, ...] = ()
    """Confirmed ones, the oldest first."""
    left: Gap | None = None
    """The gap of a change whose commit was not found; None where none is left."""


@dataclass(frozen=True)
class Known:
    """A range of commits and all that is known of it; place 0 is the good end."""

    count: int
    """Place of the bad end: how many commits there are, the good end not counted."""
    duels: Sequence[Duelled] = ()
    broken: frozenset[int] = field(default_factory=frozenset)
    """Places that cannot be measured: they do not build or do not start."""

    @cached_property
    def ordered(self) -> tuple[Duelled, ...]:
        """The duels, as they were made."""
        return tuple(
            sorted(self.duels, key=lambda duel: (duel.began, duel.older, duel.newer, duel.mean))
        )

    def of(self, older: int, newer: int) -> list[Duelled]:
        """Return the duels of two places, as they were made."""
        return [one for one in self.ordered if (one.older, one.newer) == (older, newer)]

    @property
    def ends(self) -> list[Duelled]:
        """The duels of the two ends."""
        return self.of(0, self.count)

    @property
    def places(self) -> frozenset[int]:
        """Places that were in a duel."""
        return frozenset(place for duel in self.duels for place in (duel.older, duel.newer))

    @property
    def minutes(self) -> float:
        """Lab time of the search: of the duels since the first of the two ends (min)."""
        since = self.ends[0].began if self.ends else None
        if since is None:
            return 0.0
        return math.fsum(one.minutes for one in self.ordered if one.began >= since)

    def round_minutes(self, planned: float) -> float:
        """How long a round takes (min): as planned, or as the duels so far took, if longer."""
        made = sum(duel.rounds for duel in self.duels)
        took = math.fsum(duel.minutes for duel in self.duels)
        return max(planned, took / made) if made else planned

    def inside(self, gap: Gap) -> list[int]:
        """Return the places within a gap that can be measured."""
        return [one for one in range(gap.after + 1, gap.place) if one not in self.broken]


def next_step(known: Known, limits: Limits) -> Step | End:
    """Return the most informative duel, or how the search ends."""
    if {0, known.count} & known.broken:
        return End(Ending.BROKEN)
    decided = next((end for end in known.ends[::-1] if end.answer is not Answer.UNKNOWN), None)
    if decided is None:
        return _again(known, limits, Gap(0, known.count), Why.ENDS) or End(Ending.UNKNOWN)
    if decided.answer is not Answer.SLOWER:
        return End(Ending.SAME if decided.answer is Answer.SAME else Ending.FASTER)
    return _Search(known, limits).next_step()


def _again(known: Known, limits: Limits, gap: Gap, why: Why) -> Step | None:
    """A duel of two places, longer than those before; None where there may be no more."""
    tries = _tries(known, limits, gap)
    if tries >= TRIES:
        return None
    return _paid(known, limits, Step(gap.after, gap.place, limits.rounds * 2**tries, why))


def _tries(known: Known, limits: Limits, gap: Gap) -> int:
    """How many of the duels of two places count as tries of one question."""
    made = 0
    for one in known.of(gap.after, gap.place):
        whole = one.rounds >= WHOLE * limits.rounds * 2**made
        made += whole or one.answer is not Answer.UNKNOWN
    return made


def _paid(known: Known, limits: Limits, step: Step) -> Step | None:
    """The step with as many rounds as there is budget for; None for too few."""
    left = limits.budget_minutes - known.minutes
    rounds = min(step.rounds, int(left / known.round_minutes(limits.round_minutes) + 1e-9))
    return replace(step, rounds=rounds) if rounds >= LEAST_ROUNDS else None


class _Search:
    """The search within a range whose ends differ."""

    def __init__(self, known: Known, limits: Limits) -> None:
        self.known, self.limits = known, limits
        self.changes = Changes(known.count, known.ordered, limits.find / 2, rises=limits.rises)
        self.culprits = tuple(self._confirmed())
        done = frozenset(culprit.gap for culprit in self.culprits)
        self.undecided = frozenset(
            gap for gap in self._smallest() if _tries(known, limits, gap) >= TRIES
        )
        self.likely = self.changes.first(done | self.undecided)
        self.any = math.fsum(self.likely)
        self.unsettled = self.changes.first(done)

    def next_step(self) -> Step | End:
        if self.any < UNLIKELY:
            return self._end()
        return _paid(self.known, self.limits, self._choose()) or self._end()

    def _end(self) -> End:
        left = self.suspects() if math.fsum(self.unsettled) >= UNLIKELY else None
        if self.culprits:
            return End(Ending.FOUND, self.culprits, left)
        return End(Ending.OPEN if left else Ending.SCATTERED, (), left)

    def _smallest(self) -> Iterator[Gap]:
        """The gaps that no further duel can divide."""
        return (gap for gap in self.changes.gaps if not self.known.inside(gap))

    def _confirmed(self) -> Iterator[Culprit]:
        for gap in self._smallest():
            own = self.known.of(gap.after, gap.place)
            if not any(one.answer is Answer.SLOWER for one in own):
                continue
            if self.changes.holds(gap) >= CONFIRMED:
                level = Changes(1, [replace(one, older=0, newer=1) for one in own], 0.0)
                yield Culprit(gap, level.levels[1])

    def _choose(self) -> Step:
        """A duel of the likeliest commit with its parent, or one that divides a gap."""
        likely, gap = max(
            zip(self.likely, self.changes.gaps, strict=True), key=lambda one: one[0]
        )
        middle = self._middle()
        if likely < LIKELY * self.any and self.known.inside(middle):
            gap = middle
        if self.known.inside(gap):
            return self._halving(gap)
        tries = _tries(self.known, self.limits, gap)
        return Step(gap.after, gap.place, self.limits.rounds * 2**tries, Why.CONFIRM)

    def _middle(self) -> Gap:
        """The gap that has as much of what is likely before it as after it."""
        before = itertools.accumulate(self.likely)
        return next(
            gap
            for up_to, gap in zip(before, self.changes.gaps, strict=True)
            if up_to >= self.any / 2
        )

    def _halving(self, gap: Gap) -> Step:
        """The duel of the good end with the place in a gap that halves what is likely."""
        at = self.changes.gaps.index(gap)
        wanted = (self.any / 2 - math.fsum(self.likely[:at])) / self.likely[at]
        # Where the half of all is outside of the gap, the half of the gap.
        share = wanted if 0 < wanted < 1 else 0.5
        ideal = gap.after + share * gap.commits
        place = min(self.known.inside(gap), key=lambda one: (abs(one - ideal), one))
        size = max(self.limits.find, self._expected())
        noise = scatter(self.known.ordered, ROUND_SD)
        needed = math.ceil((2 * SURE * noise / size) ** 2)
        rounds = max(FEWEST, min(self.limits.rounds, needed))
        return Step(0, place, rounds, Why.HALVE)

    def _expected(self) -> float:
        """How large the change is that is looked for (0..)."""
        sizes = [abs(self.changes.size(gap)) for gap in self.changes.gaps]
        of = zip(self.likely, sizes, strict=True)
        return math.fsum(likely * size for likely, size in of) / self.any

    def suspects(self) -> Gap:
        """The part of the range in which the next change is with 95 % of its chance."""
        total, before = math.fsum(self.unsettled), 0.0
        after, place = 0, self.known.count
        for likely, gap in zip(self.unsettled, self.changes.gaps, strict=True):
            if before + likely < 0.025 * total:
                after = gap.place
            before += likely
            if before >= 0.975 * total:
                place = gap.place
                break
        return Gap(after, max(place, after + 1))


def suspects(known: Known, limits: Limits) -> Gap:
    """Between which places the next culprit is, with 95 % of its chance."""
    return _Search(known, limits).suspects()


def levels(known: Known) -> dict[int, Level]:
    """How fast each place is against the good end, of those that duels connect with it."""
    return dict(Changes(known.count, known.ordered, 0.01).levels)


@dataclass(frozen=True, slots=True)
class Builds:
    """By how much builds of a range may differ whose code is equally fast."""

    scatter: float
    """Highest standard deviation of their figures that is likely (ratio)."""
    seen: int
    """Builds that show it; 0 where it is assumed."""
    commits: int
    """Commits of the range."""

    def as_slow(self, culprit: Culprit) -> float:
        """How many commits of the range look as slow as a culprit by their builds alone."""
        away = abs(math.log(culprit.level.ratio)) / (math.sqrt(2) * self.scatter)
        return self.commits * math.erfc(away / math.sqrt(2)) / 2


def builds(known: Known, end: End) -> Builds:
    """How far builds may scatter, by the duels of a search that has ended.

    Places between which no change was found should have one level.
    """
    from scipy.special import chdtri  # noqa: PLC0415  # slow to import, seldom needed

    left = end.left or Gap(known.count, known.count)
    cuts = sorted({left.place, *(one.gap.place for one in end.culprits)})
    steps = {0: [0.0]}
    for place, level in levels(known).items():
        if not left.after < place < left.place:
            steps.setdefault(bisect_right(cuts, place), []).append(math.log(level.ratio))
    df = sum(len(of) - 1 for of in steps.values())
    if df < LEAST_BUILDS:
        return Builds(UNSEEN_SD, 0, known.count)
    squares = math.fsum(
        (mean - statistics.fmean(of)) ** 2 for of in steps.values() for mean in of
    )
    highest = math.sqrt(squares / float(chdtri(df, 1 - UNLIKELY)))
    return Builds(max(BUILD_SD, highest), df, known.count)


@dataclass(frozen=True, slots=True)
class Cost:
    """About what is still to be paid."""

    duels: float
    places: float
    """Builds and deployments: places that were in no duel yet."""
    minutes: float
    """Lab time of the duels (min)."""


def expected_cost(known: Known, limits: Limits) -> Cost:
    """Return what the search may still cost: the mean over culprits that are likely so far.

    The same decisions are made as later, of duels that are made up.
    """
    costs = [_cost_of(known, limits, culprit) for culprit in _likely(known, limits)]
    return Cost(*(math.fsum(column) / len(costs) for column in zip(*costs, strict=True)))


def _likely(known: Known, limits: Limits) -> list[int]:
    """Some places where the culprit may be, each as likely as the next."""
    changes = Changes(known.count, known.ordered, limits.find / 2, rises=limits.rises)
    shares = [
        (place, likely / gap.commits)
        for likely, gap in zip(changes.first(), changes.gaps, strict=True)
        for place in range(gap.after + 1, gap.place + 1)
    ]
    total, before = math.fsum(share for _, share in shares), 0.0
    found: list[int] = []
    for place, share in shares:
        before += share
        while before > (len(found) + 0.5) / _SAMPLES * total:
            found.append(place)
    return found or [known.count]


def _cost_of(known: Known, limits: Limits, culprit: int) -> tuple[float, float, float]:
    noise = scatter(known.ordered, ROUND_SD)
    worse = math.log1p(limits.find if limits.rises else -limits.find)
    drop = known.ends[-1].mean if known.ends else 1.5 * worse
    # A duel ends as soon as it is sure.
    enough = math.ceil((3 * noise / (limits.find / 2)) ** 2)
    hunt, made = known, 0
    while isinstance(step := next_step(hunt, limits), Step):
        made += 1
        slower = step.older < culprit <= step.newer
        rounds = max(LEAST_ROUNDS, min(step.rounds, enough))
        duel = Duelled(
            step.older,
            step.newer,
            f"~{made:04d}",  # after every date
            rounds * known.round_minutes(limits.round_minutes),
            Answer.SLOWER if slower else Answer.SAME,
            drop if slower else 0.0,
            noise / math.sqrt(rounds),
            rounds,
        )
        hunt = replace(hunt, duels=(*hunt.duels, duel))
    fresh = hunt.places - known.places
    return made, len(fresh), hunt.minutes - known.minutes
