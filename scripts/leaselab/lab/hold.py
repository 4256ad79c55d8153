"""A hold: a bench kept by one checkout over several commands, such as a pipeline's stages.

A sweep locks its bench by itself.  Between commands that belong together, from the
first look at the hosts to the last sweep, nobody else may change them either; so
the lock is taken once for all of them, and what proves that it is ours lies in a
file of the checkout.  Playbooks and sweeps that find the file take part in the hold.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leaselab.lab.lock import Owner, new_owner, owner_name
from leaselab.model.errors import lab_broken

FOLDER = Path(".leaselab") / "holds"
"""Below the checkout; the playbooks look there, too (role bench_lock)."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A bench that this checkout holds.  Its fields are a request of the lock's program."""

    name: str
    """Person or pipeline."""
    purpose: str
    token: str
    """Secret; only the file and the generator's host have it."""
    lease_s: int
    """How long it lasts after the last command that took part in it (s)."""

    def request(self) -> Mapping[str, Any]:
        """What the lock's program is asked with."""
        return asdict(self)


def new_hold(purpose: str, lease_s: int) -> Hold:
    """Make a hold in the name of whoever runs this; nothing is locked by it yet."""
    return Hold(owner_name(), purpose, secrets.token_hex(16), lease_s)


def read_hold(checkout: Path, bench: str) -> Hold | None:
    """The hold that this checkout has on a bench, None without one.

    Raises a broken-lab error for a file that is damaged.
    """
    path = _file(checkout, bench)
    try:
        return Hold(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise lab_broken(
            f"the hold on bench {bench} cannot be read",
            where=str(path),
            found=str(error),
            todo="remove the file; the bench is free again when the hold expires",
        ) from error


def write_hold(checkout: Path, bench: str, hold: Hold) -> None:
    """Keep a hold, for its owner's eyes only."""
    path = _file(checkout, bench)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(asdict(hold), file)
    draft.replace(path)


def forget_hold(checkout: Path, bench: str) -> None:
    """Remove it; nothing to do when there is none."""
    _file(checkout, bench).unlink(missing_ok=True)


def _file(checkout: Path, bench: str) -> Path:
    return checkout / FOLDER / f"{bench}.json"


def owner_under(checkout: Path, bench: str, purpose: str, token: str | None = None) -> Owner:
    """Name this process as an owner, under the hold that the checkout has, if any."""
    hold = read_hold(checkout, bench)
    return new_owner(purpose, token, under=hold.token if hold else "")
