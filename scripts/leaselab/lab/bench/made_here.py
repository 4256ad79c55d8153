"""A lab of this machine: one command at a time makes or removes it, of any checkout."""

from __future__ import annotations

import fcntl
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from leaselab.lab.bench.lock import owner_name
from leaselab.model.errors import lab_broken
from leaselab.model.text import bounded

LOCKS = (Path("/run/lock"), Path(tempfile.gettempdir()))
"""Folders of the machine that all users may write to, the best first."""
PATIENCE_S = 30.0
"""How long another command is waited for (s); the first `lab up` takes minutes."""
_POLL_S = 0.2
_SHOWN = 200
"""Letters of who has it: the file is any user's."""
_log = logging.getLogger(__name__)


@contextmanager
def making(kind: str, purpose: str, checkout: Path) -> Iterator[None]:
    """Lock the machine for the one command that makes or removes its lab of a kind.

    `kind` is the role's that makes it, `purpose` what others read.  Raises a broken-lab error
    that names the other command where that does not end soon.
    """
    path = next(lock for lock in LOCKS if os.access(lock, os.W_OK)) / f"leaselab-{kind}"
    with _opened(path) as stream:
        _take(stream, path)
        stream.write(f"{owner_name()} pid {os.getpid()}, {purpose}, in {checkout}")
        stream.flush()
        yield


def _opened(path: Path) -> IO[str]:
    """Open a lock's file, which is never removed: two processes could lock two of that name.

    Any user may have made it and may write to it; so a link to another file is refused.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW
    try:
        try:
            handle = os.open(path, flags)
        except FileNotFoundError:
            handle = os.open(path, flags | os.O_CREAT)
            os.fchmod(handle, 0o666)
        return os.fdopen(handle, "r+", encoding="utf-8", errors="replace")
    except OSError as error:
        raise lab_broken(
            "the lock of this machine's lab cannot be opened",
            where=str(path),
            found=error.strerror or str(error),
            wanted="a file that every user may write",
            todo="see who made it, and remove it",
        ) from error


def _take(stream: IO[str], path: Path) -> None:
    until, said = time.monotonic() + PATIENCE_S, False
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            other = bounded(stream.read(_SHOWN + 1), _SHOWN) or "another command"
            if time.monotonic() > until:
                raise lab_broken(
                    "another command makes or removes the lab of this machine",
                    where=str(path),
                    found=other,
                    wanted=f"its end within {PATIENCE_S:.0f} s",
                    todo="wait until it is done",
                ) from None
            if not said:
                _log.warning("waiting for %s", other)
                said = True
            time.sleep(_POLL_S)
        else:
            stream.seek(0)
            stream.truncate()  # what a killed one has left
            return
