"""What made a result, in words: server, leases, goal, hosts, command."""

from __future__ import annotations

import shlex
import statistics
from datetime import datetime
from typing import TYPE_CHECKING, Any

from leaselab.analysis.latency import lower_trial
from leaselab.analysis.matrix import goal_words
from leaselab.analysis.steadiness import moved
from leaselab.model.durability import durability_of
from leaselab.model.server import server_name
from leaselab.model.source import source_of
from leaselab.report.commits import printable
from leaselab.report.confirmation import confirming
from leaselab.report.machine import host_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_NONE = "-"


def facts(document: Mapping[str, Any], path: Path) -> Iterator[tuple[str, str]]:
    """Yield what made a result, a label and its words each; `path` is its directory."""
    server, bench = document["server"], document["bench"]
    made = document["provenance"]
    yield "server", ", ".join(filter(None, (server_name(server), server["package"])))
    yield from _build(server)
    if server.get("program_sha256"):
        yield "program", ", ".join(_program(server))
    yield "leases", ", ".join(_leases(document))
    if server["config_sha256"]:
        yield (
            "config",
            f"{server['config_file'] or _NONE} (sha256 {server['config_sha256'][:16]})",
        )
    yield "goal", goal_words(document["goal"])
    if document.get("confirmation"):
        yield "confirmation", _confirmed(document)
    yield (
        "generator",
        f"{document['generator']['name']} {document['generator']['version'] or ''}",
    )
    yield "bench", f"{bench['name']}, environment {bench['environment'] or _NONE}"
    for role, host in bench["hosts"].items():
        yield from host_lines(role, host)
    by = moved(document["runs"])
    if by is not None:
        yield "machine", f"its own speed moved by {100 * by:.1f} % from run to run"
    dirty = ", with uncommitted changes" if made["leaselab_dirty"] else ""
    commit = f" ({made['leaselab_commit'][:10]}{dirty})" if made["leaselab_commit"] else ""
    yield "leaselab", f"{made['leaselab_version']}{commit}"
    yield "command", shlex.join(made["command"])
    started, ended = (moment_words(document[f"{end}_at"]) for end in ("started", "finished"))
    yield "started", f"{started}, ended {ended}"
    yield "result", str(path)


def _confirmed(document: Mapping[str, Any]) -> str:
    confirmation = document["confirmation"]
    rate = confirmation["rate"]
    trials = confirming(document)
    counted = [trial for trial in trials if trial["valid"]] or trials
    seconds = sum(trial["traffic_s"] for trial in counted)
    word = "holds" if confirmation["holds"] else "does not hold"
    loss = f"loss {100 * confirmation['loss_ratio']:.2f} %"
    return f"{word}: {loss} in {seconds:.0f} s at {rate}/s"


def _build(server: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if server["commit"]:
        source = source_of(server)
        changed = " with uncommitted changes" if source.get("dirty") else ""
        parts = [server["commit"] + changed]
        if source:
            parts += [source["author_date"][:10], printable(source["subject"])]
        yield "commit", ", ".join(parts)
        if source:
            yield "repository", source["repository"]
    if server["build"] and "key" in server["build"]:
        build = server["build"]
        options = (f"{name} {value}" for name, value in build["options"].items())
        yield (
            "build",
            f"{build['system']}, {', '.join(options)}, {build['builder']['compiler']}, "
            f"artifact {build['artifact_sha256'][:16]}",
        )


def _program(server: Mapping[str, Any]) -> Iterator[str]:
    yield f"{server['program']} (sha256 {server['program_sha256'][:16]})"
    yield f"{len(server['libraries_sha256'])} libraries"
    if server["confinement"]:
        yield f"AppArmor: {server['confinement']}"


def _leases(document: Mapping[str, Any]) -> Iterator[str]:
    scenario, tuning = document["scenario"], document["provenance"]["tuning"]
    yield scenario["backend"]
    if durability_of(document["server"]):
        yield f"durability {durability_of(document['server'])}"
    proving = filter(None, map(lower_trial, document["runs"]))
    held = [trial["leases_held"][0] for trial in proving if trial.get("leases_held")]
    if held:
        # what a rate is worth where a server searches all that it holds for each packet
        yield f"{statistics.median(held):.0f} held at the lower bound"
    database = tuning.get("database")
    if database:
        yield database["version"]
        yield from (f"{name}={value}" for name, value in database["variables"].items())
    pair = scenario.get("high_availability", {}).get("mode", "none")
    if pair != "none":
        yield f"{pair} pair"


def moment_words(text: str) -> str:
    """Return a moment of ISO 8601 as ``2026-11-21 16:01:03 UTC``."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S} UTC"
