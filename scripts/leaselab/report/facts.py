"""What made a result, in words: server, factors, goal, hosts, command."""

from __future__ import annotations

import shlex
import statistics
from datetime import datetime
from typing import TYPE_CHECKING

from leaselab.analysis.steadiness import moved
from leaselab.model.record import SERVER
from leaselab.model.server import server_name
from leaselab.report.confirmation import confirming
from leaselab.report.machine import host_lines
from leaselab.report.markup import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leaselab.model.record import Confirmation, Record, Server

_NONE = "-"


def facts(record: Record, path: Path) -> Iterator[tuple[str, str]]:
    """Yield what made a result, a label and its words each; `path` is its directory."""
    server, bench, made = record.server, record.bench, record.provenance
    yield "server", ", ".join(filter(None, (server_name(server), server.package)))
    yield from _build(server)
    if server.program_sha256:
        yield "program", ", ".join(_program(server))
    factors = [f"{name} {value}" for name, value in record.scenario.factors.items()]
    if factors:
        yield "factors", ", ".join(factors)
    kept = ", ".join(_kept(record))
    if kept:
        yield server.holds or "kept", kept
    for name, beside in server.beside.items():
        settings = (f"{key}={value}" for key, value in beside.variables.items())
        yield name, ", ".join(filter(None, (beside.version, *settings)))
    if server.config_sha256:
        yield "config", f"{server.config_file or _NONE} (sha256 {server.config_sha256[:16]})"
    yield "goal", record.procedure.words
    if record.confirmation:
        yield "confirmation", _confirmed(record, record.confirmation)
    yield "generator", f"{record.generator.name} {record.generator.version or ''}"
    yield "bench", f"{bench.name}, environment {bench.environment or _NONE}"
    for role, host in bench.hosts.items():
        yield from host_lines(role, host)
    by = moved(record.rounds)
    if by is not None:
        yield "machine", f"its own speed moved by {100 * by:.1f} % from run to run"
    dirty = ", with uncommitted changes" if made.leaselab_dirty else ""
    commit = f" ({made.leaselab_commit[:10]}{dirty})" if made.leaselab_commit else ""
    yield "leaselab", f"{made.leaselab_version}{commit}"
    yield "command", shlex.join(made.command)
    started, ended = map(moment_words, (record.started_at, record.finished_at))
    yield "started", f"{started}, ended {ended}"
    yield "result", str(path)


def shown_where(record: Record) -> str:
    """At which load the trials were that stand for their rounds, as the end of a phrase."""
    return " at the lower bound" if any(one.bracket for one in record.rounds) else ""


def _confirmed(record: Record, found: Confirmation) -> str:
    trials = confirming(record)
    counted = [trial for trial in trials if trial.valid] or trials
    seconds = sum(trial.traffic_s for trial in counted)
    word = "holds" if found.holds else "does not hold"
    return f"{word}: loss {100 * found.loss_ratio:.2f} % in {seconds:.0f} s at {found.rate}/s"


def _build(server: Server) -> Iterator[tuple[str, str]]:
    build = server.build
    source = build.source if build else None
    if server.commit:
        changed = " with uncommitted changes" if source and source.dirty else ""
        parts = [server.commit + changed]
        if source:
            parts += [source.author_date[:10], printable(source.subject)]
        yield "commit", ", ".join(parts)
        if source:
            yield "repository", source.repository
    if build and build.key:
        options = (f"{name} {value}" for name, value in build.options.items())
        parts = [str(build.system), *options, str(build.builder.get("compiler", _NONE))]
        yield "build", ", ".join([*parts, f"artifact {(build.artifact_sha256 or _NONE)[:16]}"])


def _program(server: Server) -> Iterator[str]:
    yield f"{server.program} (sha256 {(server.program_sha256 or _NONE)[:16]})"
    yield f"{len(server.libraries_sha256)} libraries"
    if server.confinement:
        yield f"AppArmor: {server.confinement}"


def _kept(record: Record) -> Iterator[str]:
    if record.server.durability:
        yield f"durability {record.server.durability}"
    held = [
        trial.held[SERVER]
        for trial in (one.shown for one in record.rounds)
        if trial and SERVER in trial.held
    ]
    if held:
        # what a rate is worth where a server searches all that it holds for each packet
        yield f"{statistics.median(held):.0f} held{shown_where(record)}"


def moment_words(text: str) -> str:
    """Return a moment of ISO 8601 as ``2026-11-21 16:01:03 UTC``."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S} UTC"
