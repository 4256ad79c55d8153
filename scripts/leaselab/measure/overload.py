"""A load that is a little more than a server can serve, and stays so while it drifts."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from leaselab.measure.generators.adapter import GENERATOR_LIMITED
from leaselab.model.errors import invalid_measurement
from leaselab.model.procedures.duel import SIGHTING_TRIALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.procedures.duel import Duel
    from leaselab.model.record import Round
    from leaselab.model.trial import Trial

LIGHT, HEAVY = 0.02, 0.15
"""Loss (0..1) below which a load is too light to show what a server can do, and above which it
is so heavy that a server spends its time on what it does not complete."""
_STEP = 1.05
"""Factor by which a load that became too light is raised from round to round."""


def sighted(made: Sequence[Trial]) -> int | None:
    """Return the load for the first round, by the trials so far; None while it is unknown."""
    usable = [trial for trial in made if trial.valid]
    if usable and LIGHT <= usable[-1].loss_ratio <= HEAVY:
        return usable[-1].rate
    light, heavy = _bracket(usable)
    # No load between them is left to try, so the lightest that is too heavy has to do.
    return int(heavy) if light and heavy <= light * _STEP else None


def _bracket(usable: Sequence[Trial]) -> tuple[int, float]:
    """The heaviest load that was too light, 0 without one; the lightest that was too heavy.

    The second is infinite without one.
    """
    light = max((one.rate for one in usable if one.loss_ratio < LIGHT), default=0)
    heavy = min((one.rate for one in usable if one.loss_ratio > HEAVY), default=math.inf)
    return light, heavy


def next_sight(plan: Duel, made: Sequence[Trial]) -> int:
    """Return the load of the next trial that looks for it (transactions/s).

    Raises an invalid-measurement error where the generator cannot offer as much as the server
    serves, or where no load is found.
    """
    if not made:
        return plan.rate
    last, usable = made[-1], [trial for trial in made if trial.valid]
    light, heavy = _bracket(usable)
    limit = _limit(made)
    limited = last.reason == GENERATOR_LIMITED
    if (limited and last.loss_ratio < LIGHT) or limit <= light * _STEP:
        raise invalid_measurement(
            "the traffic generator is slower than the server",
            where="duel",
            found=f"of {last.rate if limited else limit}/s asked for, it offered less",
            wanted="a load that the server does not serve completely",
            todo="give the generator more processors or a host of its own, or compare by a "
            "scenario with a slower server",
        )
    if len(made) >= SIGHTING_TRIALS or (usable and usable[-1].rate >= plan.max_rate):
        counted = "" if last.valid else f", which does not count: {last.reason}"
        raise invalid_measurement(
            "no load was found that is a little more than the server can serve",
            where="duel",
            found=f"{len(made)} trials, the last of {last.rate}/s with a loss of "
            f"{last.loss_ratio:.1%}{counted}",
            wanted=f"a loss of {LIGHT:.0%} to {HEAVY:.0%}",
            todo="look at the trials, and raise max_rate or begin with another --rate",
        )
    if limited and last.rate >= limit:
        return _lower(plan, light, last)
    if not last.valid:
        return last.rate
    if last.loss_ratio < LIGHT:
        above = min(heavy, limit)
        wanted = 2.0 * last.rate if math.isinf(above) else math.sqrt(last.rate * above)
        return min(plan.max_rate, math.ceil(wanted))
    return _lower(plan, light, last)


def _limit(made: Sequence[Trial]) -> float:
    """The lightest load that the generator failed to offer twice; infinite without one.

    Once may be the machine's doing.  It may be more than the server serves, all the same.
    """
    failed = Counter(one.rate for one in made if one.reason == GENERATOR_LIMITED)
    return min((rate for rate, times in failed.items() if times > 1), default=math.inf)


def _lower(plan: Duel, light: int, last: Trial) -> int:
    """Return a load between one that was too light and that of a trial that was too heavy."""
    guess = plan.over * last.completed_rate
    if not light < guess < last.rate:
        guess = math.sqrt(max(light, 1) * last.rate)
    return max(1, round(guess))


def next_load(plan: Duel, first: Sequence[Round]) -> int:
    """Return the load of the next round (transactions/s), by the rounds of the first server."""
    last = first[-1]
    rate = last.trials[-1].rate
    loss, completed = last.metrics["loss_ratio"], last.metrics["completed_rate"]
    if loss is None or completed is None:
        return rate
    if loss < LIGHT:
        return min(plan.max_rate, math.ceil(rate * _STEP))
    return rate if loss <= HEAVY else max(1, round(plan.over * completed))
