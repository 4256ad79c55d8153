"""A sweep while it runs: its journal, the files that grow beside it, and how it is sealed.

A resumed sweep needs addresses, users and the paths of keys, which a result does not have.
They are in a file beside the sweep, readable only by its owner, that is removed at the sweep's
end.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import msgspec

from leaselab.archive.checksums import SUMS, files_of, write_sums
from leaselab.archive.disk import explain_full_disk, sync_directory, write_whole
from leaselab.archive.journal import Event, Journal, entries_of
from leaselab.model.bench import Bench, HostAccess
from leaselab.model.errors import LeaselabError, lab_broken, usage_error
from leaselab.model.journal import AnyEntry, Begun, Entry, written

JOURNAL = "journal.jsonl"
BENCH_FILE = "bench.json"
RESULT = "result.json"
_ACCESS = ".access"


class RunningSweep:
    """The directory of an unfinished sweep, held open by the one process that runs it.

    Everything written here is on the disk when the call returns.  A full disk raises lab_broken
    with advice on how to resume.
    """

    def __init__(self, path: Path) -> None:
        """Open the directory; its name is the id of the sweep.

        Raises usage_error when another process runs this sweep, lab_broken
        when its journal is damaged.
        """
        self.path = path
        self.id = path.name
        with explain_full_disk(path, self.id):
            self.journal = Journal(path / JOURNAL)

    def entries(self) -> list[AnyEntry]:
        """The events so far, in order; a resumed sweep starts from them.

        Raises lab_broken for a journal that another release wrote.
        """
        return entries_of(self.journal.path, self.journal.events)

    def begun(self) -> Begun:
        """Return the first event, which describes the point; raises as `entries`."""
        entries = self.entries()
        if entries and isinstance(entries[0], Begun):
            return entries[0]
        raise lab_broken(
            "the journal has no start event",
            where=str(self.path),
            todo="it was killed before it began, or by another release; remove that folder and "
            "measure again",
        )

    def record(self, entry: Entry) -> Event:
        """Append one event to the journal."""
        with explain_full_disk(self.journal.path, self.id):
            event = self.journal.append(*written(entry))
        if not self.journal.is_in_place():
            raise _gone(self.path, [JOURNAL])
        return event

    def write_text(self, name: str, text: str) -> str:
        """Write a text file; returns its name within the result.

        `name` is relative, such as ``config/server.conf``; a file of that
        name from before a resume is replaced.
        """
        return self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> str:
        """Write data that a host has compressed, as the suffix of `name`; return the name."""
        inside = PurePosixPath(name)
        reserved = inside.as_posix() in (JOURNAL, RESULT, SUMS, ".")
        if inside.is_absolute() or ".." in inside.parts or reserved:
            raise ValueError(f"not the name of a file of its own inside the result: {name!r}")
        target = self.path / inside
        if not self.path.is_dir():
            raise _gone(self.path, [inside.as_posix()])
        with explain_full_disk(target, self.id):
            if not target.parent.exists():
                target.parent.mkdir(parents=True)
                sync_directory(self.path)
            write_whole(target, content)
        return inside.as_posix()

    def close(self) -> None:
        """Close the sweep; it stays unfinished and can be opened again."""
        self.journal.close()

    def __enter__(self) -> RunningSweep:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A sweep that was started and not sealed."""

    id: str
    path: Path
    active: bool
    """True while a process runs it."""
    events: int
    """Events in its journal."""


def seal_into(
    running: RunningSweep, content: bytes, place: Path, needed: Sequence[str]
) -> Path:
    """Write result.json beside the sweep's files, and rename all of it to `place`.

    Raises lab_broken where one of the files that are `needed` is not there.
    Until the rename everything can be repeated, so a crash before it leaves a
    sweep that resumes; a crash just after it may leave write permissions.
    """
    source = running.path
    missing = sorted({*needed} - {RESULT, *files_of(source)})
    if missing or not running.journal.is_in_place():
        raise _gone(source, missing or [JOURNAL])
    with explain_full_disk(source, running.id):
        for part in source.rglob("*.part"):  # left by a kill during a write
            part.unlink()
        write_whole(source / RESULT, content)
        write_sums(source)
        put_in_place(source, place)
    running.close()
    return place


def put_in_place(source: Path, place: Path) -> None:
    """Rename a whole result to its place in the archive, on the same disk, for good.

    All of it is on the disk before, and cannot be written afterwards.  Raises a usage error
    where a result has that place.
    """
    _sync_tree(source)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        raise usage_error("a result of this id exists", where=str(place), wanted="a new id")
    source.rename(place)
    for folder in (source.parent, *list(place.parents)[:3]):
        sync_directory(folder)
    for path in (*place.rglob("*"), place):  # only now: renaming a folder writes its ``..``
        path.chmod(0o555 if path.is_dir() else 0o444)


def _gone(sweep: Path, names: Sequence[str]) -> LeaselabError:
    """The error of a sweep whose files were removed while it ran."""
    return lab_broken(
        "files of this running sweep were removed",
        where=str(sweep),
        found=f"no {', '.join(names[:5])}{', …' if len(names) > 5 else ''}",
        wanted="only leaselab changes .running/",
        todo="it cannot be completed: remove what is left of it, and measure again",
    )


def _sync_tree(source: Path) -> None:
    """Flush all files inside to the disk."""
    for path in source.rglob("*"):
        if path.is_dir():
            sync_directory(path)
        else:
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
    sync_directory(source)


def keep_access(sweep: Path, bench: Bench) -> None:
    """Write the file of a running sweep: how the hosts of its bench are reached, by role."""
    path = access_path(sweep)
    access = {role: host.access for role, host in bench.hosts.items()}
    with explain_full_disk(path, sweep.name):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(msgspec.json.encode(access))
            stream.flush()
            os.fsync(stream.fileno())
        sync_directory(path.parent)


def with_access(bench: Bench, sweep: Path) -> Bench:
    """Return a sweep's bench with how its hosts are reached.

    Raises a broken-lab error where that file is missing.
    """
    path = access_path(sweep)
    try:
        access = msgspec.json.decode(path.read_bytes(), type=dict[str, HostAccess])
        hosts = {
            role: msgspec.structs.replace(host, access=access[role])
            for role, host in bench.hosts.items()
        }
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, KeyError) as error:
        raise lab_broken(
            "the access file of this sweep is missing",
            where=str(path),
            found=f"{type(error).__name__}: {error}",
            todo="measure again; another release began the sweep, or the file was removed",
        ) from error
    return replace(bench, hosts=hosts)


def forget_access(sweep: Path) -> None:
    """Remove the file; nothing to do where there is none."""
    access_path(sweep).unlink(missing_ok=True)


def access_path(sweep: Path) -> Path:
    """Path of the file: beside the directory of the sweep, not part of the result."""
    return sweep.with_name(sweep.name + _ACCESS)
