"""`leaselab bench verdicts`: how often comparisons of two servers are right, by their design.

The duels are judged by the code that ships (`leaselab.analysis.duel`), their load follows the
server by the code that ships (`leaselab.measure.overload`); the servers and the machine are
simulated.  `docs/method/verdicts.md` explains the table.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks._duels import Cell, Design, Ended, compared
from benchmarks._servers import Shape
from benchmarks._shown import add_markdown, show
from leaselab.analysis.duel import Answer

DROP = 0.03
CELLS = [
    Cell(drift, trial, shape=shape)
    for drift, trial, shape in itertools.product(
        (0.0, 0.02, 0.05), (0.015, 0.03), (Shape.NORMAL, Shape.HEAVY)
    )
]
MOST_FALSE, LEAST_FOUND = 1.0, 95.0
"""Wanted of a duel with both up: false alarms at most, drops found at least (%)."""
MOST_MINUTES = {0.0: 9.0, DROP: 15.0}
"""Wanted of it on average: lab time for equal servers, and for a drop (min)."""
OK, MISSED, USAGE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Row:
    """One design on one kind of machine."""

    cell: str
    design: str
    false_alarms: float
    """Of equal pairs that are called slower (%)."""
    found: float
    """Of drops of 3 % that are called slower (%)."""
    unknown_equal: float
    """Of equal pairs that end without an answer (%)."""
    minutes_equal: float
    minutes_drop: float
    """Mean lab time of one comparison (min)."""
    longest: float
    """Lab time that 95 % of all comparisons stay below (min)."""
    bias: float
    """Mean of the ratios that are told of drops, against the truth (%)."""

    @property
    def kept(self) -> bool:
        """Whether a duel keeps what is wanted of it."""
        return (
            self.false_alarms <= MOST_FALSE
            and self.found >= LEAST_FOUND
            and self.minutes_equal <= MOST_MINUTES[0.0]
            and self.minutes_drop <= MOST_MINUTES[DROP]
        )


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 when duels keep what is wanted, 1 when not."""
    options = _options(argv)
    cells = [
        cell
        for cell in CELLS
        if any(fnmatch.fnmatchcase(cell.name, one) for one in options.cells)
    ]
    if not cells or options.pairs < 1:
        print(
            f"bench verdicts: no such cells, or no pairs (found {' '.join(options.cells)}, "
            f"{options.pairs}; wanted patterns such as {CELLS[0].name} or 'drift-5-*', and 1 "
            "or more pairs)",
            file=sys.stderr,
        )
        return USAGE
    started = time.monotonic()
    tasks = [(cell, design, options.pairs) for cell in cells for design in Design]
    rows = []
    with multiprocessing.Pool(min(options.processes, len(tasks))) as pool:
        for row in pool.imap(_row, tasks):
            rows.append(row)
            print(f"{len(rows)}/{len(tasks)} {row.cell}: {row.design}", file=sys.stderr)
    # Kinds of servers that cannot be up at once are told with, but promise nothing.
    kept = all(row.kept for row in rows if row.design == Design.BOTH.value)
    if options.json:
        document: dict[str, Any] = {
            "benchmark": "verdicts",
            "pairs": options.pairs,
            "drop": DROP,
            "rows": [asdict(row) for row in rows],
            "wall_s": time.monotonic() - started,
            "kept": kept,
        }
        json.dump(document, sys.stdout, indent=1)
        print()
    else:
        _print(rows, options.pairs, options.markdown)
        print("kept" if kept else "missed")
    return OK if kept else MISSED


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="leaselab bench verdicts", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add_markdown(parser)
    parser.add_argument(
        "--pairs", type=int, default=400, help="equal pairs, and as many drops, of each cell"
    )
    parser.add_argument("--processes", type=int, default=2, help="default 2")
    parser.add_argument(
        "--cells",
        nargs="+",
        default=["*"],
        metavar="PATTERN",
        help="drift-PERCENT-trial-PERCENT[-heavy] with wildcards",
    )
    return parser.parse_args(argv)


def _row(task: tuple[Cell, Design, int]) -> Row:
    """Make all comparisons of one cell by one design (in a process of its own)."""
    cell, design, pairs = task
    equal, drops = (
        [compared(design, cell, drop, seed) for seed in range(pairs)] for drop in (0.0, DROP)
    )
    minutes = sorted(one.minutes for one in (*equal, *drops))
    return Row(
        cell.name,
        design.value,
        false_alarms=_share(equal, Answer.SLOWER),
        found=_share(drops, Answer.SLOWER),
        unknown_equal=_share(equal, Answer.UNKNOWN),
        minutes_equal=statistics.fmean(one.minutes for one in equal),
        minutes_drop=statistics.fmean(one.minutes for one in drops),
        longest=minutes[int(0.95 * len(minutes))],
        bias=100 * (statistics.fmean(one.ratio for one in drops) / (1 - DROP) - 1),
    )


def _share(ended: Sequence[Ended], answer: Answer) -> float:
    return 100 * sum(one.answer is answer for one in ended) / len(ended)


def _print(rows: Sequence[Row], pairs: int, markdown: Path | None) -> None:
    table = Table(title=f"{pairs} equal pairs and {pairs} drops of {100 * DROP:g} % each")
    for heading in (
        "machine and trials, spread in %",
        "design",
        "false alarms, %",
        "found, %",
        "equal: cannot tell, %",
        "equal: min",
        "drop: min",
        "95 % below, min",
        "bias, %",
    ):
        words = heading in ("machine and trials, spread in %", "design")
        table.add_column(heading, justify="left" if words else "right")
    for row in rows:
        table.add_row(
            row.cell,
            row.design,
            *(
                f"{value:.1f}"
                for value in (
                    row.false_alarms,
                    row.found,
                    row.unknown_equal,
                    row.minutes_equal,
                    row.minutes_drop,
                    row.longest,
                    row.bias,
                )
            ),
        )
    show(table, 180, markdown)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
