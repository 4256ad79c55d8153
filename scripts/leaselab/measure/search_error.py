"""Why a search ended without a bracket."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.outcomes import Outcomes
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import GENERATOR_LIMITED, TOO_FEW_CLIENTS
from leaselab.model.trial import KIND_NAMES, Trial, decided_by, loss_ratio_of

CALM = "end what else runs on the generator's host, or on its hardware, and measure again"
"""What to do where the generator stands still now and then."""
SLOWER_THAN_SERVER = (
    "give the generator more processors or a host of its own, hold the server to a part of a "
    "processor (docker_lab_cpu_limit), or measure a scenario with a slower server"
)
"""What to do where a generator cannot offer enough."""
MORE_CLIENTS = "measure with as many clients as that, or offer less"
"""What to do where too few clients wait with a lease."""


class SearchReason(enum.Enum):
    """The ways a search can end without a bracket; the value is the word to archive."""

    GENERATOR_LIMITED = GENERATOR_LIMITED
    TOO_FEW_CLIENTS = TOO_FEW_CLIENTS
    NOISY = "noisy"
    BELOW_MIN_RATE = "below-min-rate"
    LOSES_AT_ANY_LOAD = "loses-at-any-load"
    ABOVE_MAX_RATE = "above-max-rate"
    INVALID_TRIAL = "invalid-trial"
    NOT_SUSTAINED = "not-sustained"
    WARMING_UP = "warming-up"


@dataclass(eq=False)
class SearchError(LeaselabError):
    """An invalid measurement (exit 3), with a reason word and the trials that show it."""

    reason: SearchReason = SearchReason.NOISY
    trials: tuple[Trial, ...] = ()


def _failure(
    reason: SearchReason, what: str, trials: Sequence[Trial] = (), **words: str
) -> SearchError:
    words = {"where": "search", **words}
    return SearchError(Outcome.INVALID, what, **words, reason=reason, trials=tuple(trials))


def generator_limited(outcomes: Outcomes) -> SearchError:
    """The server still passes at all that the generator can offer."""
    return _failure(
        SearchReason.GENERATOR_LIMITED,
        "the traffic generator is slower than the server",
        outcomes.trials,
        found=f"{_most_offered(outcomes)}/s offered at most, of {_asked(outcomes)}/s; the "
        f"server's best trial: {_highest_pass(outcomes)}",
        wanted="an offered load at which the server loses more than "
        f"{outcomes.procedure.loss_ratio:.1%}",
        todo=SLOWER_THAN_SERVER,
    )


def too_few_clients(
    trial: Trial, trials: Sequence[Trial], where: str = "search"
) -> SearchError:
    """The server serves all that the clients can begin, and they can begin no more."""
    begun = trial.attempted / trial.traffic_s if trial.traffic_s else 0.0
    return _failure(
        SearchReason.TOO_FEW_CLIENTS,
        "there are too few clients for the load",
        trials,
        where=where,
        found=f"they began {begun:.0f}/s of {trial.rate}/s: {trial.detail}",
        wanted="a client that waits whenever one is due",
        todo=MORE_CLIENTS,
    )


def above_max_rate(outcomes: Outcomes) -> SearchError:
    """The server passes at the highest rate that may be tried."""
    return _failure(
        SearchReason.ABOVE_MAX_RATE,
        "the server passes at the highest rate allowed",
        outcomes.trials,
        found=_highest_pass(outcomes),
        wanted=f"a failing trial at {outcomes.procedure.max_rate}/s or below",
        todo="raise the search limit max_rate",
    )


def below_min_rate(outcomes: Outcomes) -> SearchError:
    """The server fails at the lowest rate worth a trial."""
    worst = min(outcomes.failing, key=lambda trial: trial.rate)
    return _failure(
        SearchReason.BELOW_MIN_RATE,
        "the server fails at the lowest rate that can be searched",
        outcomes.trials,
        found=f"loss {worst.loss_ratio:.1%} at {worst.rate}/s",
        wanted=(
            f"at most {outcomes.procedure.loss_ratio:.1%} at {outcomes.floor}/s "
            f"(min_rate {outcomes.procedure.min_rate}/s; below it whole rates are further "
            f"apart than {outcomes.procedure.relative_width:.1%})"
        ),
        todo="check that the server answers at all",
    )


def loses_at_any_load(procedure: MaxRate, trials: Sequence[Trial]) -> SearchError:
    """The server fails far below what it completes when it is offered more.

    Its losses do not follow the load, so there is no load at which it keeps the goal: that
    is a fault of the server, and no measurement is missing.
    """
    best = max(trials, key=lambda trial: trial.completed / (trial.traffic_s or 1.0))
    failing = [trial for trial in trials if trial.valid and not procedure.passes(trial)]
    lowest = min(failing, key=lambda trial: trial.rate)
    kind = decided_by([lowest])
    what = KIND_NAMES.get(kind, "transactions")
    of_kind = f" of {lowest.kinds[kind].attempted} {what}" if kind else ""
    return _failure(
        SearchReason.LOSES_AT_ANY_LOAD,
        f"the server loses {what} at any load",
        trials,
        found=f"loss {lowest.loss_ratio:.1%}{of_kind} at {lowest.rate}/s, although it "
        f"completes {best.completed / (best.traffic_s or 1.0):.0f}/s of {best.rate}/s",
        wanted=f"at most {procedure.loss_ratio:.1%} at a low load",
        todo=f"look why it answers no {what}, or measure without them"
        if kind and not lowest.kinds[kind].completed
        else "look at what it drops, in its log and counters",
    )


def not_sustained(trials: Sequence[Trial], procedure: MaxRate) -> SearchError:
    """The result does not hold in the trials that decide, one after the other."""
    traffic_s, kind = sum(trial.traffic_s for trial in trials), decided_by(trials)
    of_kind = f" of the {KIND_NAMES[kind]}" if kind else ""
    return _failure(
        SearchReason.NOT_SUSTAINED,
        f"the server does not keep the goal for {traffic_s:.0f} s at a rate that the runs "
        "passed",
        where="confirmation",
        found=f"loss {loss_ratio_of(trials):.1%}{of_kind} at {trials[0].rate}/s, "
        f"{_last_third(trials[-1]):.0f}/s completed in the last third",
        wanted=f"at most {procedure.loss_ratio:.1%}",
        todo=_longer(trials, procedure)
        or "look at the trials second by second, and at what "
        "the server drops, in its log and counters",
    )


def _longer(trials: Sequence[Trial], procedure: MaxRate) -> str:
    """Advise longer trials where the server kept the goal for as long as one, and for no more.

    Empty where the losses are those of a kind, or begin with the traffic: any trial has them.
    """
    seconds = [
        second
        for trial in trials
        for second in trial.per_second[: trial.duration_s]
        if second.attempted
    ]
    attempted, completed = (
        list(accumulate(getattr(second, name) or 0 for second in seconds))
        for name in ("attempted", "completed")
    )
    kept = [
        place
        for place, (asked, served) in enumerate(zip(attempted, completed, strict=True), 1)
        if served >= (1.0 - procedure.loss_ratio) * asked
    ]
    if decided_by(trials) or not kept or kept[-1] < procedure.trial_s:
        return ""
    return (
        f"it keeps the goal for {kept[-1]} s: measure in trials that also see what follows, "
        f"--set trial_s={2 * kept[-1]}"
    )


def warming_up(procedure: MaxRate, rate: int, highest: float) -> SearchError:
    """The server passes a load in the end at which it failed in every run."""
    return _failure(
        SearchReason.WARMING_UP,
        "the server was faster after all runs than in any of them",
        where="confirmation",
        found=f"a loss of at most {procedure.loss_ratio:.1%} at {rate}/s",
        wanted=f"a failing trial there, as the highest max rate of the runs is {highest:.0f}/s",
        todo="measure again (`leaselab rerun`), as the machine was probably busy during the "
        "runs; if it happens again, the server may need longer to warm up: --set warm_up_s="
        f"{max(5, 2 * procedure.warm_up_s)}",
    )


def runs_apart(rates: Sequence[float]) -> SearchError:
    """The runs contradict each other: a mean of them is the figure of no server."""
    return _failure(
        SearchReason.NOISY,
        "the runs contradict each other",
        where="sweep",
        found=f"max rates from {min(rates):.0f}/s to {max(rates):.0f}/s",
        wanted="runs of one server on one machine",
        todo="measure again (`leaselab rerun`) without other load on the hosts; if it happens "
        "again, look at the trials: the server may have two speeds, or stay slow after an "
        "overload",
    )


def _last_third(trial: Trial) -> float:
    """Rate completed in the last third of a trial, of all of it where no second is known."""
    seconds = trial.per_second[2 * trial.duration_s // 3 : trial.duration_s]
    if not seconds:
        return trial.completed_rate
    return sum(second.completed for second in seconds) / len(seconds)


def noisy(outcomes: Outcomes) -> SearchError:
    """The allowed trials are spent and no bracket is proven."""
    passing, failing = outcomes.passing, outcomes.failing
    highest = max((trial.rate for trial in passing), default=None)
    lowest = min((trial.rate for trial in failing), default=None)
    if highest is not None and lowest is not None and lowest < highest:
        found = f"outcomes that contradict each other between {lowest}/s and {highest}/s"
    else:
        found = (
            f"highest pass {'none' if highest is None else f'{highest}/s'}, "
            f"lowest failure {'none' if lowest is None else f'{lowest}/s'}"
        )
    return _failure(
        SearchReason.NOISY,
        f"no bracket after {len(outcomes.trials)} trials",
        outcomes.trials,
        found=found,
        wanted=f"a pass and a failure within {outcomes.procedure.relative_width:.1%}",
        todo="look for other load on the hosts, or lengthen the trials",
    )


def none_confirms(trials: Sequence[Trial]) -> SearchError:
    """Too few of the trials that should confirm the result count."""
    words = sorted({trial.reason for trial in trials if not trial.valid})
    valid = sum(trial.valid for trial in trials)
    stalled, limited = words == [GENERATOR_STALLED], GENERATOR_LIMITED in words
    starved = [trial for trial in trials if trial.reason == TOO_FEW_CLIENTS]
    if starved:
        return too_few_clients(starved[-1], trials, "confirmation")
    return _failure(
        SearchReason.GENERATOR_LIMITED if limited else SearchReason.INVALID_TRIAL,
        "the generator was disturbed for as long as the result was to be confirmed"
        if stalled
        else "too few trials that were to confirm the result count",
        where="confirmation",
        found=f"{valid} valid of {len(trials)} trials at {trials[0].rate}/s: "
        f"{', '.join(words)}",
        wanted="valid trials for the whole time",
        todo=SLOWER_THAN_SERVER if limited else CALM if stalled else "see the trials",
    )


def invalid_trial(outcomes: Outcomes) -> SearchError:
    """The same trial was made several times and was never valid."""
    row = outcomes.not_valid_in_a_row
    last = row[0]
    what = f"trials at {last.rate}/s are not valid"
    todo = "read the trial's raw output, in raw/ of the result"
    found = f"{last.reason}: {last.detail}" if last.detail else last.reason
    if all(trial.reason == GENERATOR_STALLED for trial in row):
        what, todo = "the generator was disturbed for too long", CALM
        found = (
            f"{len(row)} trials in a row at {last.rate}/s, each {GENERATOR_STALLED}, with "
            "pauses between them"
        )
    return _failure(
        SearchReason.INVALID_TRIAL,
        what,
        outcomes.trials,
        found=found,
        wanted="a valid trial",
        todo=todo,
    )


def _asked(outcomes: Outcomes) -> int:
    """The lowest load that is out of the generator's reach (transactions/s)."""
    return min(
        trial.rate
        for trial in outcomes.trials
        if trial.reason == GENERATOR_LIMITED and trial.rate > outcomes.ceiling
    )


def _most_offered(outcomes: Outcomes) -> int:
    """The highest load that the generator offered, in any trial (transactions/s)."""
    return max(outcomes.ceiling, *(trial.rate for trial in outcomes.passing), 0)


def _highest_pass(outcomes: Outcomes) -> str:
    best = max(outcomes.passing, key=lambda trial: trial.rate, default=None)
    if best is None:
        return "no full-length trial passed"
    return f"loss {best.loss_ratio:.1%} at {best.rate}/s"
