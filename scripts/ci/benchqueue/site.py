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

MOST_BYTES = 1 << 20
PUSH = "push"
CANARY = "canary-"
"""How the builder of a bench's canary begins; no job does."""
PRIORITIES = {"": 30, PUSH: 20}
"""Of jobs by what starts them: by hand, by a push; all others start by the clock."""
CLOCK_PRIORITY, CANARY_PRIORITY = 10, 1000
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,40}")


@dataclass(frozen=True, slots=True)
class Source:
    """A git repository."""

    url: str
    branch: str
    poll_s: int = 300
    """Time between two looks for a push (s)."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Hosts that measure together; one worker."""

    inventory: str = "inventory/docker"
    """Below the checkout; it may have several benches."""
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    """What is done: a scenario or a command of the shell, on one bench or any with tags."""

    scenario: str = ""
    command: str = ""
    bench: str = ""
    tags: list[str] | None = None
    server: str = ""
    against: str = ""
    anchor: str = ""
    baseline: str = ""
    threshold: str = ""
    options: str = ""
    start: str = ""
    """`push`, five fields of cron, or empty: by hand."""
    priority: int | None = None

    @property
    def is_series(self) -> bool:
        """Whether its results are compared with earlier ones: it never changes its bench."""
        return bool(self.bench)

    @property
    def rank(self) -> int:
        """Its priority; the largest goes first."""
        default = PRIORITIES.get(self.start, CLOCK_PRIORITY)
        return default if self.priority is None else self.priority


@dataclass(frozen=True, slots=True)
class Canary:
    """How a bench shows that its duels are right."""

    scenario: str = "v4-memfile"
    command: str = ""
    """Instead of all stages; it fails for a bench that is to be taken out."""
    start: str = ""
    """Five fields of cron; empty: only after a job found the bench broken."""


@dataclass(frozen=True, slots=True)
class Site:
    """All of it."""

    benches: dict[str, Bench]
    jobs: dict[str, Job]
    leaselab: Source | None = None
    """Where each bench's workspace is cloned from; only commands do without."""
    servers: dict[str, Source] = field(default_factory=dict)
    canary: Canary = Canary()
    results: str = ""
    """The folder of results, on all control machines; empty: that of each workspace."""
    page_port: int = 8010
    worker_port: int = 9989
    url: str = ""
    """How people reach the page, if another server stands before it."""

    def benches_of(self, job: Job) -> list[str]:
        """The benches on which a job may run."""
        if job.bench:
            return [job.bench]
        wanted = set(job.tags or ())
        return [name for name, bench in self.benches.items() if wanted <= set(bench.tags)]


def read_site(path: Path) -> Site:
    """Read a site's file.  Raises a usage error that says where, found and wanted."""
    where = path.name
    site = build(Site, parse_yaml(given_content(path, MOST_BYTES), where), where)
    _check_names(site, where)
    _check_start(site.canary.start, f"{where}: canary", pushed=False)
    if site.leaselab is None and not site.canary.command:
        raise usage_error(
            "a canary that measures needs a clone of Leaselab",
            where=f"{where}: canary",
            wanted="leaselab: {url: …, branch: …}, or canary: {command: …}",
        )
    for name, job in site.jobs.items():
        _check_job(site, job, f"{where}: jobs: {name}")
    return site


def _check_names(site: Site, where: str) -> None:
    for key, names in (("benches", site.benches), ("jobs", site.jobs)):
        if not names:
            raise usage_error("nothing in it", where=f"{where}: {key}", wanted="one at least")
        for name in names:
            if not _NAME.fullmatch(name) or name.startswith(CANARY):
                raise usage_error(
                    "not a name",
                    where=f"{where}: {key}",
                    found=repr(name),
                    wanted=f"letters, digits, '.', '_' and '-'; not {CANARY}…",
                )


def _check_job(site: Site, job: Job, where: str) -> None:
    _one_of(where, scenario=job.scenario, command=job.command)
    _one_of(where, bench=job.bench, tags="any" if job.tags is not None else "")
    if job.bench and job.bench not in site.benches:
        raise unknown("bench", job.bench, list(site.benches), where)
    if not site.benches_of(job):
        has = "; ".join(f"{name} {bench.tags}" for name, bench in site.benches.items())
        raise usage_error(
            "no bench has all these tags", where=where, found=str(job.tags), wanted=has
        )
    if job.server and job.server not in site.servers:
        raise unknown("server", job.server, list(site.servers), where)
    for key in ("against", "anchor"):
        if getattr(job, key) and not job.server:
            raise usage_error(f"{key} without a server", where=where, wanted="server: NAME")
    if job.scenario:
        _check_scenario(site, job, where)
    _check_start(job.start, where, pushed=bool(job.server))
    if not 0 <= job.rank < CANARY_PRIORITY:
        raise usage_error(
            "priority out of bounds", where=where, found=str(job.rank), wanted="0 to 999"
        )


def _check_scenario(site: Site, job: Job, where: str) -> None:
    scenarios = Catalogue.here().scenarios
    if job.scenario not in scenarios:
        raise unknown("scenario", job.scenario, list(scenarios), where)
    if site.leaselab is None:
        raise usage_error(
            "a scenario needs a clone of Leaselab", where=where, wanted="leaselab"
        )
    if not job.bench and not job.against:
        raise usage_error(
            "a series changes its bench, and results of two benches are not compared",
            where=where,
            found=f"tags {job.tags}",
            wanted="bench: NAME; or against: COMMIT, which makes a duel",
        )


def _one_of(where: str, **given: str) -> None:
    found = [name for name, value in given.items() if value]
    if len(found) != 1:
        raise usage_error(
            "exactly one of two keys",
            where=where,
            found=" and ".join(found) or "none",
            wanted=" or ".join(given),
        )


def _check_start(start: str, where: str, *, pushed: bool) -> None:
    if start == PUSH and not pushed:
        raise usage_error("no repository is watched", where=where, wanted="server: NAME")
    if start not in ("", PUSH) and not (len(start.split()) == 5 and croniter.is_valid(start)):
        raise usage_error(
            "start is no time",
            where=where,
            found=repr(start)[:60],
            wanted=f"{PUSH}, or five fields of cron such as '0 22 * * *'",
        )


def cron(start: str) -> Mapping[str, str]:
    """Five fields of cron as Buildbot names them; a lone day of its week counts from Monday."""
    names = ("minute", "hour", "dayOfMonth", "month", "dayOfWeek")
    *times, days = start.split()
    shifted = (str((int(day) - 1) % 7) if day.isdigit() else day for day in days.split(","))
    return dict(zip(names, [*times, ",".join(shifted)], strict=True))
