"""``leaselab capacity``: what clients ask for, and which measured configurations carry it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.analysis.capacity import SERVED_S, configurations
from leaselab.analysis.demand import Arrival, Demand, Population, Restart, Rush, Spread
from leaselab.archive.disk import writing
from leaselab.archive.store import newest_of
from leaselab.cli.options import (
    add_json,
    add_results,
    check_patterns,
    number,
    only_with,
    open_store,
    print_json,
    whole,
)
from leaselab.cli.own import add_config, own_scenario
from leaselab.cli.report import FOLDER
from leaselab.model.errors import Outcome
from leaselab.report.capacity import capacity_document, print_capacity

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from leaselab.analysis.capacity import Configuration
    from leaselab.archive.store import Store
    from leaselab.model.record import Record

HELP = (
    "Say how many transactions per second clients need, which measured configurations carry "
    "that, and how long a restart takes."
)
RENEW_AT = 0.5
"""Share of the lease time after which clients renew, unless a server tells them another."""


FAMILY = "family"
"""The key of a load whose clients are given addresses of a family: others hold no lease."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``capacity``."""
    parser.add_argument(
        "pattern",
        nargs="*",
        metavar="PATTERN",
        help="scenarios, such as v4-memfile or 'v4-*' (default: all)",
    )
    add_config(parser)
    parser.add_argument(
        "--clients",
        type=whole(1, 10**10),
        required=True,
        metavar="N",
        help="clients that hold a lease",
    )
    parser.add_argument(
        "--lease-s", type=number(1, 2**32 - 1), required=True, metavar="S", help="lease time, s"
    )
    parser.add_argument(
        "--renew-at",
        type=number(0.001, 1),
        default=RENEW_AT,
        metavar="SHARE",
        help=f"share of the lease time after which clients renew, T1 (default: {RENEW_AT:g})",
    )
    parser.add_argument(
        "--new-per-day",
        type=number(0, 1000),
        default=0.0,
        metavar="SHARE",
        help="clients that are new each day, over all clients (default: 0)",
    )
    arrival = parser.add_mutually_exclusive_group()
    arrival.add_argument(
        "--rush",
        nargs=2,
        type=number(0.001, 1_000_000),
        metavar=("SHARE", "MINUTES"),
        help="a share of the clients arrives within some minutes, as in the morning: "
        "--rush 0.8 30 (without this or --at-once: spread evenly)",
    )
    arrival.add_argument(
        "--at-once", action="store_true", help="all clients begin at once, as after a power cut"
    )
    parser.add_argument(
        "--within-s",
        type=number(0.001, 2**32 - 1),
        metavar="S",
        help="with --at-once: the time within which all have to be served, s",
    )
    parser.add_argument("--bench", metavar="NAME", help="only results of this bench")
    parser.add_argument(
        "--page",
        action="store_true",
        help="also write it to the page Capacity of the report, and print where it is",
    )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print what is asked for, and what each configuration makes of it."""
    demand = _demand(args)
    store = open_store(args, existing=True)
    configurations = _found(store, args, demand)
    page = _page(store, demand, configurations) if args.page else None
    if args.json:
        pages = {"page": page} if page else {}
        print_json({**capacity_document(demand, configurations), **pages})
        return Outcome.OK
    print_capacity(demand, configurations)
    if page:
        print(page)
    return Outcome.OK


def _demand(args: argparse.Namespace) -> Demand:
    """What the options say of the clients."""
    only_with(args, "--at-once", "--within-s")
    population = Population(args.clients, args.lease_s * args.renew_at, args.new_per_day)
    return Demand(population, _arrival(args))


def _arrival(args: argparse.Namespace) -> Arrival:
    if args.at_once:
        return Restart(args.within_s)
    if args.rush is not None:
        share, minutes = args.rush
        return Rush(share, 60 * minutes)
    return Spread()


def _found(store: Store, args: argparse.Namespace, demand: Demand) -> list[Configuration]:
    """What the newest results make of the demand, chosen as ``leaselab list --table`` does.

    Bursts have scenarios of their own, so those of all scenarios are looked at.  Nothing in an
    archive without any result, unless some are asked for: the arithmetic needs none.
    """
    own = own_scenario(args)
    args.pattern = [*args.pattern, *([own] if own else [])]
    if not (args.pattern or args.bench or store.index.scenarios()):
        return []
    check_patterns(store, args.pattern)
    newest = newest_of(store.index, args.pattern or ["*"], args.bench)
    beside = [
        row["id"]
        for row in store.index.newest_places("*", args.bench)
        if row["metric"] == SERVED_S and row["id"] not in newest
    ]
    return configurations(_giving(store, newest), demand, _giving(store, beside))


def _giving(store: Store, ids: Iterable[str]) -> Iterator[Record]:
    """The results of servers that give their clients something out of a pool."""
    return (one for one in store.load_readable(ids) if FAMILY in one.scenario.load)


def _page(store: Store, demand: Demand, configurations: Sequence[Configuration]) -> str:
    from leaselab.report.site.capacity import write_capacity  # noqa: PLC0415  # draws; slow to import

    folder = store.root / FOLDER
    with writing(folder):
        return str(write_capacity(folder, demand, configurations).absolute())
