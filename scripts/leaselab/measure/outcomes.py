"""The trials of one run so far, and what their outcomes prove and rule out."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import takewhile

from msgspec.structs import replace

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.model.kinds import deciding
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import GENERATOR_LIMITED, NOT_OFFERED, TOO_FEW_CLIENTS
from leaselab.model.trial import Trial

OVERLOADED = 0.2
"""Loss ratio above which a stall of the generator does not explain that a trial failed."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Trials in the order made.  Rates are transactions/s, sides their logarithms."""

    trials: tuple[Trial, ...]
    procedure: MaxRate

    @property
    def valid(self) -> list[Trial]:
        """Trials that say something about the server, scouts among them."""
        return [trial for trial in self.trials if trial.valid]

    @property
    def telling(self) -> list[Trial]:
        """Trials that say where to look, whether they count or not.

        The rate completed of an overload says that also where the generator did not begin all
        of it: such a trial stands at the load that was begun.
        """
        return [
            trial if trial.valid else replace(trial, rate=_begun(trial), valid=True)
            for trial in self.trials
            if self.is_informative(trial)
        ]

    def is_informative(self, trial: Trial) -> bool:
        """Whether a trial says where to look: a valid one, and one of an overload."""
        if trial.valid:
            return True
        if not trial.traffic_s or not _begun(trial):
            return False
        limit = {GENERATOR_LIMITED: self.procedure.loss_ratio, GENERATOR_STALLED: OVERLOADED}
        return trial.loss_ratio > limit.get(trial.reason, 1.0)

    @property
    def starved(self) -> Trial | None:
        """A trial that had too few clients; None while the search may do without such loads.

        One of no more than was begun in another trial was a moment's.
        """
        begun = max((trial.rate for trial in self.valid), default=0)
        short = [
            trial
            for trial in self.trials
            if trial.reason == TOO_FEW_CLIENTS and trial.rate > begun
        ]
        return short[-1] if len(short) > 1 else None

    @property
    def unserved(self) -> list[str]:
        """Kinds of which too little is served at any load that is worth a trial.

        What the server completes of them would allow less than the floor, in two trials in
        which it served all else.
        """
        seen = Counter[str]()
        for trial in self.valid:
            whole, short = (trial.attempted, trial.completed), list[str]()
            for word in deciding(trial, trial.kinds):
                kind = trial.kinds[word]
                rate = trial.attempted * kind.completed / kind.attempted / trial.traffic_s
                if rate < self.floor:
                    short.append(word)
                    whole = whole[0] - kind.attempted, whole[1] - kind.completed
            if whole[1] >= (1.0 - self.procedure.loss_ratio) * whole[0]:
                seen.update(short)
        return [word for word, times in seen.items() if times > 1]

    @property
    def full(self) -> list[Trial]:
        """Valid trials of the full length: the only ones that can stand in a bracket.

        An aborted one is among them: it was asked for the full length, and it was
        ended because it had already lost more than the whole of it may lose.
        """
        return [trial for trial in self.valid if trial.duration_s == self.procedure.trial_s]

    @property
    def passing(self) -> list[Trial]:
        """Full-length trials at or under the loss goal."""
        return [trial for trial in self.full if self.procedure.passes(trial)]

    @property
    def failing(self) -> list[Trial]:
        """Full-length trials above the loss goal."""
        return [trial for trial in self.full if not self.procedure.passes(trial)]

    @property
    def most_completed(self) -> float:
        """The highest rate completed in a trial of full length, to its end (transactions/s).

        A server may be faster for a second, while its store is nearly empty.
        """
        whole = (trial for trial in self.full if not trial.aborted)
        return max((trial.completed_rate for trial in whole), default=0.0)

    @property
    def leading(self) -> list[Trial]:
        """Trials whose outcomes lead the search.

        Scouts do only until there is a full trial: five seconds know better than one.
        """
        return self.full or self.valid

    @property
    def sides(self) -> tuple[float, float]:
        """Log rates of the highest pass and the lowest failure (infinite if none)."""
        passing = [trial.rate for trial in self.leading if self.procedure.passes(trial)]
        failing = [trial.rate for trial in self.leading if not self.procedure.passes(trial)]
        lower = math.log(max(passing)) if passing else -math.inf
        upper = math.log(min(failing)) if failing else math.inf
        return lower, upper

    @property
    def streak(self) -> int:
        """How many trials at the end had the same outcome."""
        outcomes = [self.procedure.passes(trial) for trial in self.leading]
        length = 0
        while length < len(outcomes) and outcomes[-1 - length] is outcomes[-1]:
            length += 1
        return length

    @property
    def enclosed_for(self) -> int:
        """How many full-length trials were made since both outcomes were seen."""
        outcomes = [self.procedure.passes(trial) for trial in self.full]
        if True not in outcomes or False not in outcomes:
            return 0
        return len(outcomes) - 1 - max(outcomes.index(True), outcomes.index(False))

    @property
    def brackets(self) -> list[tuple[Trial, Trial]]:
        """Every pair of a passing trial and a failing one within the width above it."""
        return [
            (lower, upper)
            for lower in self.passing
            for upper in self.failing
            if 0 < upper.rate - lower.rate <= self.procedure.relative_width * upper.rate
        ]

    @property
    def not_valid_in_a_row(self) -> list[Trial]:
        """Trials at the end that were not valid, until one that was, or offered too little."""
        return list(
            takewhile(
                lambda trial: not trial.valid and trial.reason not in NOT_OFFERED,
                reversed(self.trials),
            )
        )

    @property
    def floor(self) -> int:
        """Lowest rate worth a trial.

        Below 1 / width whole rates are further apart than the width, so that no
        bracket could be proven there.
        """
        return max(self.procedure.min_rate, math.ceil(1.0 / self.procedure.relative_width) - 1)

    @property
    def ceiling(self) -> int:
        """Highest rate that the limits and the generator allow.

        A rate is out of the generator's reach when two trials at it, or above it, started too
        few exchanges; one may have lost its processor for a moment.
        """
        short = [trial for trial in self.trials if trial.reason == GENERATOR_LIMITED]
        reached = [self.procedure.max_rate]
        for rate in {trial.rate for trial in short}:
            begun = [min(_begun(trial), rate - 1) for trial in short if trial.rate >= rate]
            if len(begun) > 1:
                reached.append(max(begun))
        return min(reached)


def _begun(trial: Trial) -> int:
    """The load that was really begun (transactions/s)."""
    return int(trial.attempted / trial.traffic_s) if trial.traffic_s else 0
