"""``leaselab lab up``, ``lab down``, ``lab power``: the machines of a lab."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack

from leaselab.catalog.checkout import checkout_root
from leaselab.cli.bench_options import add_inventory, add_place, benches_of, inventory_of
from leaselab.cli.options import add_json, print_answer
from leaselab.lab.bench.lease import Lease, leased
from leaselab.lab.bench.lock import BenchInUseError
from leaselab.lab.bench.made_here import making
from leaselab.lab.deploy.playbook import run_playbook
from leaselab.lab.hosts.inventory import GENERATOR_GROUP, Inventory, InventoryHost
from leaselab.lab.hosts.power import POWER, VERBS
from leaselab.lab.hosts.transport import NoAnswerError
from leaselab.model.errors import LeaselabError, Outcome, lab_broken, unknown, usage_error
from leaselab.run.preparation import bring_up
from leaselab.run.recovery import alone, last_maintenance, switch, wait


def add_up(parser: argparse.ArgumentParser) -> None:
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
            wanted="inventory/docker, inventory/namespaces or inventory/vm",
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


def add_power(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=VERBS, help="`off` and `cycle` cut the power, without a shutdown"
    )
    parser.add_argument("host", metavar="HOST", help="name of the host in the inventory")
    add_place(parser)
    parser.add_argument(
        "--force",
        action="store_true",
        help="ignore the bench lock",
    )
    add_json(parser)
    parser.set_defaults(bench=None)


def power(args: argparse.Namespace) -> Outcome:
    """Switch the host; after `on` and `cycle`, wait until it answers by SSH.

    4 where its bench is leased, where that cannot be checked, where the power switch fails, and
    where the host does not come back.
    """
    benches = benches_of(args)
    host, places = _find(args.host, benches)
    with ExitStack() as stack:
        if args.action != "status" and not args.force:
            for place in places:
                _enter(stack, place, host, args.action)
        done = switch(places[0], host, args.action)
        boots = args.action in ("on", "cycle")
        took_s = round(wait(host, done), 1) if boots else None
    document = {
        "bench": places[0].bench,
        "host": args.host,
        "before": done.before,
        "power": done.now,
        "answered_after_s": took_s,
    }
    was = f", was {done.before}" if args.action != "status" else ""
    answers = f"; it answers by SSH, {took_s:.0f} s later" if took_s is not None else ""
    print_answer(args, document, f"{args.host}: {done.now}{was}{answers}")
    return Outcome.OK


def _find(name: str, benches: tuple[Inventory, ...]) -> tuple[InventoryHost, list[Inventory]]:
    """Return the host of that name, once it has a switch, and all benches that it is in."""
    hosts = {host.access.name: host for bench in benches for host in bench.hosts}
    if name not in hosts:
        raise unknown("host", name, list(hosts), str(benches[0].path))
    host = hosts[name]
    places = [bench for bench in benches if name in (host.access.name for host in bench.hosts)]
    if host.power is None:
        raise usage_error(
            "this host has no power switch",
            where=f"{places[0].path}, host {name}",
            found=f"no variable {POWER}",
            wanted="a command, a Redfish service or an IPMI BMC",
            todo=f"set {POWER} there, as docs/reference/power.md shows",
        )
    return host, places


def _enter(stack: ExitStack, bench: Inventory, host: InventoryHost, verb: str) -> None:
    """Lease the bench, as far as its lock can be reached."""
    keeper = bench.only(GENERATOR_GROUP)
    try:
        stack.enter_context(alone(bench, f"power {verb} of {host.access.name}", [host]))
    except NoAnswerError as error:
        closed = last_maintenance(bench)
        if keeper.access.name != host.access.name or closed:
            raise lab_broken(
                "it does not answer, so the holder of the bench is unknown",
                where=keeper.access.name,
                found=f"last seen in maintenance: {closed}" if closed else error.what,
                wanted="the generator's answer, as it keeps the bench lock",
                todo=f"see that nobody uses bench {bench.bench}, then repeat it with --force",
            ) from error
        print(
            f"leaselab: {host.access.name} keeps the bench lock and does not answer: the "
            "bench lock is not checked",
            file=sys.stderr,
            flush=True,
        )
