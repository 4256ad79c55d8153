"""Options that name a user's own configuration and clients: they become a scenario."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.cli.options import number, only_with
from leaselab.cli.parser import ANY, Choosing, hidden
from leaselab.lab.catalog import match_scenarios
from leaselab.lab.checkout import checkout_root
from leaselab.lab.clients.file import read_clients
from leaselab.lab.clients.load import with_clients
from leaselab.lab.own import read_own, write_own
from leaselab.model.errors import usage_error

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from leaselab.lab.clients.file import Clients
    from leaselab.lab.own import Own

_TOLD = 10
"""Lines of a list that are shown; the rest is counted."""


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the options; `own_scenario` reads them."""
    group = parser.add_argument_group("your configuration")
    group.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        action=Choosing,
        help="the scenario is this configuration, such as kea-dhcp4.conf or dhcpd.conf, "
        "with clients that fit it",
    )
    without = group.add_argument("--without", metavar="WHAT", action="append", default=[])
    what = "leave out of it what the lab cannot have, such as hook:radius; may be repeated"
    hidden(without, "config", {ANY: what})


def add_clients(parser: argparse.ArgumentParser) -> None:
    """Add ``--clients FILE`` and its scale; `scenarios_with_clients` reads them."""
    group = parser.add_argument_group("your clients")
    group.add_argument(
        "--clients",
        metavar="FILE",
        type=Path,
        action=Choosing,
        help="the load has these clients, which `leaselab clients` has counted",
    )
    add_scale(group)


def add_scale(group: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add ``--scale`` beside ``--clients``."""
    scale = group.add_argument("--scale", metavar="N", type=number(0.001, 1000), default=1.0)
    times = "N times as many clients as in the file (default: 1)"
    hidden(scale, "clients", {ANY: times})


def scenarios_with_clients(args: argparse.Namespace, patterns: Sequence[str]) -> Sequence[str]:
    """Have the clients of ``--clients`` in scenarios; return the names of those that result.

    Without the option they are the patterns themselves.  Raises a usage error for a file that
    is none, and for scenarios that cannot have its clients.
    """
    if args.clients is None:
        only_with(args, "--clients", "--scale")
        return patterns
    return names_with_clients(patterns, read_clients(args.clients), args.scale)


def names_with_clients(
    patterns: Sequence[str], read: tuple[Clients, str], scale: float
) -> list[str]:
    """Have so many times the clients of a file in scenarios; return the names of the results.

    `read` is what `read_clients` returns; errors as `scenarios_with_clients`.
    """
    clients, file_hash = read
    folder = checkout_root() / "scenarios"
    names = []
    for scenario in match_scenarios(folder, patterns):
        made = with_clients(folder, scenario.name, clients, file_hash, scale)
        print("\n".join(made.notes), file=sys.stderr, flush=True)
        names.append(made.name)
    return names


def own_scenario(args: argparse.Namespace) -> str | None:
    """Make the scenario of the file that was named, and return its name; None without one.

    What was changed, who comes and what nothing would be answered of is said on stderr.
    Raises a usage error as `read_own`.
    """
    if args.config is None:
        if args.without:
            raise usage_error(
                "--without needs --config",
                found=args.without[0],
                wanted="--config FILE beside it",
            )
        return None
    own = read_own(args.config, args.without)
    name = write_own(own, args.config, checkout_root() / "scenarios")
    print("\n".join(_told(name, own)), file=sys.stderr, flush=True)
    return name


def one_with_clients(args: argparse.Namespace, scenario: str | None) -> str:
    """Return one scenario's name, with the clients of ``--clients`` where there are any."""
    names = scenarios_with_clients(args, [scenario] if scenario else [])
    if len(names) != 1:
        raise usage_error(
            "one scenario has the clients",
            where="--clients",
            found=f"{len(names)} scenarios",
            wanted="SCENARIO, or --config FILE",
        )
    return names[0]


def _told(name: str, own: Own) -> list[str]:
    """What the scenario is, in lines: what is left out comes first."""
    kinds = Counter({str(kind["name"]): int(kind["clients"]) for kind in own.kinds})
    lists = {
        "left out": own.left_out,
        "changed": own.changes,
        f"{own.clients} clients in {len(own.kinds)} kinds": [
            f"{count} of {what}" for what, count in kinds.most_common()
        ],
        "not answered": own.unserved,
    }
    lines = [f"scenario {name}"]
    for title, entries in lists.items():
        if entries:
            more = len(entries) - _TOLD
            lines += [f"  {title}:", *(f"    {entry}" for entry in entries[:_TOLD])]
            lines += [f"    and {more} more"] if more > 0 else []
    return lines


def named_scenario(args: argparse.Namespace) -> str:
    """Return the one scenario of a command: named, or of a file; a usage error for both."""
    own = own_scenario(args)
    if (own is None) == (args.scenario is None):
        raise usage_error(
            "one scenario is measured",
            found="none" if own is None else f"{args.scenario} and --config",
            wanted="SCENARIO, or --config FILE",
        )
    return one_with_clients(args, str(own or args.scenario))
