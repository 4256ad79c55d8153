"""A sweep while it runs: its journal and the files that grow beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from leaselab.archive.checksums import SUMS
from leaselab.archive.disk import explain_full_disk, sync_directory, write_whole
from leaselab.archive.journal import Event, Journal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

JOURNAL = "journal.jsonl"
RESULT = "result.json"


class RunningSweep:
    """The directory of an unfinished sweep, held open by the one process that runs it.

    Everything written here is on the disk when the call returns.  A full disk
    raises lab_broken that says how to go on.
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

    def events(self) -> tuple[Event, ...]:
        """What happened so far, in order; a resumed sweep starts from these."""
        return self.journal.events

    def record(self, name: str, data: Mapping[str, Any]) -> Event:
        """Append one event to the journal."""
        with explain_full_disk(self.journal.path, self.id):
            return self.journal.append(name, data)

    def write_text(self, name: str, text: str) -> str:
        """Write a text file; returns its name within the result.

        `name` is relative, such as ``config/server.conf``; a file of that
        name from before a resume is replaced.
        """
        return self._write(name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> str:
        """Write what a host has compressed already; `name` says how.  Returns the name."""
        return self._write(name, content)

    def close(self) -> None:
        """Let the sweep go; it stays unfinished and can be opened again."""
        self.journal.close()

    def __enter__(self) -> RunningSweep:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, name: str, content: bytes) -> str:
        inside = PurePosixPath(name)
        reserved = inside.as_posix() in (JOURNAL, RESULT, SUMS, ".")
        if inside.is_absolute() or ".." in inside.parts or reserved:
            raise ValueError(f"not the name of a file of its own inside the result: {name!r}")
        target = self.path / inside
        with explain_full_disk(target, self.id):
            if not target.parent.exists():
                target.parent.mkdir(parents=True)
                sync_directory(self.path)
            write_whole(target, content)
        return inside.as_posix()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A sweep that was started and not sealed."""

    id: str
    path: Path
    active: bool
    """True while a process runs it."""
    events: int
    """Events in its journal."""
    last_event_at: str | None
    """Time of the newest event (UTC), None before the first."""
