"""``leaselab lab take`` and ``lab release``: one bench for the commands of a pipeline."""

from __future__ import annotations

import argparse
import sys

from leaselab.cli.bench_options import add_inventory, benches_of, inventory_of
from leaselab.cli.check import inspect
from leaselab.cli.options import add_json, print_answer, whole
from leaselab.lab.checkout import checkout_root
from leaselab.lab.inventory import GENERATOR_GROUP, Inventory
from leaselab.lab.lease import forget_hold, read_hold, write_hold
from leaselab.lab.lock import BenchInUseError, Hold, ask
from leaselab.lab.transport import connect
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.run.preparation import bring_up, leased
from leaselab.run.recovery import recover, stop_leftovers

LEASE_MIN = 120
"""Longest time between two commands of a hold (min): one that builds takes part in none."""


def add_take(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``take``."""
    add_inventory(parser)
    parser.add_argument(
        "--minutes",
        metavar="N",
        type=whole(1, 525_600),
        default=LEASE_MIN,
        help="how long it is held after the last command that used it, if nobody releases it "
        f"(default: {LEASE_MIN})",
    )
    parser.add_argument(
        "--purpose", metavar="TEXT", default="lab take", help="reason shown to other users"
    )
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="of the local lab: remove an idle one that another checkout has on this machine",
    )
    add_json(parser)


def add_release(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``release``."""
    add_inventory(parser)
    add_json(parser)


def take(args: argparse.Namespace) -> Outcome:
    """Lock a bench, bring a local lab up, inspect it; 4 when it is not well or not free.

    A bench that another user has is an error at once.  A bench that a killed command of this
    checkout held is released first; hosts that do not answer are recovered.
    """
    inventory = inventory_of(args)
    checkout = checkout_root()
    left = read_hold(checkout, inventory.bench)
    if left is not None:
        try:
            _give_back(inventory, left)
            left = None
        except LeaselabError as error:  # the inspection reports the fault of the bench
            print(f"leaselab: of an earlier hold: {error}", file=sys.stderr)
    with leased(inventory, args.purpose, take_over=args.take_over) as bench:
        recover(inventory, bench.lease)
        if inventory.made_by:
            bring_up(inventory, take_over=args.take_over, lease=bench.lease)
        _refuse_unfit(inventory)
        # The cause that prevented the earlier release may be recovered by now.
        if left is not None and read_hold(checkout, inventory.bench) is not None:
            _give_back(inventory, left)
            bench.lease.take()
        write_hold(checkout, inventory.bench, bench.lease.stay(60 * args.minutes))
    given = f" -i {args.inventory}" if args.inventory else ""
    text = f"bench {inventory.bench} is held; `leaselab lab release{given}` releases it"
    print_answer(args, {"bench": inventory.bench, "held": True}, text)
    return Outcome.OK


def _refuse_unfit(inventory: Inventory) -> None:
    """Inspect a bench; a broken-lab error where that finds any error."""
    findings = inspect(inventory)["findings"]
    errors = [finding["text"] for finding in findings if finding["level"] == "error"]
    if errors:
        for text in errors:
            print(f"leaselab: {text}", file=sys.stderr)
        raise lab_broken(
            f"the bench is not fit to be measured on: {errors[0]}",
            where=inventory.bench,
            todo=f"`leaselab lab check -i {inventory.path}` shows all that was looked at",
        )


def release(args: argparse.Namespace) -> Outcome:
    """Stop the processes on the benches that this checkout holds, and release them."""
    freed = []
    for inventory in benches_of(args):
        hold = read_hold(checkout_root(), inventory.bench)
        if hold is not None:
            _give_back(inventory, hold)
            freed.append(inventory.bench)
    text = f"released {', '.join(freed)}" if freed else "no bench was held"
    print_answer(args, {"released": freed}, text)
    return Outcome.OK


def _give_back(inventory: Inventory, hold: Hold) -> None:
    """Stop the processes, release the bench, remove the hold.

    Where the hold has expired and another user has the bench, the hold is removed without
    changes of the bench, and an error is raised.  After any other fault the hold stays, and can
    be released later or expires.
    """
    with connect(inventory.only(GENERATOR_GROUP).access) as generator:
        try:
            ask(generator, "reclaim", hold)
        except BenchInUseError:
            forget_hold(checkout_root(), inventory.bench)
            raise
        stop_leftovers(inventory)
        ask(generator, "release", hold)
    forget_hold(checkout_root(), inventory.bench)
