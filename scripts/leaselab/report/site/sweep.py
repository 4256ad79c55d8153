"""The page of one result: runs, trials, seconds, configuration, how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leaselab.analysis.credibility import flags
from leaselab.analysis.latency import PERCENTILES, latencies, stages
from leaselab.analysis.summary import run_cpu_us
from leaselab.model.durability import durability_of
from leaselab.model.server import server_name
from leaselab.report.config import config_text
from leaselab.report.confirmation import confirmation_words, confirming, overload
from leaselab.report.facts import facts
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.seconds_chart import seconds_chart
from leaselab.report.site.sweep_charts import latency_chart, loss_chart, runs_chart
from leaselab.report.words import MEANINGS

_CONFIG_LIMIT = 200_000
"""Letters of a configuration that a page shows."""


def sweep(
    document: Mapping[str, Any], directory: Path, raw: str | None
) -> tuple[dict[str, Any], list[Figure | None]]:
    """What the template gets, and the charts.

    `directory` is the result's, `raw` the way there from the page; None where
    the site does not lie beside its results.
    """
    charts = {
        "runs": figure(
            "runs",
            "Runs",
            runs_chart(document),
            note="A dot is a run's max rate, the bar its bracket: passed at the lower end, "
            "failed at the upper. Dashed: the trimmed mean, with its 95 % interval.",
        ),
        "loss": figure(
            "loss",
            "Loss by offered load",
            loss_chart(document),
            note=_loss_note(document),
        ),
        "latency": figure(
            "latency",
            "Latency by offered load",
            latency_chart(document, stages(document["scenario"]["family"])),
            note="Of every valid trial.",
        ),
    }
    seconds = [
        figure(
            f"seconds-{run['index']}",
            f"Run {run['index']}, second by second",
            seconds_chart(run, document["goal"]),
        )
        for run in document["runs"]
    ]
    confirmation = _confirmation(document)
    context = {
        "document": document,
        "server_words": server_name(document["server"]),
        "durability": durability_of(document["server"]),
        "flags": flags(document),
        "meanings": MEANINGS,
        "charts": charts,
        "seconds": seconds,
        "confirmed": confirmation_words(document),
        "confirmation": confirmation,
        "runs": [_run(run, document["goal"]) for run in document["runs"]],
        "percentiles": PERCENTILES,
        "latencies": latencies(document),
        "facts": list(facts(document, Path(directory.name))),
        "configs": list(_configs(document, directory)),
        "commands": _commands(document),
        "raw": raw,
    }
    last = [confirmation["seconds"]] if confirmation else []
    return context, [*charts.values(), *seconds, *last]


def _loss_note(document: Mapping[str, Any]) -> str:
    told = "Every trial of every run; the dashed line is the goal."
    if not document.get("confirmation"):
        return told
    told += " Diamonds: the trials that confirm the result."
    beyond = ", ".join(f"{trial['rate']}/s" for trial in overload(document))
    return told + (f" Their last one, at {beyond}, is in its table alone." if beyond else "")


def _confirmation(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The trials after the last run; None where there are none."""
    found = document.get("confirmation")
    if not found:
        return None
    trials = [_trial(trial, "", document["goal"]) for trial in confirming(document)]
    trials += [_trial(trial, "overload", document["goal"]) for trial in overload(document)]
    run = {"started_at": trials[0]["started_at"], "trials": found["trials"]}
    chart = seconds_chart(run, document["goal"], "Confirmation")
    return {
        "trials": trials,
        "overload": bool(overload(document)),
        "seconds": figure("seconds-confirmation", "Confirmation, second by second", chart),
    }


def _run(run: Mapping[str, Any], goal: Mapping[str, Any]) -> dict[str, Any]:
    proofs = {run.get("lower_trial"): "lower bound", run.get("upper_trial"): "upper bound"}
    return {
        **run,
        "cpu_us": run_cpu_us(run, goal["loss_ratio"]),
        "trials": [
            _trial(trial, proofs.get(position, ""), goal)
            for position, trial in enumerate(run["trials"])
        ],
    }


def _trial(trial: Mapping[str, Any], role: str, goal: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table; `role` is what the trial is beside its outcome, such as a bound."""
    return {
        **trial,
        "role": role,
        "passes": trial["valid"] and trial["loss_ratio"] <= goal["loss_ratio"],
        "command": shlex.join(trial["argv"]),
        "detail": trial.get("detail", ""),
        "held": (trial.get("leases_held") or [None])[0],
    }


def _configs(document: Mapping[str, Any], directory: Path) -> list[tuple[str, str]]:
    """The configuration of the server and of its partner: whose, and the text."""
    texts = ((role, config_text(document, directory, role)) for role in ("server", "partner"))
    return [(role, text[:_CONFIG_LIMIT]) for role, text in texts if text is not None]


def _commands(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What does the same again: label and command."""
    return [
        ("as it was measured", shlex.join(document["provenance"]["command"])),
        ("the same again, on the bench that it names", f"leaselab rerun {document['id']}"),
        ("its figures in full", f"leaselab show {document['id']} --json"),
    ]
