"""How long to wait for a disturbed lab before a trial is made again; pure."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from leaselab.measure.outcomes import GENERATOR_LIMITED, GENERATOR_STALLED
from leaselab.model.plan import PAUSE_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.trial import Trial

PAUSES_S = (0.0, 5.0, 10.0, 20.0, 30.0)
"""Pause before a trial is made again, by the number of trials in a row that the generator's
stalls have spoiled (s).  One alone is made again at once; all of them and the trials outlast
a disturbance of a minute."""


def pause_s(trials: Sequence[Trial], paused_s: float) -> float:
    """Return how long to wait before the next trial (s); 0 where nothing is disturbed.

    `paused_s` is how long the sweep has waited already, of the `PAUSE_LIMIT_S` it may.
    """
    row = spoiled_in_a_row(trials)
    wanted = PAUSES_S[min(row, len(PAUSES_S)) - 1] if row else 0.0
    return max(0.0, min(wanted, PAUSE_LIMIT_S - paused_s))


def spoiled_in_a_row(trials: Sequence[Trial]) -> int:
    """Return how many trials at the end the generator has spoiled, one of them by a stall.

    A generator that only offers too little is not disturbed but slow: waiting is no help.
    """
    words = (GENERATOR_STALLED, GENERATOR_LIMITED)
    row = list(takewhile(lambda trial: trial.reason in words, reversed(trials)))
    return len(row) if any(trial.reason == GENERATOR_STALLED for trial in row) else 0
