"""How the hosts of an unfinished sweep are reached: a file beside it, for its owner alone.

A resumed sweep needs addresses, users and the places of keys; a result has none of them.  So
they are never part of what becomes the result, and go away with the sweep's end.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from leaselab.archive.disk import explain_full_disk, sync_directory
from leaselab.model.errors import lab_broken

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SUFFIX = ".access"


def keep_access(sweep: Path, access: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the file of a running sweep; `access` is what an SSH login takes, by role."""
    path = access_path(sweep)
    with explain_full_disk(path, sweep.name):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(access, stream)
            stream.flush()
            os.fsync(stream.fileno())
        sync_directory(path.parent)


def with_access(document: Mapping[str, Any], sweep: Path) -> dict[str, Any]:
    """Return a sweep's bench document with how its hosts are reached.

    Raises a broken-lab error where nobody kept that.
    """
    path = access_path(sweep)
    try:
        access = json.loads(path.read_text(encoding="utf-8"))
        hosts = {
            role: {**host, "access": access[role]} for role, host in document["hosts"].items()
        }
    except (OSError, ValueError, KeyError) as error:
        raise lab_broken(
            "it is not known how the hosts of this sweep are reached",
            where=str(path),
            found=f"{type(error).__name__}: {error}",
            todo="measure anew; another release began the sweep, or the file was removed",
        ) from error
    return {**document, "hosts": hosts}


def forget_access(sweep: Path) -> None:
    """Remove the file; nothing to do where there is none."""
    access_path(sweep).unlink(missing_ok=True)


def access_path(sweep: Path) -> Path:
    """Where it lies: beside the directory of the sweep, no part of the result."""
    return sweep.with_name(sweep.name + _SUFFIX)
