"""Options that name a user's own configuration: it becomes a scenario of its own."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.cli.parser import ANY, Choosing, hidden
from leaselab.lab.checkout import checkout_root
from leaselab.lab.own import read_own, write_own
from leaselab.model.errors import usage_error

if TYPE_CHECKING:
    import argparse

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
        help="the scenario is this configuration, such as kea-dhcp4.conf, with clients that "
        "fit it",
    )
    without = group.add_argument("--without", metavar="WHAT", action="append", default=[])
    told = "leave out of it what the lab cannot have, such as hook:radius; may be repeated"
    hidden(without, "config", {ANY: told})


def own_scenario(args: argparse.Namespace) -> str | None:
    """Make the scenario of the file that was named, and return its name; None without one.

    What was changed, who comes and what nothing would be answered of is said on stderr.
    Raises a usage error as `read_own`.
    """
    if args.config is None:
        if args.without:
            raise usage_error("--without needs --config", found=args.without[0])
        return None
    own = read_own(args.config, args.without)
    name = write_own(own, args.config, checkout_root() / "scenarios")
    print("\n".join(_told(name, own)), file=sys.stderr, flush=True)
    return name


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
    return str(own or args.scenario)
