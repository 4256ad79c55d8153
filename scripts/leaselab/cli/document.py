"""The document of a result, put together from everything that can move it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leaselab import __version__
from leaselab.analysis.steadiness import UNSTEADY, unsteady
from leaselab.analysis.summary import summarise
from leaselab.archive.schema import SCHEMA_VERSION
from leaselab.lab.inventory import Inventory
from leaselab.model import moment
from leaselab.model.bench import Bench, ServerUnderTest
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.plan import Plan
from leaselab.model.scenario import Scenario
from leaselab.model.source import Commit


def result_document(
    *,
    sweep_id: str,
    bench: Bench,
    runs: list[dict[str, Any]],
    confirmation: Mapping[str, Any] | None,
    error: LeaselabError | None,
    setup_s: float,
    started_at: str,
    finished_at: str,
    command: Sequence[str],
    owner: str,
    config_files: Mapping[str, str],
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """Build the document of a finished sweep, or of one that `error` ended for good."""
    plan = bench.plan
    summary = summarise(
        runs,
        planned=plan.runs,
        trim=plan.trim,
        loss_ratio=plan.goal.loss_ratio,
        trial_s=plan.limits.trial_s,
        wall_s=setup_s
        + sum(part["wall_s"] for part in [*runs, *([confirmation] if confirmation else [])]),
        confirmation=confirmation,
    )
    moving = unsteady(runs, summary.max_rate, plan.goal.relative_width)
    reasons = [{"word": UNSTEADY, "text": moving}] if moving else []
    for position in summary.trimmed:
        runs[position]["trimmed"] = True
    return {
        "schema_version": SCHEMA_VERSION,
        "id": sweep_id,
        "started_at": started_at,
        "finished_at": finished_at,
        "outcome": (error.outcome if error else Outcome.OK).label,
        "reasons": [{"word": _word(error), "text": str(error)}] if error else reasons,
        "scenario": asdict(bench.scenario),
        "goal": goal_document(plan),
        "server": _server(bench.server, config_files["server"]),
        "partner": _server(bench.partner, config_files["partner"]) if bench.partner else None,
        "generator": {
            **asdict(bench.generator),
            "host": "generator",
        },
        "bench": {
            "name": bench.name,
            "inventory": bench.inventory,
            "environment": bench.environment,
            "hosts": {role: dict(host.facts) for role, host in bench.hosts.items()},
            "lock_owner": owner,
        },
        "runs": runs,
        "confirmation": dict(confirmation) if confirmation else None,
        "summary": summary.document(),
        "provenance": {
            **provenance,
            "command": list(command),
            "tuning": dict(bench.server.tuning),
        },
    }


def failed_document(
    *,
    sweep_id: str,
    scenario: Scenario,
    plan: Plan,
    commit: Commit,
    inventory: Inventory,
    environment: str,
    error: LeaselabError,
    started_at: str,
    command: Sequence[str],
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """Build the document of a commit that does not build, or whose server does not start."""
    nothing = summarise(
        [],
        planned=plan.runs,
        trim=plan.trim,
        loss_ratio=plan.goal.loss_ratio,
        trial_s=plan.limits.trial_s,
    )
    return {
        "schema_version": SCHEMA_VERSION,
        "id": sweep_id,
        "started_at": started_at,
        "finished_at": moment.now(),
        "outcome": error.outcome.label,
        "reasons": [{"word": _word(error), "text": str(error)}],
        "scenario": asdict(scenario),
        "goal": goal_document(plan),
        "server": {
            "name": scenario.server,
            "version": None,
            "commit": commit.hash,
            "durability": None,
            "config_sha256": None,
            "running_config_sha256": None,
            "config_file": None,
            "package": None,
            "program": None,
            "program_sha256": None,
            "libraries_sha256": {},
            "confinement": None,
            "build": {"source": asdict(commit)},
        },
        "partner": None,
        "generator": {"name": "perfdhcp", "version": None, "host": None},
        "bench": {
            "name": inventory.bench,
            "inventory": str(inventory.path),
            "environment": environment,
            "hosts": {},
            "lock_owner": None,
        },
        "runs": [],
        "summary": nothing.document(),
        "provenance": {
            **provenance,
            "command": list(command),
            "tuning": {},
        },
    }


def goal_document(plan: Plan) -> dict[str, Any]:
    """The `goal` of a result: every parameter of its sweep."""
    return {
        **asdict(plan.goal),
        "runs": plan.runs,
        "trim": plan.trim,
        "trial_s": plan.limits.trial_s,
        "scout_s": plan.limits.scout_s,
        "wait_s": plan.wait_s,
        "min_rate": plan.limits.min_rate,
        "max_rate": plan.limits.max_rate,
        "start_rate": plan.limits.start_rate,
        "max_trials": plan.limits.max_trials,
        "warm_up_s": plan.limits.warm_up_s,
        "confirm_s": plan.limits.confirm_s,
    }


def _server(server: ServerUnderTest, config_file: str) -> dict[str, Any]:
    return {
        "name": server.name,
        "version": server.version,
        "commit": server.commit,
        "durability": server.durability.value,
        "config_sha256": server.config_sha256,
        "running_config_sha256": server.running_config_sha256,
        "config_file": config_file,
        "package": server.package or None,
        "program": server.program,
        "program_sha256": server.program_sha256,
        "libraries_sha256": dict(server.libraries_sha256),
        "confinement": server.confinement,
        "build": dict(server.build) if server.build else None,
    }


def own_provenance(root: Path) -> dict[str, Any]:
    """Return which leaselab this is: version, commit and whether files differ from it."""
    head = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {
        "leaselab_version": __version__,
        "leaselab_commit": head or None,
        "leaselab_dirty": None if changes is None else bool(changes),
    }


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _word(error: LeaselabError) -> str:
    reason = getattr(error, "reason", None)
    return str(reason.value) if reason is not None else error.outcome.label
