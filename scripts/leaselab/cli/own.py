"""Options that name a user's own configuration, clients and queries: they become a scenario."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.kept_scenarios import Made
from leaselab.cli.options import number, only_with, whole, without_effect
from leaselab.inputs.clients.arrivals import Arrivals
from leaselab.inputs.clients.file import Clients, read_clients
from leaselab.inputs.clients.load import with_clients
from leaselab.inputs.keama import read_with_keama
from leaselab.inputs.leases import read_leases
from leaselab.inputs.queries.file import read_queries
from leaselab.inputs.queries.load import ORDERS, Asked, with_queries
from leaselab.inputs.queries.zones import read_zone
from leaselab.inputs.reader import Served
from leaselab.inputs.user_configuration import add_scenario, read_served
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.procedures.replay import MOST_MINUTES, REPLAY
from leaselab.model.scenario import Scenario

_OF_CONFIG = ("--without", "--leases", "--view", "--keama")
_SHOWN = 10
"""Lines of a list that are shown; the rest is counted."""


def add_scenario_or_files(parser: argparse.ArgumentParser, about: str) -> None:
    """Add SCENARIO, and the files that it may be made of; `named_scenario` reads them.

    `about` says what it is to the command.
    """
    parser.add_argument("scenario", metavar="SCENARIO", nargs="?", help=about)
    add_config(parser)
    add_clients(parser)
    add_queries(parser)


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the options; `own_scenario` reads them."""
    group = parser.add_argument_group("your configuration")
    group.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="the scenario is this configuration, or the one of a folder: kea-dhcp4.conf, "
        "dhcpd.conf, dnsmasq.conf or named.conf, with a load that fits it",
    )
    add_parts(group, "with --config: ", "with --config or --zone: ")
    group.add_argument(
        "--leases",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="with --config: it begins with the leases of this file of a running server; may "
        "be repeated",
    )
    group.add_argument(
        "--view",
        metavar="NAME",
        default="",
        help="with --config: measure this view of a named.conf (default: the one that the "
        "lab's clients match)",
    )
    group.add_argument(
        "--keama",
        action="store_true",
        help="with --config: measure Kea with what ISC's keama makes of a dhcpd.conf",
    )


def add_parts(group: argparse._ActionsContainer, without: str = "", also: str = "") -> None:
    """Add ``--without`` and ``--also``, for `read_served`, with what their help begins with."""
    group.add_argument(
        "--without",
        metavar="WHAT",
        action="append",
        default=[],
        help=f"{without}leave out a part that the lab cannot run, such as hook:radius; may be "
        "repeated",
    )
    group.add_argument(
        "--also",
        metavar="PATH",
        type=Path,
        action="append",
        default=[],
        help=f"{also}the files may name this file, or files of this folder, too; may be "
        "repeated",
    )


def add_clients(parser: argparse.ArgumentParser) -> None:
    """Add ``--clients FILE`` and its scale; `load_of` reads them."""
    group = parser.add_argument_group("your clients")
    group.add_argument(
        "--clients",
        metavar="FILE",
        type=Path,
        help="the load has these clients, which `leaselab clients` has counted",
    )
    times = "as they came by the times in the file, N times as fast (default: evenly)"
    add_scale(group, f"; with --queries: {times}")


def add_arrivals(parser: argparse.ArgumentParser) -> None:
    """Add what ``--procedure replay`` replays of ``--clients``, of a parser that has both."""
    group = parser.add_argument_group("arrivals of your clients")
    group.add_argument(
        "--minutes",
        metavar="N",
        type=whole(1, MOST_MINUTES),
        default=60,
        help=f"with --procedure {REPLAY}: replay the busiest N minutes in a row of the file "
        "(default: 60)",
    )
    group.add_argument(
        "--lease-clock",
        action="store_true",
        help=f"with --procedure {REPLAY}: clients renew at the times of their leases (default: "
        "as often as in the file)",
    )


def add_scale(group: argparse._ActionsContainer, also: str = "") -> None:
    """Add ``--scale`` beside ``--clients``; `also` is said of it."""
    group.add_argument(
        "--scale",
        metavar="N",
        type=number(0.001, 1_000_000),
        default=1.0,
        help=f"with --clients: N times as many clients as in the file (default: 1){also}",
    )


def add_queries(parser: argparse.ArgumentParser) -> None:
    """Add ``--queries FILE`` and how they are sent; `load_of` reads them."""
    group = parser.add_argument_group("your queries")
    group.add_argument(
        "--queries",
        metavar="FILE",
        type=Path,
        help="the load asks these queries of DNS, a name and a type on each line",
    )
    group.add_argument(
        "--zone",
        metavar="[NAME=]FILE",
        type=str,
        action="append",
        default=[],
        help="with --queries: the server has this zone instead of the scenario's; may be "
        "repeated",
    )
    group.add_argument(
        "--names",
        choices=ORDERS,
        default=ORDERS[0],
        help="with --queries: as in the file; each once before any comes again; or the k-th as "
        f"often as 1/k (default: {ORDERS[0]})",
    )
    group.add_argument(
        "--edns",
        metavar="BYTES",
        type=whole(512, 65535),
        default=0,
        help="with --queries: send EDNS, with this size of answers (default: without)",
    )
    group.add_argument(
        "--dnssec-ok", action="store_true", help="with --edns: ask for DNSSEC records"
    )


OF_QUERIES = ("--zone", "--names", "--edns", "--dnssec-ok")


Loading = Callable[[Catalogue, Scenario], Made]
"""Adds a scenario with another load to the catalogue."""


def with_load(
    make: Loading, catalogue: Catalogue, scenarios: Sequence[Scenario]
) -> list[Scenario]:
    """Return scenarios with another load, and print what each is."""
    changed = []
    for scenario in scenarios:
        made = make(catalogue, scenario)
        print("\n".join(made.notes), file=sys.stderr, flush=True)
        changed.append(made.scenario)
    return changed


def load_of(args: argparse.Namespace) -> Loading | None:
    """Read the load of ``--clients`` or ``--queries``, for `with_load`; None without one.

    Raises a usage error for a file that is none, and for options without an effect.
    """
    queries = getattr(args, "queries", None)
    if args.clients is None or _arrivals(args) is None:
        beside = f"--clients FILE and --procedure {REPLAY}"
        without_effect(args, beside, "--minutes", "--lease-clock")
    if args.clients is None and queries is None:
        without_effect(args, "--clients or --queries", "--scale")
    if queries is None and hasattr(args, "queries"):
        only_with(args, "--queries", *OF_QUERIES)
    if args.clients is None and queries is None:
        return None
    if args.clients is not None and queries is not None:
        raise usage_error(
            "DHCP clients and DNS queries cannot be in one load",
            found="--clients and --queries",
            wanted="one of them",
        )
    if queries is None:
        return loading_clients(*read_clients(args.clients), args.scale, _arrivals(args))
    return _loading_queries(args)


def _arrivals(args: argparse.Namespace) -> Arrivals | None:
    """What a replay has of the clients; None for another procedure."""
    if getattr(args, "procedure", None) != REPLAY:
        return None
    return Arrivals(args.minutes, args.lease_clock)


def loading_clients(
    clients: Clients, file_hash: str, scale: float, arrivals: Arrivals | None = None
) -> Loading:
    """What has so many times the clients of a file; parameters as `with_clients`."""
    return lambda catalogue, scenario: with_clients(
        catalogue, scenario, clients, file_hash, scale, arrivals=arrivals
    )


def _loading_queries(args: argparse.Namespace) -> Loading:
    if args.dnssec_ok and not args.edns:
        raise usage_error("--dnssec-ok needs --edns", todo="add --edns 1232")
    queries = read_queries(args.queries)
    zones = [read_zone(word, tuple(args.also)) for word in args.zone]
    scale = args.scale if "--scale" in args.given else None
    asked = Asked(args.names, args.edns, args.dnssec_ok, zones, scale)
    return lambda catalogue, scenario: with_queries(catalogue, scenario, queries, asked)


def own_scenario(args: argparse.Namespace, catalogue: Catalogue) -> Scenario | None:
    """Add the scenario of the file that was named to the catalogue; None without one.

    What was changed, who comes and what nothing would be answered of is said on stderr.
    Raises a usage error as `read_served`.
    """
    if args.config is None:
        only_with(args, "--config", *_OF_CONFIG, *([] if args.zone else ["--also"]))
        return None
    leases = read_leases(args.leases) if args.leases else None
    if args.keama:
        without_effect(args, "--config, without --keama", "--view")
        own = read_with_keama(args.config, catalogue.kept, args.without, leases)
        file = args.config.with_stem(f"{args.config.stem}-keama")
        return add_and_print(own, file, catalogue)
    own = read_served(args.config, args.without, leases=leases, view=args.view, also=args.also)
    return add_and_print(own, args.config, catalogue)


def add_and_print(own: Served, file: Path, catalogue: Catalogue) -> Scenario:
    """Add the scenario of a file to the catalogue, print what it is on stderr."""
    scenario = add_scenario(own, file, catalogue)
    print("\n".join(_lines(scenario.name, own)), file=sys.stderr, flush=True)
    return scenario


def _lines(name: str, own: Served) -> list[str]:
    """What the scenario is, in lines: what is left out comes first."""
    kinds: Counter[str] = Counter()
    for kind in own.kinds:
        kinds[str(kind["name"])] += int(kind["clients"])
    lists = {
        "left out": own.left_out,
        "changed": own.changes,
        "releases that take it": own.releases,
        f"{own.clients} clients in {len(own.kinds)} kinds": [
            f"{count} of {what}" for what, count in kinds.most_common()
        ],
        f"queries for the names of {len(own.zones)} zones": list(own.zones),
        "not answered": own.unserved,
    }
    lines = [f"scenario {name}"]
    if own.filling is not None:
        lines += [f"  leases: {own.filling}"]
        lists["leases in no subnet"] = [
            f"{count} of {prefix}" for prefix, count in own.filling.elsewhere.most_common()
        ]
    for title, entries in lists.items():
        if entries:
            more = len(entries) - _SHOWN
            lines += [f"  {title}:", *(f"    {entry}" for entry in entries[:_SHOWN])]
            lines += [f"    and {more} more"] if more > 0 else []
    return lines


def scenario_of(args: argparse.Namespace, catalogue: Catalogue) -> Scenario | None:
    """Return the one scenario of the files that a command names; None where it names none."""
    if args.config is not None and args.scenario is not None:
        raise _not_one(f"{args.scenario} and --config")
    own, make = own_scenario(args, catalogue), load_of(args)
    if make is None:
        return own
    named = [own] if own is not None else []
    if own is None and args.scenario:
        named = catalogue.match([args.scenario])
    if len(named) != 1:
        raise _not_one(f"{len(named)} scenarios")
    return with_load(make, catalogue, named)[0]


def named_scenario(args: argparse.Namespace, catalogue: Catalogue) -> Scenario:
    """Return the one scenario of a command; a usage error for none, and as `scenario_of`."""
    made = scenario_of(args, catalogue)
    if made is None and args.scenario is None:
        raise _not_one("none")
    return made or catalogue.find(args.scenario)


def _not_one(found: str) -> LeaselabError:
    """Return the error for another number of scenarios."""
    return usage_error(
        "exactly one scenario must be named",
        found=found,
        wanted="SCENARIO, or --config FILE",
    )
