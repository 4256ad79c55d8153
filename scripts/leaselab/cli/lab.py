"""``leaselab lab up`` and ``lab down``: a lab of this machine."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from leaselab.cli.bench_options import add_inventory, inventory_of
from leaselab.cli.options import add_json, print_answer
from leaselab.lab.checkout import checkout_root
from leaselab.lab.inventory import GENERATOR_GROUP, Inventory
from leaselab.lab.lease import Lease, leased
from leaselab.lab.lock import BenchInUseError
from leaselab.lab.made_here import making
from leaselab.lab.playbook import run_playbook
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.run.preparation import bring_up


def add_up(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``lab up``."""
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


def add_down(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``lab down``."""
    add_up(parser)
    parser.add_argument("--images", action="store_true", help="remove its images as well")


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
    inventory: Inventory, purpose: str, *, force: bool
) -> AbstractContextManager[Lease]:
    """Lease the bench of a lab that is up, unless forced; a lab that is down has no lease."""

    def take(lease: Lease) -> None:
        try:
            lease.take()
        except BenchInUseError:
            if not force:
                raise
        except LeaselabError:
            pass  # it is down, or another checkout's, which the role checks

    keeper = inventory.only(GENERATOR_GROUP).access
    return leased(checkout_root(), inventory.bench, keeper, purpose, take)


def up(args: argparse.Namespace) -> Outcome:
    """Bring it up; changes nothing when it is up."""
    inventory = _made_here(args)
    with _leased_if_up(inventory, "lab up", force=args.force) as lease:
        changed = bring_up(inventory, take_over=args.take_over, force=args.force, lease=lease)
    names = [host.access.name for host in inventory.hosts]
    what = f"{changed} changes" if changed else "nothing changed"
    document = {"up": True, "changed": changed, "hosts": names}
    print_answer(args, document, f"the lab is up: {', '.join(names)} ({what})")
    return Outcome.OK


def down(args: argparse.Namespace) -> Outcome:
    """Remove it."""
    inventory = _made_here(args)
    role = inventory.made_by
    with (
        _leased_if_up(inventory, "lab down", force=args.force) as lease,
        making(role, "lab down", checkout_root()),
    ):
        stats = run_playbook(
            "lab_down",
            inventory.path,
            {
                f"{role}_remove_images": args.images,
                f"{role}_take_over": args.take_over,
                # The role refuses a held bench; here this command is the holder.
                f"{role}_force": args.force or lease.locked,
            },
            keep=lease.keep,
        )
        lease.forget()
    removed: Mapping[str, Sequence[str]] = stats.custom.get("removed", {})
    lines = [f"removed {kind}: {', '.join(names)}" for kind, names in removed.items() if names]
    lines.append("the lab is down" if lines else "the lab was down: nothing to remove")
    print_answer(args, {"up": False, "removed": removed}, "\n".join(lines))
    return Outcome.OK
