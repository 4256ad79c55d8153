"""The page of one result: runs, trials, seconds, configuration, how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from leaselab.analysis.comparison.profile import Spent
from leaselab.analysis.figures.credibility import flags, level_of, trust
from leaselab.analysis.figures.summary import PERCENTILES, latencies
from leaselab.model.record import Record, Round
from leaselab.model.server import server_name
from leaselab.model.trial import Trial
from leaselab.report.facts import (
    about,
    config_text,
    confirmation_words,
    confirming,
    facts,
    others,
    shown_where,
    steps_of,
    whole_of,
)
from leaselab.report.profile import counted_table, spent_tables
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.operations_chart import operation_chart, operation_note
from leaselab.report.site.seconds_chart import seconds_chart, seconds_note
from leaselab.report.site.sweep_charts import (
    far_loads,
    latency_chart,
    loss_chart,
    rate_unit,
    runs_chart,
    runs_note,
    searched,
    stages_chart,
    verdict_of,
)
from leaselab.report.site.validity import MEANINGS
from leaselab.report.site.vega import Spec
from leaselab.report.units import in_shown_units

_CONFIG_LIMIT = 200_000
"""Letters of a configuration that a page shows."""
_LOADS = (
    "in valid trials near the figure; loads within 2 % of each other make one point, the "
    "median of their trials. The axis of latency is logarithmic."
)
"""What latencies by offered load are of."""


def sweep(
    record: Record,
    directory: Path,
    raw: str | None,
    pruned: str,
    compared: Sequence[Mapping[str, str]] = (),
    *,
    spent: Sequence[Spent] = (),
) -> tuple[dict[str, Any], list[Figure | None]]:
    """What the template gets, and the charts.

    `directory` is the result's, `raw` the way there from the page; None where
    the site does not lie beside its results.  `pruned` is the day on which its raw outputs
    were removed, empty where they are there.  `compared` is what it comes to beside others,
    `spent` what each round of a profile or of a count was spent on.
    """
    (record,) = in_shown_units([record])
    charts = {
        "runs": figure("runs", "Runs", runs_chart(record), note=runs_note(record)),
        "loss": figure(
            "loss", "Loss by offered load", loss_chart(record), note=_loss_note(record)
        ),
        "latency": figure(
            "latency",
            "Latency by offered load",
            latency_chart(record),
            note=f"Of whole {record.scenario.transaction.plural}, {_LOADS}",
        ),
        "stages": figure(
            "stages",
            "Latency of each stage by offered load",
            stages_chart(record),
            note=f"Of the messages of a {record.scenario.transaction.name}, {_LOADS}",
        ),
    }
    typical = typical_run(record)
    operations = list(operation_figures(record, typical))
    seconds = [
        figure(
            f"seconds-{round_.index}",
            f"Run {round_.index}, second by second",
            run_seconds(record, round_),
            note=seconds_note(round_),
            at_once=round_ is typical,
        )
        for round_ in record.rounds
    ]
    confirmation = _confirmation(record)
    flagged = flags(record)
    made = [trial for round_ in record.rounds for trial in round_.trials]
    if record.confirmation:
        made += record.confirmation.trials
    context = {
        "record": record,
        "about": about(record.scenario),
        "compared": compared,
        "whole": whole_of(record),
        "counted": counted_table(record) if record.procedure.counts_alone else None,
        "refused": record.refused_figure,
        "steps": steps_of(record),
        "operations": operations,
        "spent": [*spent_tables(spent, record.figure.unit)] if spent else [],
        "tried": any(round_.trials for round_ in record.rounds),
        "violations": [
            (round_.index, violation)
            for round_ in record.rounds
            for trial in round_.trials
            for violation in trial.violations
        ],
        "server_words": server_name(record.server),
        "rate_unit": rate_unit(record),
        "flags": flagged,
        "level": level_of(flagged),
        "trust": trust(flagged),
        "meanings": MEANINGS,
        "charts": charts,
        "seconds": seconds,
        "typical": typical.index if typical else 0,
        "confirmed": confirmation_words(record) if confirmation or searched(record) else "",
        "confirmation": confirmation,
        "bracketed": searched(record),
        "runs": [_run(record, place) for place in range(len(record.rounds))],
        "held": _held(record, made),
        "failed_otherwise": any(trial.failures for trial in made),
        "kinds": any(trial.kinds for trial in made),
        "percentiles": PERCENTILES,
        "where": shown_where(record) or " at the load",
        "latencies": latencies(record),
        "facts": list(facts(record, Path(directory.name))),
        "configs": list(_configs(record, directory)),
        "commands": _commands(record),
        "raw": raw,
        "pruned": pruned,
    }
    last = [confirmation["seconds"]] if confirmation else []
    return context, [*charts.values(), *operations, *seconds, *last]


def _loss_note(record: Record) -> str:
    text = "Every trial near the max rate" if far_loads(record) else "Every trial of every run"
    if record.procedure.loss_goal is not None:
        text += "; the dashed line is the goal"
    text += "."
    if left_out := far_loads(record):
        text += f" {left_out} trials far from it, with which searches begin, are in the tables."
    if not record.confirmation:
        return text
    text += " Diamonds: the trials that confirm the result."
    beyond = ", ".join(f"{trial.rate}/s" for trial in others(record))
    return text + (f" Those at {beyond} are in their table alone." if beyond else "")


def run_seconds(record: Record, round_: Round, other: str = "") -> Spec | None:
    """One run second by second; `other` says what it is of, where that is no run."""
    return seconds_chart(
        round_,
        plural=record.scenario.transaction.plural,
        holds=record.server.holds,
        loss_goal=record.procedure.loss_goal,
        offered=record.procedure.ramps,
        other=other,
    )


def operation_figures(record: Record, typical: Round | None) -> Iterator[Figure | None]:
    """The seconds around each operation of a run."""
    made = typical.shown.operations if typical and typical.shown else ()
    for number, operation in enumerate(made, start=1):
        yield figure(
            f"operation-{number}",
            f"{operation.name}, in run {typical.index if typical else 0}",
            operation_chart(operation, record.scenario.transaction.plural),
            note=operation_note(operation),
        )


def typical_run(record: Record) -> Round | None:
    """The run in the middle of all, by the figure: the one to see without scripts."""
    name = record.figure.name
    known = [round_ for round_ in record.rounds if round_.metrics.get(name) is not None]
    known.sort(key=lambda round_: round_.metrics[name] or 0.0)
    return known[len(known) // 2] if known else next(iter(record.rounds), None)


def _confirmation(record: Record) -> dict[str, Any] | None:
    """The trials after the last run; None where there are none."""
    confirmation = record.confirmation
    if not confirmation:
        return None
    last = others(record)
    as_round = Round(
        index=len(record.rounds) + 1,
        started_at=confirmation.trials[0].started_at,
        metrics={},
        traffic_s=confirmation.traffic_s,
        wall_s=confirmation.wall_s,
        trials=confirmation.trials,
    )
    return {
        "trials": [
            *(_trial(record, trial) for trial in confirming(record)),
            *({**_trial(record, trial), "verdict": "overload"} for trial in last),
        ],
        "overload": bool(last),
        "seconds": figure(
            "seconds-confirmation",
            "Confirmation, second by second",
            run_seconds(record, as_round, "Confirmation"),
            note=seconds_note(as_round),
            at_once=False,
        ),
    }


def _run(record: Record, place: int) -> dict[str, Any]:
    round_ = record.rounds[place]
    roles: dict[int | None, str] = {round_.shown_trial: "shown"}
    if round_.bracket:
        roles = {
            round_.bracket.lower_trial: "lower bound",
            round_.bracket.upper_trial: "upper bound",
        }
    return {
        "round": round_,
        "dropped": place in record.figure.dropped,
        "trials": [
            _trial(record, trial, roles.get(position, "") if len(round_.trials) > 1 else "")
            for position, trial in enumerate(round_.trials)
        ],
    }


def _trial(record: Record, trial: Trial, role: str = "") -> dict[str, Any]:
    """A row of a table; `role` is what the trial is beside its outcome, such as a bound."""
    verdict: str = verdict_of(trial, record.procedure)
    if not trial.valid:
        verdict += f": {trial.reason}" + (f" ({trial.detail})" if trial.detail else "")
    elif verdict == "failed" and trial.aborted:
        verdict += ", ended early"
    return {
        "trial": trial,
        "verdict": f"{verdict}, {role}" if role else verdict,
        "failures": trial.failure_words,
        "command": shlex.join(trial.argv),
    }


def _held(record: Record, made: Iterable[Trial]) -> dict[str, str]:
    """Headings of what servers held after a trial, by role, as far as that is known."""
    roles = dict.fromkeys(role for trial in made for role in trial.held)
    words = f"{record.server.holds} held".strip()
    return {role: words if len(roles) == 1 else f"{words}, {role}" for role in roles}


def _configs(record: Record, directory: Path) -> list[tuple[str, str]]:
    """The configuration of each server: whose, and the text."""
    texts = ((role, config_text(record, directory, role)) for role in record.servers)
    return [(role, text[:_CONFIG_LIMIT]) for role, text in texts if text is not None]


def _commands(record: Record) -> list[tuple[str, str]]:
    """What does the same again: label and command."""
    return [
        ("as it was measured", shlex.join(record.provenance.command)),
        ("the same again, on the bench that it names", f"./leaselab rerun {record.id}"),
        ("its figures in full", f"./leaselab show {record.id} --json"),
    ]
