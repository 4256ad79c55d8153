"""`leaselab dev bench detectors`: what our detector of changes finds, and how late.

It reads simulated series of ratios to an anchor.  `docs/method/history.md` explains the table.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._anchored import Kind, history
from benchmarks._shown import Table, options_of, show
from leaselab.analysis.history.detectors import Reading, Shift, shifts

if TYPE_CHECKING:
    from benchmarks._anchored import Floats

OK, MISSED, USAGE = 0, 1, 2
FALSE_ALARMS, FOUND = 0.05, 0.95
"""Wanted: false alarms in 100 commits at most, and shares that are found at least."""
OF_BAD_NIGHTS = 0.5
"""The same where the anchor alone is slow, on a machine whose level scatters."""
COMMITS = 100
"""Of a series in which nothing changes."""
DROP_AT, DROP, WITHIN = 60, 0.03, 5
"""The commit that is slower, by how much, and how many commits from it on may pass."""
APART = 3
"""How many commits after a drop another one follows, or the first is reverted."""
CREEP_AT, STEPS, EVERY, STEP = 20, 10, 10, 0.01
"""First commit of a creep, and its steps: ten times 1 %, ten commits apart."""
CREEP = 0.001
"""Of a creep of many small steps: lost at each commit."""
NEAR = 5
"""A detected change is the true one if it is at most so many commits away."""


@dataclass(frozen=True, slots=True)
class Row:
    """Results on one kind of series."""

    kind: str
    wanted: bool
    """Whether the wanted values apply to it."""
    series: int
    commits: int
    """In which nothing changed."""
    false_alarms: float
    """In 100 such commits."""
    drops_found: float
    """Share of drops of 3 % found by the fifth commit that has them."""
    drops_named: float
    """Share whose first slow commit is named, too."""
    pairs_found: float
    """Share of two drops of 3 %, three commits apart, of which both are found."""
    reverted_found: float
    """Share of drops that are reverted after three commits, of which both are found."""
    steps_found: float
    """Share of creeps of ten times 1 % of which any part was detected."""
    creeps_found: float
    """Share of creeps of 0.1 % a commit of which any part was detected within 100 commits."""
    creep_lost: float | None
    """Median loss of such a creep at the commit of its detection (ratio)."""

    @property
    def kept(self) -> bool:
        """Whether the wanted values were reached."""
        shares = (self.drops_found, self.steps_found, self.creeps_found)
        limit = OF_BAD_NIGHTS if Kind(self.kind).level else FALSE_ALARMS
        return self.false_alarms <= limit and min(shares) >= FOUND


def measure(kind: Kind, series: int) -> Row:
    """Have the detector read so many series of a kind."""
    outcomes = [_one(kind, number) for number in range(series)]
    lost = [outcome.lost for outcome in outcomes if outcome.lost is not None]
    commits = COMMITS * series
    return Row(
        kind=kind.value,
        wanted=kind.wanted,
        series=series,
        commits=commits,
        false_alarms=100 * sum(outcome.alarms for outcome in outcomes) / commits,
        drops_found=statistics.fmean(outcome.drop for outcome in outcomes),
        drops_named=statistics.fmean(outcome.named for outcome in outcomes),
        pairs_found=statistics.fmean(outcome.pair for outcome in outcomes),
        reverted_found=statistics.fmean(outcome.reverted for outcome in outcomes),
        steps_found=statistics.fmean(outcome.steps for outcome in outcomes),
        creeps_found=statistics.fmean(outcome.lost is not None for outcome in outcomes),
        creep_lost=statistics.median(lost) if lost else None,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    alarms: int
    drop: bool
    named: bool
    pair: bool
    reverted: bool
    steps: bool
    lost: float | None


def _one(kind: Kind, number: int) -> _Found:
    flat: Floats = np.zeros(COMMITS)
    dropped: Floats = np.zeros(DROP_AT + WITHIN)
    dropped[DROP_AT:] = math.log(1 - DROP)
    stepped: Floats = np.zeros(CREEP_AT + STEPS * EVERY)
    stepped[CREEP_AT:] = math.log(1 - STEP) * (1 + np.arange(STEPS * EVERY) // EVERY)
    creeping: Floats = np.zeros(CREEP_AT + COMMITS)
    creeping[CREEP_AT:] = math.log(1 - CREEP) * (1 + np.arange(COMMITS))
    series = [
        history(kind, 4 * number + which, true)
        for which, true in enumerate((flat, dropped, stepped, creeping))
    ]
    pair, reverted = (
        _both_found(kind, 2 * number + which, then)
        for which, then in enumerate((2 * math.log(1 - DROP), 0.0))
    )
    drops = [
        shift.after
        for shift in shifts(series[1])
        if shift.detected >= len(series[1]) - WITHIN
        and shift.sign < 0
        and abs(shift.after - DROP_AT) <= NEAR
    ]
    return _Found(
        alarms=len(shifts(series[0])),
        drop=bool(drops),
        named=DROP_AT in drops,
        pair=pair,
        reverted=reverted,
        steps=any(shift.after >= CREEP_AT for shift in _falls(series[2])),
        lost=_lost(series[3]),
    )


def _both_found(kind: Kind, number: int, then: float) -> bool:
    """Whether a drop is found, and what comes three commits after it (logarithm)."""
    true: Floats = np.zeros(DROP_AT + COMMITS // 2)
    true[DROP_AT:], true[DROP_AT + APART :] = math.log(1 - DROP), then
    found = shifts(history(kind, 1_000_000 + number, true))
    wanted = ((DROP_AT, -1), (DROP_AT + APART, 1 if then == 0.0 else -1))
    return all(
        any(shift.sign == sign and abs(shift.after - at) <= 1 for shift in found)
        for at, sign in wanted
    )


def _falls(readings: Sequence[Reading]) -> list[Shift]:
    """The changes for the worse."""
    return [shift for shift in shifts(readings) if shift.sign < 0]


def _lost(readings: Sequence[Reading]) -> float | None:
    """Loss of a creep at its detection (ratio); None if it was not detected."""
    by = [shift.detected for shift in _falls(readings) if shift.detected >= CREEP_AT]
    return 1 - (1 - CREEP) ** (by[0] + 1 - CREEP_AT) if by else None


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 when all that is wanted is kept, 1 when it is not."""
    options = _options(argv)
    if options.series < 1:
        print(
            f"bench detectors: too few series (found {options.series}, wanted 1 or more)",
            file=sys.stderr,
        )
        return USAGE
    started = time.monotonic()
    tasks = [(kind, options.series) for kind in Kind]
    rows = []
    with ProcessPoolExecutor(options.processes) as pool:
        for row in pool.map(_task, tasks):
            rows.append(row)
            print(f"{len(rows)}/{len(tasks)} {row.kind}", file=sys.stderr)
    kept = all(row.kept for row in rows if row.wanted)
    if options.json:
        json.dump(document(rows, time.monotonic() - started, kept=kept), sys.stdout, indent=1)
        print()
    else:
        _print(rows, options.markdown)
    return OK if kept else MISSED


def _task(task: tuple[Kind, int]) -> Row:
    return measure(*task)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = options_of("detectors", __doc__)
    parser.add_argument(
        "--series", type=int, default=400, help="series of a kind (default 400)"
    )
    return parser.parse_args(argv)


def document(rows: Sequence[Row], wall_s: float, *, kept: bool) -> dict[str, Any]:
    """Everything as one JSON value; shares 0..1, times in s."""
    return {
        "benchmark": "detectors",
        "rows": [{**asdict(row), "kept": row.kept} for row in rows],
        "wall_s": wall_s,
        "kept": kept,
    }


def _print(rows: Sequence[Row], markdown: Path | None) -> None:
    """Print the table for people."""
    table = Table(title="The detector of changes, on simulated ratios to an anchor")
    for title in ("series", "n"):
        table.add_column(title)
    for title in (
        "false alarms/100",
        "3 % found in 5",
        "commit named",
        "two drops",
        "reverted",
        "10 x 1 % found",
        "0.1 % a commit found",
        "lost by then",
        "kept",
    ):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            row.kind,
            str(row.series),
            f"{row.false_alarms:.3f}",
            *(
                f"{100 * share:.1f} %"
                for share in (
                    row.drops_found,
                    row.drops_named,
                    row.pairs_found,
                    row.reverted_found,
                    row.steps_found,
                    row.creeps_found,
                )
            ),
            "-" if row.creep_lost is None else f"{100 * row.creep_lost:.1f} %",
            {True: "yes", False: "no"}[row.kept] if row.wanted else "",
        )
    show([table], markdown)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
