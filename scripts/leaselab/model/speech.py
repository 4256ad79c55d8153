"""What a command says meanwhile, on standard error."""

from __future__ import annotations

import sys


def announce(text: str) -> None:
    """Print a side effect of a command, or a problem that does not stop it."""
    say(f"leaselab: {text}")


def say(text: str) -> None:
    """Print what a command does meanwhile."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201  # all but `cli` print by this
