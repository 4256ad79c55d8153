"""The lease of a bench: its lock, and the files of the checkout that hold the lock's token.

One file is of `lab take`, which keeps the bench over several commands; it stays until
released.  The other is of the command that uses the bench now; the next command reads from it
what a killed one left locked.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from leaselab.archive.disk import PRIVATE, write_whole
from leaselab.lab.bench.lock import (
    BenchHeldError,
    BenchInUseError,
    BenchLock,
    Hold,
    ask,
    new_hold,
    owner_name,
)
from leaselab.lab.hosts.transport import Connection, connect
from leaselab.model.bench import HostAccess
from leaselab.model.errors import LeaselabError, Outcome, lab_broken

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
    write_whole(path, json.dumps(asdict(hold)).encode(), PRIVATE)


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
            raise BenchHeldError(
                Outcome.LAB,
                f"another command of this checkout uses bench {bench}",
                where=str(checkout),
                found=f"{other.name}, {other.purpose}" if other else "",
                todo="wait until it is done",
            ) from None
        yield file


COMMAND_S = 300
"""How long a killed command keeps a bench from others, outside of its sweeps (s)."""
_RENEW_S = 60.0
"""Time between two renewals while a playbook runs (s)."""
_log = logging.getLogger(__name__)


class Lease:
    """The lock of one command.  Playbooks prove by `file` that they are the command's."""

    def __init__(self, bench: str, keeper: HostAccess, hold: Hold, file: CommandFile) -> None:
        """`keeper` is the host that keeps the lock; nothing is locked yet."""
        self.bench = bench
        self._keeper = keeper
        self._hold = hold
        self._file = file
        self._renewed: float | None = None
        self.killed = file.read()
        """What a killed command of this checkout had the bench for; None without one."""

    @property
    def name(self) -> str:
        """Who has the bench, as others read it."""
        return self._hold.name

    @property
    def locked(self) -> bool:
        """Whether this command has locked the bench."""
        return self._renewed is not None

    @property
    def file(self) -> Path:
        """File that proves that the bench is this command's; a path on this machine."""
        return self._file.path

    def take(self) -> None:
        """Lock the bench; again where its keeper was booted or made again since.

        The lock of a killed command of this checkout is released first.  Raises as
        `leaselab.lab.bench.lock.ask`, and what `connect` raises.
        """
        with connect(self._keeper) as keeper:
            killed = self._file.read()
            if killed is not None and killed.token != self._hold.token:
                with suppress(BenchInUseError):  # it has expired, and has another owner
                    ask(keeper, "release", killed)
            # Before it is locked: a kill in between leaves a token that locks nothing.
            self._file.write(self._hold)
            try:
                ask(keeper, "acquire", self._hold)
            except LeaselabError:
                self._file.write(None)
                raise
        self._renewed = time.monotonic()

    def keep(self) -> None:
        """Renew it where that is due; to be called over and over while a playbook runs.

        Raises a broken-lab error when it was lost.  A keeper that does not answer for a while
        is no loss.
        """
        if self._renewed is None or time.monotonic() - self._renewed < _RENEW_S:
            return
        try:
            self.renew()
        except BenchInUseError:
            raise
        except LeaselabError:
            if time.monotonic() - self._renewed > self._hold.lease_s:
                raise

    def renew(self, lease_s: int = COMMAND_S) -> None:
        """Prolong it, to `lease_s` (s) where that is longer; nothing where it is not locked."""
        if self._renewed is None:
            return
        with connect(self._keeper) as keeper:
            ask(keeper, "renew", replace(self._hold, lease_s=max(COMMAND_S, lease_s)))
        self._renewed = time.monotonic()

    @contextmanager
    def during(self, keeper: Connection, purpose: str, lease_s: int) -> Iterator[BenchLock]:
        """Hold the bench for a sweep: others read its `purpose`, and it renews by itself.

        `lease_s` is how long it lasts without that (s); `keeper` is the sweep's connection.
        """
        sweep = replace(self._hold, purpose=purpose, lease_s=lease_s)
        self._file.write(sweep)
        with BenchLock(keeper, sweep, self._hold) as lock:
            yield lock
        self._file.write(self._hold)
        self._renewed = time.monotonic()

    def stay(self, lease_s: int) -> Hold:
        """Leave the bench locked when the command ends; return what later commands prove it by.

        `lease_s` is how long it lasts after the last of them (s).
        """
        hold = replace(self._hold, name=owner_name(), lease_s=lease_s, under="")
        with connect(self._keeper) as keeper:
            ask(keeper, "renew", hold)
        self.forget()
        return hold

    def forget(self) -> None:
        """Forget the lock without a release: the bench stays locked, or is gone."""
        self._renewed = None
        self._file.write(None)

    def release(self) -> None:
        """Free the bench; a failure is logged, and the lock expires then."""
        if self._renewed is None:
            return
        try:
            with connect(self._keeper) as keeper:
                ask(keeper, "release", self._hold)
        except LeaselabError as error:
            _log.warning("bench %s was not released: %s", self.bench, error)
        else:
            self.forget()


@contextmanager
def leased(
    checkout: Path,
    bench: str,
    keeper: HostAccess,
    purpose: str,
    take: Callable[[Lease], None] = Lease.take,
) -> Iterator[Lease]:
    """Hold a bench for the block, under the hold of this checkout if it has one.

    `take` locks it; it may have to prepare the keeper first.  Raises a broken-lab error where
    another owner has the bench.
    """
    with command_file(checkout, bench) as file:
        above = read_hold(checkout, bench)
        hold = new_hold(purpose, COMMAND_S, under=above.token if above else "")
        hold = replace(hold, name=f"{hold.name} pid {os.getpid()}")
        lease = Lease(bench, keeper, hold, file)
        try:
            take(lease)
            yield lease
        finally:
            lease.release()
