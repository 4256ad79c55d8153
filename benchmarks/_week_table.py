"""The table of `leaselab dev bench week`, and its one JSON value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from benchmarks._week_figures import Figures, Spread
from leaselab.analysis.workload import WEEK_H, Lab

Cell = tuple[Lab, Figures]
_COLUMNS = (
    "scenarios\na night",
    "\nbenches",
    "\nload",
    "\nused",
    "queue of a commit's job (h)\nmedian (weeks) 95 % longest",
    "push to last verdict (h)\nmedian (weeks) 95 % longest",
    "\nlate",
    "night done after (h)\nmedian (weeks) 95 % longest",
    "nights\nlate",
    "experiments done after (h)\nmedian (weeks) 95 % longest",
    "broken\na week",
)


def heading(lab: Lab, figures: Figures, seed: int) -> str:
    """What all rows share."""
    order = "commits before nights" if lab.commits_first else "first come, first served"
    return (
        f"{figures.weeks} weeks a row, seed {seed}; {lab.commits_a_day:g} commits a day, "
        f"{figures.commits:.1f} a week are measured and {figures.skipped:.1f} passed over;\n"
        f"{lab.per_commit} duels a commit, {lab.duel_min:g} min each; sweeps of "
        f"{lab.measure_min:g} min; {lab.experiments} experiments a week, {lab.points} points "
        "each;\n"
        f"a bench breaks every {lab.mtbf_h:g} h, for {lab.repair_h:g} h; {order}"
    )


def table(cells: Sequence[Cell]) -> Table:
    """A row for each lab."""
    made = Table(
        caption="(weeks): four weeks in five have their median there; late: commits without "
        "all verdicts at the week's end, nights not done a day later"
    )
    for name in _COLUMNS:
        made.add_column(name, justify="right")
    for lab, figures in cells:
        made.add_row(
            str(lab.nightly),
            str(lab.benches),
            f"{lab.load:.2f}",
            f"{figures.used:.0%}",
            _spread(figures.queue),
            _spread(figures.delay),
            f"{figures.late:.0%}",
            _spread(figures.night),
            f"{figures.nights_late:.0%}",
            _spread(figures.catalogue),
            f"{figures.retries:.1f}",
        )
    return made


def document(cells: Sequence[Cell], seed: int) -> dict[str, Any]:
    """All as one JSON value: times in h; null is not by the end of the week after."""
    return {
        "benchmark": "week",
        "seed": seed,
        "rows": [
            {"lab": _plain(asdict(lab)), "load": lab.load, "figures": _plain(asdict(figures))}
            for lab, figures in cells
        ],
    }


def hours(time_h: float) -> str:
    """A time (h) for a table: `>168` if over a week."""
    return f"{time_h:.1f}" if time_h <= WEEK_H else f">{WEEK_H:.0f}"


def _spread(times: Spread) -> str:
    if math.isnan(times.median):
        return "-"
    low, high = map(hours, times.weeks)
    return f"{hours(times.median)} ({low} to {high}) {hours(times.p95)} {hours(times.most)}"


def _plain(value: Any) -> Any:  # noqa: ANN401  # any JSON
    """The same without what JSON has no number for."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
