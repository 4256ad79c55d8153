"""Base of all procedures: what is done with a point in each round, by its parameters.

The classes are the procedures of scenario files, options and records; each has a module in
`procedures`.  Their execution is in room `measure`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NoReturn, Self

import msgspec

from leaselab.model.bounds import Bounded
from leaselab.model.errors import usage_error
from leaselab.model.trial import Trial

TRIMMED_MEAN, MEDIAN = "trimmed mean", "median"
"""How a metric is computed from its values by round; a median also where rounds are missing."""
AFTER_TRIAL: Final = "after-trial"
AT_START: Final = "at-start"
"""When a server is emptied: also after its warm-up and between trials, according to the
procedure, or by its start alone."""
TRIM_FROM = 5
"""Least number of rounds from which one is dropped at each end by default."""
TRIAL_OVERHEAD_S = 5
"""Time one trial may take beyond traffic and wait, for the bound on a measurement (s)."""
ROUND_OVERHEAD_S = 60
"""Time starting and stopping the server may take, for the same bound (s)."""
STARTED_S, BESIDE_S = 0.7, 0.75
"""Approximate time of a round for each server in addition to its trials, and of a trial in
addition to its traffic (s): a start, the check that it serves, a stop; leaseload's start, and
its end after the last answer."""
STALLED_LIMIT = 6
"""Most successive trials that stalls of the generator may invalidate before a round ends; in a
confirmation, most such trials in all."""
SPOILED_LIMIT = STALLED_LIMIT + 3
"""Most invalid trials of a confirmation, for any reason."""
PAUSE_LIMIT_S = 300.0
"""Longest total wait between such trials for a disturbed lab to become quiet (s)."""
_NOT_COMPARED = frozenset(
    {"rounds", "trim", "start_rate", "max_trials", "confirm_s", "fill_limit_s"}
)
"""Parameters that may differ between results that are compared.

Rounds and trim have a separate rule; the others set where a search begins, when it gives up,
and how a figure is confirmed.  All other parameters are the ruler and affect the figure.
"""
Rounds = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Rate = Annotated[int, msgspec.Meta(ge=1, le=100_000_000)]
"""Offered load (transactions/s)."""
Length = Annotated[int, msgspec.Meta(ge=1, le=604_800)]
"""Traffic, or the longest time for it: whole seconds, a week at most (s)."""
LengthOrNone = Annotated[int, msgspec.Meta(ge=0, le=604_800)]
ReplyTime = Annotated[float, msgspec.Meta(gt=0, le=3600)]
"""Time for replies (s)."""
Ratio = Annotated[float, msgspec.Meta(gt=0, lt=1)]
WHERE: Final = "parameters of the measurement"
"""The place that errors of parameters name."""


class MetricKind(msgspec.Struct, frozen=True):
    """A metric that a procedure has; the fields are those of `record.Metric`, but `seldom`."""

    name: str
    title: str
    unit: str
    better: Literal["higher", "lower", "neither"]
    how: str = TRIMMED_MEAN
    seldom: bool = False
    """Whether a result is without it where no round has it."""


START_S, RELOAD_S, MEMORY, WRITTEN_RATE = "start_s", "reload_s", "memory_mib", "written_rate"
"""Names of `SERVER_KINDS`."""
SERVER_KINDS = (
    MetricKind(START_S, "start", "s", "lower", MEDIAN),
    MetricKind(RELOAD_S, "reload", "s", "lower", MEDIAN, seldom=True),
    MetricKind(MEMORY, "memory", "MiB", "lower", MEDIAN),
    MetricKind(WRITTEN_RATE, "written", "changes/s", "neither", MEDIAN, seldom=True),
)
"""Metrics that each round of any procedure has of the server under test: the time from the
launch of its process until it answered, the time of a reload of its data (of a kind that can
reload), its highest resident memory in any sample, and its writes to its store in the trial
that represents the round."""
COMPLETED, CPU, P99 = "completed_rate", "cpu_us", "p99_s"
"""Names of metrics under load."""
LOSS_KIND = MetricKind("loss_ratio", "loss", "ratio", "lower")
P50_KIND = MetricKind("p50_s", "median latency", "s", "lower")
P99_KIND = MetricKind(P99, "p99 latency", "s", "lower")


class Procedure(
    Bounded, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="name"
):
    """Base class of the procedures; each has its own class, identified by its `name`."""

    rounds: Rounds = 9
    """Rounds planned."""
    trim: Annotated[int, msgspec.Meta(ge=-1, le=500)] = -1
    """Rounds dropped at each end before averaging; by default one, from five rounds on."""
    loss_ratio: Ratio = 0.025
    """Highest loss ratio of a trial that passes (0..1)."""
    late_s: ReplyTime = 2.0
    """Longest time of a transaction that counts as completed in time, from its first packet to
    its last reply (s)."""
    wait_s: ReplyTime = 4.0
    """How long the generator waits for replies after its last packet (s)."""
    warm_up_s: LengthOrNone = 1
    """Length of the warm-up trial of each round, which does not count, as the server was just
    started (s); 0 for none."""
    warm_up_rate: Rate | None = None
    """Offered load of the warm-up trial (transactions/s); null: that of the procedure's first
    trial."""
    reset: Literal["after-trial", "at-start"] = AFTER_TRIAL
    """When the server is emptied. after-trial: also after the warm-up and after each trial,
    except where the procedure needs the state that the previous trial left. at-start: only by
    its start, so that its caches keep their contents from the warm-up on."""

    def __post_init__(self) -> None:
        """Set the parameters that depend on others."""
        super().__post_init__()
        if self.trim == -1:
            msgspec.structs.force_setattr(self, "trim", int(self.rounds >= TRIM_FROM))

    @property
    def name(self) -> str:
        """The word for it, such as ``max-rate``."""
        return str(self.__struct_config__.tag)

    @property
    def words(self) -> str:
        """Words for the goal of a trial."""
        return f"replies within {self.late_s:g} s"

    @property
    def most_attempted(self) -> int:
        """Most transactions that a server has to store at once, from one reset to the next."""
        raise NotImplementedError

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its longest trial (s)."""
        raise NotImplementedError

    @property
    def longest_trials_s(self) -> float:
        """Upper bound of the time that the trials of a round can take after its warm-up (s)."""
        raise NotImplementedError

    @property
    def beside_s(self) -> float:
        """Upper bound of the time that a trial takes in addition to its traffic (s)."""
        return self.wait_s + TRIAL_OVERHEAD_S

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        round_s = self.warm_up_s + self.beside_s + self.longest_trials_s + ROUND_OVERHEAD_S
        return self.rounds * round_s + PAUSE_LIMIT_S

    @property
    def round_s(self) -> float | None:
        """Approximate time of a round (s); None where the server decides it."""
        return None

    def approximate_s(self, trials: int, traffic_s: float) -> float:
        """Approximate time of a round by its trials and their traffic, without its warm-up (s).

        About half of the trials have losses, whose replies the generator waits for.
        """
        begun = trials + bool(self.warm_up_s)
        beside_s = begun * BESIDE_S + trials * self.wait_s / 2
        return STARTED_S + self.warm_up_s + traffic_s + beside_s

    @property
    def confirming_s(self) -> float:
        """About how long the trials after the last round take (s)."""
        return 0.0

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return its metrics, the main one first; `plural` is that of transactions."""
        raise NotImplementedError

    @property
    def ends_early(self) -> bool:
        """Whether it may end before all of its rounds are made, once the answer is known."""
        return False

    @property
    def warm_up_words(self) -> str:
        """Words for the trial that a round begins with."""
        if not self.warm_up_s:
            return "no warm-up"
        at = f" at {self.warm_up_rate}/s" if self.warm_up_rate else ""
        return f"a warm-up of {self.warm_up_s} s{at}"

    @property
    def keeps(self) -> bool:
        """Whether nothing is reset after the start."""
        return self.reset == AT_START

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of its steps, where it has steps with separate metrics.

        Those metrics are named by `of_step`.
        """
        return ()

    @property
    def ramps(self) -> bool:
        """Whether each of its steps is a trial with a load of its own."""
        return False

    @property
    def step_word(self) -> str:
        """What a step of it is."""
        return "step"

    @property
    def loss_goal(self) -> float | None:
        """Highest loss ratio of a trial that passes (0..1); None without a goal."""
        return self.loss_ratio

    @property
    def fills(self) -> bool:
        """Whether it fills the clients' pool on purpose; elsewhere that is a doubt."""
        return False

    @property
    def operates(self) -> bool:
        """Whether the server is operated in its trials, which are counted by short bins."""
        return False

    @property
    def samples(self) -> bool:
        """Whether it samples the server's processes, by a program on their host."""
        return False

    @property
    def counts_alone(self) -> bool:
        """Whether a server is counted by its contract, on its host alone and without trials."""
        return False

    @property
    def errors(self) -> tuple[float, ...]:
        """The error rates that end it early (0..1); empty where its rounds are counted."""
        return ()

    @property
    def of_two(self) -> bool:
        """Whether it measures two points as one, A and B, of which none has a figure alone."""
        return False

    @property
    def places(self) -> int:
        """At how many addresses each server is up, where its host has them."""
        return 1

    @property
    def same_load(self) -> bool:
        """Whether points of one experiment get the same load, also where it is a share.

        Otherwise each gets the share of its own max rate.
        """
        return False

    @property
    def of_generator(self) -> bool:
        """Whether it searches the generator's limit; elsewhere that is a doubt."""
        return False

    @property
    def share_of_max_rate(self) -> float | None:
        """Its load as a share of a max rate (0..1); None for a known load."""
        return None

    def at_max_rate(self, max_rate: float) -> Self:  # noqa: ARG002  # for shares
        """Return it with its load computed from the max rate (transactions/s)."""
        return self

    def check_capacity(self, capacity: int | None, where: str) -> None:
        """Raise a usage error where the server's capacity is too small for it.

        `capacity` is None where it is unbounded; `where` names the scenario.
        """

    def passes(self, trial: Trial) -> bool:
        """Whether a trial is valid and its loss is within the goal."""
        return trial.valid and trial.loss_ratio <= self.loss_ratio

    def counts(self, trial: Trial) -> bool:
        """Whether a trial counts for the server's cost."""
        return self.passes(trial)

    def cpu_us(self, trials: Sequence[Trial]) -> float | None:
        """Server CPU time for each transaction completed, over the trials that count (us).

        An overloaded server spends time on transactions that it does not complete, so only
        trials that passed count.  None where no such trial has the CPU time.
        """
        counted = [
            trial
            for trial in trials
            if self.counts(trial) and trial.completed and trial.cpu_us is not None
        ]
        if not counted:
            return None
        spent = math.fsum((trial.cpu_us or 0.0) * trial.completed for trial in counted)
        return spent / math.fsum(trial.completed for trial in counted)

    @property
    def widest(self) -> float | None:
        """Widest bracket that proves a figure (0..1); None for a procedure without brackets."""
        return None

    @property
    def unconfirmed(self) -> str:
        """Words for why a result of it is not confirmed."""
        return "its figures are of the whole load"

    def ruler(self) -> dict[str, Any]:
        """Parameters that have to agree for figures to be compared."""
        known = msgspec.structs.asdict(self)
        return {
            "name": self.name,
            **{name: known[name] for name in sorted(known) if name not in _NOT_COMPARED},
        }

    def check(self) -> None:
        """Raise a usage error for parameters that contradict each other.

        The bounds of each parameter are checked where it is read (`procedure_of`).
        """
        kept = self.rounds - 2 * self.trim
        setting = f"rounds {self.rounds}, trim {self.trim}"
        todo = "raise rounds or lower trim"
        if kept < 1:
            refuse("nothing would be left after trimming", setting, "rounds > 2 x trim", todo)
        if self.trim and kept == 1:
            refuse(
                "one run would be left after trimming, and nothing to compare it by",
                setting,
                "2 rounds or more that are kept",
                todo,
            )
        if self.warm_up_rate is not None and not self.warm_up_s:
            refuse(
                "a load for no time",
                f"warm_up_rate {self.warm_up_rate}, warm_up_s 0",
                "a warm-up of 1 s or more",
                "raise warm_up_s, or leave out warm_up_rate",
            )
        self.check_replies(1, "replies")

    def check_replies(self, stages: int, plural: str) -> None:
        """Raise a usage error where the wait is too short for a transaction of so many stages.

        Each stage has a reply that may take `late_s`, and begins with the reply of the one
        before.  `plural` is that of transactions.
        """
        needed_s = stages * self.late_s
        if self.wait_s < needed_s:
            each = f": each of their {stages} replies may take late_s" if stages > 1 else ""
            refuse(
                f"{plural} that are in time would count as lost{each}",
                f"wait_s {self.wait_s:g}, late_s {self.late_s:g}",
                f"wait_s of {needed_s:g} or more",
                "raise wait_s or lower late_s",
            )


def of_step(metric: str, number: int) -> str:
    """Name a metric of one step of a procedure, by its number from 1: ``step_2_p99_s``."""
    return f"step_{number}_{metric}"


def completed_kind(plural: str, better: Literal["higher", "neither"] = "higher") -> MetricKind:
    """Return the metric of the completed rate; `plural` is that of transactions."""
    return MetricKind(COMPLETED, "completed rate", f"{plural}/s", better)


def cpu_kind(plural: str) -> MetricKind:
    """Return the metric of `Procedure.cpu_us`; `plural` is that of transactions."""
    return MetricKind(CPU, "server CPU", f"µs {per(plural)}", "lower", MEDIAN)


def per(plural: str) -> str:
    """Return the end of a unit for each transaction, such as ``per query``."""
    single = f"{plural[:-3]}y" if plural.endswith("ies") else plural.removesuffix("s")
    return f"per {single}"


def refuse(what: str, found: str, wanted: str, todo: str = "") -> NoReturn:
    """Raise a usage error for parameters that no measurement can meet."""
    raise usage_error(what, where=WHERE, found=found, wanted=wanted, todo=todo)


class Unjudged(Procedure, frozen=True, kw_only=True):
    """A procedure whose valid trials all count, regardless of their loss."""

    @property
    def loss_goal(self) -> None:
        """None: trials have no loss goal."""

    def counts(self, trial: Trial) -> bool:
        """Whether a trial is valid, regardless of its loss."""
        return trial.valid
