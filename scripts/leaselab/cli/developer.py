"""``leaselab dev``: simulations of the project's methods, and commands of the launcher."""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import NoReturn

from leaselab.lab.checkout import checkout_root
from leaselab.model.errors import Outcome, internal_fault, unknown, usage_error


def add_launched(parser: argparse.ArgumentParser) -> None:
    """Accept all further arguments of ``dev test`` and ``dev lint``."""
    parser.add_argument("rest", nargs=argparse.REMAINDER)


def launched(args: argparse.Namespace) -> NoReturn:  # noqa: ARG001  (there is nothing to do with them)
    """Raise a usage error with the launcher's command, which installs the tools first."""
    raise usage_error(
        "the developers' tools are missing; the launcher installs them",
        found=" ".join(["leaselab", *sys.argv[1:3]]),
        wanted=" ".join(["./leaselab", *sys.argv[1:3]]),
        todo="call it so, in the checkout",
    )


def add_simulation(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``dev bench``."""
    parser.add_argument("name", metavar="NAME", help="such as: search")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="options of the simulation")


def simulation(args: argparse.Namespace) -> Outcome:
    """Run ``benchmarks/NAME.py`` with this Python."""
    root = checkout_root()
    names = [
        path.stem
        for path in (root / "benchmarks").glob("*.py")
        if not path.stem.startswith("_")
    ]
    if args.name not in names:
        raise unknown("benchmark", args.name, names, "leaselab dev bench")
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{args.name}", *args.rest], cwd=root, check=False
    )
    if done.returncode in {outcome.value for outcome in Outcome}:
        return Outcome(done.returncode)
    raise internal_fault(
        f"the benchmark failed with exit status {done.returncode}",
        where=args.name,
        todo="its own output says why",
    )
