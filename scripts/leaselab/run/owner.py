"""Who holds a bench for an experiment."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from typing import TYPE_CHECKING

from leaselab.lab.hold import owner_under

if TYPE_CHECKING:
    from pathlib import Path

    from leaselab.lab.lock import Owner


def point_owner(held_for: str, bench: str, root: Path) -> Owner:
    """Name this process as who has a bench for an experiment, also where it goes on with it."""
    return owner_under(root, bench, held_for, _lock_token(held_for, root))


def _lock_token(held_for: str, root: Path) -> str:
    """Return the same token whenever this checkout goes on with this experiment.

    So a resumed one takes over the lock its killed self left, while nobody
    who only reads results can.
    """
    path = root / ".leaselab" / "lock-secret"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"lock-secret.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        draft.rename(path)
    secret = path.read_text(encoding="ascii").encode()
    return hmac.new(secret, held_for.encode(), hashlib.sha256).hexdigest()
