"""Where a series of figures changed for good: a step, or a creep of many small steps.

The detector is a cumulative sum (CUSUM, Page 1954), once for each direction.  It adds up by how
much each reading is away from the level so far, less a reference that a reading may be away
for nothing; where the sum passes a threshold, the level has changed.  A sum needs no guess of
how large a change is, or of how long ago it was, and a change once found stays found: what
is said of a reading rests on it and on those before it alone.

Four things are added to the sum as it stands in textbooks:

- Reference and threshold grow with the noise of the series, which is taken from how much
  neighbours differ, so that noise alone passes them seldom.  A quiet series keeps those that it
  was asked for.
- A reading that is itself known badly counts for less.
- It takes three readings to change a level, of which none adds more than 0.6 of the threshold;
  and none takes away more than one that is at the level.  So one or two disturbed sessions
  neither change a level nor hide that it changed.
- The level is that of the first readings, and stays.  One that followed the newest readings
  would follow a creep, too, and never find it.  A reading under suspicion is not part of it.
  After a change, the readings that showed it are the new level: one that waited for more would
  take what follows soon, such as a second drop, for a part of it.
"""

from __future__ import annotations

import enum
import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

from leaselab.analysis.figures.statistics import CONFIDENCE, trimmed_mean

LEARNT = 5
"""Readings that make a first level; before there are as many, nothing is found."""
_LEVEL = 24
"""Readings that a level rests on at most, the oldest."""
_TRIMMED = 0.2
"""Share of these (0..0.5) that is left out at each end."""
_NEIGHBOURS = 60
"""Newest differences between neighbours that noise is taken from."""
_KEPT = 0.8
"""Share of them, the smallest: the others may be changes and disturbed sessions."""
_MEAN_OF_KEPT = 0.5586
"""Mean of the smallest 80 % of |z|, of a normal z with a standard deviation of 1."""
_OVERSHOOT = 1.166
"""By how much of the noise a sum of normal figures is above the threshold that it passes, on
average, at both ends."""
_LEAST = 1e-6
"""Least noise that anything is divided by."""
_MOST = 0.6
"""Of the threshold: what one reading adds at most."""
_VOTES = 3
"""Readings that it takes to change a level."""
_AROUND = 3
"""Readings about the sum's own beginning among which the change is looked for."""
_CREEP_SPAN = 6
"""Readings that a creep takes at least."""
_CREEP_GAIN = 0.8
"""A creep has to leave less than this share of the squares that a step leaves."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How large a change has to be, for logarithms of ratios: 0.015 is 1.5 %."""

    reference: float = 0.015
    """What a reading may be away for nothing: half of the change that is looked for."""
    threshold: float = 0.03
    """The sum at which a level has changed, in a quiet series."""
    run_length: float = 5_000
    """Readings of noise alone after which one sum would pass the threshold by chance, on
    average: where the noise asks for a higher threshold than that, it is raised."""

    def limits(self, scatter: float, members: int) -> tuple[float, float]:
        """Reference and threshold for a noise and a level of so many readings.

        The average run length of a sum with reference k and threshold h, in units of the noise,
        is near (exp(2 k b) - 2 k b - 1) / (2 k^2) with b = h + 1.166 (Siegmund 1985).  A level
        is off by about noise / sqrt(members), which is taken off the reference.
        """
        reference = max(self.reference, scatter)
        k = reference / scatter - 1 / math.sqrt(members)
        needed = math.log(2 * k * k * self.run_length + 1) / (2 * k) - _OVERSHOOT
        return reference, max(self.threshold, needed * scatter)


# `leaselab dev bench detectors` says what they find and how often they are wrong
# (benchmarks/results/detectors.md).
RULES = Rules()


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure of a series."""

    value: float
    """Its logarithm."""
    error: float = 0.0
    """Standard error of that; 0 where it is not known."""


class Shape(enum.Enum):
    """How a level changed; the value is the word for it."""

    STEP = "step"
    CREEP = "creep"


@dataclass(frozen=True, slots=True)
class Shift:
    """A change of the level; positions are those of readings, from 0."""

    shape: Shape
    before: int
    """The last reading at the level before."""
    after: int
    """The first reading at the level after.  Between the two lie a step, or all of a creep."""
    detected: int
    """The reading by which it was found."""
    old: tuple[int, int]
    """Readings of the level before: the first, and one past the last."""
    new: tuple[int, int]
    """Those of the level after, likewise, of all readings that there are by now."""
    sign: int
    """-1 where the level fell, 1 where it rose."""


def shifts(readings: Sequence[Reading], rules: Rules = RULES) -> list[Shift]:
    """Find the changes of level in a series, oldest first.

    Positions of what is found never depend on later readings; sizes do, and get sharper.
    """
    alarms: list[_Alarm] = []
    start, known = 0, LEARNT
    scatters = noise(readings)
    while (alarm := _first_alarm(readings, scatters, start, known, rules)) is not None:
        alarms.append(alarm)
        start = alarm.restart
        known = min(LEARNT, max(_VOTES, alarm.detected + 1 - start))
    ends = [*(alarm.old_end for alarm in alarms), len(readings)][1:]
    return [
        alarm.shift(max(end, alarm.detected + 1))
        for alarm, end in zip(alarms, ends, strict=True)
    ]


def size(readings: Sequence[Reading], shift: Shift) -> tuple[float, tuple[float, float] | None]:
    """The level after over the level before, and its 95 % interval.

    Welch's interval of the difference of two means, of logarithms.  None where a level has one
    reading.  Of the readings that raised an alarm the first few are a little too far out.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  # slow to import, and seldom needed

    sides = [
        [reading.value for reading in readings[first:last]]
        for first, last in (shift.old, shift.new)
    ]
    before, after = (math.fsum(values) / len(values) for values in sides)
    moved = math.exp(after - before)
    if min(map(len, sides)) < 2:
        return moved, None
    parts = [_squares(values) / (len(values) - 1) / len(values) for values in sides]
    variance = math.fsum(parts)
    if not variance:
        return moved, (moved, moved)
    freedom = variance**2 / math.fsum(
        part**2 / (len(values) - 1) for part, values in zip(parts, sides, strict=True)
    )
    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * math.sqrt(variance)
    return moved, (math.exp(after - before - reach), math.exp(after - before + reach))


def noise(readings: Sequence[Reading]) -> list[float]:
    """Standard deviation of what neighbours of a series have not in common, at each reading.

    Of the newest readings until then; at the first reading it is its own error.  From the
    differences of neighbours: a level that changes, or creeps, is in one of them or in none.
    At least the usual error of the readings.
    """
    found = []
    apart: list[float] = []
    errors: list[float] = []
    for place, one in enumerate(readings):
        insort(errors, one.error)
        if place:
            insort(apart, abs(one.value - readings[place - 1].value))
        if place > _NEIGHBOURS:
            errors.pop(bisect_left(errors, readings[place - _NEIGHBOURS - 1].error))
            old = readings[place - _NEIGHBOURS - 1 : place - _NEIGHBOURS + 1]
            apart.pop(bisect_left(apart, abs(old[1].value - old[0].value)))
        found.append(max(_deviation(apart), errors[len(errors) // 2]))
    return found


def _deviation(apart: Sequence[float]) -> float:
    """The standard deviation of figures whose neighbours are so far apart, in that order."""
    if not apart:
        return 0.0
    kept = apart[: max(1, round(_KEPT * len(apart)))]
    few = 1 + 2 / len(apart)
    return few * math.fsum(kept) / len(kept) / _MEAN_OF_KEPT / math.sqrt(2)


@dataclass(slots=True)
class _Sum:
    """The sum of one direction."""

    sign: int
    value: float = 0.0
    since: int = 0
    """The reading that it last began with."""
    votes: int = 0
    """Readings since then that added to it."""

    def add(self, away: float, reference: float, most: float, position: int) -> None:
        if not self.value:
            self.since, self.votes = position, 0
        added = min(max(0.0, self.sign * away) - reference, most)
        self.votes += added > 0
        self.value = max(0.0, self.value + added)


@dataclass(frozen=True, slots=True)
class _Alarm:
    start: int
    """First reading of the level that was left."""
    shape: Shape
    before: int
    after: int
    detected: int
    sign: int

    @property
    def restart(self) -> int:
        """The first reading that the next level is learnt from."""
        if self.shape is Shape.STEP:
            return self.after
        return max(self.start + 1, self.detected - LEARNT + 1)

    @property
    def old_end(self) -> int:
        """One past the last reading of the level that was left."""
        return self.before + 1

    def shift(self, end: int) -> Shift:
        old = (self.start, max(self.old_end, min(self.start + LEARNT, self.restart)))
        new = (self.restart, end)
        return Shift(self.shape, self.before, self.after, self.detected, old, new, self.sign)


def _first_alarm(
    readings: Sequence[Reading],
    scatters: Sequence[float],
    start: int,
    known: int,
    rules: Rules,
) -> _Alarm | None:
    """The first change after the level that begins at `start`; None without one.

    So many readings from there on are known to be at that level.
    """
    sums = _Sum(-1), _Sum(+1)
    members: list[float] = []
    level = 0.0
    for position in range(start, len(readings)):
        reading = readings[position]
        if len(members) < known:
            members.append(reading.value)
            level = _level(members)
            continue
        scatter = max(scatters[position], _LEAST)
        reference, threshold = rules.limits(scatter, len(members))
        # As well known as the usual reading, or better: it counts in full.
        usual = max(scatter, rules.reference / 2)
        weight = min(1.0, usual / reading.error) if reading.error else 1.0
        away = weight * (reading.value - level)
        for one in sums:
            one.add(away, reference, _MOST * threshold, position)
            if one.value >= threshold and one.votes >= _VOTES:
                return _located(readings[: position + 1], start, one)
        if len(members) < _LEVEL and not any(one.value for one in sums):
            members.append(reading.value)
            level = _level(members)
    return None


def _level(members: Sequence[float]) -> float:
    return trimmed_mean(members, int(_TRIMMED * len(members)))


def _located(readings: Sequence[Reading], start: int, found: _Sum) -> _Alarm:
    """What shape a change has, and where it is, by the readings until it was found.

    A step has a level before and one after; a creep goes down, or up, in a line from where it
    begins.  Whichever leaves the smaller squares is it; a creep has to be clearly better.
    """
    values = [reading.value for reading in readings[start:]]
    count, last = len(values), len(readings) - 1
    since = found.since - start
    near = range(max(1, since - _AROUND), min(count - 1, since + _AROUND) + 1)
    step_left, step = min((_step_squares(values, at), at) for at in near)
    bends = range(count - _CREEP_SPAN)
    if bends:
        bend_left, bend = min((_bend_squares(values, at), at) for at in bends)
        if bend_left < _CREEP_GAIN * step_left:
            return _Alarm(start, Shape.CREEP, start + bend, last, last, found.sign)
    return _Alarm(start, Shape.STEP, start + step - 1, start + step, last, found.sign)


def _step_squares(values: Sequence[float], at: int) -> float:
    """Squares that are left by a level before position `at`, and another from it on."""
    return _squares(values[:at]) + _squares(values[at:])


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def _bend_squares(values: Sequence[float], at: int) -> float:
    """Squares that are left by a level until position `at`, and a line from there on."""
    xs = [max(0, place - at) for place in range(len(values))]
    mean_x, mean = math.fsum(xs) / len(xs), math.fsum(values) / len(values)
    across = math.fsum((x - mean_x) ** 2 for x in xs)
    slope = math.fsum(
        (x - mean_x) * (value - mean) for x, value in zip(xs, values, strict=True)
    )
    return _squares(values) - slope * slope / across
