"""Procedures: what is done with a point in each round, by their parameters.

The classes are what scenario files, options and records say of a procedure; how each is
carried out is in room `measure`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import msgspec

from leaselab.model.errors import unknown, usage_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leaselab.model.trial import Trial

TRIMMED_MEAN, MEDIAN = "trimmed mean", "median"
"""How a metric is got of its values by round; a median also where rounds are missing."""
TRIM_FROM = 5
"""Rounds from which on one is dropped at each end unless told; fewer leave too few."""
TRIAL_OVERHEAD_S = 5
"""Time one trial may take beyond traffic and wait, for the bound on a measurement (s)."""
ROUND_OVERHEAD_S = 60
"""Time starting and stopping the server may take, for the same bound (s)."""
STALLED_LIMIT = 6
"""Trials in a row that the generator's stalls may spoil before a round ends, and of a
confirmation in all."""
PAUSE_LIMIT_S = 300.0
"""Time that may be waited in all, between such trials, for the lab to calm down (s)."""
RESENT = "resent"
"""Metric of `Burst`, and figure of its trials: packets sent again, as no reply had come."""
FILLED, FILLED_AFTER = "filled", "filled_after"
"""Metrics of `Fill`: the share that the server held before and after the load (0..1)."""
_NOT_COMPARED = frozenset(
    {"rounds", "trim", "start_rate", "max_trials", "confirm_s", "fill_limit_s"}
)
"""Parameters that may differ between results that are compared.

Rounds and trim have a rule of their own; the others say where to look, when to give up, and
what is asked of a figure afterwards.  All others are the ruler, and move the figure.
"""
_WHERE: Final = "parameters of the measurement"


class MetricKind(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that a procedure has; the fields are those of `record.Metric`."""

    name: str
    title: str
    unit: str
    better: Literal["higher", "lower", "neither"]
    how: str = TRIMMED_MEAN


class Procedure(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="name"
):
    """What every procedure has; each is a class of its own, told apart by `name`."""

    rounds: int = 9
    """Rounds planned."""
    trim: int = -1
    """Rounds dropped at each end before averaging; unless told, one of five rounds or more."""
    loss_ratio: float = 0.025
    """Highest loss ratio of a trial that passes (0..1)."""
    late_s: float = 2.0
    """A reply later than this after its request counts as lost (s)."""
    wait_s: float = 4.0
    """How long the generator waits for replies after its last packet (s)."""
    warm_up_s: int = 1
    """Length of the trial that each round begins with and that counts for nothing, as the
    server was just started (s); 0 for none."""

    def __post_init__(self) -> None:
        """Put in what follows from the other parameters."""
        if self.trim == -1:
            msgspec.structs.force_setattr(self, "trim", int(self.rounds >= TRIM_FROM))

    @property
    def name(self) -> str:
        """The word for it, such as ``max-rate``."""
        return str(self.__struct_config__.tag)

    @property
    def words(self) -> str:
        """What was asked of a trial, in words."""
        return f"replies within {self.late_s:g} s"

    @property
    def most_attempted(self) -> int:
        """Most transactions that a server has to hold at once, from one reset to the next."""
        raise NotImplementedError

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its longest trial (s)."""
        raise NotImplementedError

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        raise NotImplementedError

    @property
    def confirming_s(self) -> float:
        """About how long the trials after the last round take (s)."""
        return 0.0

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return its metrics, the one it is about first; `plural` is that of transactions."""
        raise NotImplementedError

    @property
    def loss_goal(self) -> float | None:
        """Highest loss ratio asked of a trial (0..1); None where the loss is the answer."""
        return self.loss_ratio

    @property
    def fills(self) -> bool:
        """Whether it fills what clients are served from, which is a doubt elsewhere."""
        return False

    @property
    def share_of_max_rate(self) -> float | None:
        """The share of a max rate that stands for its load (0..1); None where that is known."""
        return None

    def at_max_rate(self, max_rate: float) -> Self:  # noqa: ARG002  # where there is a share
        """Return it with the load that it stands for, given the max rate (transactions/s)."""
        return self

    def check_capacity(self, capacity: int | None, where: str) -> None:
        """Raise a usage error where what a server can hold is too little for it.

        `capacity` is how much that is, None where nothing bounds it; `where` names the
        scenario.
        """

    def passes(self, trial: Trial) -> bool:
        """Whether a trial is valid and its loss is what it may be."""
        return trial.valid and trial.loss_ratio <= self.loss_ratio

    def counts(self, trial: Trial) -> bool:
        """Whether a trial shows what the server costs."""
        return self.passes(trial)

    def cpu_us(self, trials: Sequence[Trial]) -> float | None:
        """Server CPU time for each transaction completed, over the trials that count (us).

        An overloaded server spends time on what it does not complete, so only trials that
        passed count.  None where none of them has it.
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
        """Widest bracket that proves a figure (0..1); None where nothing is bracketed."""
        return None

    @property
    def unconfirmed(self) -> str:
        """Why a result of it is not confirmed, in words."""
        return "its figures are of the whole load"

    def ruler(self) -> dict[str, Any]:
        """Parameters that have to agree for a figure to be compared with another's."""
        known = msgspec.structs.asdict(self)
        return {
            "name": self.name,
            **{name: known[name] for name in sorted(known) if name not in _NOT_COMPARED},
        }

    def check(self) -> None:
        """Raise a usage error for parameters that no measurement could meet."""
        kept = self.rounds - 2 * self.trim
        found = f"runs {self.rounds}, trim {self.trim}"
        todo = "raise --runs or lower --trim"
        if self.trim < 0 or kept < 1:
            _refuse("nothing would be left after trimming", found, "runs > 2 x trim", todo)
        if self.trim and kept == 1:
            _refuse(
                "one run would be left after trimming, and nothing to compare it by",
                found,
                "2 runs or more that are kept",
                todo,
            )
        if not 0 < self.loss_ratio < 1:
            _refuse("goal out of range", f"loss_ratio {self.loss_ratio}", "between 0 and 1")
        if self.late_s <= 0:
            _refuse("every reply would be late", f"late_s {self.late_s:g}", "above 0")
        if self.warm_up_s < 0:
            _refuse(
                "a length below 0", f"warm_up_s {self.warm_up_s}", "whole seconds, 0 for none"
            )
        if self.wait_s < 2 * self.late_s:
            _refuse(
                "exchanges that are in time would count as lost: each of their two replies may "
                "take late_s",
                f"wait_s {self.wait_s:g}, late_s {self.late_s:g}",
                f"wait_s of {2 * self.late_s:g} or more",
                "raise --wait-s or lower --late-s",
            )


class MaxRate(Procedure, frozen=True, kw_only=True, tag="max-rate"):
    """The highest load that the server serves: a search for it in each round."""

    relative_width: float = 0.01
    """Widest bracket that ends a search, (upper - lower) / upper (0..1)."""
    trial_s: int = 5
    """Length of a trial that can stand in a bracket (s)."""
    scout_s: int = 1
    """Length of a trial that only says where to look (s)."""
    min_rate: int = 10
    """Lowest offered load worth a trial (transactions/s)."""
    max_rate: int = 200_000
    """Highest offered load that may be tried (transactions/s)."""
    start_rate: int = 2_000
    """First offered load of the first round (transactions/s)."""
    max_trials: int = 40
    """Trials of one round after which the search gives up."""
    confirm_s: int | None = 30
    """Traffic for which the result has to hold in the end (s), in trials one after the other;
    0: switched off, null: the release that measured did not do it yet."""

    @property
    def words(self) -> str:
        """What a trial had to keep, and the width of the brackets, in words."""
        return (
            f"loss at most {100 * self.loss_ratio:g} %, replies within {self.late_s:g} s, "
            f"bracket at most {100 * self.relative_width:g} %, trials of {self.trial_s:g} s"
        )

    @property
    def most_attempted(self) -> int:
        """Most transactions of one trial: each begins with a server that was reset."""
        return self.max_rate * self.trial_s

    @property
    def widest(self) -> float:
        """Widest bracket that ends a search (0..1)."""
        return self.relative_width

    @property
    def unconfirmed(self) -> str:
        """Why a result is not confirmed, in words."""
        if self.confirm_s is None:
            return "measured by a version of Leaselab that did not do that yet"
        if not self.confirm_s:
            return "switched off (--confirm-s 0)"
        return "the sweep ended before that"

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its longest trial (s)."""
        return self.trial_s

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        beside = self.wait_s + TRIAL_OVERHEAD_S
        trial = self.trial_s + beside
        one = self.max_trials * trial + self.warm_up_s + beside + ROUND_OVERHEAD_S
        confirmation = (self.confirming_trials + STALLED_LIMIT + 1) * trial + ROUND_OVERHEAD_S
        return self.rounds * one + confirmation + PAUSE_LIMIT_S

    @property
    def confirming_s(self) -> float:
        """About how long the trials that confirm the result take (s)."""
        return self.confirming_trials * (self.trial_s + 1.0)

    @property
    def confirming_trials(self) -> int:
        """How many trials confirm the result."""
        return math.ceil((self.confirm_s or 0) / self.trial_s)

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the max rate, the rate completed at its lower bound, and what that costs."""
        rate = f"{plural}/s"
        return (
            MetricKind(name="max_rate", title="max rate", unit=rate, better="higher"),
            MetricKind(
                name="completed_rate", title="completed rate", unit=rate, better="higher"
            ),
            cpu_kind(plural),
        )

    def check(self) -> None:
        """Raise a usage error for parameters that no search could meet."""
        Procedure.check(self)
        if (self.confirm_s or 0) < 0:
            _refuse(
                "a length below 0", f"confirm_s {self.confirm_s}", "whole seconds, 0 for none"
            )
        if self.trial_s < 1 or self.scout_s < 1:
            _refuse(
                "trial too short",
                f"trial_s {self.trial_s}, scout_s {self.scout_s}",
                "whole seconds, 1 or more",
            )
        if not 0 < self.relative_width < 1:
            _refuse(
                "goal out of range", f"relative_width {self.relative_width}", "between 0 and 1"
            )
        if self.max_trials < 2:
            _refuse(
                "no run could prove a bracket", f"max_trials {self.max_trials}", "2 or more"
            )
        if not 0 < self.min_rate < self.max_rate:
            _refuse(
                "no room to search",
                f"min_rate {self.min_rate}, max_rate {self.max_rate}",
                "0 < min_rate < max_rate",
            )


class _Steady(Procedure, frozen=True, kw_only=True):
    """A procedure with one load: a rate, or a share of what the server can serve."""

    rounds: int = 3
    """Rounds planned."""
    rate: int | None = None
    """Offered load (transactions/s)."""
    share: float | None = None
    """Offered load over the max rate that was measured before; null where a rate was asked
    for, and 0.8 where neither was."""

    @property
    def load_words(self) -> str:
        """The load, in words."""
        rate = "" if self.rate is None else f"{self.rate}/s"
        if self.share is None:
            return rate
        return f"{self.share:g} of the max rate{' (' * bool(rate)}{rate}{')' * bool(rate)}"

    def __post_init__(self) -> None:
        """Put in what follows from the other parameters."""
        Procedure.__post_init__(self)
        if self.rate is None and self.share is None:
            msgspec.structs.force_setattr(self, "share", self.usual_share)

    @property
    def usual_share(self) -> float:
        """The share of the max rate where neither rate nor share was asked for."""
        return 0.8

    @property
    def share_of_max_rate(self) -> float | None:
        """The share, while it is no rate yet (0..1)."""
        return self.share if self.rate is None else None

    def at_max_rate(self, max_rate: float) -> Self:
        """Return it with its rate, where that is a share of the max rate."""
        share = self.share_of_max_rate
        if share is None:
            return self
        return msgspec.structs.replace(self, rate=max(1, round(share * max_rate)))

    @property
    def loss_goal(self) -> None:
        """Nothing is asked of a trial: what is lost at its load is part of the answer."""

    def counts(self, trial: Trial) -> bool:
        """Whether a trial is valid, whatever it lost."""
        return trial.valid

    def ruler(self) -> dict[str, Any]:
        """As of every procedure; a rate that is a share of a max rate is no parameter."""
        known = Procedure.ruler(self)
        return known if self.share is None else {**known, "rate": None}

    def check(self) -> None:
        """Raise a usage error for a load that is none."""
        Procedure.check(self)
        if self.rate is not None and self.rate < 1:
            _refuse("out of range", f"rate {self.rate}", "1 or more")
        if self.share is not None and not 0 < self.share <= 10:
            _refuse("out of range", f"share {self.share:g}", "above 0, 10 at most")


class FixedLoad(_Steady, frozen=True, kw_only=True, tag="fixed-load"):
    """One load for seconds to hours: latency, what is lost, and how both drift."""

    duration_s: int = 60
    """Traffic of a round (s)."""
    trial_s: int = 60
    """Longest trial (s): a longer load is offered in trials one after the other, without a
    reset between them and with other clients in each."""

    @property
    def words(self) -> str:
        """The load of a round, in words."""
        return f"{self.load_words} for {self.duration_s} s, replies within {self.late_s:g} s"

    @property
    def most_attempted(self) -> int:
        """Most transactions of one round, of which stalls may spoil and repeat some."""
        repeated_s = STALLED_LIMIT * self.trial_s if self.duration_s > self.trial_s else 0
        return (self.rate or 0) * (self.duration_s + repeated_s)

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its longest trial (s)."""
        return min(self.trial_s, self.duration_s)

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        beside = self.wait_s + TRIAL_OVERHEAD_S
        trials = math.ceil(self.duration_s / self.trial_s) + STALLED_LIMIT + 1
        traffic_s = self.duration_s + STALLED_LIMIT * self.longest_trial_s + self.warm_up_s
        return self.rounds * (traffic_s + trials * beside + ROUND_OVERHEAD_S) + PAUSE_LIMIT_S

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return latency, loss, what was completed, what it costs, and the drifts."""
        return (
            MetricKind(name="p99_s", title="p99 latency", unit="s", better="lower"),
            MetricKind(name="p50_s", title="median latency", unit="s", better="lower"),
            MetricKind(name="loss_ratio", title="loss", unit="ratio", better="lower"),
            MetricKind(
                name="completed_rate",
                title="completed rate",
                unit=f"{plural}/s",
                better="higher",
            ),
            cpu_kind(plural),
            MetricKind(
                name="latency_drift",
                title="drift of the median latency",
                unit="ratio",
                better="lower",
            ),
            MetricKind(
                name="memory_drift", title="growth of memory", unit="bytes/s", better="lower"
            ),
        )

    def check(self) -> None:
        """Raise a usage error for lengths that are none."""
        _Steady.check(self)
        if self.duration_s < 1 or self.trial_s < 1:
            _refuse(
                "trial too short",
                f"duration_s {self.duration_s}, trial_s {self.trial_s}",
                "whole seconds, 1 or more",
            )


class Event(_Steady, frozen=True, kw_only=True, tag="event"):
    """One load, and something that happens under it: a server of several dies."""

    event: Literal["crash"] = "crash"
    """What happens: the server under test ends as by a crash."""
    before_s: int = 10
    """Traffic before it (s)."""
    after_s: int = 30
    """Traffic after it (s); longer than the other server takes to notice."""

    @property
    def usual_share(self) -> float:
        """The share of the max rate where neither rate nor share was asked for."""
        return 0.5

    @property
    def words(self) -> str:
        """The load and what happens, in words."""
        return f"{self.load_words}, {self.event} after {self.before_s} s, then {self.after_s} s"

    @property
    def most_attempted(self) -> int:
        """Most transactions of one round."""
        return (self.rate or 0) * (self.before_s + self.after_s)

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its one trial (s)."""
        return self.before_s + self.after_s

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        traffic_s = self.before_s + self.after_s + self.warm_up_s
        beside = 2 * (self.wait_s + TRIAL_OVERHEAD_S)  # of the trial and of the warm-up
        return self.rounds * (traffic_s + beside + ROUND_OVERHEAD_S)

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return how long nobody was served, and what the other server lacked then."""
        return (
            MetricKind(name="outage_s", title="outage", unit="s", better="lower", how=MEDIAN),
            MetricKind(
                name="lost", title=f"lost {plural}", unit=plural, better="lower", how=MEDIAN
            ),
            MetricKind(
                name="missing",
                title="missing on the other server",
                unit="entries",
                better="lower",
                how=MEDIAN,
            ),
            MetricKind(
                name="conflicting",
                title="conflicting on the other server",
                unit="entries",
                better="lower",
                how=MEDIAN,
            ),
        )

    def check(self) -> None:
        """Raise a usage error for lengths that are none."""
        _Steady.check(self)
        if self.before_s < 1 or self.after_s < 1:
            _refuse(
                "out of range",
                f"before_s {self.before_s}, after_s {self.after_s}",
                "1 or more",
            )


class Burst(Procedure, frozen=True, kw_only=True, tag="burst"):
    """Clients that all begin at once, as after a power cut, and try until they are served."""

    rounds: int = 3
    """Rounds planned."""
    clients: int = 1000
    """How many begin at once."""
    limit_s: int = 120
    """Longest time for which they go on trying (s): some wait a minute before the next try."""

    @property
    def words(self) -> str:
        """The load of a round, in words."""
        return f"{self.clients} clients at once, for {self.limit_s} s at most"

    @property
    def most_attempted(self) -> int:
        """Most transactions of one trial: each begins with a server that was reset."""
        return self.clients

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its one trial (s)."""
        return self.limit_s

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        beside = self.wait_s + TRIAL_OVERHEAD_S
        trials = (STALLED_LIMIT + 1) * (self.limit_s + beside)
        one = self.warm_up_s + beside + trials + ROUND_OVERHEAD_S
        return self.rounds * one + PAUSE_LIMIT_S

    @property
    def loss_goal(self) -> None:
        """Nothing is asked of a trial: how many are served in time is part of the answer."""

    def counts(self, trial: Trial) -> bool:
        """Whether a trial is valid, whether or not all were served."""
        return trial.valid

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return how long it took until all were served, and what that cost."""
        return (
            MetricKind(
                name="served_s", title="time until all are served", unit="s", better="lower"
            ),
            MetricKind(name=RESENT, title="resent packets", unit="packets", better="lower"),
            MetricKind(
                name="resent_ratio",
                title="resent packets per client",
                unit="ratio",
                better="lower",
            ),
            MetricKind(
                name="served_ratio", title="clients served", unit="ratio", better="higher"
            ),
            MetricKind(
                name="served_rate",
                title="clients over the time until all are served",
                unit=f"{plural}/s",
                better="higher",
            ),
            cpu_kind(plural),
        )

    def check(self) -> None:
        """Raise a usage error for clients or a time that are none."""
        Procedure.check(self)
        if self.clients < 1 or self.limit_s < 1:
            _refuse(
                "out of range", f"clients {self.clients}, limit_s {self.limit_s}", "1 or more"
            )


class Fill(_Steady, frozen=True, kw_only=True, tag="fill"):
    """One load on a server that holds a part of all that it can, or nearly all.

    New clients fill it up to `fill` first, and nothing is reset before the load.
    """

    fill: float = 0.5
    """Share of what it can hold that it holds before the load (0..1)."""
    fill_rate: int | None = None
    """Offered load while it is filled (transactions/s); null: that of the load."""
    fill_limit_s: int = 1200
    """Longest time that filling may take (s): after it the round has failed."""
    trial_s: int = 30
    """Longest trial while it is filled (s)."""
    duration_s: int = 5
    """Traffic of the load (s), in one trial."""

    @property
    def words(self) -> str:
        """The load and what the server holds before it, in words."""
        return (
            f"{self.load_words} for {self.duration_s} s on a server that is "
            f"{100 * self.fill:g} % full, replies within {self.late_s:g} s"
        )

    @property
    def fills(self) -> bool:
        """It does; how a server does then is what it asks."""
        return True

    @property
    def offered(self) -> int:
        """Transactions of the load itself; 0 while its rate is not known."""
        return (self.rate or 0) * self.duration_s

    @property
    def filling_rate(self) -> int:
        """Offered load while it is filled (transactions/s); 0 while it is not known."""
        return self.fill_rate or self.rate or 0

    def to_fill(self, capacity: int) -> int:
        """How much the server is to hold before the load, of `capacity` at most."""
        return math.ceil(self.fill * capacity)

    def check_capacity(self, capacity: int | None, where: str) -> None:
        """Raise a usage error where what the server can hold takes no such load.

        `capacity` is None where nothing bounds it.
        """
        if capacity is None:
            raise usage_error(
                "there is no share to fill: nothing bounds what the server holds", where=where
            )
        free = capacity - self.to_fill(capacity)
        if self.offered > free:
            raise usage_error(
                "the load does not fit into what is free",
                where=where,
                found=f"{self.rate}/s for {self.duration_s} s into {free} of {capacity}",
                wanted=f"{free} transactions or fewer",
                todo="enlarge the pool, or lower fill, rate or duration_s",
            )
        filling_s = self.to_fill(capacity) / self.filling_rate if self.filling_rate else 0.0
        if filling_s > self.fill_limit_s:
            raise usage_error(
                "filling takes longer than it may",
                where=where,
                found=f"{self.to_fill(capacity)} at {self.filling_rate}/s: {filling_s:.3g} s",
                wanted=f"fill_limit_s {self.fill_limit_s} or less",
                todo="raise fill_rate or fill_limit_s, or make the pool smaller",
            )

    @property
    def most_attempted(self) -> int:
        """Most transactions of the load, beside what the server is filled with."""
        return self.offered

    @property
    def longest_trial_s(self) -> float:
        """Traffic of its longest trial (s)."""
        return max(self.trial_s, self.duration_s)

    @property
    def longest_s(self) -> float:
        """Upper bound of the time that all rounds of a point can take (s)."""
        beside = self.wait_s + TRIAL_OVERHEAD_S
        one = self.warm_up_s + beside + self.fill_limit_s + self.trial_s + beside
        one += (STALLED_LIMIT + 1) * (self.duration_s + beside) + ROUND_OVERHEAD_S
        return self.rounds * one + PAUSE_LIMIT_S

    def cpu_us(self, trials: Sequence[Trial]) -> None:
        """None: what it costs to fill says nothing of the load.  The method has the load's."""

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the rate completed, the latency, and how full the server really was."""
        return (
            MetricKind(
                name="completed_rate",
                title="completed rate",
                unit=f"{plural}/s",
                better="higher",
            ),
            MetricKind(name="p99_s", title="p99 latency", unit="s", better="lower"),
            MetricKind(name="p50_s", title="median latency", unit="s", better="lower"),
            MetricKind(name="loss_ratio", title="loss", unit="ratio", better="lower"),
            cpu_kind(plural),
            MetricKind(name=FILLED, title="filled before", unit="ratio", better="neither"),
            MetricKind(name=FILLED_AFTER, title="filled after", unit="ratio", better="neither"),
        )

    def check(self) -> None:
        """Raise a usage error for a share or lengths that are none."""
        _Steady.check(self)
        if not 0 < self.fill < 1:
            _refuse("out of range", f"fill {self.fill:g}", "above 0, below 1")
        if self.fill_rate is not None and self.fill_rate < 1:
            _refuse("out of range", f"fill_rate {self.fill_rate}", "1 or more")
        if min(self.fill_limit_s, self.trial_s, self.duration_s) < 1:
            _refuse(
                "trial too short",
                f"fill_limit_s {self.fill_limit_s}, trial_s {self.trial_s}, "
                f"duration_s {self.duration_s}",
                "whole seconds, 1 or more",
            )


AnyProcedure = MaxRate | FixedLoad | Event | Burst | Fill
PROCEDURES: dict[
    str, type[MaxRate] | type[FixedLoad] | type[Event] | type[Burst] | type[Fill]
] = {str(kind.__struct_config__.tag): kind for kind in (MaxRate, FixedLoad, Event, Burst, Fill)}
"""Every procedure, by its name."""


def procedure_of(parameters: Mapping[str, Any]) -> AnyProcedure:
    """Build a procedure from parameters that differ from their defaults, checked.

    `name` says which, max-rate without it.  Raises a usage error for an unknown name (with
    the nearest), a value of another type, or parameters that no measurement could meet.
    """
    name = str(parameters.get("name", MaxRate.__struct_config__.tag))
    if name not in PROCEDURES:
        raise unknown("procedure", name, list(PROCEDURES), _WHERE)
    kind = PROCEDURES[name]
    known = list(kind.__struct_fields__)
    for parameter in parameters:
        if parameter not in (*known, "name"):
            raise unknown(f"parameter of {name}", parameter, known, _WHERE)
    try:
        found = msgspec.convert({**parameters, "name": name}, kind)
    except msgspec.ValidationError as error:
        raise usage_error(f"value of another type: {error}", where=_WHERE) from error
    found.check()
    return found


def cpu_kind(plural: str) -> MetricKind:
    """Return the metric of `Procedure.cpu_us`; `plural` is that of transactions."""
    single = f"{plural[:-3]}y" if plural.endswith("ies") else plural.removesuffix("s")
    return MetricKind(
        name="cpu_us",
        title="server CPU",
        unit=f"µs per {single}",
        better="lower",
        how=MEDIAN,
    )


def _refuse(what: str, found: str, wanted: str, todo: str = "") -> None:
    raise usage_error(what, where=_WHERE, found=found, wanted=wanted, todo=todo)
