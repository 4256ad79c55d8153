"""``leaselab bench``: the project's own benchmarks."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from typing import cast

from leaselab.cli.main import CommandModule, Parser
from leaselab.cli.options import checkout_root
from leaselab.model.errors import Outcome, internal_fault, unknown

NAME = "bench"
HELP = "Run one of the project's own benchmarks; what follows its name is passed on to it."

ON_BENCHES = {"generators": "leaselab.cli.generators", "truth": "leaselab.cli.truth"}
"""Those that measure on a bench, by module: in this process, as every command that does."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``bench``."""
    parser.add_argument("name", help="such as: search")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="options of the benchmark")


def run(args: argparse.Namespace) -> Outcome:
    """Run ``benchmarks/NAME.py`` with this Python, or what measures on a bench."""
    if args.name in ON_BENCHES:
        command = cast("CommandModule", importlib.import_module(ON_BENCHES[args.name]))
        prog = f"leaselab {NAME} {args.name}"
        parser = Parser(prog=prog, description=command.HELP, allow_abbrev=False)
        command.add_arguments(parser)
        return command.run(parser.parse_args(args.rest))
    root = checkout_root()
    names = [
        path.stem
        for path in (root / "benchmarks").glob("*.py")
        if not path.stem.startswith("_")
    ]
    if args.name not in names:
        raise unknown("benchmark", args.name, [*names, *ON_BENCHES], "leaselab bench")
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
