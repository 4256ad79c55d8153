"""``leaselab lab``: bring the local lab up or down, or say how a lab is."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.cli.bench_setup import LOCAL_BENCH, add_inventory, benches_of
from leaselab.cli.hold import add_release, add_take, release, take
from leaselab.cli.options import add_json, checkout_root, print_json
from leaselab.cli.playbook import changes, run_playbook
from leaselab.lab.inventory import read_inventory
from leaselab.lab.status import BenchStatus, HostStatus, bench_status
from leaselab.model.errors import Outcome

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

NAME = "lab"
HELP = "Bring the local Docker lab up or down, hold a bench, or say how a lab is."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verbs and their options."""
    verbs = parser.add_subparsers(
        dest="verb", metavar="up|down|take|release|status", required=True
    )

    up = verbs.add_parser("up", help="bring the local lab up; changes nothing when it is up")
    up.add_argument(
        "--take-over",
        action="store_true",
        help="remove a lab that another checkout has on this machine",
    )
    _add_force(up)
    add_json(up)

    down = verbs.add_parser("down", help="remove the lab's containers, networks and keys")
    down.add_argument("--images", action="store_true", help="remove its images as well")
    down.add_argument(
        "--take-over",
        action="store_true",
        help="remove a lab that another checkout has on this machine, too",
    )
    _add_force(down)
    add_json(down)

    take = verbs.add_parser(
        "take",
        help="inspect a bench and hold it for this checkout, over several commands; what it "
        "held before is given back first",
    )
    add_take(take)

    release = verbs.add_parser(
        "release", help="give a held bench back; what still runs on it is stopped"
    )
    add_release(release)

    status = verbs.add_parser("status", help="how the hosts are, and who holds the bench")
    add_inventory(status)
    add_json(status)


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--force", action="store_true", help="remove a lab although a sweep holds its bench"
    )


def run(args: argparse.Namespace) -> Outcome:
    """Do the verb.

    `status` ends with 4 when a host is not well, except that a local lab of
    which no host answers is down, which is a state and not a fault (0).
    """
    verbs = {"up": _up, "down": _down, "take": take, "release": release, "status": _status}
    return verbs[args.verb](args)


def _local() -> Path:
    return checkout_root() / "inventory" / "docker"


def _up(args: argparse.Namespace) -> Outcome:
    stats = run_playbook(
        "lab_up",
        _local(),
        {"docker_lab_take_over": args.take_over, "docker_lab_force": args.force},
        changes(sys.stderr),
    )
    hosts = [host.access for host in read_inventory(_local()).hosts]
    if args.json:
        names = [host.name for host in hosts]
        print_json({"up": True, "changed": stats.changed, "hosts": names})
        return Outcome.OK
    what = f"{stats.changed} changes" if stats.changed else "nothing changed"
    print(f"the lab is up: {', '.join(host.name for host in hosts)} ({what})")
    return Outcome.OK


def _down(args: argparse.Namespace) -> Outcome:
    stats = run_playbook(
        "lab_down",
        _local(),
        {
            "docker_lab_remove_images": args.images,
            "docker_lab_take_over": args.take_over,
            "docker_lab_force": args.force,
        },
    )
    removed: Mapping[str, Sequence[str]] = stats.custom.get("removed", {})
    if args.json:
        print_json({"up": False, "removed": removed})
        return Outcome.OK
    for kind, names in removed.items():
        if names:
            print(f"removed {kind}: {', '.join(names)}")
    print("the lab is down" if any(removed.values()) else "the lab was down: nothing to remove")
    return Outcome.OK


def _status(args: argparse.Namespace) -> Outcome:
    found = [bench_status(bench) for bench in benches_of(args)]
    if args.json:
        each = [{"up": status.up, **dataclasses.asdict(status)} for status in found]
        print_json(each[0] if len(each) == 1 else each)
    else:
        for status in found:
            sys.stdout.writelines(f"{line}\n" for line in status_lines(status))
    well = all(one.up or (one.down and one.bench == LOCAL_BENCH) for one in found)
    return Outcome.OK if well else Outcome.LAB


def status_lines(status: BenchStatus) -> list[str]:
    """Return the status as a person reads it."""
    if status.down and status.bench == LOCAL_BENCH:
        return [f"bench {status.bench}: down; `leaselab lab up` brings it up"]
    word = "up" if status.up else "not well"
    lines = [f"bench {status.bench}: {word}"]
    for host in status.hosts:
        lines += _host_lines(host)
    if status.lock is not None:
        lines.append(
            f"lock: held by {status.lock['name']} for {status.lock['purpose']},"
            f" {status.lock['age_s']:.0f} s old, expires in {status.lock['expires_in_s']:.0f} s"
        )
    elif status.lock_problem:
        lines.append(f"lock: not known: {status.lock_problem}")
    else:
        lines.append("lock: free")
    return lines


def _host_lines(host: HostStatus) -> list[str]:
    head = f"  {host.name} ({', '.join(host.parts)}) {host.at}"
    if not host.reachable:
        return [f"{head}: NOT REACHABLE: {host.problem}"]
    cpus = ",".join(map(str, host.cpus))
    lines = [
        f"{head}: {f'WRONG: {host.problem}' if host.problem else 'ok'}",
        f"    {host.hostname}, {host.os}, Linux {host.kernel}, processors {cpus}",
    ]
    if host.test_addresses:
        lines.append(f"    test: {host.test_interface} {' '.join(host.test_addresses)}")
    if host.server:
        lines.append(f"    deployed: {host.server} for scenario {host.scenario}")
    if host.generator:
        lines.append(f"    deployed: {host.generator}")
    return lines
