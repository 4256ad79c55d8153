"""``leaselab dev bench``: simulations of the project's own methods."""

from __future__ import annotations

import argparse
import subprocess
import sys

from leaselab.lab.checkout import checkout_root
from leaselab.model.errors import Outcome, internal_fault, unknown

HELP = "Run a simulation of the project's methods; what follows its name is passed on to it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``dev bench``."""
    parser.add_argument("name", metavar="NAME", help="such as: search")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="options of the simulation")


def run(args: argparse.Namespace) -> Outcome:
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
    if done.returncode == 0:
        return Outcome.OK
    if done.returncode in {outcome.value for outcome in Outcome}:
        return Outcome(done.returncode)
    raise internal_fault(
        f"the benchmark failed with exit status {done.returncode}", where=args.name
    )
