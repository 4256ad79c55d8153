"""``leaselab lab maintenance``: take a bench out of use, and return it to use."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict

from leaselab.cli.bench_options import add_place, benches_of
from leaselab.cli.options import add_json, print_answer
from leaselab.lab.inventory import GENERATOR_GROUP, Inventory
from leaselab.lab.lock import BenchInUseError, LockStatus, Maintenance, ask, owner_name, status
from leaselab.lab.transport import Connection, connect
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.run.preparation import install_lock

VERBS = {"on": "close", "off": "open"}
"""Names in the lock's program."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``lab maintenance``."""
    parser.add_argument("state", choices=tuple(VERBS), help="begin it, or end it")
    parser.add_argument("bench", metavar="BENCH", help="name of the bench, such as rack1")
    add_place(parser)
    parser.add_argument(
        "--reason", metavar="TEXT", help="reason shown to other users; required by `on`"
    )
    parser.add_argument(
        "--owner",
        metavar="NAME",
        help="whose it is; goes with `on` (default: the user and this machine)",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Begin or end maintenance; 4 where another user has the bench in maintenance."""
    (inventory,) = benches_of(args)  # the one that was named
    reason = " ".join((args.reason or "").split())
    if (args.state == "on") != bool(reason):
        raise usage_error(
            "--reason goes with `on`, and `on` with --reason",
            found=f"{args.state} with {f'--reason {reason!r}' if reason else 'no reason'}",
            wanted="such as: leaselab lab maintenance on rack1 --reason 'new network card'",
        )
    if args.state == "off" and args.owner is not None:
        raise usage_error(
            "--owner is only valid with `on`",
            found=f"off with --owner {args.owner!r}",
            wanted="such as: leaselab lab maintenance off rack1",
        )
    with connect(inventory.only(GENERATOR_GROUP).access) as generator:
        request = {"name": args.owner or owner_name(), "reason": reason}
        before = _maintained(generator)
        now = _asked(inventory, generator, VERBS[args.state], request)
    closed = asdict(now.maintenance) if now.maintenance else None
    document = {"bench": inventory.bench, "maintenance": closed, "holder": now.holder}
    print_answer(args, document, _words(inventory.bench, before, now))
    return Outcome.OK


def _asked(
    inventory: Inventory, generator: Connection, verb: str, request: Mapping[str, str]
) -> LockStatus:
    """Call the lock's program, after an installation where it is missing or outdated."""
    try:
        return ask(generator, verb, request)
    except BenchInUseError:
        raise
    except LeaselabError:
        install_lock(inventory)
        return ask(generator, verb, request)


def _maintained(generator: Connection) -> Maintenance | None:
    """The present holder; none where the program is not installed yet."""
    try:
        return status(generator).maintenance
    except LeaselabError:
        return None


def _words(bench: str, before: Maintenance | None, now: LockStatus) -> str:
    if now.maintenance is None:
        was = f"; it was in that of {before}" if before else ""
        return f"bench {bench} is not in maintenance{was}"
    text = f"bench {bench} is in maintenance by {now.maintenance}"
    if now.holder is None:
        return text
    return f"{text}; {now.holder['name']} has it until {now.holder['purpose']} is done"
