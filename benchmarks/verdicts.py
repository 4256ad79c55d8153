"""`leaselab dev bench verdicts`: how often comparisons are right, by their design.

The duels are judged by the code that ships (`leaselab.analysis.duels.duel`), their load follows
the server by the code that ships (`leaselab.measure.overload`); the servers and the machine are
simulated.  `docs/method/duels.md` explains the table.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import json
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks._duels import Cell, Design, Ended, compared
from benchmarks._servers import Shape
from benchmarks._shown import Table, options_of, show
from leaselab.analysis.duels.duel import Answer

DROP = 0.03
LEAST_HELD = 94.0
"""Wanted of intervals: they hold the truth in so many of 100 duels; 1 is left to chance."""
MOST_FALSE, LEAST_FOUND = 1.0, 95.0
"""Promised of a duel with both up: false alarms at most, drops found at least (%)."""
CHANCE = 0.01
"""A share breaks a promise where so few tables of duels that keep it have one as bad (0..1)."""
MOST_MINUTES = {0.0: 6.5, DROP: 9.0}
"""Wanted of it on average: lab time for equal servers, and for a drop (min)."""
QUIET = Cell(0.02, 0.015, label="changes")
FILLS = Cell(0.02, 0.015, fills=1.0, label="fills")
STARTS = replace(QUIET, start=0.04, label="starts")
OWN = replace(QUIET, own=0.02, label="own")
KNOWN = replace(OWN, calibrated=10, label="own-calibrated")
PULSE = Cell(0.0, 0.015, pulse=0.15, label="pulse")
LIMITED = replace(QUIET, limited=0.01, label="limited")
P99 = replace(QUIET, p99=0.2, label="p99")
AGES = replace(QUIET, ages=0.07, label="ages")


@dataclass(frozen=True, slots=True)
class World:
    """One true change on one kind of machine."""

    name: str
    cell: Cell
    drop: float
    """By how much the second server is slower (0..1); below 0 where it is faster."""
    promised: bool = True
    """Whether duels promise to be right there."""
    least: float = LEAST_FOUND
    """Changes found at least, where one is promised to be found (%)."""
    other: bool = False
    """Whether a figure beside the completed rate changes, which is to be found."""
    most_minutes: float = 15.0
    """Lab time on average at most (min)."""


def _both(name: str, cell: Cell, *, promised: bool = True) -> tuple[World, World]:
    """Equal servers there, and a drop."""
    return (
        World(f"{name}: equal", cell, 0.0, promised),
        World(f"{name}: drop of 3 %", cell, DROP, promised),
    )


CELLS = [
    Cell(drift, trial, shape=shape)
    for drift, trial, shape in itertools.product(
        (0.0, 0.02, 0.05), (0.015, 0.03), (Shape.NORMAL, Shape.HEAVY)
    )
]
WORLDS = (
    World("equal", QUIET, 0.0, most_minutes=2.5),
    World("drop of 1 %", QUIET, 0.01),
    World("drop of 2 %", QUIET, 0.02),
    World("drop of 3 %", QUIET, DROP, most_minutes=3.6),
    World("faster by 6 %", QUIET, -0.06),
    World("faster by 10 %", QUIET, -0.1),
    World("faster by 30 %", QUIET, -0.3),
    *_both("soft limit", replace(QUIET, knee=8.0, label="knee-8")),
    *_both("less soft limit", replace(QUIET, knee=16.0, label="knee-16")),
    World("disturbed every two rounds: equal", PULSE, 0.0),
    World("disturbed every two rounds: drop of 3 %", PULSE, DROP, promised=False),
    World(
        "disturbed every 9.4 s: equal",
        replace(PULSE, pulse_every_s=9.4, label="pulse-9.4"),
        0.0,
        promised=False,
    ),
    *_both("1 % of trials are limited by the generator", LIMITED),
    *_both("3 % of trials lose 40 %", replace(QUIET, spoiled=0.03, label="spoiled")),
    World("starts scatter by 4 %: equal", STARTS, 0.0),
    World("starts scatter by 4 %: drop of 3 %", STARTS, DROP, least=75.0),
    *_both("a place slower by 5 %", replace(QUIET, place=0.05, label="place-5")),
    World("a place slower by 20 %", replace(QUIET, place=0.2, label="place-20"), 0.0),
    World("B's own speed: 2 %, correlated by 0.8", OWN, 0.0, promised=False),
    World(
        "that, over 10 min",
        replace(OWN, own_s=600.0, label="own-600"),
        0.0,
        promised=False,
    ),
    World("the former, calibrated: equal", KNOWN, 0.0),
    World("the former, calibrated: drop of 3 %", KNOWN, DROP, least=75.0),
    World("costs more as it fills: equal", FILLS, 0.0),
    World("costs more as it fills: loop of 5 %", FILLS, 1 - 1 / 1.05),
    World(
        "drop of 1 %, CPU time + 5 %", replace(QUIET, effort=5.0, label="cpu"), 0.01, other=True
    ),
    World("p99 scatters by 20 %: equal", P99, 0.0, most_minutes=2.6),
    World("p99 + 50 %", replace(P99, later=0.5, label="p99-50"), 0.0, least=75.0, other=True),
    World("slower by 7 % from 20 s after its start on", AGES, 0.0, least=65.0, other=True),
)
"""Machines and servers that duels with both up were not made for."""
OK, MISSED, USAGE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Row:
    """One design on one kind of machine."""

    cell: str
    design: str
    pairs: int
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
    """Mean of the reported ratios of drops, against the truth (%)."""

    @property
    def kept(self) -> bool:
        """Whether a duel reaches the wanted values."""
        return (
            at_most(MOST_FALSE, self.false_alarms, self.pairs)
            and at_least(LEAST_FOUND, self.found, self.pairs)
            and self.minutes_equal <= MOST_MINUTES[0.0]
            and self.minutes_drop <= MOST_MINUTES[DROP]
        )


@dataclass(frozen=True, slots=True)
class WorldRow:
    """Duels with both up in one world; shares in %."""

    world: str
    slower: float
    faster: float
    same: float
    unknown: float
    worse: float
    """Duels in which another figure than the completed rate got worse."""
    held: float
    """Of the duels with an answer: whose interval holds the truth."""
    ratio: float
    """Median of the ratios, against the truth."""
    minutes: float
    kept: bool


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 when duels reach the wanted values, 1 when not."""
    options = _options(argv)
    cells = [
        cell
        for cell in CELLS
        if any(fnmatch.fnmatchcase(cell.name, pattern) for pattern in options.cells)
    ]
    worlds = [
        (world, options.pairs)
        for world in WORLDS
        if any(fnmatch.fnmatchcase(world.cell.name, pattern) for pattern in options.cells)
    ]
    if not (cells or worlds) or options.pairs < 1:
        print(
            f"bench verdicts: no such cells, or no pairs (found {' '.join(options.cells)}, "
            f"{options.pairs}; wanted patterns such as {CELLS[0].name} or 'drift-5-*', and 1 "
            "or more pairs)",
            file=sys.stderr,
        )
        return USAGE
    started = time.monotonic()
    tasks = [(cell, design, options.pairs) for cell in cells for design in Design]
    rows, others = [], []
    with ProcessPoolExecutor(options.processes) as pool:
        for row in pool.map(_row, tasks):
            rows.append(row)
            print(f"{len(rows)}/{len(tasks)} {row.cell}: {row.design}", file=sys.stderr)
        for other in pool.map(_world_row, worlds):
            others.append(other)
            print(f"{len(others)}/{len(worlds)} {other.world}", file=sys.stderr)
    # Servers that cannot run at the same time are shown as well, without a promise.
    kept = all(row.kept for row in rows if row.design == Design.BOTH.value)
    kept = kept and all(row.kept for row in others)
    if options.json:
        document: dict[str, Any] = {
            "benchmark": "verdicts",
            "pairs": options.pairs,
            "drop": DROP,
            "rows": [asdict(row) for row in rows],
            "worlds": [asdict(row) for row in others],
            "wall_s": time.monotonic() - started,
            "kept": kept,
        }
        json.dump(document, sys.stdout, indent=1)
        print()
    else:
        tables = [_designs(rows, options.pairs)] if rows else []
        tables += [_worlds(others, options.pairs)] if others else []
        show(tables, options.markdown, ["kept" if kept else "missed"])
    return OK if kept else MISSED


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = options_of("verdicts", __doc__)
    parser.add_argument(
        "--pairs", type=int, default=400, help="equal pairs, and as many drops, of each cell"
    )
    parser.add_argument(
        "--cells",
        nargs="+",
        default=["*"],
        metavar="PATTERN",
        help="drift-PERCENT-trial-PERCENT[-heavy] with wildcards, or one of: "
        + ", ".join({world.cell.name: "" for world in WORLDS}),
    )
    return parser.parse_args(argv)


def _row(task: tuple[Cell, Design, int]) -> Row:
    """Make all comparisons of one cell by one design (in a process of its own)."""
    cell, design, pairs = task
    equal, drops = (
        [compared(design, cell, drop, seed) for seed in range(pairs)] for drop in (0.0, DROP)
    )
    minutes = sorted(duel.minutes for duel in (*equal, *drops))
    return Row(
        cell.name,
        design.value,
        pairs,
        false_alarms=_share(equal, Answer.SLOWER),
        found=_share(drops, Answer.SLOWER),
        unknown_equal=_share(equal, Answer.UNKNOWN),
        minutes_equal=statistics.fmean(duel.minutes for duel in equal),
        minutes_drop=statistics.fmean(duel.minutes for duel in drops),
        longest=minutes[int(0.95 * len(minutes))],
        bias=100 * (statistics.fmean(duel.ratio for duel in drops) / (1 - DROP) - 1),
    )


def _world_row(task: tuple[World, int]) -> WorldRow:
    """Make all duels of one world (in a process of its own)."""
    world, pairs = task
    ended = [compared(Design.BOTH, world.cell, world.drop, seed) for seed in range(pairs)]
    answered = [duel for duel in ended if duel.answer is not Answer.UNKNOWN]
    shares = {answer: _share(ended, answer) for answer in Answer}
    worse = 100 * sum(duel.worse for duel in ended) / len(ended)
    held = 100 * sum(duel.holds for duel in answered) / len(answered) if answered else 100.0
    ratios = [duel.ratio for duel in answered]
    minutes = statistics.fmean(duel.minutes for duel in ended)
    return WorldRow(
        world.name,
        shares[Answer.SLOWER],
        shares[Answer.FASTER],
        shares[Answer.SAME],
        shares[Answer.UNKNOWN],
        worse=worse,
        held=held,
        ratio=100 * (statistics.median(ratios) / (1 - world.drop) - 1) if answered else 0.0,
        minutes=minutes,
        kept=not world.promised
        or (
            _is_right(world, shares, worse, pairs)
            and held >= LEAST_HELD
            and minutes <= world.most_minutes
        ),
    )


def _is_right(world: World, shares: dict[Answer, float], worse: float, pairs: int) -> bool:
    """Whether the answers in a world are those that duels promise."""
    if world.other:
        return at_least(world.least, worse, pairs)
    if not world.drop:
        most = max(shares[Answer.SLOWER], shares[Answer.FASTER], worse)
        return at_most(MOST_FALSE, most, pairs)
    found = shares[Answer.SLOWER if world.drop > 0 else Answer.FASTER]
    is_small = 0 < world.drop < DROP
    return is_small or at_least(world.least, found, pairs)


def at_most(promised: float, share: float, pairs: int) -> bool:
    """Whether a share of so many is not above the promised one by more than chance (%)."""
    from scipy.special import bdtrc  # noqa: PLC0415  # not for each process of the pool

    seen = round(share * pairs / 100)
    return not seen or float(bdtrc(seen - 1, pairs, promised / 100)) >= CHANCE


def at_least(promised: float, share: float, pairs: int) -> bool:
    """Whether a share of so many is not below the promised one by more than chance (%)."""
    return at_most(100 - promised, 100 - share, pairs)


def _share(ended: Sequence[Ended], answer: Answer) -> float:
    return 100 * sum(duel.answer is answer for duel in ended) / len(ended)


def _designs(rows: Sequence[Row], pairs: int) -> Table:
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
    return table


def _worlds(rows: Sequence[WorldRow], pairs: int) -> Table:
    table = Table(title=f"duels with both servers up, {pairs} in each world")
    for heading in (
        "world",
        "slower, %",
        "faster, %",
        "no change, %",
        "cannot tell, %",
        "other figure worse, %",
        "interval holds the truth, %",
        "median ratio against the truth, %",
        "min",
        "kept",
    ):
        table.add_column(heading, justify="left" if heading in ("world", "kept") else "right")
    for row in rows:
        figures = (row.slower, row.faster, row.same, row.unknown, row.worse, row.held)
        table.add_row(
            row.world,
            *(f"{value:.1f}" for value in figures),
            f"{row.ratio:+.2f}",
            f"{row.minutes:.1f}",
            "yes" if row.kept else "no",
        )
    return table


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
