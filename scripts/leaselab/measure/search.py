"""The search for the max rate of one run: trials in, a proven bracket out.

`search` is a pure function of the outcomes of its trials: no clock, no chance, no
I/O.  A sweep that was killed is resumed by answering its requests from the journal.
`docs/search.md` gives the method with its reasons and figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leaselab.measure.belief import Belief, Observation, combine, observe
from leaselab.measure.prior import Prior, learn
from leaselab.measure.search_failure import SearchFailure, SearchReason
from leaselab.model.trial import Goal, RunEstimate, SearchLimits, Trial, TrialRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GENERATOR_LIMITED = "generator-limited"
"""`Trial.reason` of a trial whose generator started fewer exchanges than asked."""

FIRST_STEP = 4.0
"""Factor between scouts while nothing is known but that they lost nothing."""
SCOUT_SD = 0.8
"""A scout pays while the belief is wider than this many bracket widths."""
DECISIVE = 0.3
"""Least probability of completing a bracket that is worth a trial next to one made."""
MAX_REPEATS = 3
"""How often a trial that is not valid may be made in a row before the run ends."""
SURPRISES = 2
"""Trials in a row that may end on the unexpected side before the belief widens."""


def search(
    measure: Callable[[TrialRequest], Trial],
    goal: Goal,
    limits: SearchLimits,
    earlier: Sequence[RunEstimate] = (),
) -> RunEstimate:
    """Find the max rate of one run.

    `measure` makes one trial.  `earlier` are the finished runs of the same sweep;
    they say where to start and how far trials scatter, nothing more: the bracket
    is proven by trials of this run.

    The estimate inside the bracket is the maximum likelihood of the readings of
    the run's full-length trials, clipped to the bracket.  The lower bound would be
    low by half the width on average, which 9 runs do not average out.

    Raises `SearchFailure` (an invalid measurement, with a reason word and the
    trials made) when no bracket can be proven.
    """
    run = _Run(goal, limits, learn(earlier, goal))
    while (estimate := run.estimate()) is None:
        run.add(measure(run.next_request()))
    return estimate


@dataclass(slots=True)
class _Run:
    """The trials of one run, and what follows from them."""

    goal: Goal
    limits: SearchLimits
    prior: Prior
    trials: list[Trial] = field(default_factory=list)
    surprises: int = 0
    expected_pass: bool | None = None
    """What the last full-length request was expected to do."""
    last_pass: bool | None = None

    # -- what is known ---------------------------------------------------------

    def full(self, *, passing: bool) -> list[Trial]:
        """Valid full-length trials with one outcome, in the order made."""
        return [
            trial
            for trial in self.trials
            if trial.valid
            and trial.duration_s == self.limits.trial_s
            and trial.passes(self.goal) is passing
        ]

    def observations(self, noise_sd: float, *, scouts: bool) -> list[Observation]:
        return [
            observe(trial, self.goal, noise_sd)
            for trial in self.trials
            if trial.valid and (scouts or trial.duration_s == self.limits.trial_s)
        ]

    def floor(self) -> int:
        """Lowest rate worth a trial: below it whole rates are further apart than
        the width.
        """
        return max(self.limits.min_rate, math.ceil(1.0 / self.goal.relative_width) - 1)

    def ceiling(self) -> int:
        """Highest rate the limits and the generator allow.

        A rate counts as out of the generator's reach when it failed twice at it:
        once may be another process that took its processor for a moment.
        """
        limited = [
            trial.rate
            for trial in self.trials
            if not trial.valid and trial.reason == GENERATOR_LIMITED
        ]
        twice = [rate for rate in limited if limited.count(rate) > 1]
        return min([self.limits.max_rate, *(rate - 1 for rate in twice)])

    # -- the end ---------------------------------------------------------------

    def estimate(self) -> RunEstimate | None:
        """Return the result, as soon as two trials prove it."""
        pairs = [
            (lower, upper)
            for lower in self.full(passing=True)
            for upper in self.full(passing=False)
            if lower.rate < upper.rate
            and upper.rate - lower.rate <= self.goal.relative_width * upper.rate
        ]
        if not pairs:
            return None
        noise_sd = self.prior.noise.with_run(self.trials, self.goal).sd
        own = combine(self.observations(noise_sd, scouts=False))

        def distance(pair: tuple[Trial, Trial]) -> float:
            middle = math.sqrt(pair[0].rate * pair[1].rate)
            return abs(math.log(middle) - own.log_rate) if own else 0.0

        lower, upper = min(pairs, key=distance)
        rate = math.exp(own.log_rate) if own else math.sqrt(lower.rate * upper.rate)
        return RunEstimate(
            max_rate=min(max(rate, float(lower.rate)), float(upper.rate)),
            completed_rate=lower.completed_rate,
            lower=lower,
            upper=upper,
            trials=tuple(self.trials),
        )

    def add(self, trial: Trial) -> None:
        """Take in the outcome of the last request."""
        self.trials.append(trial)
        if not trial.valid or trial.duration_s != self.limits.trial_s:
            return
        passes = trial.passes(self.goal)
        if passes is self.expected_pass:
            self.surprises = 0
        else:
            same = passes is self.last_pass
            self.surprises = self.surprises + 1 if same else 1
        self.last_pass = passes

    # -- the next trial ----------------------------------------------------------

    def next_request(self) -> TrialRequest:
        """Return the trial that is most likely to complete a bracket, or a scout."""
        self._check()
        if self.trials and not self.trials[-1].valid:
            last = self.trials[-1]
            if last.rate <= self.ceiling():
                return TrialRequest(last.rate, last.duration_s)
        noise_sd = self.prior.noise.with_run(self.trials, self.goal).sd
        belief = self._belief(noise_sd)
        if belief is None:
            # Only the first run, and only before anything was lost.
            return self._scout(self._blind_rate())
        width = -math.log1p(-self.goal.relative_width)
        if belief.sd > max(SCOUT_SD * width, noise_sd) and not self._full_trials():
            return self._scout(math.exp(self._between(belief.log_rate + belief.sd)))
        rate, self.expected_pass = self._most_decisive(belief, noise_sd, width)
        return TrialRequest(self._within(rate), self.limits.trial_s)

    def _full_trials(self) -> list[Trial]:
        return [*self.full(passing=True), *self.full(passing=False)]

    def _sides(self) -> tuple[float, float]:
        """Log rates of the highest pass and the lowest failure (infinite if none).

        Scouts count only until the first full-length trial.
        """
        trials = self._full_trials() or [trial for trial in self.trials if trial.valid]
        passing = [math.log(item.rate) for item in trials if item.passes(self.goal)]
        failing = [math.log(item.rate) for item in trials if not item.passes(self.goal)]
        return max(passing, default=-math.inf), min(failing, default=math.inf)

    def _between(self, log_rate: float) -> float:
        """Keep a scout from the ends of the gap that is left, so that it closes."""
        lower, upper = self._sides()
        if lower < upper < math.inf and lower > -math.inf:
            margin = (upper - lower) / 8.0
            return min(max(log_rate, lower + margin), upper - margin)
        return log_rate

    def _belief(self, noise_sd: float) -> Belief | None:
        """Combine what the run's own trials and the earlier runs say."""
        observations = self.observations(noise_sd, scouts=True)
        prior = self.prior.belief
        if prior is not None:
            doubt = 4.0 ** max(0, self.surprises - SURPRISES)
            observations.append(Observation(prior.log_rate, prior.sd * doubt))
        belief = combine(observations)
        lower, upper = self._sides()
        if belief is None or not lower < upper:
            return belief
        if lower <= belief.log_rate <= upper:
            return belief
        if math.isfinite(upper - lower):
            return Belief((lower + upper) / 2.0, (upper - lower) / 4.0)
        return Belief(min(max(belief.log_rate, lower), upper), belief.sd)

    def _most_decisive(
        self, belief: Belief, noise_sd: float, width: float
    ) -> tuple[float, bool]:
        """Rate, and the expected outcome, of the best full-length trial."""
        passing, failing = self.full(passing=True), self.full(passing=False)
        if self.surprises > SURPRISES:
            return self._stride(width)
        best: tuple[float, float, bool] = (0.0, 0.0, True)
        if passing:
            highest = max(trial.rate for trial in passing)
            rate = math.floor(highest / (1.0 - self.goal.relative_width))
            success = belief.fails_at(math.log(rate), noise_sd)
            best = max(best, (success, float(rate), False))
        if failing:
            lowest = min(trial.rate for trial in failing)
            rate = math.ceil(lowest * (1.0 - self.goal.relative_width))
            success = 1.0 - belief.fails_at(math.log(rate), noise_sd)
            best = max(best, (success, float(rate), True))
        if best[0] > DECISIVE:
            return best[1], best[2]
        return math.exp(belief.log_rate + width / 2.0), False

    def _stride(self, width: float) -> tuple[float, bool]:
        """Step away from a side that keeps repeating, twice as far each time."""
        lower, upper = self._sides()
        step = width * 2.0 ** (self.surprises - SURPRISES)
        up = self.trials[-1].passes(self.goal)
        middle = (lower + upper) / 2.0 if lower < upper else math.nan
        if up:
            target = lower + step
            if math.isfinite(middle):
                target = min(target, middle)
        else:
            target = upper - step
            if math.isfinite(middle):
                target = max(target, middle)
        return math.exp(target), not up

    def _blind_rate(self) -> float:
        """Where to look while no trial has lost anything."""
        rates = [trial.rate for trial in self.trials if trial.valid]
        return max(rates) * FIRST_STEP if rates else float(self.limits.start_rate)

    def _within(self, rate: float) -> int:
        return min(max(round(rate), self.floor()), self.ceiling())

    def _scout(self, rate: float) -> TrialRequest:
        return TrialRequest(self._within(rate), self.limits.scout_s)

    def _check(self) -> None:
        """Raise when no bracket can be proven any more."""
        if len(self.trials) >= self.limits.max_trials:
            raise SearchFailure.of(SearchReason.NOISY, self.trials)
        if any(trial.rate >= self.ceiling() for trial in self.full(passing=True)):
            raise SearchFailure.of(SearchReason.ABOVE_MAX_RATE, self.trials)
        if any(trial.rate <= self.floor() for trial in self.full(passing=False)):
            raise SearchFailure.of(SearchReason.BELOW_MIN_RATE, self.trials)
