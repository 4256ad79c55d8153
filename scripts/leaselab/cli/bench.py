"""``leaselab bench``: the project's own benchmarks."""

from __future__ import annotations

import argparse
import subprocess
import sys

from leaselab.cli.options import checkout_root
from leaselab.model.errors import Outcome, internal_fault, unknown

NAME = "bench"
HELP = "Run one of the project's own benchmarks; what follows its name is passed on to it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``bench``."""
    parser.add_argument("name", help="such as: search")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="options of the benchmark")


def run(args: argparse.Namespace) -> Outcome:
    """Run ``benchmarks/NAME.py`` with this Python."""
    root = checkout_root()
    names = [
        path.stem
        for path in (root / "benchmarks").glob("*.py")
        if not path.stem.startswith("_")
    ]
    if args.name not in names:
        raise unknown("benchmark", args.name, names, "leaselab bench")
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
