"""The search for the max rate of one run: trials in, a proven bracket out.

Readings say where to look, outcomes prove.  A reading is the max rate that the
losses of one trial point to; the run's readings together make a belief (both in
`response`); the next trial is the one that most likely completes a bracket under that
belief.  Earlier runs say where the first scout goes and nothing else, so that the
errors of the runs are independent and their scatter gives the error of their mean.
Everything is a pure function of the outcomes so far: no clock, no chance, no I/O.  A
sweep that was killed is resumed by answering its requests from the journal.
`docs/explanation/search.md` gives reasons and figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leaselab.measure import search_error
from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.outcomes import Outcomes
from leaselab.measure.response import Belief, Response, combine, expect
from leaselab.model.procedure import STALLED_LIMIT
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Bracket
from leaselab.model.trial import Load, Trial

# What a change of these values does to time, error and bias, `leaselab dev bench search` says
# (docs/explanation/search.md).
# From 2000/s, three scouts pass any server; a smaller factor needs more of them.
FIRST_STEP = 4.0
"""Factor between scouts while nothing is known but that they lost nothing."""
FIRST_SCOUT_SD = 0.5
"""How far above the earlier runs the first scout goes (standard errors): one that loses
something can be read."""
SCOUT_SD = 1.0
"""A scout pays while the belief is wider than this many bracket widths."""
DECISIVE = 0.25
"""Least probability of completing a bracket for which a trial is made beside one
that exists; below it two new trials around the belief are the better bet."""
PATIENCE = 3
"""Equal outcomes in a row after which the belief is doubted and the steps grow."""
GROWTH = 3.0
"""Factor between such steps."""
# Without it, three noisy failures led from 6800/s, of which 6430 were completed, down to
# 3600/s, and the search needed twelve trials to come up again.
HELD_BACK = 1.0 / 16.0
"""Share of a downward step that leads below the rate a failing trial completed."""
ENCLOSED = 2
"""Trials inside a gap that the belief may lead before the gap is halved instead: the
losses of some servers do not show where they end."""
FAR_BELOW = 0.5
"""Share of the completed rate at a higher load under which a failure is not the load's."""
FAR_ABOVE_FLOOR = 10.0
"""What a server that fails at the lowest rate may have completed in any trial, however
short, over that rate; one that is slow completes about as much."""
FAILURES_FAR_BELOW = 3
"""So many of them are no accident."""
MAX_REPEATS = 3
"""How often a trial that is not valid is made in a row before the run ends; one that only
the generator's stalls spoiled `STALLED_LIMIT` times, with pauses (`patience`)."""


@dataclass(frozen=True, slots=True)
class Searched:
    """What one search found, with the bracket that proves it.

    Both of its trials ran the full `trial_s`; ``(upper - lower) / upper <= relative_width``.
    """

    max_rate: float
    """Offered rate at which the loss meets the goal, inside the bracket (transactions/s)."""
    bracket: Bracket
    trials: tuple[Trial, ...]
    """Every trial of the run in the order it was made."""

    @property
    def lower(self) -> Trial:
        """The trial that passed."""
        return self.trials[self.bracket.lower_trial]


def search(
    measure: Callable[[Load], Trial], procedure: MaxRate, earlier: Sequence[float] = ()
) -> Searched:
    """Find the max rate of one run.

    `measure` makes one trial.  `earlier` are the max rates of the finished runs of the
    same sweep (transactions/s); they say where to start, nothing more: belief, bracket and
    estimate come from trials of this run.

    `max_rate` is the maximum likelihood of the readings of the run's full-length
    trials, kept inside the bracket.  The lower bound would be low by half the
    width on average, which no number of runs averages out.

    Raises `SearchError` (an invalid measurement, with a reason word and the
    trials made) when no bracket can be proven.
    """
    expected = expect(earlier)
    first_side = 1.0 if len(earlier) % 2 == 0 else -1.0
    outcomes = Outcomes((), procedure)
    while not outcomes.brackets:
        trial = measure(next_request(outcomes, expected, first_side))
        outcomes = Outcomes((*outcomes.trials, trial), procedure)
    estimate = _estimate(outcomes)
    if estimate.max_rate < FAR_BELOW * outcomes.most_completed:
        raise search_error.loses_at_any_load(procedure, outcomes.valid)
    return estimate


def next_request(outcomes: Outcomes, expected: Belief | None, first_side: float) -> Load:
    """Return the next trial of a run that has no bracket yet.

    `expected` is where earlier runs found the max rate, None for the first run;
    `first_side` is 1 where the first full-length trial stands above the belief, -1
    where below.  Raises `SearchError` when there is no trial to be made.
    """
    _check(outcomes)
    last = outcomes.trials[-1] if outcomes.trials else None
    informative = last is None or outcomes.is_informative(last)
    if last is not None and not informative and last.rate <= outcomes.ceiling:
        return Load(last.rate, last.duration_s)
    response = Response().scattered(outcomes.trials, outcomes.procedure)
    belief = _belief(outcomes, response)
    width = -math.log1p(-outcomes.procedure.relative_width)
    if belief is None:
        return _request(outcomes, _first_rate(outcomes, expected, response), scout=True)
    scout = not outcomes.full and belief.sd > max(SCOUT_SD * width, response.noise_sd)
    if outcomes.enclosed_for >= ENCLOSED and _gap(outcomes) > 2.0 * width:
        rate = math.exp(sum(outcomes.sides) / 2.0)
    elif outcomes.streak > PATIENCE:
        rate = _stride(outcomes, width)
    elif scout:
        rate = _scout_rate(outcomes, belief)
    else:
        rate = _most_decisive(outcomes, belief, response.noise_sd, first_side * width)
    return _request(outcomes, rate, scout=scout)


def _first_rate(outcomes: Outcomes, expected: Belief | None, response: Response) -> float:
    """Rate of a scout while no trial of the run has lost anything.

    Near where earlier runs ended, further each time; without them it grows by a
    large factor.
    """
    scouts = [trial.rate for trial in outcomes.valid]
    if expected is None:
        return max(scouts) * FIRST_STEP if scouts else float(outcomes.procedure.start_rate)
    sd = math.hypot(expected.sd, response.noise_sd)
    if not scouts:
        return math.exp(expected.log_rate + FIRST_SCOUT_SD * sd)
    return max(scouts) * min(FIRST_STEP, math.exp(2.0 * sd * GROWTH ** (len(scouts) - 1)))


def _estimate(outcomes: Outcomes) -> Searched:
    """Put the run's estimate into its bracket, of several the one nearest to it."""
    response = Response().scattered(outcomes.trials, outcomes.procedure)
    readings = combine(response.read_all(outcomes.full, outcomes.procedure))

    def distance(bracket: tuple[Trial, Trial]) -> float:
        middle = math.log(bracket[0].rate * bracket[1].rate) / 2.0
        return abs(middle - readings.log_rate) if readings else 0.0

    lower, upper = min(outcomes.brackets, key=distance)
    rate = math.exp(readings.log_rate) if readings else math.sqrt(lower.rate * upper.rate)
    return Searched(
        max_rate=min(max(rate, float(lower.rate)), float(upper.rate)),
        bracket=Bracket(
            lower=float(lower.rate),
            upper=float(upper.rate),
            lower_trial=outcomes.trials.index(lower),
            upper_trial=outcomes.trials.index(upper),
        ),
        trials=outcomes.trials,
    )


def _belief(outcomes: Outcomes, response: Response) -> Belief | None:
    """Combine what this run's trials say; None if nothing does.

    A belief that the outcomes rule out is moved to where they agree.
    """
    belief = combine(response.read_all(outcomes.telling, outcomes.procedure))
    lower, upper = outcomes.sides
    if belief is None or not lower < upper:
        return belief
    gap = upper - lower
    if math.isfinite(gap) and (belief.sd > gap / 2.0 or not lower <= belief.log_rate <= upper):
        return Belief((lower + upper) / 2.0, gap / 4.0)
    return Belief(min(max(belief.log_rate, lower), upper), belief.sd)


def _most_decisive(
    outcomes: Outcomes, belief: Belief, noise_sd: float, first_width: float
) -> float:
    """Rate of the full-length trial that most likely completes a bracket.

    Candidates stand one width beside the trials that exist: above a pass, to fail,
    or below a failure, to pass.  A rate is not tried again where it already had
    the other outcome: retrying until it turns out as wished would select luck.

    Without a good candidate two new trials are needed.  The first stands half a
    width beside the belief, `first_width` says on which side (runs take turns, as
    where the noise is large the side shifts the result), or on it when the belief
    does not distinguish the sides.
    """
    relative = 1.0 - outcomes.procedure.relative_width
    passed = {trial.rate for trial in outcomes.passing}
    failed = {trial.rate for trial in outcomes.failing}
    vague = math.hypot(belief.sd, noise_sd) >= abs(first_width)
    aside = 0.0 if vague else first_width / 2.0
    best = (DECISIVE, math.exp(belief.log_rate + aside))
    for rate in {math.floor(rate / relative) for rate in passed} - passed:
        best = max(best, (belief.fails_at(math.log(rate), noise_sd), float(rate)))
    for rate in {math.ceil(rate * relative) for rate in failed} - failed:
        best = max(best, (1.0 - belief.fails_at(math.log(rate), noise_sd), float(rate)))
    return best[1]


def _stride(outcomes: Outcomes, width: float) -> float:
    """Rate further from the side that keeps repeating, three times as far each time.

    Never beyond the middle of what is left between the sides.  Downwards the
    lowest failure's completed rate holds the steps back, as a server that
    completed so much serves so much; less each time, since one that loses a
    share at any load would hold them for ever.
    """
    lower, upper = outcomes.sides
    step = width * GROWTH ** (outcomes.streak - PATIENCE)
    step = min(step, _gap(outcomes) / 2.0) if lower < upper else step
    if outcomes.procedure.passes(outcomes.leading[-1]):
        return math.exp(lower + step)
    failing = [trial for trial in outcomes.leading if not outcomes.procedure.passes(trial)]
    served = min(failing, key=lambda trial: trial.rate).completed_rate
    if served <= 0.0:
        return math.exp(upper - step)
    return math.exp(max(upper - step, math.log(served) - step * HELD_BACK))


def _gap(outcomes: Outcomes) -> float:
    """Logarithmic distance between the sides; negative where they contradict."""
    lower, upper = outcomes.sides
    return upper - lower


def _scout_rate(outcomes: Outcomes, belief: Belief) -> float:
    """Rate of a trial that says where to look: a standard error above the belief.

    One that loses something can be read, and one that does not is still a lower
    limit.  It stays off the sides, so that what is left between them shrinks.
    """
    lower, upper = outcomes.sides
    margin = min(_gap(outcomes) / 8.0, belief.sd / 4.0)
    log_rate = belief.log_rate + belief.sd
    if lower < upper:
        log_rate = min(max(log_rate, lower + margin), upper - margin)
    return math.exp(log_rate)


def _request(outcomes: Outcomes, rate: float, *, scout: bool) -> Load:
    """Keep the rate within the limits; at a limit only a full trial says anything."""
    floor, ceiling = outcomes.floor, outcomes.ceiling
    within = min(max(round(min(rate, ceiling)), floor), ceiling)
    full = not scout or within in (floor, ceiling)
    limits = outcomes.procedure
    return Load(within, limits.trial_s if full else limits.scout_s)


def _loses_at_any_load(outcomes: Outcomes) -> bool:
    """Whether failing trials stand far below what the server completes of a higher load.

    No overload explains that: a full server completes less than its capacity.
    """
    if outcomes.unserved:
        return True
    below = [
        trial for trial in outcomes.failing if trial.rate < FAR_BELOW * outcomes.most_completed
    ]
    if len(below) >= FAILURES_FAR_BELOW:
        return True
    fails_at_the_floor = any(trial.rate <= outcomes.floor for trial in outcomes.failing)
    # Of all kinds together: one that is hardly served at the lowest rate is lost at any.
    completed = max(
        (trial.completed / trial.traffic_s for trial in outcomes.valid if trial.traffic_s),
        default=0.0,
    )
    return fails_at_the_floor and completed > FAR_ABOVE_FLOOR * outcomes.floor


def _check(outcomes: Outcomes) -> None:
    """Raise when no bracket can be proven any more."""
    limits, ceiling = outcomes.procedure, outcomes.ceiling
    if ceiling < limits.max_rate and (
        ceiling < outcomes.floor or any(item.rate >= ceiling for item in outcomes.passing)
    ):
        raise search_error.generator_limited(outcomes)
    if any(trial.rate >= limits.max_rate for trial in outcomes.passing):
        raise search_error.above_max_rate(outcomes)
    starved = outcomes.starved
    if starved:
        raise search_error.too_few_clients(starved, outcomes.trials)
    if _loses_at_any_load(outcomes):
        raise search_error.loses_at_any_load(outcomes.procedure, outcomes.valid)
    if any(trial.rate <= outcomes.floor for trial in outcomes.failing):
        raise search_error.below_min_rate(outcomes)
    row = outcomes.not_valid_in_a_row
    stalled = sum(trial.reason == GENERATOR_STALLED for trial in row)
    if len(row) - stalled >= MAX_REPEATS or len(row) >= STALLED_LIMIT:
        raise search_error.invalid_trial(outcomes)
    if len(outcomes.trials) >= limits.max_trials:
        raise search_error.noisy(outcomes)
