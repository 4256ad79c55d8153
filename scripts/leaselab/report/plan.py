"""A plan of a lab's measurements: text and JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from rich.table import Table

from leaselab.analysis.delays import Delay
from leaselab.analysis.planning import Plan, Rhythm, Row
from leaselab.model.text import printable
from leaselab.report.console import Console

_WIDTH = 110
"""Columns of the table where it goes into a pipe."""
_SHOWN = 8
"""Scenarios of a row that are named; ``--json`` has them all."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """A figure that the plan depends on, and its source."""

    name: str
    what: str
    value: float
    unit: str
    source: str


def print_plan(
    plan: Plan,
    names: Sequence[str],
    left_out: Sequence[str],
    assumed: Sequence[Assumed],
    stream: TextIO | None = None,
) -> None:
    """Print the schedule, its cost and the time until a drop is reported; stdout by default.

    `names` are the scenarios in the order of the wish; `left_out` are those that have no duel.
    """
    stream = stream or sys.stdout
    console = Console(file=stream, highlight=False)
    if not console.is_terminal:
        console = Console(file=stream, highlight=False, width=_WIDTH)
    console.print(_rows(plan, names))
    stream.writelines(f"{line}\n" for line in notes(plan, left_out))
    stream.write("\n")
    console.print(_assumptions(assumed))


def notes(plan: Plan, left_out: Sequence[str]) -> Iterator[str]:
    """Load of the benches, and notes on the table."""
    lab = plan.lab
    benches = counted(lab.benches, "bench")
    yield (
        f"{benches}: {plan.hours / lab.benches:.1f} h a day each, of {lab.open_h:g} h that "
        f"jobs may begin in; load {plan.load:.2f}, on a working day "
        f"{plan.working_day_load:.2f}"
    )
    yield (
        f"{lab.commits_a_day:g} commits a day are {lab.measured_a_day:.1f} found: of commits "
        "that come together only the newest is measured"
    )
    yield (
        "drop reported: from a push to the verdict of a duel that goes on to its last look; "
        "commit named: after a bisect, where more than one commit was new"
    )
    yield "waits are those of benches that do not break; `leaselab dev bench week` breaks them"
    if left_out:
        yield (
            f"left out: {len(left_out)} of the scenarios, which are measured by procedures of "
            "their own and not by max rates"
        )


def counted(number: int, singular: str) -> str:
    """A number with its noun in singular or plural: ``1 bench``, ``2 benches``."""
    if number == 1:
        return f"1 {singular}"
    return f"{number} {singular}{'es' if singular.endswith('ch') else 's'}"


def _rows(plan: Plan, names: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("when", "what"):
        table.add_column(title)
    for title in (
        "bench h/day",
        "drop reported (h)\nmedian, 95 %",
        "commit named (h)\nmedian, 95 %",
    ):
        table.add_column(title, justify="right")
    for row in plan.rows:
        shown = [printable(names[place]) for place in row.scenarios[:_SHOWN]]
        more = len(row.scenarios) - len(shown)
        chosen = " ".join([*shown, *([f"and {more} more"] if more else [])])
        table.add_row(
            when(row, plan),
            f"duel: {chosen}",
            f"{row.hours:.1f}",
            _delay(row.verdict),
            _delay(row.named),
        )
    if plan.lab.nightly:
        scope = f"sweep: {plan.lab.nightly} of the {len(names)} in turn"
        table.add_row("each night", scope, f"{plan.sweeps_h:.1f}")
    table.add_row("after a drop", "bisect", f"{plan.bisects_h:.1f}")
    table.add_row("", "together", f"{plan.hours:.1f}")
    return table


def when(row: Row, plan: Plan) -> str:
    """When scenarios are measured, in words."""
    if row.rhythm is Rhythm.SAMPLE:
        every = plan.lab.every
        ending = {2: "nd", 3: "rd"}.get(every, "th")
        return f"every {every}{ending} commit"
    return str(row.rhythm.value)


def _delay(delay: Delay) -> str:
    return f"{_hours(delay.median)}, {_hours(delay.p95)}"


def _hours(hours: float) -> str:
    if math.isnan(hours):
        return "-"
    return f"{hours:.1f}" if math.isfinite(hours) else "over a week"


def _assumptions(assumed: Sequence[Assumed]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("assumed")
    table.add_column("", justify="right")
    table.add_column("from")
    for assumption in assumed:
        table.add_row(
            assumption.what,
            f"{assumption.value:.3g} {assumption.unit}".strip(),
            printable(assumption.source),
        )
    return table


def plan_document(
    plan: Plan, names: Sequence[str], left_out: Sequence[str], assumed: Sequence[Assumed]
) -> dict[str, Any]:
    """The same for ``--json``; a delay of null is over a week, or of no commit at all."""
    lab = plan.lab
    return {
        "benches": lab.benches,
        "hours": lab.open_h,
        "commits_a_day": lab.commits_a_day,
        "found_a_day": lab.measured_a_day,
        "bench_h_a_day": plan.hours,
        "bench_h_a_day_each": plan.hours / lab.benches,
        "load": plan.load,
        "load_on_a_working_day": plan.working_day_load,
        "duels": [
            {
                "when": row.rhythm.value,
                "every": lab.every if row.rhythm is Rhythm.SAMPLE else None,
                "scenarios": [names[place] for place in row.scenarios],
                "bench_h_a_day": row.hours,
                "verdict_h": _quantiles(row.verdict),
                "named_h": _quantiles(row.named),
            }
            for row in plan.rows
        ],
        "sweeps": {"a_night": lab.nightly, "bench_h_a_day": plan.sweeps_h},
        "bisects": {"bench_h_a_day": plan.bisects_h},
        "left_out": [*left_out],
        "assumed": [asdict(assumption) for assumption in assumed],
    }


def _quantiles(delay: Delay) -> dict[str, float | None]:
    return {
        name: value if math.isfinite(value) else None for name, value in asdict(delay).items()
    }
