"""What `leaselab watch` follows: a running sweep, or the build before it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from leaselab.archive.journal import entries_of, is_being_written, read_journal
from leaselab.archive.live import LiveReader
from leaselab.archive.running import JOURNAL, Unfinished
from leaselab.archive.store import Store
from leaselab.model.errors import usage_error
from leaselab.report.live import LiveView

_SILENT_S = 30.0
"""Silence after which a build counts as dead: a builder writes a line each second."""


class Source(Protocol):
    """Source of a view."""

    view: LiveView

    def refresh(self) -> bool:
        """Read new events; False once there is nothing to follow any more."""

    def ending(self) -> str:
        """How it ended, or that it goes on, and what to do next."""


class RunningSource:
    """One sweep: its journal, and the live file beside it."""

    def __init__(self, sweep: Unfinished) -> None:
        self._sweep = sweep
        self._live = LiveReader(sweep.path)
        self._seen = 0
        self._size = -1
        self.view = LiveView(sweep.id)

    def refresh(self) -> bool:
        """Read new events; False once the sweep does not run any more."""
        journal = self._sweep.path / JOURNAL
        try:
            active = is_being_written(journal)
            size = journal.stat().st_size
            events = read_journal(journal) if size != self._size else ()
        except FileNotFoundError:  # sealed
            return False
        for entry in entries_of(journal, events[self._seen :]):
            self.view.journaled(entry)
        if events:
            self._seen, self._size = len(events), size
        for at, happened in self._live.news():
            self.view.happened(at, happened)
        return active

    def ending(self) -> str:
        """How it ended, or that it goes on, and what to do next."""
        ref = self._sweep.id
        try:
            if is_being_written(self._sweep.path / JOURNAL):
                return f"{ref} goes on"
        except FileNotFoundError:
            return f"{ref} is finished: `leaselab show {ref}`"
        return f"{ref} was interrupted: `leaselab resume {ref}`"


class BuildSource:
    """A build under way: its live file alone, which goes away with it."""

    def __init__(self, place: Path) -> None:
        self._live = LiveReader(place)
        self.last_line_at = datetime.min.replace(tzinfo=UTC)
        self.view = LiveView("build")

    def refresh(self) -> bool:
        """Read new events; False once nothing is built any more."""
        for at, entry in self._live.news():
            self.last_line_at = datetime.fromisoformat(at)
            self.view.happened(at, entry)
        if not self._live.exists():
            return False
        return (datetime.now(UTC) - self.last_line_at).total_seconds() < _SILENT_S

    def ending(self) -> str:
        """What to do next."""
        return "the build has ended; `leaselab watch` follows the sweep that comes of it"


def find_source(store: Store, ref: str | None) -> Source:
    """Return what runs: the sweep named, else the newest, else the newest build.

    Raises usage_error where nothing does, or `ref` stands for several.
    """
    active = [sweep for sweep in store.running() if sweep.active]
    matching = [sweep for sweep in active if ref is None or sweep.id.startswith(ref)]
    if matching and (ref is None or len(matching) == 1):
        return RunningSource(matching[-1])
    if matching:
        raise usage_error(
            "ambiguous sweep ID",
            found=repr(ref),
            todo=f"one of: {', '.join(sweep.id for sweep in matching)}",
        )
    builds = [build for build in map(BuildSource, store.build_places()) if build.refresh()]
    if ref is None and builds:
        return max(builds, key=lambda build: build.last_line_at)
    raise usage_error(
        "no sweep is running" if ref is None else f"no running sweep: {ref!r}",
        where=str(store.root),
        todo="`leaselab run` begins one when the hosts are prepared; `leaselab list` says "
        "what is unfinished",
    )
