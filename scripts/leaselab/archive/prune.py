"""Pruning of raw outputs of old results, and of a checkout's caches.

A result is never removed, and of its files only those below ``raw/``, which no command reads.
Files to remove are first listed in its pruned.json, with checksums, so that a kill at any
moment leaves a consistent result.  Links are not followed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

from leaselab import __version__
from leaselab.archive.checksums import (
    PRUNED,
    RAW,
    Pruned,
    PrunedFile,
    read_pruned,
    read_sums,
)
from leaselab.archive.disk import write_whole
from leaselab.archive.journal import event_of
from leaselab.archive.row import UNREADABLE
from leaselab.archive.running import BENCH_FILE, JOURNAL
from leaselab.archive.store import RUNNING, Store
from leaselab.model import moment
from leaselab.model.errors import LeaselabError, lab_broken

LOCK = ".prune.lock"
RAW_OUTPUTS = "raw outputs"
IDLE_DAYS = 180
"""Days without any result from which a wrong clock is more likely than an idle lab."""
_DAY_S = 86400.0
_PATIENCE_S = 60.0
_POLL_S = 0.1
_KEY = re.compile(r"[0-9a-f]{24}")
_GONE = ".gone"
"""Suffix of a folder that is being removed."""
_WRITABLE = 0o222
_NOT_OURS = {errno.EACCES, errno.EPERM, errno.EROFS}
_used: dict[Path, IO[str]] = {}
"""Locks that this process holds until it ends, by their folder."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item that may be removed."""

    kind: str
    """Its kind, a plural."""
    path: Path
    used_at: float
    """When it was made or last used (s since the epoch)."""
    needed: bool = False
    """Whether it is still referred to."""


@dataclass(slots=True)
class Freed:
    """Removed items of a kind, or those to be removed."""

    items: int = 0
    bytes: int = 0
    """Sizes of its files."""


def clock_trouble(ends: Iterable[float], now: float, days: int) -> str:
    """Why the clock may be far ahead, so that everything seems old; empty where it is right.

    `ends` is when each result was finished, `now` what the clock says (s).  It is right where
    results were made for so many days without a gap as long as `IDLE_DAYS`.
    """
    later = now
    for end in sorted((end for end in ends if end <= now), reverse=True):
        idle = (later - end) / _DAY_S
        if idle > IDLE_DAYS:
            return f"no result was made in the {idle:.0f} days before {_day(later)}"
        if now - end >= days * _DAY_S:
            break
        later = end
    return ""


def _day(at: float) -> str:
    return moment.timestamp(datetime.fromtimestamp(at, UTC))[:10]


def may_go(items: Iterable[Item], now: float, days: int) -> list[Item]:
    """Items without references that were not used for a number of days before `now` (s)."""
    return [item for item in items if not item.needed and now - item.used_at >= days * _DAY_S]


def remove(items: Iterable[Item], *, dry_run: bool) -> tuple[dict[str, Freed], list[str]]:
    """Remove them, or only report what that would free, by kind; and what could not be removed.

    An item that cannot be removed does not prevent the removal of others.
    """
    freed: dict[str, Freed] = {}
    errors = []
    for item in items:
        act = _free_raw if item.kind == RAW_OUTPUTS else _free
        try:
            size = act(item.path, dry_run=dry_run)
        except (OSError, LeaselabError) as error:
            errors.append(f"{item.path}: {error}")
            continue
        if size is not None:
            known = freed.setdefault(item.kind, Freed())
            known.items += 1
            known.bytes += size
    return freed, errors


def results(store: Store) -> Iterator[Item]:
    """Raw outputs of each result; those of an experiment that is not finished are needed."""
    root = store.root.resolve()
    unfinished = set(_unfinished(root))
    experiments = store.index.experiments()
    needed = {ident for name in unfinished for ident in experiments.get(name, ())}
    for row in store.index.rows():
        place = root / row["path"]
        try:
            ended = datetime.fromisoformat(row["finished_at"]).timestamp()
        except (ValueError, OverflowError):
            continue
        unreadable = row["outcome"] == UNREADABLE  # its repair may need all of it
        if not unreadable and _has_raw(place) and place.resolve() == place:
            yield Item(RAW_OUTPUTS, place, ended, row["id"] in needed)


def leftovers(store: Store) -> Iterator[Item]:
    """Leftovers of killed sweeps beside `.running/<id>/`, which no process uses."""
    for path in _files(store.root / RUNNING, "*.live", "*.access"):
        needed = path.suffix == ".access" and path.with_suffix("").exists()
        yield Item("leftovers", path, path.lstat().st_mtime, needed)


def caches(store: Store, checkout: Path) -> Iterator[Item]:
    """Caches of a checkout in `.leaselab`; results refer to some of their builds."""
    folder = checkout / ".leaselab"
    named = store.index.builds()
    places = [*_files(folder / "deployments", "*.json"), *_files(folder, "bench*.json")]
    places += _files(folder / "builds", "*.json")
    places += [*folder.glob("benches/*/bench*.json")]
    places += (store.root / RUNNING).glob(f"*/{BENCH_FILE}")
    for place in places:
        named |= set(_KEY.findall(place.read_text(encoding="utf-8", errors="replace")))
    for path in _entries(folder / "builds"):
        if path.is_dir() and _KEY.fullmatch(path.name):
            yield Item("builds", path, path.stat().st_mtime, path.name in named)
            for draft in _files(path, "artifact.*"):
                kept = draft.name == "artifact.tar.gz"
                yield Item("leftovers", draft, draft.lstat().st_mtime, kept)
        elif path.suffix == _GONE:
            yield Item("leftovers", path, 0.0)
    for path in _files(folder / "builds", "*.log.gz"):
        yield Item("build logs", path, path.lstat().st_mtime)
    for path in _files(folder / "sources"):
        yield Item("sources", path, path.lstat().st_mtime)
    for path in _files(folder / "logs"):
        yield Item("playbook logs", path, path.lstat().st_mtime)
    for path in _entries(folder / "repositories"):
        if path.is_dir():
            asked = path.with_suffix(".lock")  # opened for writing with each use
            used = (asked if asked.exists() else path).stat().st_mtime
            yield Item("repositories", path, used)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """Whether this process has exclusive access to a folder, without other prunes or `use`."""
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def use(folder: Path) -> None:
    """Prevent pruning in a folder until this process ends.

    In a read-only folder, only the age of used items protects them.  Raises a
    broken-lab error where a prune does not end.
    """
    if folder in _used:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("a")  # until the process ends
    except OSError as error:
        if error.errno in _NOT_OURS:
            return
        raise
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                lock.close()
                raise lab_broken(
                    f"`leaselab lab prune` does not end within {_PATIENCE_S:.0f} s",
                    where=str(folder),
                    todo="wait for it, or end it",
                ) from None
            time.sleep(_POLL_S)
        else:
            break
    _used[folder] = lock


def _unfinished(root: Path) -> Iterator[str]:
    """Experiments that a sweep below `.running` belongs to."""
    for path in (root / RUNNING).glob(f"*/{JOURNAL}"):
        with path.open("rb") as stream:
            event = event_of(stream.readline())
        experiment = event and event.data.get("experiment")
        if isinstance(experiment, dict):
            yield str(experiment.get("id"))


def _has_raw(place: Path) -> bool:
    """Whether there is something to prune, or a prune of it was killed near its end."""
    if _is_folder(place / RAW):
        return True
    return (place / PRUNED).exists() and bool(place.stat().st_mode & _WRITABLE)


def _free_raw(place: Path, *, dry_run: bool) -> int | None:
    """Remove the raw outputs of a result; return their size (bytes), None without any.

    Files that were added after sealing, and folders, stay.  Files that an earlier prune has
    listed and not removed are removed without a second list.
    """
    sums, pruned = read_sums(place), read_pruned(place)
    handle = _open_folder(place / RAW)
    try:
        sizes = {f"{RAW}/{name}": size for name, size in _sizes(handle).items()}
        listed = sums if pruned is None else pruned.files
        sizes = {name: size for name, size in sizes.items() if name in listed}
        if dry_run:
            return sum(sizes.values()) if sizes else None
        with _writable(place):
            if pruned is None and sizes:
                files = {name: PrunedFile(size, sums[name]) for name, size in sizes.items()}
                pruning = Pruned(moment.now(), f"leaselab lab prune {__version__}", files)
                text = msgspec.json.format(msgspec.json.encode(pruning), indent=1)
                write_whole(place / PRUNED, text + b"\n")
                (place / PRUNED).chmod(0o444)
            if handle is not None:
                with _writable(place / RAW):
                    for name in sizes:
                        os.unlink(name.removeprefix(f"{RAW}/"), dir_fd=handle)
                with contextlib.suppress(OSError):  # it has other files
                    (place / RAW).rmdir()
    finally:
        if handle is not None:
            os.close(handle)
    return sum(sizes.values()) if sizes else None


def _open_folder(path: Path) -> int | None:
    """A descriptor of a folder that is not a link; None where it does not exist."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None


def _sizes(handle: int | None) -> dict[str, int]:
    """Names and sizes (bytes) of the files in a folder, without links."""
    if handle is None:
        return {}
    with os.scandir(handle) as entries:
        return {
            entry.name: entry.stat(follow_symlinks=False).st_size
            for entry in entries
            if entry.is_file(follow_symlinks=False)
        }


@contextlib.contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Make a folder of a result writable for the context; afterwards it is read-only again."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(mode | stat.S_IWUSR)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            folder.chmod(mode & ~_WRITABLE)


def _free(path: Path, *, dry_run: bool) -> int:
    """Remove a file or a folder; return its size (bytes)."""
    folder = _is_folder(path)
    inside = path.rglob("*") if folder else [path]
    size = sum(file.lstat().st_size for file in inside if not _is_folder(file))
    if dry_run:
        return size
    if folder:
        # Renamed first, so that a kill does not leave half of a build under its name.
        gone = path.with_name(path.name + _GONE)
        path.rename(gone)
        shutil.rmtree(gone)
    else:
        path.unlink()
    return size


def _is_folder(path: Path) -> bool:
    """Whether it is a folder and no link to one."""
    return path.is_dir() and not path.is_symlink()


def _entries(folder: Path) -> list[Path]:
    """Entries of a folder that is not a link, without links; none where it does not exist."""
    if not _is_folder(folder):
        return []
    return sorted(path for path in folder.iterdir() if not path.is_symlink())


def _files(folder: Path, *patterns: str) -> list[Path]:
    """The files in a folder, all or those of some patterns."""
    return [
        path
        for path in _entries(folder)
        if path.is_file() and (not patterns or any(map(path.match, patterns)))
    ]
