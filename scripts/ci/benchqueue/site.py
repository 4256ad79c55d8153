"""The file of a site: benches, servers, jobs; checked before Buildbot sees any of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from croniter import croniter

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.decoding import build
from leaselab.catalog.documents import parse_yaml
from leaselab.catalog.plain_file import given_content
from leaselab.model.errors import unknown, usage_error

PUSH = "push"
CANARY = "canary-"
"""How the builder of a bench's canary begins; no job does."""
CANARY_PRIORITY = 1000
_PRIORITIES, _BY_CLOCK = {"": 30, PUSH: 20}, 10
"""Of jobs by hand and by a push; and of all others."""
_NAME = re.compile(rf"(?!{CANARY})[0-9A-Za-z][0-9A-Za-z._-]{{0,40}}")
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """A git repository; `poll_s` is the time between two looks for a push (s)."""

    url: str
    branch: str
    poll_s: int = 300


@dataclass(frozen=True, slots=True)
class Bench:
    """Hosts that measure together, in an inventory of the checkout; one worker."""

    inventory: str = "inventory/docker"
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    """What is done: a scenario or a command of the shell, on one bench or any with tags.

    `start` is `push`, five fields of cron, or empty: by hand.  The job with the largest
    `priority` goes first.  The others are parameters of scripts/ci.
    """

    scenario: str = ""
    command: str = ""
    bench: str = ""
    tags: list[str] | None = None
    start: str = ""
    priority: int | None = None
    server: str = ""
    against: str = ""
    anchor: str = ""
    baseline: str = ""
    threshold: str = ""
    options: str = ""

    @property
    def by_clock(self) -> bool:
        """Whether a time starts it."""
        return self.start not in _PRIORITIES

    @property
    def rank(self) -> int:
        """Its priority."""
        usual = _PRIORITIES.get(self.start, _BY_CLOCK)
        return usual if self.priority is None else self.priority


@dataclass(frozen=True, slots=True)
class Canary:
    """How a bench shows that its duels are right: duels of a scenario, or a command.

    `start` is five fields of cron, or empty: only after a job found the bench broken.
    """

    scenario: str = "v4-memfile"
    command: str = ""
    start: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """All of it.  `leaselab` is what the workspaces of benches are clones of."""

    benches: dict[str, Bench]
    jobs: dict[str, Job]
    leaselab: Source | None = None
    servers: dict[str, Source] = field(default_factory=dict)
    canary: Canary = Canary()
    results: str = ""
    page_port: int = 8010
    worker_port: int = 9989
    url: str = ""

    def benches_of(self, job: Job) -> list[str]:
        """The benches on which a job may run."""
        if job.bench:
            return [job.bench]
        wanted = set(job.tags or ())
        return [name for name, bench in self.benches.items() if wanted <= set(bench.tags)]


def read_site(path: Path) -> Site:
    """Read a site's file.  Raises a usage error that says where, found and wanted."""
    where = path.name
    site = build(Site, parse_yaml(given_content(path, _MOST_BYTES), where), where)
    for key, names in (("benches", site.benches), ("jobs", site.jobs)):
        _need(names, "nothing in it", f"{where}: {key}", "", "one at least")
        for name in names:
            right = f"letters, digits, '.', '_' and '-'; not {CANARY}…"
            _need(_NAME.fullmatch(name), "not a name", f"{where}: {key}", repr(name), right)
    _check_start(site.canary.start, f"{where}: canary", pushed=False)
    cloned = "leaselab: {url: …, branch: …}, or a command"
    for name, part in {"canary": site.canary, **site.jobs}.items():
        there = f"{where}: {name}" if part is site.canary else f"{where}: jobs: {name}"
        if isinstance(part, Job):
            _check_job(site, part, there)
        if not part.command:
            _need(site.leaselab, "a scenario needs a clone of Leaselab", there, "none", cloned)
            scenarios = Catalogue.here().scenarios
            if part.scenario not in scenarios:
                raise unknown("scenario", part.scenario, list(scenarios), there)
    return site


def _check_job(site: Site, job: Job, where: str) -> None:
    _one_of(where, scenario=job.scenario, command=job.command)
    _one_of(where, bench=job.bench, tags="" if job.tags is None else "any")
    if job.bench and job.bench not in site.benches:
        raise unknown("bench", job.bench, list(site.benches), where)
    if job.server and job.server not in site.servers:
        raise unknown("server", job.server, list(site.servers), where)
    has, tags = (
        "; ".join(f"{name} {bench.tags}" for name, bench in site.benches.items()),
        job.tags,
    )
    _need(site.benches_of(job), "no bench has all these tags", where, str(tags), has)
    measured = job.server or not (job.against or job.anchor)
    _need(measured, "against or anchor without a server", where, "", "server: NAME")
    kept = "a series changes its bench, and results of two benches are not compared"
    right = "bench: NAME; or against: COMMIT, which makes a duel"
    _need(job.command or job.bench or job.against, kept, where, f"tags {tags}", right)
    _check_start(job.start, where, pushed=bool(job.server))
    inside = 0 <= job.rank < CANARY_PRIORITY
    _need(inside, "priority out of bounds", where, str(job.rank), "0 to 999")


def _one_of(where: str, **given: str) -> None:
    named = [name for name, value in given.items() if value]
    seen, wanted = " and ".join(named) or "none", " or ".join(given)
    _need(len(named) == 1, "exactly one of two keys", where, seen, wanted)


def _check_start(start: str, where: str, *, pushed: bool) -> None:
    _need(pushed or start != PUSH, "no repository is watched", where, "", "server: NAME")
    right = start in _PRIORITIES or (len(start.split()) == 5 and croniter.is_valid(start))
    wanted = f"{PUSH}, or five fields of cron such as '0 22 * * *'"
    _need(right, "start is no time", where, repr(start)[:60], wanted)


def _need(right: object, what: str, where: str, found: str, wanted: str) -> None:
    if not right:
        raise usage_error(what, where=where, found=found, wanted=wanted)


def cron(start: str) -> Mapping[str, str]:
    """Five fields of cron as Buildbot names them; a lone day of its week counts from Monday."""
    names = ("minute", "hour", "dayOfMonth", "month", "dayOfWeek")
    *times, days = start.split()
    shifted = (str((int(day) - 1) % 7) if day.isdigit() else day for day in days.split(","))
    return dict(zip(names, [*times, ",".join(shifted)], strict=True))
