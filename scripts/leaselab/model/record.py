"""The record of a result: everything that result.json holds, typed.

This module is the one definition of schema version 2; ``results/schema.json`` is made of it.
A record is of one point: one scenario on one build of its server.  Units stand in the names
of fields or in their descriptions; moments are UTC, ISO 8601 with ``Z``; what cannot be known
is null.  Transactions are what a client attempts: a DHCP exchange, a DNS query.

msgspec decodes and checks records: it needs a tenth of pydantic's time to import, which every
command would pay, and its structs are plain frozen classes that the engine itself measures in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta, to_builtins

from leaselab.model.bounds import (
    END,
    Amount,
    Count,
    Figure,
    File,
    Name,
    Processors,
    Share,
    Word,
)
from leaselab.model.moment import Moment
from leaselab.model.procedures import AnyProcedure
from leaselab.model.procedures.duel import Duel
from leaselab.model.source import Commit, Hash
from leaselab.model.trial import Description, Figures, Trial

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA_VERSION: Final = 2
SERVER, PARTNER, GENERATOR = "server", "partner", "generator"
"""Roles of hosts: the server under test, what serves with it or for it, the load's source."""
_SAID_OTHERWISE = frozenset({"name", "description", "factors", "across"})
"""Parts of a scenario that are no settings, or say again what these are."""
Sha256 = Annotated[str, Meta(pattern=f"^[0-9a-f]{{64}}{END}")]


class Reason(Figures, frozen=True, kw_only=True):
    """Why an outcome is not ok; of one that is ok, what to know before its figure."""

    word: Word
    """Fixed word, for machines, such as generator-limited."""
    text: str
    """The same for people, with the figures."""


class Metric(Figures, frozen=True, kw_only=True):
    """One figure of a result, over its rounds."""

    name: Name
    """Such as max_rate; the key of `Round.metrics` where rounds have it."""
    title: str
    """The same in words, such as max rate."""
    unit: str
    """Of the figure and of all that is known of it, such as exchanges/s."""
    better: Literal["higher", "lower", "neither"]
    """Which way it is better; neither: it is not judged."""
    value: Figure | None
    """The figure; null where the result came to none."""
    how: str
    """How it was got of the rounds' values, such as trimmed mean."""
    n: Count = 0
    """Rounds with a value, the dropped ones included."""
    trim: Count = 0
    """Rounds dropped at each end."""
    dropped: tuple[Count, ...] = ()
    """Which rounds those are, by their position in `rounds`, from 0."""
    ci95: tuple[Figure, Figure] | None = None
    """95 % confidence interval: value ± t(0.975; n - 2 trim - 1) x standard_error, wider where
    the rounds follow each other; null where one round is left, or none is known."""
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
    """What proves a max rate: a load that passed, and one just above that failed."""

    lower: Amount
    """Highest offered load that passed for the full trial length (transactions/s)."""
    upper: Annotated[float, Meta(gt=0)]
    """Lowest offered load above it that failed (transactions/s)."""
    lower_trial: Count
    """The trial that passed, by its position in the round's trials, from 0."""
    upper_trial: Count
    """The trial that failed, likewise."""

    @property
    def width(self) -> float:
        """(upper - lower) / upper (0..1)."""
        return (self.upper - self.lower) / self.upper


class Round(Figures, frozen=True, kw_only=True):
    """The point measured once, on a server that was just started."""

    index: Annotated[int, Meta(ge=1)]
    """Position in the result, from 1."""
    started_at: Moment
    """When the server's clean start began (UTC)."""
    metrics: dict[Name, Figure | None]
    """What it came to, by the metric's name; null where it found no figure."""
    bracket: Bracket | None = None
    """What proves its max rate; null where there is none."""
    shown_trial: Count | None = None
    """The trial whose latency stands for the round, by its position in `trials`, from 0: at the
    lower bound of a max rate; null where there is none."""
    files: dict[str, File] = {}
    """What else was kept of it, by what it is: its path within the result.  stacks: samples of
    where the server's CPU time went, by stack."""
    traffic_s: Amount
    """Sum of the trials' traffic_s, warm-ups among them (s)."""
    wall_s: Amount
    """From the server's start to its stop (s)."""
    warm_ups: tuple[Trial, ...] = ()
    """Trials right after each start of the server, which count for nothing."""
    trials: tuple[Trial, ...] = ()
    """Every trial, in the order they were made."""

    def __post_init__(self) -> None:
        """See that the trials that it names are there."""
        super().__post_init__()
        proofs = (self.bracket.lower_trial, self.bracket.upper_trial) if self.bracket else ()
        for place in (self.shown_trial, *proofs):
            if place is not None and place >= len(self.trials):
                raise ValueError(f"round {self.index} names trial {place}, which it has not")

    @property
    def shown(self) -> Trial | None:
        """The trial of `shown_trial`."""
        return None if self.shown_trial is None else self.trials[self.shown_trial]


class Confirmation(Figures, frozen=True, kw_only=True):
    """What came of offering, for tens of seconds, a load that every round passed."""

    rate: Count
    """Offered load (transactions/s)."""
    loss_ratio: Share
    """Of the trials at that rate that decide, the last ones (0..1)."""
    holds: bool
    """Whether that is at or under the goal, a load above the rounds failed, and the last trial
    completed no more than a server at its limit may."""
    traffic_s: Amount
    """Sum of the trials' traffic_s (s)."""
    wall_s: Amount
    """From the server's start to its stop (s)."""
    trials: tuple[Trial, ...]
    """Its trials; those at other rates offer more, to see that the figure is a limit."""


class Transaction(Description, frozen=True, kw_only=True):
    """What a client attempts, and what counts as done."""

    name: str
    """Such as DHCPv4 exchange."""
    plural: str
    """Several of them in one word, such as exchanges: the unit of rates is this word, per
    second."""
    stages: tuple[str, ...]
    """Request and reply of each stage, in order, such as DISCOVER-OFFER."""


class ServerOptions(Description, frozen=True, kw_only=True):
    """The kind of server, and how it was to be configured."""

    kind: str
    """Which role serves it, such as kea."""
    options: dict[str, Any] = {}
    """What the scenario asks of it, by the role's options."""
    untold: tuple[str, ...] = ()
    """The options that the scenario leaves at the role's default.  A new option's default is
    what was done before it was there, so a result that lacks it had the same."""


class Scenario(Description, frozen=True, kw_only=True):
    """What was measured: a server, its options, and the load put on it."""

    name: Name
    """Scenario, such as v4-memfile."""
    description: str = ""
    """What it is, for people; empty where it says nothing of itself."""
    server: ServerOptions
    """The server under test, as it was asked for."""
    partner: bool = False
    """Whether a second server serves with it, on the partner's host."""
    support: ServerOptions | None = None
    """What serves on the partner's host for the server under test, such as its database; null
    where nothing does."""
    beside: dict[str, dict[str, Any]] = {}
    """What serves beside each server, such as its database: by role, the role's variables that
    differ from their defaults."""
    hosts: dict[str, dict[str, Any]] = {}
    """What it asks of the hosts that serve, such as a governor: by role, the settings that come
    before those of the inventory."""
    generator: str
    """Which generator makes the load, such as perfdhcp."""
    transaction: Transaction
    """What its clients attempt; all rates and counts are of these."""
    load: dict[str, Any] = {}
    """What the load is like beyond its rate, such as the pool that clients are served from."""
    factors: dict[str, str | int | float | bool] = {}
    """Where the point stands among others, by axis; tables and curves are drawn along these."""
    across: tuple[str, ...] = ()
    """The factors that a table shows as columns; the others make its rows."""

    @property
    def transport(self) -> str:
        """What its messages go over, such as ``tcp``; empty where the load does not say it."""
        return str(self.load.get("transport", ""))

    def beside_another(self, other: Scenario) -> dict[str, Any]:
        """Its fields, as far as they can differ from another's; each is any JSON.

        Without the options that the other lacks and that this one leaves at their default.
        """
        fields: dict[str, Any] = to_builtins(self)
        for part, others in (("server", other.server), ("support", other.support)):
            asked = fields[part]
            if asked is None:
                continue
            untold = set(asked.pop("untold")) - (others.options.keys() if others else set())
            for name in untold:
                asked["options"].pop(name, None)
        return fields

    def settings(self, other: Scenario) -> dict[str, Any]:
        """What it asks of servers, hosts and generator, as far as another may ask else."""
        known = self.beside_another(other)
        return {name: known[name] for name in known if name not in _SAID_OTHERWISE}

    @property
    def needs_partner(self) -> bool:
        """Whether anything serves on the partner's host, with the server or for it."""
        return self.partner or self.support is not None


class Build(Description, frozen=True, kw_only=True):
    """What a server was built from, and how; one that does not build has its source alone."""

    source: Commit | None = None
    """The commit."""
    key: str | None = None
    """Name of the artifact in the builder's cache: hash of commit, tree, options, recipe,
    prefix and builder."""
    system: str | None = None
    """Build system of the tree, such as autotools or meson."""
    options: dict[str, Any] = {}
    """What the recipe was told, by name, such as cxxflags."""
    prefix: str | None = None
    """Where it is installed; compiled in."""
    builder: dict[str, Any] = {}
    """Release, architecture, compiler and a hash of all packages of the host that built it."""
    seconds: dict[str, Amount] = {}
    """How long each phase of the build took, and all of it (total) (s)."""
    artifact_sha256: Sha256 | None = None
    """SHA-256 of what the servers were installed from."""
    artifact_bytes: Count | None = None
    """Its size (bytes)."""
    runtime_packages: dict[str, Any] = {}
    """Packages of the libraries it was linked with, by name: their versions on the builder."""


class Beside(Description, frozen=True, kw_only=True):
    """What serves beside a server, such as its database."""

    name: str = ""
    """What it is, such as mysql; empty where it was not said."""
    version: str = ""
    """Version it reports."""
    confinement: str | None = None
    """AppArmor profile and mode that confined it; null where its kernel has no AppArmor."""
    variables: dict[str, Any] = {}
    """Its settings, as they were read back."""


class Server(Description, frozen=True, kw_only=True):
    """A server that was measured."""

    name: str
    """Server, such as kea."""
    version: str | None = None
    """Version it reports; null where it never ran."""
    commit: Hash | None = None
    """Commit it was built from; null for a package."""
    package: str | None = None
    """Package and version it was installed from; null when built from source."""
    build: Build | None = None
    """What it was built from; null for a package."""
    config_file: File | None = None
    """Its configuration, by its path within the result."""
    config_sha256: Sha256 | None = None
    """SHA-256 of that file."""
    config_settings_sha256: Sha256 | None = None
    """SHA-256 of that file without the names of variant and build: two builds with the same
    settings have the same.  Null in older results."""
    running_config_sha256: Sha256 | None = None
    """SHA-256 of the configuration as the running server reported it."""
    variant: str | None = None
    """What told it from others on its host: names of its files there have it.  Null in older
    results."""
    program: str | None = None
    """Path of its program on its host; null where it is not known."""
    program_sha256: Sha256 | None = None
    """SHA-256 of that program; every start was compared with it."""
    libraries_sha256: dict[str, Sha256] = {}
    """SHA-256 of every library that it had loaded, by path."""
    confinement: str | None = None
    """AppArmor profile and mode that confined it; null where its kernel has no AppArmor."""
    durability: str | None = None
    """What it promised of what it was told to keep, by its settings as they were read back.
    synced: on the disk before the client was answered; written: with the operating system;
    buffered: in the memory of its database; memory: nowhere else.  Null where it never ran."""
    holds: str = ""
    """What `Sample.held` counts, in one word, such as leases; empty where it holds nothing."""
    tuning: dict[str, Any] = {}
    """Settings that can move a result, as read back from its host."""
    beside: dict[str, Beside] = {}
    """What serves beside it, by name, such as database."""

    @property
    def made_of(self) -> tuple[str, ...]:
        """What tells its build from another: its files, commit, or package.

        Two commits with the same files are the same source.
        """
        source = self.build.source if self.build else None
        files = source.tree if source else self.commit
        if files:
            return self.name, files
        return self.name, self.version or "", self.package or ""


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


class Nic(Description, frozen=True, kw_only=True):
    """The card of a test interface."""

    driver: str | None = None
    """The kernel's driver of it."""
    firmware: str | None = None
    """Version of its firmware."""
    speed_mbps: Count | None = None
    """Speed of the link (Mbit/s)."""
    duplex: str | None = None
    """Of the link: full or half."""
    mtu: Count | None = None
    """Largest packet (bytes)."""
    numa_node: Count | None = None
    """NUMA node it is at; null where the kernel names none."""
    rings: dict[str, int | None] | None = None
    """Descriptors of its rings: rx, tx, and the largest there can be."""
    channels: dict[str, int | None] | None = None
    """Its queues: rx, tx, combined, and the most there can be."""
    coalescing: dict[str, Any] | None = None
    """How long it holds interrupts back: microseconds, frames, and whether they adapt."""
    offloads: dict[str, bool] | None = None
    """Whether each offload is on, by the kernel's name, of those that are on or can be."""


class HostSetting(Description, frozen=True, kw_only=True):
    """A setting that a host was asked to have."""

    asked: Any = None
    """What was asked for."""
    found: Any = None
    """As it was read back; null where the host has none."""
    why: str | None = None
    """Why the host has no such setting, or what the kernel refused; else null."""


class Host(Description, frozen=True, kw_only=True):
    """A host of the bench, known by its role; older results have the first fields alone."""

    hostname: str | None = None
    """Null in results: hosts are named by their roles."""
    kernel: str | None = None
    """Release of its kernel."""
    cpu_model: str | None = None
    """Its processor."""
    cpus_allowed: Processors | None = None
    """Processors its work may use, in the kernel's list form such as 0-3,8."""
    memory_bytes: Count | None = None
    """Its memory (bytes)."""
    governor: str | None = None
    """CPU frequency governors of its processors, parted by commas; null where there is none."""
    os: str | None = None
    """Distribution and version."""
    test_interface: str | None = None
    """Interface on the test network."""
    test_address: str | None = None
    """Its address there."""
    test_address6: str | None = None
    """Its IPv6 address there."""
    architecture: str | None = None
    """Of its processors, such as x86_64."""
    virtualization: str | None = None
    """What it runs in, such as docker or kvm; NA on a machine of its own."""
    governors: dict[str, str] | None = None
    """Processors by governor, in the kernel's list form."""
    cpu_count: Count | None = None
    """Processors that are on."""
    processors: Count | None = None
    """How many of them its work may use."""
    cpu_limit: Amount | None = None
    """How many processors' worth of time its work may use; null without a limit."""
    smt: str | None = None
    """Several threads on a core, as the kernel says it: on, off, forceoff, notsupported or
    notimplemented."""
    turbo: bool | None = None
    """Whether its processors may run above their nominal clock."""
    microcode: str | None = None
    """Version of its processors' microcode."""
    clocksource: str | None = None
    """The kernel's clock source."""
    command_line: str | None = None
    """The kernel's command line; values that name a place or a secret are three dots."""
    mitigations: dict[str, str | None] | None = None
    """By weakness of the processor: what the kernel does about it, in its own words."""
    sysctls: dict[str, str | None] | None = None
    """Settings of the kernel's network, by name."""
    nic: Nic | None = None
    """The test interface's card."""
    tuning: dict[str, HostSetting] | None = None
    """What role host_tuning asked for, by variable; null where the host was left as it is."""


class Bench(Description, frozen=True, kw_only=True):
    """Where it was measured."""

    name: str
    """Bench, such as docker."""
    inventory: str | None = None
    """Inventory that describes it, by its place in the checkout; of one elsewhere its name."""
    environment: str | None = None
    """Version of the lab's own state; results of different ones are not compared silently."""
    hosts: dict[str, Host] = {}
    """By role."""
    lock_owner: str | None = None
    """Who held the bench lock."""


class Provenance(Description, frozen=True, kw_only=True):
    """What made a result."""

    leaselab_version: str
    """Release of leaselab."""
    leaselab_commit: str | None = None
    """Commit of the checkout; null outside of one."""
    leaselab_dirty: bool | None = None
    """True when the checkout had changes that are in no commit; null when unknown."""
    command: tuple[str, ...] = ()
    """Command line."""


class Experiment(Description, frozen=True, kw_only=True):
    """The experiment that a result is one point of."""

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
    """Of a duel that calibrates its bench: the share of the time for which B was made to stand
    still (0..1), 0 where A and B are the same; null of every other experiment."""
    both_up: bool = False
    """Whether the servers of both points of a duel were up at once, at two addresses, which
    they changed from round to round."""
    anchor: Name | None = None
    """Id of the result of the point that is the fixed reference of this session, one of
    `points`: each other point stands in a ratio to it, from which the machine's drift cancels.
    Null where there is none."""


class Ceiling(Figures, frozen=True, kw_only=True):
    """The most that generator and path of a bench can do, by a server that is faster."""

    rate: Annotated[float, Meta(gt=0)]
    """Load offered and completed (transactions/s)."""
    id: str
    """Of the result that has it."""


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
    """When its last trial, or what ended it, was over (UTC)."""
    outcome: Annotated[
        str, Meta(pattern=f"^(ok|regression|usage|invalid|lab-broken|build-failed){END}")
    ]
    """How it ended."""
    reasons: tuple[Reason, ...] = ()
    """Why the outcome is not ok; of one that is ok, what to know before its figure."""
    scenario: Scenario
    """What was measured, as it was run: axes and defaults resolved."""
    procedure: AnyProcedure
    """What was done in each round."""
    servers: dict[str, Server]
    """The server under test (server) and what serves on the partner's host (partner): the other
    one of a pair, or what `Scenario.support` asks for."""
    generator: Generator
    """What made the load."""
    bench: Bench
    """Where it was measured."""
    rounds: tuple[Round, ...] = ()
    """Every round, the dropped ones included; fewer than planned where it was not completed."""
    confirmation: Confirmation | None = None
    """What came of holding the figure for longer; null where that was not tried."""
    metrics: Annotated[tuple[Metric, ...], Meta(min_length=1)]
    """Its figures; the first is what the procedure is about."""
    at_least: Amount | None = None
    """A load that every round passed for the full trial length, where there is no max rate
    (transactions/s)."""
    ceiling: Ceiling | None = None
    """That of its generator on the bench when it was measured; null where none was known."""
    traffic_s: Amount = 0.0
    """Time in which traffic was offered, all trials (s)."""
    wall_s: Amount = 0.0
    """Time it was worked on; a pause between a kill and its resume is left out (s)."""
    experiment: Experiment | None = None
    """Null where the point was measured alone."""
    provenance: Provenance
    """What made it, and how it was asked to."""

    def __post_init__(self) -> None:
        """See that what it names is there."""
        super().__post_init__()
        if SERVER not in self.servers:
            raise ValueError(f"servers has no {SERVER}")

    @property
    def server(self) -> Server:
        """The server under test."""
        return self.servers[SERVER]

    @property
    def figure(self) -> Metric:
        """The metric that the procedure is about; its value is None where there is none."""
        return self.metrics[0]

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
        """Id of the fixed reference that it was measured in turn with, maybe its own.

        In a duel, that is the first of the two.  None without one.
        """
        of = self.experiment
        if of is None or not of.interleaved:
            return None
        return of.points[0] if isinstance(self.procedure, Duel) else of.anchor

    @property
    def traffic_share(self) -> float | None:
        """Traffic seconds over wall seconds (0..1); None where nothing was done."""
        return min(1.0, self.traffic_s / self.wall_s) if self.wall_s else None

    @property
    def trials(self) -> Iterator[Trial]:
        """The trials of all rounds that count, in order."""
        return (trial for one in self.rounds for trial in one.trials)

    @property
    def files(self) -> Iterator[str]:
        """The files beside it that it names, by their paths within the result."""
        yield from (one.config_file for one in self.servers.values() if one.config_file)
        for one in self.rounds:
            yield from one.files.values()
        for trial in self._every_trial():
            yield from (
                part.raw_file for part in (trial, trial.early_attempt) if part and part.raw_file
            )

    def _every_trial(self) -> Iterator[Trial]:
        for one in self.rounds:
            yield from (*one.warm_ups, *one.trials)
        if self.confirmation:
            yield from self.confirmation.trials

    def metric(self, name: str) -> Metric | None:
        """A metric by its name; None where the record has none of it."""
        return next((one for one in self.metrics if one.name == name), None)

    def values(self, name: str) -> tuple[float | None, ...]:
        """What each round came to of a metric, in order."""
        return tuple(one.metrics.get(name) for one in self.rounds)
