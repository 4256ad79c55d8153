"""A load that is a little more than a server can serve, and stays so while it drifts."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from leaselab.measure.search_error import SLOWER_THAN_SERVER, too_few_clients
from leaselab.model.errors import LeaselabError, invalid_measurement
from leaselab.model.procedures.duel import SIGHTING_TRIALS, Duel
from leaselab.model.record import GENERATOR_LIMITED, TOO_FEW_CLIENTS, Round
from leaselab.model.trial import Trial

# `leaselab dev bench verdicts` tries these values on servers with hard, soft and wandering
# limits (benchmarks/results/verdicts.md).
LIGHT, HEAVY = 0.02, 0.15
"""Loss (0..1) below which a load is too light to show what a server can do, and above which it
is so heavy that a server spends its time on what it does not complete."""
_STEP = 1.05
"""Factor by which a load that became too light is raised from round to round, and by which one
that is looked for is more than what was completed."""
_FLAT = 0.02
"""By how much of the load's growth (0..1) a server at its limit completes more at most."""
# By one trial each, noise passed for growth: trials of 1 s scatter by 5 % and more, and the
# load rose to 1.65 times what the server completes.
_PROOFS, _MOST_PROOFS = 2, 4
"""Fewest and most valid trials of each of two loads that are compared. More than the fewest are
made while the scatter hides whether more is completed; without an answer after the most, it
counts as no growth: far too heavy a load costs more, as trials scatter with what a server
drops."""
_LEAST_SD = 0.01
"""Relative scatter of trials that is taken at the least: that of few trials may be small by
chance."""
_PAIRS = 3
"""Most pairs of loads that are compared, each heavier than the one before; the last is taken as
the limit."""
_LIFT = 1.2
"""Factor by which the load is raised while the second server serves all of it."""
# Loss alone proves no limit: Kea at 0.7 of a processor lost 3 % to bursts, and a duel at that
# load called a server that was 4 % slower equal.
_LEAST_PROOF, _PROOF, _MOST_PROOF = 1.1, 1.2, 1.4
"""How much heavier (ratio) a load has to be that shows whether a server is at its limit, how
much heavier one is that is tried for that, and how much it may be."""


def sighted(plan: Duel, made: Sequence[Trial]) -> int | None:
    """Return the load for the first round, by the trials so far; None while it is unknown.

    It loses a little, and a heavier one is not completed at a higher rate: so what it loses is
    more than the server can serve, and not what bursts or the network have lost.  Of a server
    that still completes more where it loses already, it is between two of which it completes
    the same.
    """
    usable = [trial for trial in made if trial.valid]
    light, heavy = _bracket(usable)
    # What is not too light, and has a heavier one beside it, is at the limit.
    for candidate in _candidates(usable, light):
        above = _heavier(usable, candidate)
        if above is not None:
            settled = _settled(plan, made, candidate, above)
            if settled is not None or len(made) < SIGHTING_TRIALS:
                return settled
            break
    if len(made) >= SIGHTING_TRIALS:
        return _limit_seen(plan, usable)
    # No load between them is left to try, so the lightest that is too heavy has to do.
    return int(heavy) if light and heavy <= light * _STEP else None


def _limit_seen(plan: Duel, usable: Sequence[Trial]) -> int | None:
    """Return the load by all limits that were seen; None without one.

    Of a server that drifts so much that its trials say no more.
    """
    completed = [
        heavier.completed_rate
        for one in usable
        if one.loss_ratio >= LIGHT
        and (heavier := _heavier(usable, one)) is not None
        and _at_limit(one, heavier)
    ]
    return round(plan.over * statistics.median(completed)) if completed else None


def _settled(plan: Duel, made: Sequence[Trial], one: Trial, above: Trial) -> int | None:
    """Return the load of which hardly more is completed than of a lighter one.

    `one` and `above` are the two that show a limit, which may be a soft one.  None while it is
    unknown.
    """
    pair = _flat_pair(plan, made, one, above)
    if pair is None or pair.wanted is not None:
        return None if pair else above.rate
    if pair.lower > one.rate:
        return pair.lower
    # Bursts may have lost some of it before the server was at its limit.
    return max(pair.lower, round(plan.over * pair.completed))


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two loads that are compared, and what came of it."""

    lower: int
    upper: int
    completed: float
    """What is completed of the upper one (transactions/s)."""
    wanted: int | None
    """The load of the next trial that is needed; None where they are enough, and the server
    completes no more of the upper one."""


def _flat_pair(plan: Duel, made: Sequence[Trial], one: Trial, above: Trial) -> _Pair | None:
    """Compare loads from these two on, until one is not completed at a higher rate.

    None where no heavier one can be offered.
    """
    limit = min(_limit(made), plan.max_rate + 1)
    lower, upper = one.rate, above.rate
    for left in range(_PAIRS - 1, -1, -1):
        of = {
            rate: [trial.completed_rate for trial in made if trial.valid and trial.rate == rate]
            for rate in (lower, upper)
        }
        fewest = min(of, key=lambda rate: (len(of[rate]), -rate))
        completed = statistics.fmean(of[upper]) if of[upper] else 0.0
        if len(of[fewest]) < _PROOFS:
            return _Pair(lower, upper, completed, fewest)
        grows = _grows(of[lower], of[upper], _FLAT * math.log(upper / lower))
        if grows is None and len(of[fewest]) < _MOST_PROOFS:
            return _Pair(lower, upper, completed, fewest)
        if not grows or not left:
            return _Pair(lower, upper, completed, None)
        lower, upper = upper, math.ceil(upper * _PROOF)
        if upper >= limit:
            break
    return None


def _grows(lighter: Sequence[float], heavier: Sequence[float], most: float) -> bool | None:
    """Whether more is completed of a heavier load, by more than `most` (logarithm).

    None where the trials scatter by more than would show it.
    """
    if not statistics.fmean(heavier):
        return False
    if not statistics.fmean(lighter):
        return True
    growth = math.log(statistics.fmean(heavier) / statistics.fmean(lighter)) - most
    squares = sum(
        (rate / statistics.fmean(rates) - 1) ** 2
        for rates in (lighter, heavier)
        for rate in rates
    )
    sd = max(_LEAST_SD, math.sqrt(squares / (len(lighter) + len(heavier) - 2)))
    error = sd * math.sqrt(1 / len(lighter) + 1 / len(heavier))
    return growth > 0 if abs(growth) > error else None


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

    A far heavier one shows nothing: a server completes less of it, as it works on requests
    that are too late.
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
    _refuse_starved(made)
    last, usable = made[-1], [trial for trial in made if trial.valid]
    light, heavy = _bracket(usable)
    limit = _limit(made)
    limited = last.reason == GENERATOR_LIMITED
    served = limited and last.rate >= limit and last.loss_ratio < LIGHT
    if served or limit <= light * _STEP:
        raise invalid_measurement(
            "the traffic generator is slower than the server",
            where="duel",
            found=f"less offered than {last.rate if limited else limit}/s",
            wanted="a load that the server does not serve completely",
            todo=SLOWER_THAN_SERVER,
        )
    wanted = _wanted(plan, made, usable, light)
    if wanted is not None and len(made) < SIGHTING_TRIALS:
        return wanted
    if len(made) >= SIGHTING_TRIALS or (usable and usable[-1].rate >= plan.max_rate):
        raise _none_found(made)
    if not last.valid and last.rate < limit:
        return last.rate
    candidates = _candidates(usable, light)
    # The load before it was lighter by that little, and was no limit: bursts lose as much.
    climbing = math.isinf(min(heavy, limit)) and light * _MOST_PROOF >= last.rate
    if candidates and not climbing:
        if candidates[-1].rate * _LEAST_PROOF > plan.max_rate:
            raise _none_found(made)
        return _proof(plan, candidates[-1], limit)
    if limited or (last.rate > light and not climbing):
        return _lower(light, last)
    above = min(heavy, limit)
    raised = 2.0 * last.rate if math.isinf(above) else math.sqrt(last.rate * above)
    return min(plan.max_rate, math.ceil(raised))


def _wanted(
    plan: Duel, made: Sequence[Trial], usable: Sequence[Trial], light: int
) -> int | None:
    """The next load to examine a limit that was seen; None where none was."""
    for candidate in _candidates(usable, light):
        above = _heavier(usable, candidate)
        pair = _flat_pair(plan, made, candidate, above) if above is not None else None
        if pair is not None:
            return pair.wanted
    return None


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
        todo="look at the trials; raise max_rate, or begin with another rate",
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


def _refuse_starved(made: Sequence[Trial]) -> None:
    """Raise an invalid-measurement error where the clients cannot begin such loads."""
    starved = [trial for trial in made if trial.reason == TOO_FEW_CLIENTS]
    if len(starved) > 1:
        raise too_few_clients(starved[-1], made, "duel")


def _limit(made: Sequence[Trial]) -> float:
    """The lightest load that the generator failed to offer twice; infinite without one.

    Once may be the machine's doing.  It may be more than the server serves, all the same.
    """
    failed = Counter(one.rate for one in made if one.reason == GENERATOR_LIMITED)
    return min((rate for rate, times in failed.items() if times > 1), default=math.inf)


def _lower(light: int, last: Trial) -> int:
    """Return a load between one that was too light and that of a trial that was too heavy."""
    guess = _STEP * last.completed_rate
    if not light < guess < last.rate:
        guess = math.sqrt(max(light, 1) * last.rate)
    return max(1, round(guess))


def lifted(plan: Duel, rate: int, made: Sequence[Trial]) -> tuple[int, bool]:
    """Return the load that is more than the second server serves, and whether it is known.

    `rate` is that of the first server, `made` are the second one's trials so far.  While it is
    not known, the load is the one to try next.  What the generator cannot offer ends it: then
    the heaviest load that it did offer has to do.
    """
    offered = max((one.rate for one in made if one.valid), default=rate)
    if not made:
        return rate, False
    _refuse_starved(made)
    last = made[-1]
    if not last.valid:
        again = last.rate < _limit(made) and len(made) < SIGHTING_TRIALS
        return (last.rate, False) if again else (offered, True)
    if last.loss_ratio >= LIGHT:
        return max(rate, min(offered, math.ceil(plan.over * last.completed_rate))), True
    heavier = min(plan.max_rate, math.ceil(last.rate * _LIFT))
    done = heavier == last.rate or heavier >= _limit(made) or len(made) >= SIGHTING_TRIALS
    return (offered, True) if done else (heavier, False)


def next_load(plan: Duel, first: Sequence[Round], second: Sequence[Round]) -> int:
    """Return the load of the next round (transactions/s), by the rounds of both servers.

    It is a little more than the faster of the two completes: what a server could serve beyond
    the load would not be seen.  Where the load that was found to be at the limit is heavier
    than that, as of a server that loses long before, so is the one that follows.
    """
    rate = first[-1].trials[-1].rate
    last = [one.metrics for one in (first[-1], second[-1])]
    losses = [loss for one in last if (loss := one["loss_ratio"]) is not None]
    rates = [served for one in last if (served := one["completed_rate"]) is not None]
    if len(losses) < len(last) or len(rates) < len(last):
        return rate
    loss, completed = min(losses), max(rates)
    if loss < LIGHT:
        return min(plan.max_rate, math.ceil(rate * _STEP))
    begun = min(
        _looked_for(plan, first[0], second[0]),
        *(float(one.metrics["loss_ratio"] or 0.0) for one in (first[0], second[0])),
    )
    if loss <= HEAVY + begun:
        return rate
    return max(1, round(max(plan.over, 1 / (1 - begun)) * completed))


def _looked_for(plan: Duel, *begun: Round) -> float:
    """Return the loss (0..1) that the first load was to have, by the trials that looked for it.

    The first rounds may lose more, where the machine has become slower since, or the server
    keeps up for the second of such a trial alone.
    """
    rate = begun[0].trials[-1].rate
    looked = [
        [trial.loss_ratio for trial in one.warm_ups if trial.valid and trial.rate == rate]
        for one in begun
    ]
    return min(map(statistics.median, filter(None, looked)), default=1 - 1 / plan.over)
