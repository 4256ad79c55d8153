"""The checkout that commands work in: its place, and what is kept there."""

from __future__ import annotations

import os
from pathlib import Path

from leaselab.archive.prune import use


def checkout_root() -> Path:
    """The checkout: LEASELAB_ROOT, else the directory two above the package."""
    named = os.environ.get("LEASELAB_ROOT")
    return Path(named).absolute() if named else Path(__file__).resolve().parents[3]


def kept_folder(name: str) -> Path:
    """A folder of `.leaselab` with what takes time to make again.

    Until this process ends, no `leaselab lab prune` removes anything there.
    """
    folder = checkout_root() / ".leaselab"
    use(folder)
    return folder / name


def usual_results() -> Path:
    """The results folder of commands without an option for it."""
    named = os.environ.get("LEASELAB_RESULTS")
    return Path(named) if named else checkout_root() / "results"
