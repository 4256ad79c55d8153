"""The live file: the present progress of a sweep, for other processes to follow.

The journal permanently holds what was measured; the live file holds what is being measured, and
is removed at the sweep's end.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from leaselab.archive.journal import Event, event_of
from leaselab.model import moment
from leaselab.model.journal import LiveEntry, live_entry_of, written

_SUFFIX = ".live"
_log = logging.getLogger(__name__)


class LiveFeed:
    """Writes the file.  Nothing depends on it: a sweep continues when it cannot be written."""

    def __init__(self, sweep: Path) -> None:
        """Name the sweep's directory, or a build's `Store.build_place`; the file is beside."""
        self._path = live_path(sweep)
        self._lock = threading.Lock()
        self._lost = False
        self._write("wb", b"")

    def write(self, entry: LiveEntry) -> None:
        """Write one line; may be called from any thread."""
        name, data = written(entry)
        self._write("ab", Event(at=moment.now(), name=name, data=data).line())

    def close(self) -> None:
        """Remove the file; later events are dropped."""
        with self._lock:
            self._lost = True
            self._path.unlink(missing_ok=True)

    def _write(self, mode: str, line: bytes) -> None:
        with self._lock:
            if self._lost:
                return
            try:
                with self._path.open(mode) as stream:
                    stream.write(line)
            except OSError as error:
                self._lost = True
                _log.warning(
                    "%s: %s; `leaselab watch` cannot follow this sweep any further",
                    self._path,
                    error,
                )


class LiveReader:
    """Reads the file while it grows."""

    def __init__(self, sweep: Path) -> None:
        """Name the running sweep's directory."""
        self._path = live_path(sweep)
        self._place = 0

    def exists(self) -> bool:
        """Whether it is still written: it is removed at the end of its sweep or build."""
        return self._path.exists()

    def news(self) -> list[tuple[str, LiveEntry]]:
        """Return the events since the last call, with their times (UTC, ISO 8601 with ``Z``).

        An incomplete line is read later; an invalid one is left out.
        """
        try:
            with self._path.open("rb") as stream:
                if stream.seek(0, 2) < self._place:  # begun again by a resumed sweep
                    self._place = 0
                stream.seek(self._place)
                whole, end, _ = stream.read().rpartition(b"\n")
        except OSError:
            return []
        self._place += len(whole) + len(end)
        return list(_read(whole))


def _read(lines: bytes) -> Iterator[tuple[str, LiveEntry]]:
    for event in filter(None, map(event_of, lines.splitlines())):
        with suppress(msgspec.ValidationError):
            yield event.at, live_entry_of(event.name, event.data)


def live_path(sweep: Path) -> Path:
    """Path of a running sweep's live file: beside its directory, not part of the result."""
    return sweep.with_name(sweep.name + _SUFFIX)
