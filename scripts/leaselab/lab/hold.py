"""Files of the checkout that prove that it holds a bench.

One file is of `lab take`: a bench kept over several commands, such as a pipeline's stages; it
stays until it is released.  The other is of the command that uses the bench now.  From it the
next command of this checkout knows what a killed one has left locked.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from leaselab.archive.disk import write_private
from leaselab.lab.lock import BenchInUseError, Hold
from leaselab.model.errors import Outcome, lab_broken

FOLDER = Path(".leaselab") / "holds"
"""Below the checkout; the playbooks look there, too (role bench_lock)."""


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
    write_private(path, json.dumps(asdict(hold)))


def forget_hold(checkout: Path, bench: str) -> None:
    """Remove it; nothing to do when there is none."""
    _file(checkout, bench).unlink(missing_ok=True)


def _file(checkout: Path, bench: str) -> Path:
    return checkout / FOLDER / f"{bench}.json"


@dataclass(slots=True)
class CommandFile:
    """The file of the command of this checkout that uses a bench; open in one process."""

    path: Path
    _stream: IO[str]

    def read(self) -> Hold | None:
        """The hold of a command that was killed; None where none was."""
        self._stream.seek(0)
        try:
            return Hold(**json.load(self._stream))
        except (ValueError, TypeError):
            return None  # empty, or cut by the kill: the lock expires by itself

    def write(self, hold: Hold | None) -> None:
        """Record the holder of the bench; None: it is free."""
        self._stream.seek(0)
        self._stream.truncate()
        if hold is not None:
            json.dump(asdict(hold), self._stream)
        self._stream.flush()
        os.fsync(self._stream.fileno())


@contextmanager
def command_file(checkout: Path, bench: str) -> Iterator[CommandFile]:
    """Lock the checkout for the one command that uses a bench.

    Raises a broken-lab error that names the other one.
    """
    path = _file(checkout, bench).with_suffix(".command.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Never removed: two processes could hold locks on two files of that name.
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as stream:
        file = CommandFile(path, stream)
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = file.read()
            raise BenchInUseError(
                Outcome.LAB,
                f"another command of this checkout uses bench {bench}",
                where=str(checkout),
                found=f"{other.name}, {other.purpose}" if other else "",
                todo="wait until it is done",
            ) from None
        yield file
