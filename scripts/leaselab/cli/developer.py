"""Commands of the launcher, which installs the developers' tools before it runs them."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from leaselab.model.errors import usage_error

HELP = "A command of the launcher: call it as ./leaselab, in the checkout."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take whatever follows."""
    parser.add_argument("rest", nargs=argparse.REMAINDER)


def run(args: argparse.Namespace) -> NoReturn:  # noqa: ARG001  (there is nothing to do with them)
    """Say how to call it."""
    raise usage_error(
        "the developers' tools are missing; the launcher installs them",
        found=" ".join(["leaselab", *sys.argv[1:3]]),
        wanted=" ".join(["./leaselab", *sys.argv[1:3]]),
    )
