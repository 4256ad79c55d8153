"""A lab and its work as numbers: what is asked of it, and what its benches can do.  Pure.

`leaselab plan` reckons with it, and `leaselab dev bench week` simulates it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from leaselab.model.procedures.duel import EQUAL_ROUNDS, Duel

DAY_H = 24.0
WEEK_H = 7 * DAY_H
OFFICE_FROM_H, OFFICE_TO_H, OFFICE_DAYS = 8.0, 18.0, 5
OFFICE_H = OFFICE_DAYS * (OFFICE_TO_H - OFFICE_FROM_H)
"""Working hours of a week that begins on Monday (h)."""
EVEN = OFFICE_H / WEEK_H
"""`Lab.office` at which commits come at any hour alike."""
_DUEL = Duel()


@dataclass(frozen=True, slots=True)
class Lab:
    """What is planned or simulated; `docs/explanation/scaling.md` has the assumptions."""

    benches: int = 3
    per_commit: int = 5
    """Scenarios of which each commit that is found gets a duel."""
    sampled: int = 0
    """Scenarios of which only every n-th commit that is found gets a duel."""
    every: int = 1
    """That n."""
    nightly: int = 30
    """Scenarios swept each night."""
    night_duels: int = 0
    """Scenarios of which the night's newest commit gets a duel."""
    week_duels: int = 0
    """Scenarios of which the week's newest commit gets a duel."""
    commits_a_day: float = 2.6
    """Mean over all days of a week."""
    commits_a_push: float = 1.5
    """Mean; only the newest commit that is found is measured."""
    office: float = 0.8
    """Share of the pushes in working hours; the others come at any other hour alike."""
    poll_min: float = 15.0
    """Time between two looks at the repository (min); 0 where it reports each push."""
    night_at_h: float = 20.0
    """Hour of the day at which a night's first jobs start."""
    night_over_h: float = 4.0
    """Time over which cron spreads a night's jobs (h)."""
    experiments: int = 0
    """Experiments of the weekly set; each holds one bench, with all its points."""
    points: int = 8
    """Points of an experiment, each measured like a sweep."""
    weekly_at_h: float = 5 * DAY_H
    """When the weekly set asks for benches, since Monday, 00:00 (h)."""
    ranges: float = 0.0
    """Ranges of commits measured by hand, a week; each holds one bench."""
    range_h: float = 8.0
    """How long a range holds its bench, mean (h)."""

    duel_min: float = EQUAL_ROUNDS * _DUEL.round_s / 60
    """Mean time of a duel of equal servers (min)."""
    duel_sd: float = 0.35
    """Standard deviation of that time's natural logarithm."""
    drop_min: float = _DUEL.rounds * _DUEL.round_s / 60
    """Time of a duel that finds a small drop, at its last look (min)."""
    measure_min: float = 60.0
    """Mean time of a sweep, nine runs (min)."""
    measure_sd: float = 0.33
    """Standard deviation of that time's natural logarithm."""
    prepare_min: float = 5.0
    """Check, provision, deploy, tune (min)."""
    finish_min: float = 1.0
    """Archive, report, verdict (min)."""
    build_warm_min: float = 2.0
    build_cold_min: float = 20.0
    cold: float = 0.1
    """Share of the commits that find nothing of use in the builder's cache."""

    open_h: float = DAY_H
    """Hours a day in which jobs may begin on the benches."""
    open_from_h: float = OFFICE_FROM_H
    """Hour of the day from which on they may, if not at any hour."""
    mtbf_h: float = 720.0
    """Mean time until a whole bench breaks (h); infinite for never."""
    repair_h: float = 8.0
    """Mean time from a bench being marked as broken to its being whole (h)."""
    notice_min: float = 5.0
    """Time from a bench breaking to the end of the job on it (min)."""
    check_min: float = 2.0
    """What the hourly check of a bench holds it for (min)."""
    commits_first: bool = False
    """Whether jobs of commits pass those of nights in the queue."""

    @property
    def duel_h(self) -> float:
        """Mean time that a duel holds its bench, without a build (h)."""
        return self.holding_h(self.duel_min)

    @property
    def sweep_h(self) -> float:
        """Mean time that a sweep holds its bench, without a build (h)."""
        return self.holding_h(self.measure_min)

    @property
    def experiment_h(self) -> float:
        """Mean time that an experiment holds its bench, without a build (h)."""
        return self.holding_h(self.points * self.measure_min)

    def holding_h(self, minutes: float) -> float:
        """How long a job of this measuring time holds its bench, without a build (h)."""
        return (self.prepare_min + minutes + self.finish_min) / 60

    @property
    def build_h(self) -> float:
        """Mean time of a build (h)."""
        return (self.cold * self.build_cold_min + (1 - self.cold) * self.build_warm_min) / 60

    def opens_h(self, at_h: float) -> float:
        """When a job may begin that could at a time: then, or when the benches open (h)."""
        if self.open_h >= DAY_H:
            return at_h
        since = (at_h - self.open_from_h) % DAY_H
        return at_h if since < self.open_h else at_h + DAY_H - since

    def bisect_h(self, commits: float, *, drop: bool = False) -> float:
        """How long a bisect of so many commits holds its bench (h); no time for one commit.

        It confirms the ends, halves until one commit is left, and confirms that one.  Each
        step builds, deploys and has a duel.  The first and the last find the drop, as do half
        of those between; with `drop`, they all do.
        """
        if commits <= 1:
            return 0.0
        steps = math.ceil(math.log2(commits))
        sure = 2 + (steps if drop else steps / 2)
        equal = steps + 2 - sure
        minutes = sure * self.drop_min + equal * self.duel_min
        return (steps + 2) * (self.prepare_min / 60 + self.build_h) + (
            minutes + self.finish_min
        ) / 60

    def pushes_an_hour(self, at_h: float) -> float:
        """Rate of pushes at a time since Monday, 00:00 (1/h)."""
        working = at_h % WEEK_H < OFFICE_DAYS * DAY_H and (
            OFFICE_FROM_H <= at_h % DAY_H < OFFICE_TO_H
        )
        return self._office_rate if working else self._other_rate

    @property
    def most_pushes_an_hour(self) -> float:
        """The highest rate of pushes there is (1/h)."""
        return max(self._office_rate, self._other_rate)

    @property
    def _pushes_a_week(self) -> float:
        return 7 * self.commits_a_day / self.commits_a_push

    @property
    def _office_rate(self) -> float:
        return self._pushes_a_week * self.office / OFFICE_H

    @property
    def _other_rate(self) -> float:
        return self._pushes_a_week * (1 - self.office) / (WEEK_H - OFFICE_H)

    @property
    def measured_a_day(self) -> float:
        """Commits that are found, mean over a week (1/day): a poll takes the newest only."""
        return (
            self._found(OFFICE_H, self._office_rate)
            + self._found(WEEK_H - OFFICE_H, self._other_rate)
        ) / 7

    @property
    def measured_a_working_day(self) -> float:
        """The same on a working day (1/day)."""
        office_h = OFFICE_TO_H - OFFICE_FROM_H
        return self._found(office_h, self._office_rate) + self._found(
            DAY_H - office_h, self._other_rate
        )

    def _found(self, hours: float, rate: float) -> float:
        """Commits that polls find in so many hours with a rate of pushes (1/h)."""
        poll_h = self.poll_min / 60
        return hours * (-math.expm1(-rate * poll_h) / poll_h if poll_h else rate)

    @property
    def asked_h(self) -> float:
        """Hours of benches that commits, nights, weeks and ranges ask for, a day (h).

        Not in it: benches that wait for a build which another one asked for, hourly checks
        (a busy bench has few of them), and attempts that meet a broken bench.
        """
        return self._asked_h(self.measured_a_day)

    @property
    def asked_on_a_working_day_h(self) -> float:
        """The same on a working day, on which most of the commits come (h)."""
        return self._asked_h(self.measured_a_working_day)

    def _asked_h(self, measured: float) -> float:
        duels = self.per_commit + self.sampled / self.every
        builds = 1.0 if self.per_commit else 1 / self.every if self.sampled else 0.0
        return (
            measured * (duels * self.duel_h + builds * self.build_h)
            + self.nightly * self.sweep_h
            + (self.night_duels + self.week_duels / 7) * self.duel_h
            + self.experiments / 7 * self.experiment_h
            + self.ranges / 7 * self.range_h
        )

    @property
    def available(self) -> float:
        """Share of the time that a bench is whole and known to be, mean.

        Half an hour passes until the next hourly check puts a repaired bench back.
        """
        if math.isinf(self.mtbf_h):
            return 1.0
        return self.mtbf_h / (self.mtbf_h + self.repair_h + 0.5)

    @property
    def offered_h(self) -> float:
        """Hours a day that the benches have for all of that (h)."""
        return self.open_h * self.benches * self.available

    @property
    def load(self) -> float:
        """What is asked for over what the benches can do: from 1 on, queues only grow."""
        return self.asked_h / self.offered_h
