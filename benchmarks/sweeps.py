"""`leaselab dev bench sweeps`: what sweeps of machines that move know, and say of it.

The runs are numbers; interval, doubt and comparison are of the code that ships.
`docs/method/accuracy.md` explains the table.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks._shown import Table, options_of, show
from leaselab.analysis.comparison.ratio import Runs, differs
from leaselab.analysis.figures.steadiness import unsteady
from leaselab.analysis.figures.summary import metrics_of
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Round

MEAN, SPREAD = 10_000.0, 0.02
"""Mean max rate (1/s), and the standard deviation of runs about their level (ratio)."""
SECOND = 1.05
"""How much faster the second server is, whose difference is to be found (ratio)."""
RUNS = (5, 7, 9)
OK, MISSED, USAGE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class World:
    """How the level of a machine moves during a sweep, and how runs scatter about it."""

    name: str
    line: float = 0.0
    """By how much it rises from the first run to the last (standard deviations of runs)."""
    step: float = 0.0
    """By how much it rises between two of the runs (likewise)."""
    follow: float = 0.0
    """Autocorrelation of the levels of runs, which scatter as much as runs do (0..1)."""
    skewed: bool = False
    """Whether runs scatter further to one side (a gamma distribution of shape 4)."""
    least_covered: float = 92.0
    """Intervals that hold the mean level, at least (%)."""
    doubted: tuple[float, float] = (0.0, 100.0)
    """Sweeps of nine that are called unsteady, at least and at most (%)."""
    most_differ: float = 7.0
    """Equal pairs whose p is below 5 %, at most (%)."""


STEADY = (0.0, 3.0)
WORLDS = [
    World("independent", least_covered=90.0, doubted=STEADY),
    World("skewed", skewed=True, least_covered=87.0, doubted=STEADY),
    World("line of 2 %", line=1.0),
    World("line of 4 %", line=2.0),
    World("line of 8 %", line=4.0, doubted=(50.0, 100.0)),
    World("line of 16 %", line=8.0, doubted=(95.0, 100.0)),
    World("step of 4 %", step=2.0),
    World("step of 8 %", step=4.0),
    World("follow 0.3", follow=0.3, most_differ=10.0),
    World("follow 0.6", follow=0.6, most_differ=15.0),
]


@dataclass(frozen=True, slots=True)
class Row:
    """What sweeps of one world came to, in per cent of sweeps or pairs."""

    world: str
    runs: int
    covered: float
    """Intervals that hold the mean of the levels of their runs."""
    half_width: float
    """Median half width of an interval, in per cent of the figure."""
    doubted: float
    """Sweeps that are called unsteady."""
    differ: float
    """Pairs of sweeps of one server whose p is below 5 %."""
    found: float
    """The same of pairs of which the second server is faster by 5 %."""
    kept: bool


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 where all promises are kept, 1 where one is not."""
    parser = options_of("sweeps", __doc__)
    parser.add_argument("--sweeps", type=int, default=1000, help="of a row (default 1000)")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="worlds with this in the name"
    )
    options = parser.parse_args(argv)
    worlds = [world for world in WORLDS if options.only in world.name]
    if not worlds:
        print(f"bench sweeps: no world has {options.only!r} in its name", file=sys.stderr)
        return USAGE
    tasks = [(world, runs, options.sweeps) for world in worlds for runs in RUNS]
    with ProcessPoolExecutor(options.processes) as pool:
        rows = [*pool.map(simulate, *zip(*tasks, strict=True))]
    if options.json:
        json.dump({"benchmark": "sweeps", "rows": [asdict(row) for row in rows]}, sys.stdout)
        print()
    else:
        _print(rows, options)
    return OK if all(row.kept for row in rows) else MISSED


def simulate(world: World, runs: int, sweeps: int) -> Row:
    """Make so many sweeps, always the same ones."""
    draw = np.random.default_rng([*world.name.encode(), runs])
    levels = _levels(world, draw, (sweeps, runs))
    noise = draw.standard_normal((sweeps, runs))
    if world.skewed:
        noise = 2.0 - draw.gamma(4.0, size=(sweeps, runs)) / 2.0
    values = MEAN * (1.0 + SPREAD * (levels + noise))
    procedure = MaxRate(rounds=runs, trim=1)
    centre = _centre(world, runs)
    covered, doubted, widths = [], [], []
    for row, level in zip(values.tolist(), levels.mean(axis=1).tolist(), strict=True):
        rounds = [_round(place, value) for place, value in enumerate(row, 1)]
        figure, *_ = metrics_of(procedure.metrics("exchanges"), rounds, procedure)
        low, high = figure.ci95 or (0.0, 0.0)
        covered.append(low <= MEAN * (1.0 + SPREAD * (level + centre)) <= high)
        widths.append((high - low) / 2 / MEAN)
        doubted.append(bool(unsteady(rounds, figure, procedure.relative_width)))
    made = [Runs(tuple(row), 1, in_order=True) for row in values.tolist()]
    faster = [
        Runs(tuple(SECOND * one for one in runs.values), 1, in_order=True) for runs in made
    ]
    pairs = list(itertools.pairwise(range(sweeps)))[::2]
    found = Row(
        world.name,
        runs,
        covered=_share(covered),
        half_width=100.0 * statistics.median(widths),
        doubted=_share(doubted),
        differ=_share([differs(made[one], made[two]) for one, two in pairs]),
        found=_share([differs(made[one], faster[two]) for one, two in pairs]),
        kept=False,
    )
    return Row(**(asdict(found) | {"kept": _kept(world, found)}))


def _levels(
    world: World, draw: np.random.Generator, shape: tuple[int, int]
) -> NDArray[np.float64]:
    """The level of each run (standard deviations of runs), shape (sweeps, runs)."""
    places = np.linspace(-0.5, 0.5, shape[1])
    after = np.arange(shape[1]) >= draw.integers(1, shape[1], (shape[0], 1))
    levels: NDArray[np.float64] = (
        np.zeros(shape) + world.line * places + world.step * (after - after.mean())
    )
    if world.follow:
        drawn = draw.standard_normal(shape)
        for run in range(1, shape[1]):
            drawn[:, run] *= np.sqrt(1 - world.follow**2)
            drawn[:, run] += world.follow * drawn[:, run - 1]
        levels += drawn
    return levels


def _centre(world: World, runs: int) -> float:
    """What a trimmed mean of runs is on average, beside their level (standard deviations)."""
    if not world.skewed:
        return 0.0
    draws = 2.0 - np.random.default_rng(1).gamma(4.0, size=(200_000, runs)) / 2.0
    return float(np.sort(draws, axis=1)[:, 1:-1].mean())


def _round(index: int, max_rate: float) -> Round:
    figures = {"max_rate": max_rate, "completed_rate": None, "cpu_us": None}
    return Round(
        index=index, started_at="", metrics=figures, traffic_s=0.0, wall_s=0.0, trials=()
    )


def _share(seen: Sequence[bool]) -> float:
    return 100.0 * sum(seen) / len(seen)


def _kept(world: World, row: Row) -> bool:
    least, most = world.doubted
    return (
        row.covered >= world.least_covered
        and (least <= row.doubted or row.runs < max(RUNS))
        and row.doubted <= most
        and row.differ <= world.most_differ
    )


def _print(rows: Sequence[Row], options: argparse.Namespace) -> None:
    table = Table(
        title=f"{options.sweeps} sweeps a row, whose runs scatter by {SPREAD:.0%}; % of sweeps "
        "or pairs",
        caption="holds: intervals with the mean of this session; differ: p below 5 %, of one "
        f"server, and of two that differ by {SECOND - 1:.0%}",
    )
    table.add_column("world")
    for heading in ("runs", "holds", "± %", "unsteady", "equal differ", "differ", "kept"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            row.world,
            str(row.runs),
            f"{row.covered:.1f}",
            f"{row.half_width:.2f}",
            f"{row.doubted:.1f}",
            f"{row.differ:.1f}",
            f"{row.found:.1f}",
            "yes" if row.kept else "MISSED",
        )
    show([table], options.markdown)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
