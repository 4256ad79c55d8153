"""Whether a max rate holds: what is offered after the last round, and what comes of it.

A search sees each rate for a few seconds, of a server that was started a moment ago and that
rests between two trials.  So a rate that every round passed is offered once more, without
a rest, for longer than a round takes.  One such stretch decides; while it cannot, as its losses
come now and then, the next one is twice as long, and the last one counts.  It is below the
rounds by as much as the next round may differ from them: what a sound server passes.

Its clients come back after as many as a trial of a search has: the server holds no more than in
a search.  How it slows down as it fills is another question.

By then the server has served for longer than in any round.  So a load above all of them has to
fail, or the server has become faster since.  And of four times as much it may complete no more
than a server at its limit: a search that begins where a server loses by chance ends there.
After that the rate that held is offered once more, and again where it fails: a search overloads
a server all the time, and its figure is too low where the server stays slow for a while.
Several servers that serve as one get neither, as the overload breaks them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.search import FAR_BELOW, MAX_REPEATS
from leaselab.measure.search_error import (
    SearchError,
    loses_at_any_load,
    none_confirms,
    not_sustained,
    runs_apart,
    warming_up,
)
from leaselab.model.procedure import STALLED_LIMIT
from leaselab.model.procedures.max_rate import STRETCHES, MaxRate
from leaselab.model.record import Confirmation, Round
from leaselab.model.trial import Load, Trial, loss_ratio_of

# `leaselab dev bench faults` has the servers that these are for, such as one on burst credit
# (benchmarks/results/faults.md).
OVERLOAD_FACTOR = 4.0
"""Offered load of the last trial over what was confirmed."""
SPREADS, LEAST_DISTANCE, MOST_DISTANCE = 1.5, 0.05, 0.15
"""Distance of the confirmation from the bounds of the rounds (ratio): so many standard
deviations of their max rates, within these."""
FURTHEST = 0.25
"""Most by which it may be below the middle round (ratio): else it would say nothing of that."""
UNEXPLAINED = 0.9
"""Share of its lower bound below which a failure of a round was no matter of load."""
DECIDED = 2.0
"""Standard errors of its loss by which a stretch has to differ from the goal."""
FREE = 0.1
"""Share of the permitted losses up to which a rate is without loss (ratio)."""
PASSES_ABOVE = 2
"""Passing trials above all rounds that say that the server has become faster."""
MOST_APART = 1.5
"""Highest over lowest of the rounds that are kept, from which on they have no mean."""


@dataclass(frozen=True, slots=True)
class Confirming:
    """The trials after the last round so far; they begin with none."""

    procedure: MaxRate
    rounds: Sequence[Round]
    made: Sequence[Trial]
    capacity: int | None = None
    """Transactions that a trial may begin at most; None where nothing bounds them."""
    alone: bool = True
    """Whether it is one server, and not several that serve as one."""

    @property
    def rate(self) -> int:
        """Rate that has to hold (transactions/s)."""
        lowest = min(round_.bracket.lower for round_ in self.rounds if round_.bracket)
        least = (1 - FURTHEST) * statistics.median(max_rates(self.rounds))
        return max(1, math.floor(max(lowest * (1 - self._distance), least)))

    @property
    def above(self) -> int:
        """Rate that has to fail (transactions/s)."""
        highest = max(round_.bracket.upper for round_ in self.rounds if round_.bracket)
        return math.ceil(highest * (1 + self._distance))

    @property
    def counted(self) -> list[Trial]:
        """The trials that decide: those of the last whole stretch, else all that are valid."""
        stretches = self._stretches()
        return stretches[-1] if stretches else [one for one in self._below if one.valid]

    @property
    def loss_ratio(self) -> float:
        """Loss of what decides; without any that is valid, of all (0..1)."""
        return loss_ratio_of(self.counted or self._below)

    def next(self) -> Load | None:
        """Return the next load; None where all are made."""
        if not self.procedure.confirm_s:
            return None
        missing_s = self._missing_s()
        if missing_s and not self._given_up:
            return self._stretch(missing_s)
        if self._wants_above():
            return Load(self.above, self.procedure.trial_s)
        overload = min(round(OVERLOAD_FACTOR * self.rate), self.procedure.max_rate)
        if not self.alone:
            return None
        if all(one.rate != overload for one in self.made):
            return Load(overload, self.procedure.trial_s)
        after = after_overload(self.rate, self.made)
        failed = bool(after) and not self.procedure.passes(after[-1])
        holds = bool(self._stretches()) and self._holds
        wanted = holds and overload > self.rate and len(after) < 1 + failed
        return Load(self.rate, self.procedure.trial_s) if wanted else None

    def confirmation(self, wall_s: float) -> Confirmation:
        """Return the figures of the trials, which took so long (s)."""
        return Confirmation(
            rate=self.rate,
            loss_ratio=self.loss_ratio,
            holds=self.objection() is None,
            traffic_s=sum(trial.traffic_s for trial in self.made),
            wall_s=wall_s,
            trials=tuple(self.made),
        )

    def objection(self) -> SearchError | None:
        """Return why the trials do not confirm the result; None where they do."""
        procedure, rate = self.procedure, self.rate
        overload = [one for one in self.made if one.rate not in (rate, self.above)]
        highest = max(max_rates(self.rounds))
        far = any(highest < FAR_BELOW * one.completed_rate for one in overload)
        if far and not self._is_without_loss:
            brackets = [(round_, round_.bracket) for round_ in self.rounds if round_.bracket]
            failing = [one.trials[bracket.upper_trial] for one, bracket in brackets]
            return loses_at_any_load(procedure, [*failing, *overload])
        if not self._stretches():
            return none_confirms(self._below)
        if not self._holds:
            return not_sustained(self.counted, procedure)
        if self._above_passed >= PASSES_ABOVE:
            return warming_up(procedure, self.above, highest)
        return None

    def apart(self) -> SearchError | None:
        """Return that the rounds have no mean; None where they have one."""
        trim = self.procedure.trim
        kept = sorted(max_rates(self.rounds))[trim : -trim or None]
        return runs_apart(kept) if kept[-1] > MOST_APART * kept[0] else None

    def _stretch(self, missing_s: int) -> Load:
        """What is missing of a stretch, in as few trials as the capacity allows."""
        rate, trial_s = self.rate, self.procedure.trial_s
        most_s = math.inf if self.capacity is None else self.capacity // rate
        seconds = min(missing_s, max(trial_s, most_s))
        clients = 0 if self.procedure.keeps else rate * trial_s
        return Load(rate, int(seconds), clients=clients, proof=True)

    def _wants_above(self) -> bool:
        """Whether a load above all rounds is still to be tried; it may fall short."""
        tried = [one for one in self.made if one.rate == self.above]
        failed = any(one.valid and not self.procedure.passes(one) for one in tried)
        return (
            bool(self._stretches())
            and self._holds
            and self.above <= self.procedure.max_rate
            and not failed
            and self._above_passed < PASSES_ABOVE
            and len(tried) < PASSES_ABOVE + MAX_REPEATS
        )

    def _missing_s(self) -> int:
        """How much of a stretch is missing, 0 where the last one decided (s)."""
        stretches, lengths = self._stretches(), self._lengths
        whole = len(stretches)
        if whole == len(lengths) or (whole and self._decides(stretches[-1])):
            return 0
        spent = sum(one.duration_s for part in stretches for one in part)
        begun = sum(one.duration_s for one in self._below if one.valid) - spent
        return max(0, lengths[whole] - begun)

    def _stretches(self) -> list[list[Trial]]:
        """The whole stretches, until one decides."""
        left = iter([one for one in self._below if one.valid])
        stretches: list[list[Trial]] = []
        for length in self._lengths:
            part: list[Trial] = []
            while sum(one.duration_s for one in part) < length:
                trial = next(left, None)
                if trial is None:
                    return stretches
                part.append(trial)
            stretches.append(part)
            if self._decides(part):
                break
        return stretches

    def _decides(self, stretch: Sequence[Trial]) -> bool:
        """Whether its loss is clear of the goal, by how the losses vary within it."""
        losses = [loss for one in stretch for loss in _losses(one, self.procedure.trial_s)]
        if len(losses) < 2:
            return True
        error = statistics.stdev(losses) / math.sqrt(len(losses))
        loss, mean = loss_ratio_of(stretch), statistics.fmean(losses)
        # Seconds are of all kinds: the loss of the worst scatters by as much more.
        error *= max(1.0, loss / mean) if mean > 0 else 1.0
        return abs(loss - self.procedure.loss_ratio) >= DECIDED * error

    @property
    def _lengths(self) -> list[int]:
        """How long the stretches are (s).

        The first is left out where rounds saw losses that no load explains.
        """
        whole = [factor * self.procedure.confirm_s for factor in STRETCHES]
        return whole[1:] if any(map(self._unexplained, self.rounds)) else whole

    def _unexplained(self, one: Round) -> bool:
        """Whether a trial of full length failed far below what the round passed."""
        procedure = self.procedure
        return one.bracket is not None and any(
            trial.valid
            and trial.duration_s == procedure.trial_s
            and not procedure.passes(trial)
            and trial.rate < UNEXPLAINED * one.bracket.lower
            for trial in one.trials
        )

    @property
    def _given_up(self) -> bool:
        """Whether too many trials did not count."""
        spoiled = [one for one in self._below if not one.valid]
        stalled = sum(one.reason == GENERATOR_STALLED for one in spoiled)
        return stalled >= STALLED_LIMIT or len(spoiled) - stalled >= MAX_REPEATS

    @property
    def _holds(self) -> bool:
        return self.loss_ratio <= self.procedure.loss_ratio

    @property
    def _is_without_loss(self) -> bool:
        """Whether nearly nothing is lost at the rate that has to hold.

        Losses that begin above it follow the load, however much an overload completes.
        """
        return bool(self._stretches()) and self.loss_ratio <= FREE * self.procedure.loss_ratio

    @property
    def _below(self) -> list[Trial]:
        heavier = [place for place, one in enumerate(self.made) if one.rate != self.rate]
        return list(self.made[: heavier[0]] if heavier else self.made)

    @property
    def _above_passed(self) -> int:
        return sum(one.rate == self.above and self.procedure.passes(one) for one in self.made)

    @property
    def _distance(self) -> float:
        """How far both rates are from the bounds of the rounds (ratio)."""
        rates = max_rates(self.rounds)
        spread = statistics.stdev(rates) / statistics.fmean(rates) if len(rates) > 1 else 0.0
        return min(max(LEAST_DISTANCE, SPREADS * spread), MOST_DISTANCE)


def after_overload(rate: int, made: Sequence[Trial]) -> list[Trial]:
    """The trials at a rate after the last heavier one."""
    after = takewhile(lambda one: one.rate <= rate, reversed(made))
    return list(after)[::-1] if any(one.rate > rate for one in made) else []


def _losses(trial: Trial, span_s: int) -> list[float]:
    """Loss ratio of each `span_s` seconds of a trial; empty where its seconds are not known."""
    seconds = [one for one in trial.per_second if one.t < trial.duration_s]
    parts = [seconds[place : place + span_s] for place in range(0, len(seconds), span_s)]
    return [
        1.0
        - sum(one.completed for one in part)
        / sum(trial.rate if one.attempted is None else max(1, one.attempted) for one in part)
        for part in parts
    ]


def max_rates(rounds: Sequence[Round]) -> list[float]:
    """What the rounds that have one came to (transactions/s)."""
    return [rate for round_ in rounds if (rate := round_.metrics["max_rate"]) is not None]
