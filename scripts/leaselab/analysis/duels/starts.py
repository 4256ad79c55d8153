"""How much of what the rounds of a duel scatter by stays through a whole start of the servers.

Each round starts both servers, so what a start makes faster or slower is the same in all of its
trials: longer trials average the rest, and only more rounds average that.  Rounds with several
trials of each server say it by these; others by the seconds of their one trial, in which what
wanders for longer than a trial counts as of the start.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaselab.analysis.figures.statistics import CONFIDENCE
from leaselab.model.procedures.duel import Duel
from leaselab.model.record import Round
from leaselab.model.trial import Trial

LEAST_ROUNDS = 10
"""Fewest rounds that show a share: of fewer, its interval is most of what is possible."""


@dataclass(frozen=True, slots=True)
class StartShare:
    """The share of the starts in the variance of a round's ratio."""

    share: float
    """It (0..1)."""
    ci95: tuple[float, float]
    rounds: int
    """Rounds that show it."""
    by_trials: bool
    """Whether several trials of a start show it; else the seconds of one, and it is a limit."""


def start_share(
    plan: Duel, counted: Iterable[int], first: Sequence[Round], second: Sequence[Round]
) -> StartShare | None:
    """Estimate the share by the rounds with these indices; None where too few show it.

    That is the analysis of variance of a one-way classification with random effects: with F
    the mean square between starts over that within, the share in the variance of a start's mean
    is 1 - 1 / F, and F over its true value has the F distribution, so the interval is exact for
    normal noise (Searle, Casella and McCulloch, Variance Components, 1992, chapter 3).  What
    the order of a round does, and the place of a trial or second in it, is taken out.
    """
    ones, others = ({one.index: one for one in rounds} for rounds in (first, second))
    kinds: tuple[list[Sequence[float]], list[Sequence[float]]] = ([], [])
    for index in counted:
        if logs := _logs(plan, ones[index].trials, others[index].trials):
            kinds[plan.order_of(index)].append(logs)
    tables = [np.array(kind) for kind in kinds if kind]
    rounds = sum(map(len, tables))
    if rounds < LEAST_ROUNDS:
        return None
    between, within = map(math.fsum, zip(*map(_squares, tables), strict=True))
    df, repeated = rounds - len(tables), tables[0].shape[1] - 1
    if not between:
        return None
    return _share(within / repeated / between, df, df * repeated, rounds, plan)


def _share(inverse: float, df: int, df_within: int, rounds: int, plan: Duel) -> StartShare:
    """The share by the mean square within starts over that between."""
    from scipy.special import fdtri  # noqa: PLC0415  # slow to import, seldom needed

    low, high = (
        1 - inverse * float(fdtri(df, df_within, (1 + side * CONFIDENCE) / 2))
        for side in (1, -1)
    )
    share, low, high = (max(0.0, one) for one in (1 - inverse, low, high))
    return StartShare(share, (low, high), rounds, by_trials=plan.trials > 1)


def _squares(table: NDArray[np.float64]) -> tuple[float, float]:
    """Sums of squares between the rows, which are starts, and within them."""
    rows = table.mean(axis=1, keepdims=True) - table.mean()
    rest = table - table.mean(axis=0) - rows
    return table.shape[1] * float((rows**2).sum()), float((rest**2).sum())


def _logs(plan: Duel, ones: Sequence[Trial], others: Sequence[Trial]) -> Sequence[float]:
    """Logarithms of the ratios of what both completed in one start, B to A.

    By trial or, of one, by second; empty where one of these is missing or does not count.
    """
    both = [[trial for trial in trials if trial.valid] for trials in (ones, others)]
    if any(len(trials) != plan.trials for trials in both):
        return ()
    if plan.trials > 1:
        rates = [[trial.completed_rate for trial in trials] for trials in both]
    else:
        rates = [[float(one.completed) for one in trials[0].per_second] for trials in both]
    wanted = plan.trials if plan.trials > 1 else plan.trial_s
    if wanted < 2 or any(len(of) != wanted or not all(of) for of in rates):
        return ()
    return [math.log(other / one) for one, other in zip(*rates, strict=True)]
