"""The store of results: written once, looked up, and read only with matching checksums."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from leaselab.archive.checksums import Checked, check_all, check_file
from leaselab.archive.disk import explain_full_disk, write_whole, writing
from leaselab.archive.ident import fresh_id, is_id, month_of
from leaselab.archive.index import Index
from leaselab.archive.journal import entries_of, is_being_written, read_journal
from leaselab.archive.live import live_path
from leaselab.archive.published import published
from leaselab.archive.row import PLACE
from leaselab.archive.running import (
    BENCH_FILE,
    JOURNAL,
    RESULT,
    RunningSweep,
    Unfinished,
    forget_access,
    seal_into,
)
from leaselab.archive.schema import decode, encode
from leaselab.model.errors import LeaselabError, near, usage_error
from leaselab.model.journal import Begun
from leaselab.model.record import Record

RUNNING = ".running"
_LAST = re.compile(r"last(?:~([0-9]{1,9}))?")
_NEAR = 1000
"""Number of newest results in which the nearest name is searched; more would be slow."""
_log = logging.getLogger(__name__)


class Store:
    """The results folder.

    Running sweeps are in ``.running/<id>/``, finished ones in ``<yyyy>/<mm>/<id>/``.
    """

    def __init__(self, root: Path) -> None:
        """Name the folder; it is made when the first sweep is created."""
        self.root = root
        self.index = Index(root)

    def create(self, sweep_id: str) -> RunningSweep:
        """Start a sweep: its directory and an empty journal.

        Raises usage_error when the id is not one or is taken.
        """
        path = self.root / RUNNING / sweep_id
        if self._has(sweep_id):
            raise usage_error(
                "a sweep of this id exists",
                where=str(self.root),
                found=sweep_id,
                wanted="a new id",
            )
        path.mkdir(parents=True)
        return RunningSweep(path)

    def fresh_ids(self, *scenarios: str) -> list[str]:
        """Ids of sweeps that start now, none of which is taken; errors as `new_id`."""
        made: list[str] = []
        for scenario in scenarios:
            while self._has(ident := fresh_id(scenario)) or ident in made:
                pass
            made.append(ident)
        return made

    def _has(self, sweep_id: str) -> bool:
        return self.place(sweep_id).exists() or (self.root / RUNNING / sweep_id).exists()

    def check_room(self) -> None:
        """Raise, before anything is measured, where no sweep can be written.

        That is a usage error where the folder cannot be written to, lab_broken for a full disk.
        """
        probe = self.root / RUNNING / f".room-{os.getpid()}"
        with writing(self.root), explain_full_disk(self.root):
            probe.parent.mkdir(parents=True, exist_ok=True)
            try:
                write_whole(probe, bytes(4096))
            finally:
                probe.unlink(missing_ok=True)

    def build_place(self, bench: str) -> Path:
        """Path that determines the live file of a bench's build; it does not exist."""
        return self.root / RUNNING / f"build-{bench}"

    def build_places(self) -> list[Path]:
        """Those paths of all benches with a live file; a killed build leaves one."""
        files = live_path(self.build_place("*"))
        return [path.with_suffix("") for path in files.parent.glob(files.name)]

    def running(self) -> list[Unfinished]:
        """Sweeps that were started and not sealed, oldest first."""
        folder = self.root / RUNNING
        try:
            paths = sorted(folder.iterdir()) if folder.is_dir() else []
        except OSError as error:  # another user's
            self.index.say_unreadable(RUNNING, error)
            return []
        sweeps = (_unfinished(path) for path in paths if is_id(path.name))
        return [sweep for sweep in sweeps if sweep is not None]

    def begun(self, sweep: Unfinished) -> Begun | None:
        """The first event of an unfinished sweep.

        None where it was killed before that event, or is of another release.
        """
        events = read_journal(sweep.path / JOURNAL)
        try:
            entries = entries_of(sweep.path / JOURNAL, events[:1])
        except LeaselabError:
            return None
        return next((entry for entry in entries if isinstance(entry, Begun)), None)

    def open_running(self, ref: str = "last") -> RunningSweep:
        """Open an unfinished sweep to resume it.

        `ref` is its id, the unique start or end of one, or ``last`` for the newest.
        Raises usage_error when there is none, or when a process runs it.
        """
        names = [sweep.id for sweep in self.running()]
        if ref == "last" and not names:
            raise usage_error("no sweep is unfinished", todo="`leaselab run` starts one")
        name = (
            names[-1]
            if ref == "last"
            else _only(ref, names[::-1], "unfinished sweep", self._unknown_running)
        )
        return RunningSweep(self.root / RUNNING / name)

    def seal(self, running: RunningSweep, record: Record) -> Path:
        """Turn a running sweep into a result that is never written again.

        Returns its directory.  Raises ValueError for a record that is of another sweep or does
        not fit the schema, lab_broken when the disk is full, or when a file of the sweep was
        removed meanwhile; the sweep is then still running.
        A crash at any point leaves either the running sweep or the result.
        """
        if record.id != running.id:
            raise ValueError(f"the record of {record.id} in the sweep {running.id}")
        place = seal_into(running, encode(record), self.place(running.id), needed(record))
        forget_access(running.path)
        try:
            self.index.refresh()
        except (OSError, sqlite3.Error) as error:  # the next opening updates the index
            _log.warning("%s: the index could not be brought up to date: %s", self.root, error)
        return place

    def place(self, sweep_id: str) -> Path:
        """Path of a result by id, which may not exist; raises usage_error for an invalid id."""
        year, month = month_of(sweep_id)
        return self.root / year / month / sweep_id

    def find(self, ref: str) -> Path:
        """The directory of one result.

        `ref` is a full id, the unique start or end of one, the path of a result's directory or
        its result.json, ``last`` for the result that finished last, ``last~N`` for the Nth
        before it, or a scenario for its newest.  Raises usage_error when that is no result, or
        more than one.
        """
        if is_id(ref) and os.path.lexists(self.place(ref)):
            return self.place(ref)
        last = _LAST.fullmatch(ref)
        if last is not None:
            return self._newest(int(last[1] or 0))
        path = Path(ref)
        if path.name == RESULT and _is_file(path):
            return path.parent
        if _is_file(path / RESULT):
            return path
        rows = self.index.named_by(ref, limit=6) if ref and ref.isascii() else []
        if not rows and ref in self.index.scenarios():
            rows = self.index.rows(scenario=ref, limit=1)
            return self.place(rows[0]["id"])
        name = _only(ref, [row["id"] for row in rows], "result", self._unknown)
        return self.place(name)

    def load(self, ref: str) -> Record:
        """The public record of one result, after a check of its checksum.

        Raises usage_error as `find` does, or when it does not fit this version's schema;
        invalid_measurement when it does not match its checksum.
        """
        directory = self.find(ref)
        where = str(directory / RESULT)
        return published(decode(check_file(directory, RESULT), where))

    def load_readable(self, refs: Iterable[str]) -> Iterator[Record]:
        """The records of results; unreadable ones are left out and reported once each."""
        for ref in refs:
            try:
                yield self.load(ref)
            except LeaselabError as error:
                self.index.say_unreadable(ref, error)

    def anchors_of(self, *records: Record) -> dict[str, Record]:
        """The anchors of records, by their ids, and the records themselves.

        An unreadable one is reported and left out.
        """
        known = {record.id: record for record in records}
        missing = {record.anchor for record in records if record.anchor} - known.keys()
        return known | {record.id: record for record in self.load_readable(sorted(missing))}

    def read(self, ref: str, name: str) -> bytes:
        """The content of one file of a result, after a check of its checksum.

        Raises usage_error as `find` does, invalid_measurement where it is missing or changed.
        """
        return check_file(self.find(ref), name)

    def verify(self, ref: str) -> Checked:
        """Check one result: its record, and every file.

        Raises usage_error as `find` does, and as `load` where its record cannot be read;
        invalid_measurement where a file is missing and was not pruned, changed or added.
        """
        return check_all(self.find(ref), needed(self.load(ref)))

    def _newest(self, back: int) -> Path:
        row = self.index.newest(back)
        if row is None:
            raise usage_error(
                "there is no finished result"
                if back == 0
                else f"no result {back} before the last",
                where=str(self.root),
                todo="`leaselab run` makes one" if back == 0 else "see `leaselab list`",
            )
        return self.root / str(row["path"])

    def _unknown(self, ref: str) -> str:
        """Advice for a reference that does not match any result."""
        for sweep in self.running():
            if ref and sweep.id.startswith(ref):
                todo = f"unfinished: `leaselab resume {sweep.id}`"
                return f"{sweep.id} is {'still running' if sweep.active else todo}"
        names = [row["id"] for row in self.index.rows(limit=_NEAR)]
        return _nearest(ref, names) or "see `leaselab list`"

    def _unknown_running(self, ref: str) -> str:
        """Advice for a reference that does not match any unfinished sweep."""
        if is_id(ref) and self.place(ref).exists():
            return f"it is finished: `leaselab show {ref}`"
        names = [sweep.id for sweep in self.running()]
        if not names:
            return "no sweep is unfinished, `leaselab run` starts one"
        return _nearest(ref, names) or f"there are {', '.join(names[-5:])}"


def newest_of(
    index: Index, patterns: Sequence[str] = ("*",), bench: str | None = None
) -> list[str]:
    """The newest result of each scenario that a pattern names, on one bench or on all; ids.

    One for each procedure and durability: a result with another procedure or other settings
    does not replace the usual one.  Commits whose server never ran and unreadable results are
    left out.  Raises a usage error for a
    pattern without a result.
    """
    newest: dict[tuple[str, ...], str] = {}
    for pattern in patterns:
        rows = index.newest_places(pattern, bench)
        if not rows:
            raise usage_error(
                f"no results of {pattern}" + (f" on bench {bench}" if bench else ""),
                todo="`leaselab list` shows what there is, `leaselab run` makes more",
            )
        for row in rows:
            newest.setdefault(tuple(row[name] for name in PLACE), row["id"])
    return list(newest.values())


def _nearest(ref: str, names: Sequence[str]) -> str:
    """The nearest name, as a question; empty where none is near."""
    nearest = near(ref, names)[:1]
    return f"did you mean {nearest[0]}?" if nearest else ""


def needed(record: Record) -> list[str]:
    """Required files of a result: those of the format, and those its record refers to."""
    deployed = [BENCH_FILE] if record.generator.host else []
    return sorted({RESULT, JOURNAL, *deployed, *record.files})


def _is_file(path: Path) -> bool:
    """Whether a text from the user is the path of an existing file; it may be no valid path."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def _only(ref: str, names: Sequence[str], what: str, advice: Callable[[str], str]) -> str:
    """The one name that starts with `ref`, or else ends with it; names are the newest first."""
    starting = [name for name in names if ref and name.startswith(ref)]
    matches = starting or [name for name in names if ref and name.endswith(ref)]
    if ref in matches:
        return ref
    if not matches:
        raise usage_error(f"no such {what}: {ref!r}", todo=advice(ref))
    if len(matches) > 1:
        shown = ", ".join(matches[:5]) + (", …" if len(matches) > 5 else "")
        raise usage_error(
            f"ambiguous: more than one {what} {'starts' if starting else 'ends'} with this",
            found=repr(ref),
            todo=f"one of: {shown}",
        )
    return matches[0]


def _unfinished(path: Path) -> Unfinished | None:
    """A started sweep; None without a readable journal."""
    try:
        active = is_being_written(path / JOURNAL)
        events = len(read_journal(path / JOURNAL))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        _log.warning("%s", error)
        return None
    except LeaselabError as error:  # opening it for a resume reports this error
        _log.warning("%s", error)
        events = 0
    return Unfinished(id=path.name, path=path, active=active, events=events)
