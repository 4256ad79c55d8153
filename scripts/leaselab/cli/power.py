"""``leaselab lab power``: switch one host on or off, or say whether it is on."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack

from leaselab.cli.bench_options import add_place, benches_of
from leaselab.cli.options import add_json, print_answer
from leaselab.lab.inventory import GENERATOR_GROUP, Inventory, InventoryHost
from leaselab.lab.power import POWER, VERBS
from leaselab.lab.transport import NoAnswerError
from leaselab.model.errors import Outcome, lab_broken, unknown, usage_error
from leaselab.run.recovery import alone, last_maintenance, switch, wait


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``lab power``."""
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


def run(args: argparse.Namespace) -> Outcome:
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
            "nothing switches this host",
            where=f"{places[0].path}, host {name}",
            found=f"no variable {POWER}",
            wanted="a command, a Redfish service or an IPMI BMC",
            todo=f"set {POWER} there, as docs/reference/inventory.md shows",
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
            f"leaselab: {host.access.name} keeps the bench lock and does not answer: "
            "who has the bench is not asked",
            file=sys.stderr,
            flush=True,
        )
