"""The record of a result: the typed content of result.json.

This module, with those of its parts, is the one definition of schema version 2, of which
``results/schema.json`` is made.  A record is of one point: one scenario on one build of its
server.  Units are in the names of fields or in their descriptions; times are UTC, ISO 8601 with
``Z``; unknown values are null.  Transactions are what a client attempts: a DHCP exchange, a DNS
query.

msgspec decodes and checks records: it needs a tenth of pydantic's time to import, which every
command would pay, and its structs are plain frozen classes that the engine itself measures in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from msgspec import Meta
from msgspec.structs import replace

from leaselab.model.bounds import END, Amount, Count, Figure, File, Name, Share, Word
from leaselab.model.errors import BELIEVED, usage_error
from leaselab.model.host import Host
from leaselab.model.moment import Moment
from leaselab.model.procedures import AnyProcedure
from leaselab.model.scenario import Scenario
from leaselab.model.server import Server
from leaselab.model.source import Commit
from leaselab.model.trial import Description, Figures, Trial

SCHEMA_VERSION: Final = 2
SERVER, PARTNER, GENERATOR = "server", "partner", "generator"
"""Roles of hosts: the server under test, its partner or supporting service, the load's
source.  A second partner is ``partner2``."""


GENERATOR_LIMITED: Final = "generator-limited"
"""Reason of a trial whose generator began fewer transactions than asked, and of a result near
or above the generator's ceiling."""
TOO_FEW_CLIENTS: Final = "too-few-clients"
"""Reason of a trial whose clients had nothing to begin with when it was due, as all waited for
replies, and of a result near such loads."""
NOT_OFFERED: Final = (GENERATOR_LIMITED, TOO_FEW_CLIENTS)
"""Reasons of trials of which less was begun than was due."""
MALFORMED: Final = "malformed-replies"
"""Reason of a trial with replies that are no DHCP messages, so that none has its request."""


class Reason(Figures, frozen=True, kw_only=True):
    """Why an outcome is not ok; with an ok outcome, a caveat of its figure."""

    word: Word
    """Fixed word for programs, such as generator-limited."""
    text: str
    """The same for users, with figures."""


class Metric(Figures, frozen=True, kw_only=True):
    """One figure of a result, over its rounds."""

    name: Name
    """Name, such as max_rate; the key in `Round.metrics` where rounds have the metric."""
    title: str
    """Title, such as max rate."""
    unit: str
    """Unit of the figure and of its statistics, such as exchanges/s."""
    better: Literal["higher", "lower", "neither"]
    """Which direction is better; neither: the metric is not judged."""
    value: Figure | None
    """The figure; null where the result has none."""
    how: str
    """How it was computed from the rounds' values, such as trimmed mean."""
    n: Count = 0
    """Rounds with a value, the dropped ones included."""
    trim: Count = 0
    """Rounds dropped at each end."""
    dropped: tuple[Count, ...] = ()
    """The dropped rounds, by their position in `rounds`, from 0."""
    ci95: tuple[Figure, Figure] | None = None
    """95 % confidence interval of the mean of this session: value ± t(0.975; n - 2 trim - 1) x
    standard_error; of rounds with a trend by how they scatter about a line, with a degree of
    freedom less.  Null where one round is left, or the interval is unknown."""
    standard_error: Amount | None = None
    """Tukey-McLaughlin standard error, from the winsorized variance of all n."""
    spread: Amount | None = None
    """Standard deviation of all n rounds over their mean (ratio); null for one round, and where
    one of them is below 0."""
    lowest: Figure | None = None
    """Lowest round."""
    highest: Figure | None = None
    """Highest round."""

    @property
    def half_width(self) -> float | None:
        """Half of `ci95`; None without one."""
        return None if self.ci95 is None else (self.ci95[1] - self.ci95[0]) / 2


class Bracket(Figures, frozen=True, kw_only=True):
    """Proof of a max rate: a load that passed, and one just above that failed."""

    lower: Amount
    """Highest offered load that passed for the full trial length (transactions/s)."""
    upper: Annotated[float, Meta(gt=0)]
    """Lowest offered load above it that failed (transactions/s)."""
    lower_trial: Count
    """The trial that passed, by its position in the round's trials, from 0."""
    upper_trial: Count
    """The trial that failed, by its position likewise."""

    @property
    def width(self) -> float:
        """(upper - lower) / upper (0..1)."""
        return (self.upper - self.lower) / self.upper


class Round(Figures, frozen=True, kw_only=True):
    """One measurement of the point, on a server that was just started."""

    index: Annotated[int, Meta(ge=1)]
    """Position in the result, from 1."""
    started_at: Moment
    """When the server's clean start began (UTC)."""
    metrics: dict[Name, Figure | None]
    """Its figures, by the metric's name; null where it found none."""
    bracket: Bracket | None = None
    """Bracket of its max rate; null without one."""
    shown_trial: Count | None = None
    """The trial whose latency represents the round, by its position in `trials`, from 0: at the
    lower bound of a max rate; null without one."""
    files: dict[str, File] = {}
    """Paths within the result of its further files, by kind. stacks: samples of the server's
    CPU time, by stack. waits: parts of a transaction's time (us), by cause."""
    traffic_s: Amount
    """Sum of the trials' traffic_s, warm-ups among them (s)."""
    wall_s: Amount
    """From the server's start to its stop (s)."""
    warm_ups: tuple[Trial, ...] = ()
    """Trials right after each start of the server, which do not count."""
    trials: tuple[Trial, ...] = ()
    """Every trial, in the order they were made."""

    def __post_init__(self) -> None:
        """Check that the trials that it refers to exist."""
        super().__post_init__()
        proofs = (self.bracket.lower_trial, self.bracket.upper_trial) if self.bracket else ()
        for place in (self.shown_trial, *proofs):
            if place is not None and place >= len(self.trials):
                raise ValueError(f"round {self.index} names trial {place}, which it has not")

    @property
    def is_dropped(self) -> bool:
        """Whether it has trials, and none of them counts."""
        return bool(self.trials) and not any(trial.valid for trial in self.trials)

    @property
    def shown(self) -> Trial | None:
        """The trial of `shown_trial`."""
        return None if self.shown_trial is None else self.trials[self.shown_trial]


class Confirmation(Figures, frozen=True, kw_only=True):
    """Result of offering, for tens of seconds, a load that every round passed."""

    rate: Count
    """Offered load (transactions/s)."""
    loss_ratio: Share
    """Loss ratio of the last, deciding trials at that rate (0..1)."""
    holds: bool
    """Whether that loss is within the goal, a load above the rounds failed, and the last trial
    completed no more than a server at its limit can."""
    traffic_s: Amount
    """Sum of the trials' traffic_s (s)."""
    wall_s: Amount
    """From the server's start to its stop (s)."""
    trials: tuple[Trial, ...]
    """Its trials; those at other rates offer more, to check that the figure is a limit."""


class Generator(Description, frozen=True, kw_only=True):
    """The traffic generator."""

    name: str
    """Generator, such as perfdhcp."""
    version: str | None = None
    """Version it reports; null where it never ran."""
    host: str | None = None
    """Role of the host it ran on; null where it never ran."""
    options: dict[str, Any] = {}
    """How it was run, the same for all trials: path, launcher, threading, environment, further
    settings, and the files that it read."""


class Bench(Description, frozen=True, kw_only=True):
    """The bench of the measurement."""

    name: str
    """Bench, such as docker."""
    inventory: str | None = None
    """Its inventory, by the path in the checkout; outside of it, by its name."""
    environment: str | None = None
    """Version of the lab's own state; results of different ones are not compared silently."""
    hosts: dict[str, Host] = {}
    """Its hosts, by role."""
    lock_owner: str | None = None
    """Who held the bench lock."""


class Provenance(Description, frozen=True, kw_only=True):
    """The program that made a result."""

    leaselab_version: str
    """Release of leaselab."""
    leaselab_commit: str | None = None
    """Commit of the checkout; null outside of one."""
    leaselab_dirty: bool | None = None
    """True when the checkout had changes that are in no commit; null when unknown."""
    command: tuple[str, ...] = ()
    """Command line."""


class Experiment(Description, frozen=True, kw_only=True):
    """The experiment of which a result is one point."""

    id: Name
    """Its id, which the results of all its points share."""
    points: tuple[Name, ...]
    """Ids of the results of all its points, in order."""
    interleaved: bool
    """Whether the points alternated round by round; false: one after the other, so that the
    machine's drift is between them."""
    why: str = ""
    """Why they did not alternate; empty where they did, or where they were asked not to."""
    slowdown: Share | None = None
    """In a duel that calibrates its bench: the share of time for which B was paused (0..1), 0
    where A and B are the same; null in every other experiment."""
    both_up: bool = False
    """Whether the servers of both points of a duel were up at once, at two addresses that they
    swapped from round to round."""
    anchor: Name | None = None
    """Id of the result of the point that is the fixed reference of this session, one of
    `points`: the ratio of each other point to it is free of the machine's drift.  Null without
    one."""


class Ceiling(Figures, frozen=True, kw_only=True):
    """Highest load of the generator and path of a bench, measured with a faster server."""

    rate: Annotated[float, Meta(gt=0)]
    """Load offered and completed (transactions/s)."""
    id: str
    """Id of the result with this ceiling."""


class Record(Description, frozen=True, kw_only=True):
    """The result of one point."""

    schema_version: Literal[2] = SCHEMA_VERSION
    """Raised when a field changes its meaning or goes away."""
    id: Annotated[
        str,
        Meta(
            pattern=rf"^[0-9]{{8}}T[0-9]{{6}}Z-[a-z0-9][a-z0-9._-]{{0,149}}-[0-9a-f]{{4}}{END}"
        ),
    ]
    """Start (UTC), scenario and four random hexadecimal digits."""
    started_at: Moment
    """When it was begun (UTC)."""
    finished_at: Moment
    """End of its last trial, or of what ended the measurement (UTC)."""
    outcome: Annotated[
        str, Meta(pattern=f"^(ok|regression|usage|invalid|lab-broken|build-failed){END}")
    ]
    """How it ended."""
    reasons: tuple[Reason, ...] = ()
    """Why the outcome is not ok; with an ok outcome, caveats of its figure."""
    scenario: Scenario
    """What was measured, with axes and defaults resolved."""
    procedure: AnyProcedure
    """The procedure of each round."""
    servers: dict[str, Server]
    """The server under test (server) and the service on the partner's host (partner): the other
    server of a pair, or the service of `Scenario.support`."""
    generator: Generator
    """The traffic generator."""
    bench: Bench
    """The bench of the measurement."""
    rounds: tuple[Round, ...] = ()
    """Every round, including dropped ones; fewer than planned where the result is not
    complete."""
    confirmation: Confirmation | None = None
    """Result of the confirmation over a longer time; null without one."""
    metrics: Annotated[tuple[Metric, ...], Meta(min_length=1)]
    """Its metrics; the first is the main one of the procedure, but in a view `by` another."""
    at_least: Amount | None = None
    """A load that every round passed for the full trial length, where there is no max rate
    (transactions/s)."""
    ceiling: Ceiling | None = None
    """Ceiling of its generator on the bench at the time of the measurement; null if unknown."""
    traffic_s: Amount = 0.0
    """Time in which traffic was offered, all trials (s)."""
    wall_s: Amount = 0.0
    """Duration of the measurement, without the pause between a kill and its resume (s)."""
    experiment: Experiment | None = None
    """Null where the point was measured alone."""
    provenance: Provenance
    """The program that made it, with its command line."""

    def __post_init__(self) -> None:
        """Check that the objects it refers to exist."""
        super().__post_init__()
        if SERVER not in self.servers:
            raise ValueError(f"servers has no {SERVER}")

    @property
    def server(self) -> Server:
        """The server under test."""
        return self.servers[SERVER]

    @property
    def figures(self) -> tuple[Metric, ...]:
        """The metrics as they may be shown: those of a refused result have no values."""
        return self.metrics if self.outcome in BELIEVED else tuple(map(_bare, self.metrics))

    @property
    def figure(self) -> Metric:
        """The main metric of the procedure; its value is None without a figure."""
        return self.figures[0]

    @property
    def refused_figure(self) -> Metric | None:
        """The figure that a refused result came to, for its own page; None without one."""
        main = self.metrics[0]
        return None if self.outcome in BELIEVED or main.value is None else main

    @property
    def is_by_procedure(self) -> bool:
        """Whether its figure is the procedure's, and not another metric of a view `by` that."""
        return self.figure.name == self.procedure.metrics("")[0].name

    def by(self, name: str | None) -> Record:
        """Return it with another of its metrics as its figure; None for no other.

        Raises a usage error for one that it lacks.
        """
        if name is None or name == self.figure.name:
            return self
        main = next((metric for metric in self.metrics if metric.name == name), None)
        if main is None:
            raise usage_error(
                "the result has no such metric",
                where=self.id,
                found=name,
                wanted=" or ".join(metric.name for metric in self.metrics),
            )
        return replace(self, metrics=(main, *(one for one in self.metrics if one is not main)))

    @property
    def source(self) -> Commit | None:
        """The commit that the server was built from; None for a package."""
        return self.server.build.source if self.server.build else None

    @property
    def layout(self) -> int:
        """Seed of the order in which the server's functions were linked; 0 for none."""
        return int(self.server.build.options.get("layout", 0)) if self.server.build else 0

    @property
    def release(self) -> str | None:
        """Distribution and version of the server's host; None where that is not known."""
        host = self.bench.hosts.get(SERVER)
        return host.os if host else None

    @property
    def anchor(self) -> str | None:
        """Id of the fixed reference that alternated with it, possibly its own.

        In a duel, that is the first of the two.  None without one.
        """
        of = self.experiment
        if of is None or not of.interleaved:
            return None
        return of.points[0] if self.procedure.of_two else of.anchor

    @property
    def traffic_share(self) -> float | None:
        """Traffic seconds over wall seconds (0..1); None without work, or where it counts."""
        if not self.wall_s or self.procedure.counts_alone:
            return None
        return min(1.0, self.traffic_s / self.wall_s)

    @property
    def trials(self) -> Iterator[Trial]:
        """The trials of all rounds that count, in order."""
        return (trial for made in self.rounds for trial in made.trials)

    @property
    def files(self) -> Iterator[str]:
        """The further files that it refers to, by their paths within the result."""
        servers = self.servers.values()
        yield from (server.config_file for server in servers if server.config_file)
        for made in self.rounds:
            yield from made.files.values()
        for trial in self._every_trial():
            yield from (
                part.raw_file for part in (trial, trial.early_attempt) if part and part.raw_file
            )

    def _every_trial(self) -> Iterator[Trial]:
        for made in self.rounds:
            yield from (*made.warm_ups, *made.trials)
        if self.confirmation:
            yield from self.confirmation.trials

    def metric(self, name: str) -> Metric | None:
        """One of `figures` by its name; None where the record has none of it."""
        return next((metric for metric in self.figures if metric.name == name), None)

    def values(self, name: str) -> tuple[float | None, ...]:
        """The value of a metric in each round, in order."""
        return tuple(made.metrics.get(name) for made in self.rounds)


def _bare(metric: Metric) -> Metric:
    """A metric without what was measured."""
    names = ("name", "title", "unit", "better", "how")
    return Metric(value=None, **{name: getattr(metric, name) for name in names})
