"""``leaselab lab take``, ``lab release``, ``lab maintenance``: who may use a bench."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict

from leaselab.catalog.checkout import checkout_root
from leaselab.cli.bench_options import add_inventory, add_place, benches_of, inventory_of
from leaselab.cli.check import inspect
from leaselab.cli.options import add_json, print_answer, whole
from leaselab.lab.bench import lock
from leaselab.lab.bench.lease import forget_hold, read_hold, write_hold
from leaselab.lab.hosts.inventory import GENERATOR_GROUP, Inventory
from leaselab.lab.hosts.transport import Connection, connect
from leaselab.model.errors import LeaselabError, Outcome, lab_broken, usage_error
from leaselab.run.preparation import bring_up, install_lock, leased
from leaselab.run.recovery import recover, stop_leftovers

VERBS = {"on": "close", "off": "open"}
"""Names in the lock's program."""
LEASE_MIN = 120
"""Longest time between two commands of a hold (min): one that builds takes part in none."""


def add_take(parser: argparse.ArgumentParser) -> None:
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
            f"the bench check failed: {errors[0]}",
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


def _give_back(inventory: Inventory, hold: lock.Hold) -> None:
    """Stop the processes, release the bench, remove the hold.

    Where the hold has expired and another user has the bench, the hold is removed without
    changes of the bench, and an error is raised.  After any other fault the hold stays, and can
    be released later or expires.
    """
    with connect(inventory.only(GENERATOR_GROUP).access) as generator:
        try:
            lock.ask(generator, "reclaim", hold)
        except lock.BenchInUseError:
            forget_hold(checkout_root(), inventory.bench)
            raise
        stop_leftovers(inventory)
        lock.ask(generator, "release", hold)
    forget_hold(checkout_root(), inventory.bench)


def add_maintenance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("state", choices=tuple(VERBS), help="begin it, or end it")
    parser.add_argument("bench", metavar="BENCH", help="name of the bench, such as rack1")
    add_place(parser)
    parser.add_argument(
        "--reason", metavar="TEXT", help="reason shown to other users; required by `on`"
    )
    add_json(parser)


def maintenance(args: argparse.Namespace) -> Outcome:
    """Begin or end maintenance; 4 where another user has the bench in maintenance."""
    (inventory,) = benches_of(args)  # the one that was named
    reason = " ".join((args.reason or "").split())
    if (args.state == "on") != bool(reason):
        raise usage_error(
            "--reason is required with `on`, and not allowed with `off`",
            found=f"{args.state} with {f'--reason {reason!r}' if reason else 'no reason'}",
            wanted="such as: leaselab lab maintenance on rack1 --reason 'new network card'",
        )
    with connect(inventory.only(GENERATOR_GROUP).access) as generator:
        request = {"name": lock.owner_name(), "reason": reason}
        before = _maintained(generator)
        now = _asked(inventory, generator, VERBS[args.state], request)
    closed = asdict(now.maintenance) if now.maintenance else None
    document = {"bench": inventory.bench, "maintenance": closed, "holder": now.holder}
    print_answer(args, document, _words(inventory.bench, before, now))
    return Outcome.OK


def _asked(
    inventory: Inventory, generator: Connection, verb: str, request: Mapping[str, str]
) -> lock.LockStatus:
    """Call the lock's program, after an installation where it is missing or outdated."""
    try:
        return lock.ask(generator, verb, request)
    except lock.BenchInUseError:
        raise
    except LeaselabError:
        install_lock(inventory)
        return lock.ask(generator, verb, request)


def _maintained(generator: Connection) -> lock.Maintenance | None:
    """The present holder; none where the program is not installed yet."""
    try:
        return lock.status(generator).maintenance
    except LeaselabError:
        return None


def _words(bench: str, before: lock.Maintenance | None, now: lock.LockStatus) -> str:
    if now.maintenance is None:
        was = f"; it was in that of {before}" if before else ""
        return f"bench {bench} is not in maintenance{was}"
    text = f"bench {bench} is in maintenance by {now.maintenance}"
    if now.holder is None:
        return text
    return f"{text}; {now.holder['name']} has it until {now.holder['purpose']} is done"
