"""The record of a point, assembled from everything that can affect it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from leaselab import __version__
from leaselab.analysis.figures.steadiness import UNSTEADY, unsteady
from leaselab.analysis.figures.summary import at_least, metrics_of
from leaselab.archive.published import public_word
from leaselab.archive.running import BENCH_FILE
from leaselab.lab.hosts.inventory import Inventory
from leaselab.measure.point import Point
from leaselab.model import moment, record
from leaselab.model.bench import Bench, GeneratorTool, ServerUnderTest
from leaselab.model.bounds import clipped, fitted, misfit
from leaselab.model.errors import LeaselabError, Outcome, lab_broken, usage_error
from leaselab.model.procedure import SERVER_KINDS
from leaselab.model.procedures import AnyProcedure
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import (
    GENERATOR,
    SERVER,
    Confirmation,
    Experiment,
    Provenance,
    Reason,
    Record,
    Round,
)
from leaselab.model.scenario import Scenario
from leaselab.model.server import Build, Server
from leaselab.model.source import Commit


@dataclass(frozen=True, slots=True)
class KeptConfig:
    """The configuration of a server, as stored with the result."""

    file: str | None
    """Its path within the result; None for a user's own, which may hold secrets."""
    settings_sha256: str
    """Hash of it without the names of variant and build."""


def record_of(
    point_id: str,
    bench: Bench,
    point: Point,
    *,
    setup_s: float,
    started_at: str,
    owner: str,
    configs: Mapping[str, KeptConfig],
    experiment: Experiment | None,
    provenance: Provenance,
) -> Record:
    """Build the record of a point that is finished, with or without an error.

    `setup_s` is the time before its first round (s); `configs` are the configurations as
    files of the result, by role.
    """
    parts: Sequence[Round | Confirmation] = point.rounds
    if point.confirmation is not None:
        parts = [*parts, point.confirmation]
    record = Record(
        id=point_id,
        started_at=started_at,
        finished_at=moment.now(),
        outcome=(point.error.outcome if point.error else Outcome.OK).label,
        reasons=_reasons(point.error, bench.scenario),
        scenario=bench.scenario,
        procedure=bench.procedure,
        servers={
            role: _server(server, configs[role]) for role, server in bench.servers.items()
        },
        generator=_generator(bench.generator),
        bench=_bench(bench, owner),
        rounds=tuple(point.rounds),
        confirmation=point.confirmation,
        metrics=_metrics(bench.scenario, bench.procedure, point.rounds, point.confirmation),
        traffic_s=sum(part.traffic_s for part in parts),
        wall_s=setup_s + sum(part.wall_s for part in parts),
        experiment=experiment,
        provenance=provenance,
    )
    if isinstance(bench.procedure, MaxRate):
        moving = unsteady(record.rounds, record.metrics[0], bench.procedure.relative_width)
        if moving and point.error is None:
            record = replace(record, reasons=(Reason(word=UNSTEADY, text=moving),))
        # A load that failed the confirmation is not a bound, although each round passed it.
        if record.metrics[0].value is None and record.confirmation is None:
            record = replace(record, at_least=at_least(record.rounds, bench.procedure))
    return record


def check_recordable(bench: Bench) -> None:
    """Refuse a bench that no record can describe, before anything is measured on it.

    Texts of its hosts may have any length, as a record keeps their beginning.  Raises a
    broken-lab error for any other value out of bounds.
    """
    parts: dict[str, Callable[[], object]] = {
        **{
            f"servers: {role}": partial(_server, server, None)
            for role, server in bench.servers.items()
        },
        "generator": partial(_generator, bench.generator),
        "hosts": partial(_bench, bench, ""),
    }
    for part, describe in parts.items():
        try:
            describe()
        except ValueError as error:
            raise lab_broken(
                "what a host says of itself does not fit a result",
                where=f"{BENCH_FILE}: {part}",
                found=misfit(error),
                wanted="results/schema.json",
                todo="see what prints it on that host, then deploy again",
            ) from error


def failed_record(
    point_id: str,
    *,
    scenario: Scenario,
    procedure: AnyProcedure,
    commit: Commit,
    inventory: Inventory,
    environment: str,
    error: LeaselabError,
    started_at: str,
    experiment: Experiment | None,
    provenance: Provenance,
) -> Record:
    """Build the record of a commit that does not build, or whose server does not start."""
    source = Build(source=commit)
    return Record(
        id=point_id,
        started_at=started_at,
        finished_at=moment.now(),
        outcome=error.outcome.label,
        reasons=_reasons(error, scenario),
        scenario=scenario,
        procedure=procedure,
        servers={SERVER: Server(name=scenario.server.kind, commit=commit.hash, build=source)},
        generator=record.Generator(name=scenario.generator),
        bench=record.Bench(
            name=inventory.bench, inventory=str(inventory.path), environment=environment
        ),
        metrics=_metrics(scenario, procedure, (), None),
        experiment=experiment,
        provenance=provenance,
    )


def _generator(tool: GeneratorTool) -> record.Generator:
    given = {
        "name": tool.name,
        "version": tool.version,
        "host": GENERATOR,
        "options": _how_it_ran(tool),
    }
    return msgspec.convert(fitted(given), record.Generator)


def _bench(bench: Bench, owner: str) -> record.Bench:
    given = {
        "name": bench.name,
        "inventory": bench.inventory,
        "environment": bench.environment,
        "hosts": {role: host.facts for role, host in bench.hosts.items()},
        "lock_owner": owner,
    }
    return msgspec.convert(fitted(given), record.Bench)


def _how_it_ran(tool: GeneratorTool) -> dict[str, Any]:
    """Return the settings with which a generator was run."""
    return {
        "path": tool.path,
        **({"threading": tool.threading} if tool.threading else {}),
        "environment": dict(tool.environment),
        # Left out where there is none, as in results of older releases.
        **({"launcher": list(tool.launcher)} if tool.launcher else {}),
        **tool.settings,
        **({"files": dict(tool.files)} if tool.files else {}),
    }


def command() -> list[str]:
    """Return the user's command line without private parts (`public_word`).

    Raises a usage error for an invalid LEASELAB_COMMAND.
    """
    text = os.environ.get("LEASELAB_COMMAND", "")
    try:
        given = shlex.split(text) or ["leaselab", *sys.argv[1:]]
    except ValueError as error:
        raise usage_error(
            f"does not parse: {error}",
            where="LEASELAB_COMMAND",
            found=text,
            wanted="a command as a shell reads it",
        ) from error
    return [clipped(public_word(word)) for word in given]


def typed_command() -> str:
    """Return the user's command line as it was typed, to repeat it; only for the terminal."""
    return shlex.join(["./leaselab", *sys.argv[1:]])


def own_provenance(root: Path, command: Sequence[str]) -> Provenance:
    """Return this leaselab's version and commit, and whether files differ from the commit."""
    head = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    return Provenance(
        leaselab_version=__version__,
        leaselab_commit=head or None,
        leaselab_dirty=None if changes is None else bool(changes),
        command=tuple(command),
    )


def _metrics(
    scenario: Scenario,
    procedure: AnyProcedure,
    rounds: Sequence[Round],
    confirmation: Confirmation | None,
) -> tuple[record.Metric, ...]:
    own = procedure.metrics(scenario.transaction.plural)
    kinds = [
        kind
        for kind in {kind.name: kind for kind in (*own, *SERVER_KINDS)}.values()
        if kind.name == own[0].name
        or not kind.seldom
        or any(each.metrics.get(kind.name) is not None for each in rounds)
    ]
    holds = confirmation is None or confirmation.holds
    return metrics_of(kinds, rounds, procedure, holds=holds)


def kept_words(error: BaseException, scenario: Scenario) -> str:
    """Return what a result keeps of an error's text.

    What a server or a host says of a user's own configuration may repeat what is in it.
    """
    if not (scenario.is_own and isinstance(error, LeaselabError)):
        return str(error)
    if error.outcome not in (Outcome.BUILD, Outcome.LAB):
        return str(error)
    said = error.what.partition(":")[0]
    return f"{said}; what its host said of this configuration is not kept"


def _reasons(error: LeaselabError | None, scenario: Scenario) -> tuple[Reason, ...]:
    if error is None:
        return ()
    reason = getattr(error, "reason", None)
    word = str(reason.value) if reason is not None else error.outcome.label
    return (Reason(word=word, text=clipped(kept_words(error, scenario))),)


def _server(server: ServerUnderTest, config: KeptConfig | None) -> Server:
    given = {
        name: value
        for name, value in asdict(server).items()
        if name in Server.__struct_fields__
    }
    given |= {
        "config_file": config and config.file,
        "config_settings_sha256": config and config.settings_sha256,
        "durability": server.durability.value,
        "package": server.package or None,
        "build": server.build or None,
    }
    return msgspec.convert(fitted(given), Server)


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
