"""The journal of a running sweep: its events, line by line, durable across crashes."""

from __future__ import annotations

import fcntl
import io
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from leaselab.archive.disk import content_of, ordinary
from leaselab.model import moment
from leaselab.model.errors import lab_broken, usage_error
from leaselab.model.journal import AnyEntry, entry_of

_TRIES, _PAUSE_S = 10, 0.02


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event of a sweep: a line of its journal, or of its live file."""

    seq: int = 0
    """Position in the journal, from 1, without gaps; 0 in a live file."""
    at: str
    """When it was written (UTC, ISO 8601 with ``Z``)."""
    name: str = msgspec.field(name="event")
    """Name of the event; `leaselab.model.journal` defines the names."""
    data: dict[str, Any]
    """Its fields; JSON values only."""

    def line(self) -> bytes:
        """The line with its end; raises ValueError for what JSON cannot hold (NaN, too)."""
        document = msgspec.to_builtins(self)
        return json.dumps(document, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def event_of(line: bytes) -> Event | None:
    """The parsed line; None for a line that a full disk or a kill has cut."""
    try:
        return msgspec.convert(json.loads(line), Event)
    except (msgspec.ValidationError, ValueError, RecursionError):
        return None


class Journal:
    """An append-only file of JSON lines with one writer.

    When `append` returns, the event is on the disk.  A crash may cut the last line: it was
    never acknowledged, so it is removed when the journal is opened again.  Damage before the
    last line is an error, because an acknowledged event would be lost.
    """

    def __init__(self, path: Path) -> None:
        """Open the journal for writing, and create it where there is none.

        Raises usage_error when another process writes it, lab_broken when it is damaged.
        """
        self.path = path
        self._stream = path.open("a+b", buffering=0)
        if not _take(self._stream):
            self._stream.close()
            raise usage_error(
                "another process is writing this sweep's journal",
                where=str(path),
                todo="wait for it, or end it first",
            )
        try:
            events, self._size = _parse(path, path.read_bytes())
            self._stream.truncate(self._size)
        except BaseException:
            self._stream.close()
            raise
        self._events = list(events)

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event so far, in order."""
        return tuple(self._events)

    def append(self, name: str, data: Mapping[str, Any]) -> Event:
        """Write one event and return once it is on the disk.

        Raises ValueError for what JSON cannot hold (NaN included) and OSError
        when it cannot be written; the journal is then as it was before.
        """
        event = Event(seq=len(self._events) + 1, at=moment.now(), name=name, data=dict(data))
        line = event.line()
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._stream.write(rest) :]
            os.fsync(self._stream.fileno())
        except OSError:
            self._stream.truncate(self._size)
            raise
        self._size += len(line)
        self._events.append(event)
        return event

    def is_in_place(self) -> bool:
        """Whether the open file still has its name: it was not removed or replaced."""
        try:
            return os.path.samestat(os.fstat(self._stream.fileno()), self.path.stat())
        except OSError:
            return False

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._stream.close()


def read_journal(path: Path) -> tuple[Event, ...]:
    """The events of a journal that another process may be writing.

    Raises lab_broken when a line before the last is damaged.
    """
    events, _ = _parse(path, content_of(path))
    return events


def entries_of(path: Path, events: Iterable[Event]) -> list[AnyEntry]:
    """Return the typed events of a journal; lab_broken for those of another release."""
    entries = []
    for event in events:
        try:
            entries.append(entry_of(event.name, event.data))
        except msgspec.ValidationError as error:
            raise lab_broken(
                "an event of the journal is not of this release",
                where=f"{path}:{event.seq}",
                found=f"{event.name}: {error}",
                todo="resume with the release that began it, or remove that folder and "
                "measure again",
            ) from error
    return entries


def _take(stream: IO[bytes]) -> bool:
    """Take the writer's lock; tries for a moment, as `is_being_written` holds it for one."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)
        else:
            return True
    return False


def is_being_written(path: Path) -> bool:
    """True while a process holds the journal open for writing."""
    with ordinary(path) as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _parse(path: Path, content: bytes) -> tuple[tuple[Event, ...], int]:
    """Events, and the length of the part that holds them (bytes)."""
    events: list[Event] = []
    size = 0
    lines = list(io.BytesIO(content))  # bytes.splitlines would also cut at a carriage return
    for number, line in enumerate(lines, start=1):
        event = event_of(line) if line.endswith(b"\n") else None
        if event is None or event.seq != number:
            if number == len(lines):
                break
            raise lab_broken(
                "the journal is damaged before its end",
                where=f"{path}:{number}",
                found=repr(line[:60]),
                wanted=f"event {number} as one line of JSON",
                todo="restore the file, or start the sweep again",
            )
        events.append(event)
        size += len(line)
    return tuple(events), size
