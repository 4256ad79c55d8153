# ruff: noqa: A005  # run as `benchmarks.bisect`; the library's is `bisect`
"""`leaselab dev bench bisect`: how often searches for the commit that made it slower are right.

Simulated histories of 64 commits on a machine that drifts; the decisions and the verdicts of
the duels are those of the code that ships.  `docs/method/culprits.md` explains the table.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks._duels import Cell
from benchmarks._histories import COMMITS, DESIGNS, DROP, SWEEP_S, Kind, searched
from benchmarks._shown import Table, options_of, show

SHIPPED, LAID_OUT = "leaselab bisect", "leaselab bisect --layouts 5"
STEADY, DRIFTING = 0.0, 0.05
"""Standard deviation of the machine's speed (ratio)."""
NOISES = (0.01, 0.02, 0.05)
"""Standard deviation of a trial's rate (ratio)."""
CASES = {
    (DRIFTING, Kind.NONE): 1.0,
    (DRIFTING, Kind.ONE): 1.0,
    (DRIFTING, Kind.TWO): 0.25,
    (DRIFTING, Kind.BROKEN): 0.25,
    (DRIFTING, Kind.GAIN): 0.25,
    (DRIFTING, Kind.BUILDS): 0.25,
    (STEADY, Kind.NONE): 0.25,
    (STEADY, Kind.ONE): 0.25,
}
"""Machines and kinds of histories, with the number of each relative to `--histories`."""
LEAST_RIGHT, MOST_WRONG = 95.0, 1.0
"""Wanted of the shipped design, for histories with one culprit or none (%)."""
OK, MISSED, USAGE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Row:
    """One design on some histories of one kind."""

    drift: float
    """Standard deviation of the machine's speed (%)."""
    noise: float
    """Standard deviation of a trial's rate (%)."""
    kind: str
    design: str
    histories: int
    right: float
    """Histories of which all culprits are named, and nothing else (%)."""
    wrong: float
    """Histories of which an innocent commit is named (%)."""
    hours: float
    """Mean lab time of a search, deployments included (h)."""
    longest: float
    """Longest lab time (h)."""
    steps: float
    """Duels or sweeps, on average."""

    @property
    def kept(self) -> bool:
        """Whether it is as right as is wanted."""
        return self.right >= LEAST_RIGHT and self.wrong <= MOST_WRONG


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 when the shipped design is right enough, 1 when not."""
    options = _options(argv)
    if options.histories < 4:
        print(
            f"bench bisect: too few histories (found {options.histories}, wanted 4 or more)",
            file=sys.stderr,
        )
        return USAGE
    started = time.monotonic()
    tasks = [
        (design, kind, Cell(drift, noise), max(1, round(share * options.histories)))
        for ((drift, kind), share), noise, design in itertools.product(
            CASES.items(), NOISES, DESIGNS
        )
        if design != LAID_OUT or kind is Kind.BUILDS
    ]
    rows = []
    with ProcessPoolExecutor(options.processes) as pool:
        for row in pool.map(_row, tasks):
            rows.append(row)
            done = f"{len(rows)}/{len(tasks)}"
            print(
                f"{done} {row.noise:g} % {row.kind}: {row.design}", file=sys.stderr, flush=True
            )
    promised = (Kind.NONE.value, Kind.ONE.value)
    kept = all(row.kept for row in rows if row.design == SHIPPED and row.kind in promised)
    if options.json:
        document: dict[str, Any] = {
            "benchmark": "bisect",
            "commits": COMMITS,
            "drop": DROP,
            "sweep_s": SWEEP_S,
            "rows": [asdict(row) for row in rows],
            "wall_s": time.monotonic() - started,
            "kept": kept,
        }
        json.dump(document, sys.stdout, indent=1)
        print()
    else:
        _print(rows, options.markdown, kept=kept)
    return OK if kept else MISSED


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = options_of("bisect", __doc__)
    parser.add_argument(
        "--histories",
        type=int,
        default=200,
        help="with one culprit, and as many with none, at each noise; a quarter of it with two "
        "culprits, and with commits that do not build (default 200)",
    )
    return parser.parse_args(argv)


def _row(task: tuple[str, Kind, Cell, int]) -> Row:
    """Search some histories by one design (in a process of its own)."""
    design, kind, cell, histories = task
    searches = [searched(design, kind, cell, seed) for seed in range(histories)]
    percent = 100.0 / histories
    return Row(
        100 * cell.drift,
        100 * cell.trial,
        kind.value,
        design,
        histories,
        percent * sum(search.right(history) for history, search in searches),
        percent * sum(search.wrong(history) for history, search in searches),
        statistics.fmean(search.hours for _, search in searches),
        max(search.hours for _, search in searches),
        statistics.fmean(search.steps for _, search in searches),
    )


def _print(rows: Sequence[Row], markdown: Path | None, *, kept: bool) -> None:
    table = Table(
        title=f"Histories of {COMMITS} commits with culprits of {100 * DROP:g} %",
        caption=f"a sweep takes {SWEEP_S / 60:g} min; builds are left out",
    )
    heads = ("drift %", "noise %", "culprits", "design", "right %", "innocent named %")
    for name in (*heads, "hours", "longest", "duels or sweeps"):
        table.add_column(name, justify="left" if name in ("culprits", "design") else "right")
    for row in rows:
        table.add_row(
            f"{row.drift:g}",
            f"{row.noise:g}",
            row.kind,
            row.design,
            f"{row.right:.1f}",
            f"{row.wrong:.1f}",
            f"{row.hours:.1f}",
            f"{row.longest:.1f}",
            f"{row.steps:.0f}",
        )
    # In a pipe no cell is folded: the table is as wide as needed.
    show([table], markdown, ["kept" if kept else "missed"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
