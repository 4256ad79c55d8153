"""``leaselab capacity``: clients' demand, and the measured configurations that carry it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from leaselab.analysis.demand.capacity import SERVED_S, Configuration, configurations
from leaselab.analysis.demand.demand import (
    DAY_S,
    Arrival,
    Asked,
    Demand,
    Population,
    Recorded,
    Restart,
    Rush,
    Spread,
)
from leaselab.archive.disk import writing
from leaselab.archive.store import Store, newest_of
from leaselab.catalog.catalogue import Catalogue
from leaselab.cli import options
from leaselab.cli.own import (
    OF_QUERIES,
    add_config,
    add_queries,
    add_scale,
    load_of,
    loading_clients,
    own_scenario,
    with_load,
)
from leaselab.cli.report import FOLDER
from leaselab.inputs.clients.file import Clients, read_clients
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.record import Record
from leaselab.report.capacity import capacity_document, print_capacity

RENEW_AT = 0.5
"""Share of the lease time after which clients renew, unless a server sets another."""

FAMILY = "family"
"""The key of a load whose clients are given addresses of a family: others hold no lease."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pattern",
        nargs="*",
        metavar="PATTERN",
        help="scenarios, such as v4-memfile or 'v4-*' (default: all)",
    )
    add_config(parser)
    parser.add_argument(
        "--clients",
        type=_clients,
        metavar="N|FILE",
        help="clients that hold a lease: their number, or what `leaselab clients` has counted, "
        "with its busiest minute as the peak",
    )
    add_scale(parser)
    parser.add_argument(
        "--lease-s",
        type=options.number(1, 2**32 - 1),
        metavar="S",
        help="with a number of clients: lease time, s",
    )
    parser.add_argument(
        "--renew-at",
        type=options.number(0.001, 1),
        default=RENEW_AT,
        metavar="SHARE",
        help=f"share of the lease time after which clients renew, T1 (default: {RENEW_AT:g})",
    )
    parser.add_argument(
        "--new-per-day",
        type=options.number(0, 1000),
        default=0.0,
        metavar="SHARE",
        help="clients that are new each day, over all clients (default: 0)",
    )
    add_queries(parser)
    parser.add_argument(
        "--per-s",
        type=options.number(0.001, 10**9),
        metavar="N",
        help="with --queries: how many of them are asked in the busiest second",
    )
    arrival = parser.add_mutually_exclusive_group()
    arrival.add_argument(
        "--rush",
        nargs=2,
        type=options.number(0.001, 1_000_000),
        metavar=("SHARE", "MINUTES"),
        help="a share of the clients arrives within some minutes, as in the morning: "
        "--rush 0.8 30 (without this or --at-once: spread evenly)",
    )
    arrival.add_argument(
        "--at-once", action="store_true", help="all clients begin at once, as after a power cut"
    )
    parser.add_argument(
        "--within-s",
        type=options.number(0.001, 2**32 - 1),
        metavar="S",
        help="with --at-once: the time within which all have to be served, s",
    )
    parser.add_argument("--bench", metavar="NAME", help="only results of this bench")
    parser.add_argument(
        "--page",
        action="store_true",
        help="also write it to the page Capacity of the report, and print where it is",
    )
    options.add_results(parser)
    options.add_json(parser)


@options.expecting("a whole number from 1, or a file .yml")
def _clients(text: str) -> int | Path:
    """The number of clients, or a file with them."""
    return (
        Path(text) if Path(text).suffix in (".yml", ".yaml") else options.whole(1, 10**10)(text)
    )


def run(args: argparse.Namespace) -> Outcome:
    """Print the demand, and how each configuration meets it."""
    read = read_clients(args.clients) if isinstance(args.clients, Path) else None
    demand = _asked(args) if args.queries else _demand(args, read[0] if read else None)
    store = options.open_store(args, existing=True)
    catalogue = Catalogue.here()
    made = None if args.queries else own_scenario(args, catalogue)
    if made and read:
        (made,) = with_load(loading_clients(*read, args.scale), catalogue, [made])
    own = made.name if made else None
    if own and own not in store.index.scenarios():
        raise usage_error(
            "this configuration was not measured here yet",
            where=f"--config {args.config}",
            found=f"no results of {own}",
            todo=f"measure it first: {_measuring(args)}",
        )
    patterns = [*args.pattern, *([own] if own else [])]
    if args.queries:
        load, asked = load_of(args), catalogue.match(patterns)
        changed = with_load(load, catalogue, asked) if load is not None else asked
        patterns = [scenario.name for scenario in changed]
    carrying = _carrying(store, patterns, args.bench, demand)
    page = _page(store, demand, carrying) if args.page else None
    if args.json:
        pages = {"page": page} if page else {}
        options.print_json({**capacity_document(demand, carrying), **pages})
        return Outcome.OK
    print_capacity(demand, carrying)
    if page:
        print(page)
    return Outcome.OK


def _measuring(args: argparse.Namespace) -> str:
    """The command that measures the file of ``--config`` as these arguments have it."""
    words = ["leaselab", "run", "--config", str(args.config)]
    for option in ("--without", "--leases", "--also"):
        words += [word for value in getattr(args, option[2:]) for word in (option, str(value))]
    words += ["--view", args.view] if args.view else []
    words += ["--keama"] if args.keama else []
    if isinstance(args.clients, Path):
        words += ["--clients", str(args.clients), "--scale", f"{args.scale:g}"]
    return shlex.join(words)


def _asked(args: argparse.Namespace) -> Asked:
    """The queries of a file: how many are asked is not in it."""
    of_clients = ("--clients", "--scale", "--lease-s", "--renew-at", "--new-per-day")
    options.without_effect(args, "--clients, not --queries", *of_clients, "--config", "--rush")
    options.without_effect(args, "--clients, not --queries", "--at-once", "--within-s")
    if args.per_s is None or not args.pattern:
        raise usage_error(
            "needs a pattern of scenarios and the rate of the queries",
            where="--queries",
            wanted="PATTERN --queries FILE --per-s N",
            todo="name DNS scenarios, and give the rate of the busiest second with --per-s",
        )
    return Asked(args.per_s)


def _demand(args: argparse.Namespace, file: Clients | None) -> Demand:
    """The clients, from the options or a file."""
    options.only_with(args, "--queries", *OF_QUERIES, "--per-s")
    options.only_with(args, "--at-once", "--within-s")
    if args.clients is None:
        raise usage_error(
            "no demand was given",
            wanted="--clients N --lease-s S, --clients FILE, or --queries FILE --per-s N",
        )
    if file is not None:
        return _counted(args, file)
    options.without_effect(args, "--clients FILE", "--scale")
    if args.lease_s is None:
        raise usage_error(
            "--lease-s is missing",
            wanted="--clients N --lease-s S",
            todo="give the lease time, or a file of --clients",
        )
    population = Population(args.clients, args.lease_s * args.renew_at, args.new_per_day)
    return Demand(population, _arrival(args))


def _counted(args: argparse.Namespace, file: Clients) -> Demand:
    """The scaled demand of the clients of a file."""
    options.without_effect(
        args, "--clients NUMBER", "--lease-s", "--renew-at", "--new-per-day", "--rush"
    )
    counted = [traffic for traffic in (file.dhcpv4, file.dhcpv6) if traffic is not None]
    if len(counted) != 1:
        raise usage_error(
            "the demand can be computed for one address family only",
            where=str(args.clients),
            found=f"{len(counted)} families",
            wanted="dhcpv4 or dhcpv6",
            todo="copy the file, delete one of them from the copy, and name the copy",
        )
    [traffic] = counted
    seconds = max(60.0, traffic.seconds)
    new = _beginning(traffic.shares) * traffic.exchanges
    rest = max(1.0, traffic.exchanges - new)
    population = Population(
        max(1, round(args.scale * traffic.clients)),
        traffic.clients * seconds / rest,
        new * DAY_S / seconds / traffic.clients,
    )
    if args.at_once or traffic.peak is None:
        return Demand(population, _arrival(args))
    per_s = args.scale * traffic.peak.per_s
    share = _beginning(traffic.peak.shares)
    return Demand(population, Recorded(per_s * share, per_s * (1 - share)))


def _beginning(shares: Mapping[str, float]) -> float:
    """The share of clients that have no lease; what others ask for counts as renewals."""
    return sum(shares.get(word, 0.0) for word in ("new", "rapid"))


def _arrival(args: argparse.Namespace) -> Arrival:
    if args.at_once:
        return Restart(args.within_s)
    if args.rush is not None:
        share, minutes = args.rush
        return Rush(share, 60 * minutes)
    return Spread()


def _carrying(
    store: Store, patterns: Sequence[str], bench: str | None, demand: Demand | Asked
) -> list[Configuration]:
    """What the newest results make of the demand, chosen as ``leaselab list --table`` does.

    Bursts have scenarios of their own, so those of all scenarios are looked at.  Nothing in an
    archive without any result, unless some are asked for: the arithmetic needs none.
    """
    if not (patterns or bench or store.index.scenarios()):
        return []
    if isinstance(demand, Asked):
        known = newest_of(store.index, patterns, bench)
        return configurations(store.load_readable(known), demand)
    options.check_patterns(store, patterns)
    newest = newest_of(store.index, patterns or ["*"], bench)
    beside = [
        row["id"]
        for row in store.index.newest_places("*", bench)
        if row["metric"] == SERVED_S and row["id"] not in newest
    ]
    return configurations(_giving(store, newest), demand, _giving(store, beside))


def _giving(store: Store, ids: Iterable[str]) -> Iterator[Record]:
    """The results of servers that give their clients something out of a pool."""
    return (record for record in store.load_readable(ids) if FAMILY in record.scenario.load)


def _page(store: Store, demand: Demand | Asked, configurations: Sequence[Configuration]) -> str:
    from leaselab.report.site.capacity import write_capacity  # noqa: PLC0415  # draws; slow to import

    folder = store.root / FOLDER
    with writing(folder):
        return str(write_capacity(folder, demand, configurations).absolute())
