"""Files of the archive: written durably, and read only where they are regular files."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from leaselab.model.errors import lab_broken, usage_error

_FULL = {errno.ENOSPC, errno.EDQUOT}
PRIVATE = 0o600
"""Permissions of a file that only its owner may read."""
_MOST_BYTES = 256 * 2**20
"""Largest file that is read whole."""


@contextlib.contextmanager
def ordinary(path: Path) -> Iterator[BufferedReader]:
    """Open a file to read it.

    Raises OSError also for anything but a regular file: a folder, a link (whose target may be
    anywhere), a pipe or a device (which may never end).
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not an ordinary file", str(path))
        with os.fdopen(handle, "rb", closefd=False) as stream:
            yield stream
    finally:
        os.close(handle)


def content_of(path: Path) -> bytes:
    """Read a whole file.  Raises OSError as `ordinary`, and where it is larger than 256 MiB."""
    with ordinary(path) as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(errno.EFBIG, f"larger than {_MOST_BYTES >> 20} MiB", str(path))
    return content


def sync_directory(path: Path) -> None:
    """Flush the names inside a directory to the disk (the fsync of a file does not)."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Yield the path of a draft beside a file, to be renamed; it is removed if it was not.

    Another process that writes the same file has another draft.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file atomically: a crash leaves the old content or the new, never a part.

    `mode` has its permissions, which the umask reduces.
    """
    with drafted(path) as draft:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    sync_directory(path.parent)


@contextlib.contextmanager
def explain_full_disk(path: Path, sweep_id: str = "") -> Iterator[None]:
    """Turn a full disk or quota into lab_broken, with how to resume a begun sweep."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        go_on = f", then `leaselab resume {sweep_id}`" if sweep_id else ""
        raise lab_broken(
            "no space left on the disk"
            if error.errno == errno.ENOSPC
            else "disk quota used up",
            where=str(path),
            found=f"{_free_mib(path):.1f} MiB free",
            todo=f"{'the journal is kept: ' if go_on else ''}free some space{go_on}",
        ) from error


def _free_mib(path: Path) -> float:
    place = path if path.is_dir() else path.parent
    return shutil.disk_usage(place).free / 2**20


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of writing to a path from the user into usage errors.

    A full disk is reported as such.
    """
    try:
        path.resolve()
    except RuntimeError as error:
        raise usage_error(
            f"cannot be written: {error}", where=str(path), wanted="no circle of links"
        ) from error
    try:
        yield
    except (OSError, ValueError) as error:  # a path without a name is a ValueError
        if isinstance(error, OSError) and error.errno in _FULL:
            raise
        raise usage_error(
            f"cannot be written: {getattr(error, 'strerror', error)}",
            where=str(path),
            todo="name a place in a folder that exists and that you may write to",
        ) from error
