"""`leaselab dev bench week`: a simulated week of a lab, for labs of several sizes.

Commits arrive, nights and weekly sets of experiments begin, benches break, all drawn from
a seed; jobs wait for a free bench as Jenkins' lockable resources let them.  The table says
how long.
`docs/explanation/scaling.md` says which figures are assumed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

from benchmarks._shown import add_markdown, show
from benchmarks._week_chart import draw
from benchmarks._week_figures import UNTIL_H, Figures, observe
from benchmarks._week_table import document, heading, table
from leaselab.analysis.arrivals import Demand, demand
from leaselab.analysis.workload import Lab

OK, USAGE = 0, 2
_NUMBERS = {
    "per_commit": "scenarios with a duel for each new commit",
    "sampled": "scenarios of which every n-th commit gets a duel",
    "every": "that n",
    "night_duels": "scenarios of which each night's newest commit gets a duel",
    "week_duels": "the same each week, from Saturday on",
    "commits_a_day": "commits a day",
    "commits_a_push": "commits in a push, mean",
    "office": "share of the pushes in working hours, 0 to 1",
    "poll_min": "minutes between two looks at the repository",
    "night_over_h": "hours over which a night's jobs start",
    "experiments": "experiments measured each week, from Saturday on",
    "points": "points of an experiment",
    "ranges": "ranges measured by hand, a week",
    "range_h": "hours a range takes, mean",
    "duel_min": "minutes that a duel takes, mean",
    "duel_sd": "spread of that time: standard deviation of its logarithm",
    "measure_min": "minutes that nine runs of a configuration take, mean",
    "measure_sd": "spread of that time: standard deviation of its logarithm",
    "prepare_min": "minutes for check, provision, deploy, tune",
    "cold": "share of commits built with an empty cache, 0 to 1",
    "open_h": "hours a day, from 8 h on, in which jobs may begin",
    "mtbf_h": "mean hours until a whole bench breaks; inf: never",
    "repair_h": "mean hours until a broken one is repaired",
}
"""Fields of a lab that have an option of their own, and its help."""
_SHARES = ("office", "cold")
_ABOVE_ZERO = ("points", "every", "duel_min", "measure_min", "mtbf_h", "repair_h")


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0, or 2 for a number that makes no lab."""
    options = _options(argv)
    wrong = _wrong(options)
    if wrong:
        print(f"bench week: {wrong}", file=sys.stderr)
        return USAGE
    lab = Lab(
        commits_first=options.commits_first,
        **{name: getattr(options, name) for name in _NUMBERS},
    )
    cells: list[tuple[Lab, Figures]] = []
    for nightly in options.nightly:
        asked = _asked(replace(lab, nightly=nightly), options.seed)
        for benches in options.benches:
            cell = replace(lab, nightly=nightly, benches=benches)
            cells.append((cell, observe(cell, asked, options.seed, options.weeks)))
            print(f"{nightly} a night, {benches} benches", file=sys.stderr, flush=True)
    if options.svg:
        options.svg.write_text(draw(cells) + "\n", encoding="utf-8")
    if options.json:
        json.dump(document(cells, options.seed), sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        print(heading(*cells[0], options.seed))
        show([table(cells)], 220, options.markdown)
    return OK


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="leaselab dev bench week", description=__doc__)
    lists: tuple[tuple[str, list[int], str], ...] = (
        ("--benches", [1, 2, 3, 5, 10], "numbers of benches"),
        ("--nightly", [5, 30, 100, 300], "numbers of scenarios swept each night"),
    )
    for name, values, text in lists:
        shown = " ".join(map(str, values))
        parser.add_argument(
            name, type=int, nargs="+", default=values, metavar="N", help=f"{text} ({shown})"
        )
    types = {field.name: int if field.type == "int" else float for field in fields(Lab)}
    for name, text in _NUMBERS.items():
        value = getattr(Lab(), name)
        parser.add_argument(
            "--" + name.replace("_", "-"),
            type=types[name],
            default=value,
            metavar="N",
            help=f"{text} ({value:g})",
        )
    parser.add_argument(
        "--commits-first", action="store_true", help="commits pass nights in the queue"
    )
    parser.add_argument("--weeks", type=int, default=40, help="weeks simulated a row (40)")
    parser.add_argument("--seed", type=int, default=1, help="of all chance (1)")
    parser.add_argument("--svg", type=Path, help="draw push to verdict by benches, to a file")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    add_markdown(parser)
    return parser.parse_args(argv)


def _wrong(options: argparse.Namespace) -> str:
    """The invalid option, with the values found and wanted; empty if all are valid."""
    values = vars(options)
    wanted = (
        *(("benches", number, "1 or more", number >= 1) for number in options.benches),
        *(("nightly", number, "0 or more", number >= 0) for number in options.nightly),
        ("weeks", options.weeks, "1 or more", options.weeks >= 1),
        ("seed", options.seed, "0 or more", options.seed >= 0),
        (
            "commits_a_push",
            options.commits_a_push,
            "1 or more",
            1 <= options.commits_a_push < math.inf,
        ),
        ("open_h", options.open_h, "above 0, 24 at most", 0 < options.open_h <= 24),
        *((name, values[name], "0 to 1", 0 <= values[name] <= 1) for name in _SHARES),
        *((name, values[name], "above 0", values[name] > 0) for name in _ABOVE_ZERO),
        *(
            (name, values[name], "0 or more", 0 <= values[name] < math.inf)
            for name in _NUMBERS
            if name != "mtbf_h"
        ),
    )
    for name, value, want, right in wanted:
        if not right:
            return f"invalid --{name.replace('_', '-')} (found {value}, wanted {want})"
    return ""


def _asked(lab: Lab, seed: int) -> Callable[[int], Demand]:
    """The demand by week, drawn once for labs of all sizes."""

    @cache
    def asked(week: int) -> Demand:
        return demand(lab, UNTIL_H, seed, week)

    return asked


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
