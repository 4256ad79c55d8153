"""Writing so that it lasts: whole files or none, and a full disk that is said plainly."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from typing import TYPE_CHECKING

from leaselab.model.errors import lab_broken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FULL = {errno.ENOSPC, errno.EDQUOT}


def sync_directory(path: Path) -> None:
    """Make the names inside a directory last (a file's own fsync does not)."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a crash leaves the old content or the new, never a part."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextlib.contextmanager
def explain_full_disk(path: Path, sweep_id: str) -> Iterator[None]:
    """Turn a full disk or quota into lab_broken that says how the sweep goes on."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise lab_broken(
            "no space left on the disk"
            if error.errno == errno.ENOSPC
            else "disk quota used up",
            where=str(path),
            found=f"{_free_mib(path):.1f} MiB free",
            todo=f"the journal is kept: free some space, then `leaselab resume {sweep_id}`",
        ) from error


def _free_mib(path: Path) -> float:
    place = path if path.is_dir() else path.parent
    return shutil.disk_usage(place).free / 2**20
