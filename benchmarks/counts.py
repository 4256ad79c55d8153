"""`leaselab dev bench counts`: how often counts of equal servers are called different.

Draws pairs of a few starts from archived results of procedure `cost` that have many, and
judges each pair by the code that ships.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from msgspec.structs import replace

from benchmarks._shown import Table, add_markdown, show
from leaselab.analysis.comparison.cost import judge_cost
from leaselab.cli.options import add_results, open_store
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.procedures.cost import INSTRUCTIONS
from leaselab.model.record import Record
from leaselab.report.listing import amount

CHANGE = 0.005
"""A planted change of the instructions, which is to be called more (ratio)."""
OK, MISSED = 0, 1


@dataclass(frozen=True, slots=True)
class Row:
    """What pairs of starts of one result were called."""

    scenario: str
    starts: int
    instructions: float
    """Median of all starts, for each transaction."""
    pairs: int
    different: int
    """How many were called more or less, of any part."""
    parts: tuple[str, ...]
    """The parts of which they were."""
    found: int
    """How many were called more, had B `CHANGE` more instructions."""
    widest: float
    """Largest difference of the instructions between A and B (ratio)."""
    least: float
    """Largest of the differences from which one would have counted (ratio)."""


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 1 when an equal pair differs, or a change does not."""
    args = _options(argv)
    rng = random.Random(args.seed)  # noqa: S311  # draws, no secret
    try:
        store = open_store(args, existing=True)
        rows = [_row(store.load(result), args, rng) for result in args.result]
    except LeaselabError as error:
        print(f"bench counts: {error}", file=sys.stderr)
        return error.outcome.value
    if args.json:
        json.dump({"benchmark": "counts", "results": [asdict(row) for row in rows]}, sys.stdout)
        print()
    else:
        show([_table(args, rows)], args.markdown)
    return MISSED if any(row.different or row.found < row.pairs for row in rows) else OK


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="leaselab dev bench counts", description=__doc__)
    parser.add_argument("result", nargs="+", help="id of a result of procedure cost")
    parser.add_argument("--pairs", type=int, default=100, help="pairs of each (default 100)")
    parser.add_argument("--starts", type=int, default=4, help="starts of a side (default 4)")
    parser.add_argument("--seed", type=int, default=1, help="of the draws (default 1)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add_results(parser)
    add_markdown(parser)
    return parser.parse_args(argv)


def _row(record: Record, args: argparse.Namespace, rng: random.Random) -> Row:
    """Draw pairs of starts of a result, and judge them."""
    counted = [made for made in record.rounds if made.metrics.get(INSTRUCTIONS)]
    wanted = 2 * args.starts
    if len(counted) < wanted:
        raise usage_error(
            "too few starts were counted for a pair",
            where=record.id,
            found=str(len(counted)),
            wanted=f"{wanted} or more",
            todo=f"leaselab run {record.scenario.name} --procedure cost --set rounds={wanted}",
        )
    verdicts = []
    for _ in range(args.pairs):
        drawn = rng.sample(counted, wanted)
        a, b = (
            replace(record, rounds=tuple(half))
            for half in (drawn[: args.starts], drawn[args.starts :])
        )
        verdict = judge_cost(a, b)
        if verdict is None:
            raise AssertionError("two counts have a verdict")
        verdicts.append(verdict)
    called = [verdict for verdict in verdicts if verdict.deciding]
    parts = [verdict.instructions for verdict in verdicts]
    return Row(
        record.scenario.name,
        len(counted),
        statistics.median(made.metrics[INSTRUCTIONS] or 0 for made in counted),
        len(verdicts),
        len(called),
        tuple(sorted({part.title for each in called for part in each.deciding})),
        sum(part.difference + CHANGE * part.after > part.least for part in parts),
        max(abs(part.difference) / part.before for part in parts),
        max(part.least / part.before for part in parts),
    )


def _table(args: argparse.Namespace, rows: Sequence[Row]) -> Table:
    table = Table(
        f"Counts of equal servers: pairs of {args.starts} starts each",
        f"Drawn from the starts of one result with seed {args.seed}. *Seen* is how many pairs "
        f"would be called more, had B {100 * CHANGE:.1f} % more instructions.",
    )
    table.add_column("scenario")
    table.add_column("called different")
    for heading in ("starts", "instructions", "pairs", "widest %", "counts from %", "seen"):
        table.add_column(heading, "right")
    for row in rows:
        called = f"{row.different}: {', '.join(row.parts)}" if row.different else "0"
        widest, least = (f"{100 * ratio:.3f}" for ratio in (row.widest, row.least))
        figures = (amount(row.instructions), str(row.pairs), widest, least, str(row.found))
        table.add_row(row.scenario, called, str(row.starts), *figures)
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
