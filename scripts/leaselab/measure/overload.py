"""A load that is a little more than a server can serve, and stays so while it drifts."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from leaselab.measure.generators.adapter import GENERATOR_LIMITED
from leaselab.measure.search_error import SLOWER_THAN_SERVER
from leaselab.model.errors import invalid_measurement
from leaselab.model.procedures.duel import SIGHTING_TRIALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.errors import LeaselabError
    from leaselab.model.procedures.duel import Duel
    from leaselab.model.record import Round
    from leaselab.model.trial import Trial

LIGHT, HEAVY = 0.02, 0.15
"""Loss (0..1) below which a load is too light to show what a server can do, and above which it
is so heavy that a server spends its time on what it does not complete."""
_STEP = 1.05
"""Factor by which a load that became too light is raised from round to round."""
_LEAST_PROOF, _PROOF, _MOST_PROOF = 1.1, 1.2, 1.4
"""How much heavier (ratio) a load has to be that shows whether a server is at its limit, how
much heavier one is that is tried for that, and how much it may be."""


def sighted(plan: Duel, made: Sequence[Trial]) -> int | None:
    """Return the load for the first round, by the trials so far; None while it is unknown.

    It loses a little, and a heavier one is not completed at a higher rate: so what it loses is
    more than the server can serve, and not what bursts or the network have lost.
    """
    usable = [trial for trial in made if trial.valid]
    light, heavy = _bracket(usable)
    # What is not too light, and has a heavier one beside it, is at the limit.
    for one in _candidates(usable, light):
        above = _heavier(usable, one)
        if above is not None:
            # Bursts may have lost some of it before the server was at its limit.
            return max(one.rate, round(plan.over * above.completed_rate))
    # No load between them is left to try, so the lightest that is too heavy has to do.
    return int(heavy) if light and heavy <= light * _STEP else None


def _bracket(usable: Sequence[Trial]) -> tuple[int, float]:
    """The heaviest load that was too light, 0 without one; the lightest that was too heavy.

    The second is infinite without one.
    """
    light = max((one.rate for one in usable if _too_light(usable, one)), default=0)
    heavy = min((one.rate for one in usable if one.loss_ratio > HEAVY), default=math.inf)
    return light, heavy


def _too_light(usable: Sequence[Trial], one: Trial) -> bool:
    """Whether a load lost next to nothing, or a heavier one was completed at a higher rate."""
    if not LIGHT <= one.loss_ratio <= HEAVY:
        return one.loss_ratio < LIGHT
    heavier = _heavier(usable, one)
    return heavier is not None and not _at_limit(one, heavier)


def _candidates(usable: Sequence[Trial], light: int) -> list[Trial]:
    """Trials of a load that is not too light and lost neither too little nor too much."""
    return [one for one in usable if one.rate > light and LIGHT <= one.loss_ratio <= HEAVY]


def _heavier(usable: Sequence[Trial], one: Trial) -> Trial | None:
    """The last trial of a load that is a little heavier; None without one.

    A far heavier one tells nothing: a server completes less of it, as it works on what is too
    late.
    """
    heavier = [
        other for other in usable if _LEAST_PROOF <= other.rate / one.rate <= _MOST_PROOF
    ]
    return heavier[-1] if heavier else None


def _at_limit(one: Trial, heavier: Trial) -> bool:
    """Whether the completed rate grows by less than half of what the load does."""
    growth = heavier.rate / one.rate - 1
    return heavier.completed_rate <= one.completed_rate * (1 + growth / 2)


def next_sight(plan: Duel, made: Sequence[Trial]) -> int:
    """Return the load of the next trial that looks for it (transactions/s).

    Raises an invalid-measurement error where the generator cannot offer enough more than the
    server serves, or where no load is found.
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
            todo=SLOWER_THAN_SERVER,
        )
    if len(made) >= SIGHTING_TRIALS or (usable and usable[-1].rate >= plan.max_rate):
        raise _none_found(made)
    if not last.valid and last.rate < limit:
        return last.rate
    found = _candidates(usable, light)
    # The load before it was lighter by that little, and was no limit: bursts lose as much.
    climbing = math.isinf(min(heavy, limit)) and light * _MOST_PROOF >= last.rate
    if found and not climbing:
        if found[-1].rate * _LEAST_PROOF > plan.max_rate:
            raise _none_found(made)
        return _proof(plan, found[-1], limit)
    if limited:
        return _lower(plan, light, last)
    if last.rate <= light or climbing:
        above = min(heavy, limit)
        raised = 2.0 * last.rate if math.isinf(above) else math.sqrt(last.rate * above)
        return min(plan.max_rate, math.ceil(raised))
    return _lower(plan, light, last)


def _none_found(made: Sequence[Trial]) -> LeaselabError:
    """The error of trials that found no load."""
    last = made[-1]
    counted = "" if last.valid else f", which does not count: {last.reason}"
    return invalid_measurement(
        "no load was found that is a little more than the server can serve",
        where="duel",
        found=f"{len(made)} trials, the last of {last.rate}/s with a loss of "
        f"{last.loss_ratio:.1%}{counted}",
        wanted=f"a loss of {LIGHT:.0%} to {HEAVY:.0%}, and no more completed of a heavier load",
        todo="look at the trials, and raise max_rate or begin with another --rate",
    )


def _proof(plan: Duel, light: Trial, limit: float) -> int:
    """Return a heavier load than `light`, to see whether the server is at its limit there.

    In transactions/s.  Raises an invalid-measurement error where the generator does not reach
    so far.
    """
    heavier = min(math.ceil(light.rate * _PROOF), plan.max_rate)
    if heavier >= limit:
        heavier = math.ceil(light.rate * _LEAST_PROOF)
    if heavier >= limit:
        raise invalid_measurement(
            "the traffic generator cannot offer enough more than the server completes",
            where="duel",
            found=f"a loss of {light.loss_ratio:.1%} at {light.rate}/s, and no load that is "
            f"heavier by {_LEAST_PROOF - 1:.0%}, as it offers less than {limit:.0f}/s",
            wanted="to see that the server, and not the generator or a full buffer, is what "
            "limits the completed rate",
            todo=SLOWER_THAN_SERVER,
        )
    return heavier


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
