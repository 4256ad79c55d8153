"""``leaselab lab``: what a keeper does with a lab and its benches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.bench_setup import add_inventory, bring_up, inventory_of
from leaselab.cli.hold import add_release, add_take, release, take
from leaselab.cli.maintenance import add_maintenance, maintenance
from leaselab.cli.options import add_json, checkout_root, print_told
from leaselab.cli.playbook import run_playbook
from leaselab.cli.power import add_power, power
from leaselab.cli.status import add_status, status
from leaselab.lab.inventory import GENERATOR_GROUP
from leaselab.lab.lease import leased
from leaselab.lab.lock import BenchInUseError
from leaselab.lab.made_here import making
from leaselab.model.errors import LeaselabError, Outcome, usage_error

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from leaselab.lab.inventory import Inventory
    from leaselab.lab.lease import Lease

NAME = "lab"
HELP = "Bring a lab of this machine up or down, hold a bench, switch hosts, show how a lab is."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verbs and their options."""
    verbs = parser.add_subparsers(
        dest="verb", metavar="up|down|take|release|maintenance|power|status", required=True
    )

    up = verbs.add_parser(
        "up",
        help="bring up a lab of this machine: containers, or hosts that boot with "
        "`-i inventory/vm`; changes nothing when it is up",
    )
    _add_made_here(up)

    down = verbs.add_parser("down", help="remove the lab's hosts, networks and keys")
    _add_made_here(down)
    down.add_argument("--images", action="store_true", help="remove its images as well")

    take = verbs.add_parser(
        "take",
        help="inspect a bench and hold it for this checkout, over several commands; what it "
        "held before is released first",
    )
    add_take(take)

    release = verbs.add_parser(
        "release", help="release a held bench, and stop what still runs on it"
    )
    add_release(release)

    closing = verbs.add_parser(
        "maintenance",
        help="take a bench out of use, with a reason, until `off`; a command that already "
        "uses it continues",
    )
    add_maintenance(closing)

    switch = verbs.add_parser(
        "power", help="switch a host on or off, or say whether it is on; refused in a sweep"
    )
    add_power(switch)

    asking = verbs.add_parser(
        "status",
        help="state of a bench, its hosts and its holder; of several benches, a table",
    )
    add_status(asking)


def _add_made_here(parser: argparse.ArgumentParser) -> None:
    add_inventory(parser)
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="remove a lab that another checkout has on this machine",
    )
    add_json(parser)
    parser.add_argument(
        "--force", action="store_true", help="remove a lab although a sweep holds its bench"
    )


def run(args: argparse.Namespace) -> Outcome:
    """Do the verb.

    `status` ends with 4 when a host is not well, except that a local lab of
    which no host answers is down, which is a state and not a fault (0).
    """
    verbs = {
        "up": _up,
        "down": _down,
        "take": take,
        "release": release,
        "maintenance": maintenance,
        "power": power,
        "status": status,
    }
    return verbs[args.verb](args)


def _made_here(args: argparse.Namespace) -> Inventory:
    """Read the inventory of a lab that is made on this machine; a usage error for a rack."""
    inventory = inventory_of(args)
    if not inventory.made_by:
        raise usage_error(
            "this lab is not made on this machine",
            where=str(inventory.path),
            found="no variable leaselab_lab",
            wanted="inventory/docker or inventory/vm",
        )
    return inventory


def _leased_if_up(
    inventory: Inventory, args: argparse.Namespace
) -> AbstractContextManager[Lease]:
    """Have the bench of a lab that is up, unless it is forced; one that is down is nobody's."""

    def take(lease: Lease) -> None:
        try:
            lease.take()
        except BenchInUseError:
            if not args.force:
                raise
        except LeaselabError:
            pass  # it is down, or another checkout's, of which the role asks

    keeper = inventory.only(GENERATOR_GROUP).access
    return leased(checkout_root(), inventory.bench, keeper, f"lab {args.verb}", take)


def _up(args: argparse.Namespace) -> Outcome:
    inventory = _made_here(args)
    with _leased_if_up(inventory, args) as lease:
        changed = bring_up(inventory, take_over=args.take_over, force=args.force, lease=lease)
    names = [host.access.name for host in inventory.hosts]
    what = f"{changed} changes" if changed else "nothing changed"
    document = {"up": True, "changed": changed, "hosts": names}
    print_told(args, document, f"the lab is up: {', '.join(names)} ({what})")
    return Outcome.OK


def _down(args: argparse.Namespace) -> Outcome:
    inventory = _made_here(args)
    role = inventory.made_by
    with (
        _leased_if_up(inventory, args) as lease,
        making(role, "lab down", checkout_root()),
    ):
        stats = run_playbook(
            "lab_down",
            inventory.path,
            {
                f"{role}_remove_images": args.images,
                f"{role}_take_over": args.take_over,
                # The role refuses a bench that is held, and here that is by this command.
                f"{role}_force": args.force or lease.locked,
            },
            keep=lease.keep,
        )
        lease.forget()
    removed: Mapping[str, Sequence[str]] = stats.custom.get("removed", {})
    told = [f"removed {kind}: {', '.join(names)}" for kind, names in removed.items() if names]
    told.append("the lab is down" if told else "the lab was down: nothing to remove")
    print_told(args, {"up": False, "removed": removed}, "\n".join(told))
    return Outcome.OK
