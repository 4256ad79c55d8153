"""Which experiment runs on which commit, what it costs, how soon a drop is reported.  Pure."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from leaselab.analysis.arrivals import Kind
from leaselab.analysis.delays import WEEKS, Delay, delays
from leaselab.analysis.workload import Lab

MOST_LOAD = 0.8
"""Load of a working day up to which is planned: the rest is for repeats, ranges by hand, broken
benches, and short queues."""
SWEEPS_A_WEEK = (1.0, 0.5, 0.25)
"""Sweeps of a scenario a week that are tried."""
PUSHED_FIRST = 4
"""Scenarios that get a duel on each push before any of the others has one each night."""
_EVERY = (2, 3, 4, 6, 8, 12, 16)
"""Numbers n of `every n-th commit` that are tried."""
_SEED = 1
_MOST_BENCHES = 64
"""Benches up to which is looked for what would suffice."""


class Rhythm(enum.Enum):
    """When a scenario is measured; the value is the word for it."""

    PUSH = "each push"
    SAMPLE = "every n-th commit"
    NIGHT = "each night"
    WEEK = "each week"


_KINDS = {
    Rhythm.PUSH: Kind.COMMIT,
    Rhythm.SAMPLE: Kind.SAMPLE,
    Rhythm.NIGHT: Kind.NIGHT_DUEL,
    Rhythm.WEEK: Kind.WEEK_DUEL,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be planned."""

    scenarios: int
    """How many; the most important come first."""
    pushed: int = 0
    """How many of the first have to be measured on each push."""
    sweeps_a_week: tuple[float, ...] = SWEEPS_A_WEEK
    """Sweeps of each scenario a week, absolute figures for the history: the first of these
    with which each scenario has a duel a night or more often, else the last."""
    drops: float = 0.01
    """Share of the commits that are slower, and are looked for by a bisect (0..1)."""
    minutes_per_commit: float = math.inf
    """Most bench time of a push (min)."""
    most_load: float = MOST_LOAD


@dataclass(frozen=True, slots=True)
class Row:
    """Scenarios that are measured alike."""

    rhythm: Rhythm
    scenarios: range
    """Their places in the order of the wish."""
    hours: float
    """Bench hours a day of their duels and builds (h)."""
    verdict: Delay
    """Until a duel says that there is a drop."""
    named: Delay
    """Until its commit is named: the same where it alone was new, else after a bisect."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A way of measuring that fits."""

    lab: Lab
    rows: tuple[Row, ...]
    sweeps_h: float
    """Bench hours a day of sweeps (h)."""
    bisects_h: float
    """Bench hours a day of bisects, mean (h)."""

    @property
    def hours(self) -> float:
        """Bench hours a day, of all benches (h)."""
        return self.lab.asked_h + self.bisects_h

    @property
    def load(self) -> float:
        """Hours over those that there are, mean over a week."""
        return self.hours / self.lab.offered_h

    @property
    def working_day_load(self) -> float:
        """The same on a working day: what the plan is limited by."""
        return (self.lab.asked_on_a_working_day_h + self.bisects_h) / self.lab.offered_h


@dataclass(frozen=True, slots=True)
class Counts:
    """How many scenarios have which rhythm."""

    push: int = 0
    sample: int = 0
    every: int = 1
    night: int = 0
    week: int = 0
    swept: int = 0
    """Sweeps a night."""

    def of(self, lab: Lab) -> Lab:
        """The lab that has this to do."""
        return replace(
            lab,
            per_commit=self.push,
            sampled=self.sample,
            every=self.every,
            night_duels=self.night,
            week_duels=self.week,
            nightly=self.swept,
        )


def choose(lab: Lab, wish: Wish) -> Counts | None:
    """Choose the rhythms: a few scenarios on each push, as many each night as fit, then more.

    What is left to a push runs on every n-th commit, where that is more often than each night.
    None where not even one duel of each scenario a week fits, or not those that have to be on
    each push.
    """
    found = None
    for sweeps in wish.sweeps_a_week:
        found = _chosen(lab, wish, math.ceil(wish.scenarios * sweeps / 7)) or found
        if found and not found.week:
            break
    return found


def _chosen(lab: Lab, wish: Wish, swept: int) -> Counts | None:
    """The rhythms with so many sweeps a night."""

    def fits(counts: Counts) -> bool:
        return _fits(lab, wish, counts)

    everything = wish.scenarios
    least = min(everything, max(wish.pushed, PUSHED_FIRST))
    pushed = [
        Counts(push=push, week=everything - push, swept=swept)
        for push in range(least, wish.pushed - 1, -1)
    ]
    start = next(filter(fits, pushed), None)
    if start is None:
        return None
    push, others = start.push, start.week
    night = _most(others, lambda k: fits(replace(start, night=k, week=others - k)))
    if night < others:
        return replace(start, night=night, week=others - night)
    nights = Counts(push=push, night=others, swept=swept)
    more = _most(others, lambda k: fits(replace(nights, push=push + k, night=others - k)))
    push, rest = push + more, others - more
    for every in _EVERY:
        if lab.measured_a_day / every <= 1:
            break
        some = Counts(push=push, every=every, swept=swept)

        def sampled(number: int, some: Counts = some) -> bool:
            return fits(replace(some, sample=number, night=rest - number))

        sample = _most(rest, sampled)
        if sample and (sample == rest or lab.measured_a_day / every < 2):
            return replace(some, sample=sample, night=rest - sample)
    return replace(nights, push=push, night=rest)


def plan(lab: Lab, wish: Wish, counts: Counts, weeks: int = WEEKS) -> Plan:
    """Return what these rhythms cost, and how soon they report a drop.

    The weeks of the lab's demand are the same always; benches do not break in them.
    """
    busy = counts.of(lab)
    found = delays(busy, _SEED, weeks)
    rows, first = [], 0
    for rhythm, number, part in (
        (Rhythm.PUSH, counts.push, Counts(push=counts.push)),
        (Rhythm.SAMPLE, counts.sample, Counts(sample=counts.sample, every=counts.every)),
        (Rhythm.NIGHT, counts.night, Counts(night=counts.night)),
        (Rhythm.WEEK, counts.week, Counts(week=counts.week)),
    ):
        if number:
            reported, named = found[_KINDS[rhythm]]
            hours = part.of(lab).asked_h
            if rhythm is Rhythm.SAMPLE and counts.push:
                hours -= lab.measured_a_day / counts.every * lab.build_h  # of a push already
            rows.append(Row(rhythm, range(first, first + number), hours, reported, named))
        first += number
    return Plan(
        lab=busy,
        rows=tuple(rows),
        sweeps_h=busy.nightly * busy.sweep_h,
        bisects_h=bisects_h(lab, wish, counts),
    )


def bisects_h(lab: Lab, wish: Wish, counts: Counts) -> float:
    """Bench hours a day that bisects take, mean over the scenarios (h)."""
    found = lab.measured_a_day
    if not found or not wish.scenarios:
        return 0.0
    in_one = lab.commits_a_day / found
    between = (
        (counts.push, in_one),
        (counts.sample, in_one * counts.every),
        (counts.night, max(in_one, lab.commits_a_day)),
        (counts.week, max(in_one, 7 * lab.commits_a_day)),
    )
    hours = sum(number * lab.bisect_h(commits) for number, commits in between)
    return lab.commits_a_day * wish.drops * hours / wish.scenarios


@dataclass(frozen=True, slots=True)
class Enough:
    """What would suffice, each with all else as it is; None where it would not."""

    benches: int | None
    hours: float | None
    """Hours a day of each bench (h)."""
    scenarios: int
    """How many of the first would fit, each once a week but those of each push."""
    minutes_per_commit: float | None
    """Bench time of a push (min); None where that is not what is missing."""


def enough(lab: Lab, wish: Wish) -> Enough:
    """Return what would suffice where `choose` finds nothing."""
    needed = pushed_min(lab, wish.pushed)
    missing = needed > wish.minutes_per_commit
    able = replace(wish, minutes_per_commit=math.inf)
    hours = [lab.open_h + step / 2 for step in range(1, int(2 * (24 - lab.open_h)) + 1)]
    return Enough(
        benches=next(
            (
                number
                for number in range(lab.benches, _MOST_BENCHES + 1)
                if choose(replace(lab, benches=number), able)
            ),
            None,
        ),
        hours=next((hour for hour in hours if choose(replace(lab, open_h=hour), able)), None),
        scenarios=_most(
            wish.scenarios,
            lambda k: (
                choose(lab, replace(wish, scenarios=k, pushed=min(k, wish.pushed))) is not None
            ),
        ),
        minutes_per_commit=needed if missing else None,
    )


def pushed_min(lab: Lab, scenarios: int) -> float:
    """Bench time of a push of which so many scenarios are measured, with one build (min)."""
    return 60 * (scenarios * lab.duel_h + lab.build_h) if scenarios else 0.0


def _fits(lab: Lab, wish: Wish, counts: Counts) -> bool:
    if pushed_min(lab, counts.push) > wish.minutes_per_commit:
        return False
    busy = counts.of(lab)
    asked_h = busy.asked_on_a_working_day_h + bisects_h(lab, wish, counts)
    return asked_h <= wish.most_load * busy.offered_h


def _most(number: int, fits: Callable[[int], bool]) -> int:
    """The largest count, of `number` at most, with which it fits and so do all below; or 0."""
    found = 0
    while found < number and fits(found + 1):
        found += 1
    return found
