"""`leaselab dev bench search`: our search against ISC's ramp and bisection.

All three search the same simulated servers (same seeds) in one run, nine runs a
sweep, a trimmed mean of the middle seven.  `docs/explanation/search.md` explains the table.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import Any

import msgspec

from benchmarks._servers import WAIT_S, Cell, Overload, Shape
from benchmarks._shown import Table, options_of, show
from benchmarks._sweeps import ALGORITHMS, PROCEDURE, Row, simulate
from benchmarks._verdict import Comparison, Verdict, compare, judge

CELLS = [
    Cell(overload, capacity, run_sd, trial_sd)
    for overload, capacity, run_sd, trial_sd in itertools.product(
        Overload, (6_000, 40_000), (0.0, 0.02, 0.03, 0.10), (0.002, 0.005, 0.01, 0.03)
    )
] + [
    Cell(overload, 6_000, run_sd, trial_sd, shape)
    for shape, overload, run_sd, trial_sd in itertools.product(
        (Shape.HEAVY, Shape.SKEWED), Overload, (0.0, 0.02, 0.10), (0.002, 0.01, 0.03)
    )
]
OK, MISSED, USAGE = 0, 1, 2


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 when all promises are kept, 1 when one is not."""
    options = _options(argv)
    cells = [cell for cell in CELLS if any(_matches(cell, item) for item in options.cells)]
    if not cells or options.sweeps < 4:
        print(
            f"bench search: no such cells or too few sweeps (found {' '.join(options.cells)}, "
            f"{options.sweeps}; wanted patterns such as {CELLS[0].name} or 'keeps-*-3', 4 or "
            "more sweeps)",
            file=sys.stderr,
        )
        return USAGE
    started = time.monotonic()
    tables: dict[Cell, dict[str, Row]] = {}
    tasks = [(cell, options.sweeps) for cell in cells]
    with ProcessPoolExecutor(options.processes) as pool:
        for cell, rows in pool.map(_cell, tasks):
            tables[cell] = rows
            print(f"{len(tables)}/{len(cells)} {cell.name}", file=sys.stderr, flush=True)
    comparisons = [compare(cell, rows) for cell, rows in tables.items()]
    verdicts = judge(comparisons)
    if options.json:
        document = _document(options.sweeps, tables, comparisons, verdicts)
        json.dump(document | {"wall_s": time.monotonic() - started}, sys.stdout, indent=1)
        print()
    else:
        _print(options, tables, comparisons, verdicts)
    return OK if all(verdict.kept for verdict in verdicts) else MISSED


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = options_of("search", __doc__)
    parser.add_argument("--sweeps", type=int, default=60, help="sweeps a cell (default 60)")
    parser.add_argument(
        "--cells",
        nargs="+",
        default=["*"],
        metavar="PATTERN",
        help="KIND-CAPACITY-RUNS%%-TRIALS%%[-SHAPE] with wildcards, such as 'keeps-6000-2-*'",
    )
    return parser.parse_args(argv)


def _matches(cell: Cell, pattern: str) -> bool:
    return fnmatch.fnmatchcase(cell.name, pattern)


def _cell(task: tuple[Cell, int]) -> tuple[Cell, dict[str, Row]]:
    """Make all sweeps of one cell (in a process of its own)."""
    cell, sweeps = task
    return cell, {name: simulate(cell, name, sweeps) for name in ALGORITHMS}


def _document(
    sweeps: int,
    tables: dict[Cell, dict[str, Row]],
    comparisons: Sequence[Comparison],
    verdicts: Sequence[Verdict],
) -> dict[str, Any]:
    """Everything as one JSON value; errors and shares in %, times in s."""
    return {
        "benchmark": "search",
        "sweeps": sweeps,
        "wait_s": WAIT_S,
        "procedure": msgspec.to_builtins(PROCEDURE),
        "cells": [
            {
                "cell": item.cell.name,
                "max_rate": item.cell.trimmed_mean(PROCEDURE),
                "rows": {name: _row(row) for name, row in tables[item.cell].items()},
                "seconds_ratio": item.seconds_ratio,
                "rmse_excess": item.rmse_excess,
                "rmse_excess_se": item.rmse_excess_se,
                "bias_se": item.bias_se,
                "coverage": item.coverage,
                "coverage_se": item.coverage_se,
                "false_alarms": item.false_alarms,
                "false_alarms_se": item.false_alarms_se,
            }
            for item in comparisons
        ],
        "verdicts": [asdict(verdict) for verdict in verdicts],
        "kept": all(verdict.kept for verdict in verdicts),
    }


def _row(row: Row) -> dict[str, float]:
    return {
        "seconds": row.seconds,
        "trials": row.trials,
        "bias": row.bias,
        "bias_nominal": row.bias_nominal,
        "rmse": row.rmse,
        "coverage": row.coverage,
        "false_alarms": row.false_alarms,
    }


def _print(
    options: argparse.Namespace,
    tables: dict[Cell, dict[str, Row]],
    comparisons: Sequence[Comparison],
    verdicts: Sequence[Verdict],
) -> None:
    """Print the table for people: seconds, trials, bias and RMSE of each algorithm."""
    table = Table(
        title=f"{options.sweeps} sweeps of {PROCEDURE.rounds} runs a cell; s and trials a "
        "sweep, bias and RMSE of the trimmed mean in %",
        caption="cell: overload, capacity/s, spread between runs % - between trials %",
    )
    table.add_column("cell")
    for name in tables[comparisons[0].cell]:
        table.add_column(f"{name} s trials bias RMSE", justify="right")
    table.add_column("s/bisection", justify="right")
    table.add_column("RMSE excess", justify="right")
    table.add_column("covers %", justify="right")
    table.add_column("p < 5 %", justify="right")
    for item in comparisons:
        rows = tables[item.cell].values()
        table.add_row(
            item.cell.name,
            *(
                f"{row.seconds:.0f} {row.trials:.0f} {row.bias:+.2f} {row.rmse:.2f}"
                for row in rows
            ),
            f"{item.seconds_ratio:.2f}",
            f"{item.rmse_excess:+.2f}±{item.rmse_excess_se:.2f}",
            f"{item.coverage:.0f}",
            f"{item.false_alarms:.0f}",
        )
    lines = [
        f"{'kept  ' if verdict.kept else 'MISSED'} {verdict.promise}: {verdict.found}"
        for verdict in verdicts
    ]
    show([table], options.markdown, lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
