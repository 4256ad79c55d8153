"""The file of the index: SQLite tables that are updated from the results on every opening.

Staleness is detected without walking the tree: a result appears in or leaves ``<yyyy>/<mm>/``
only by a rename or a removal, and both change that folder's modification time.  So the index
stores the time of every month folder it has read, and a check costs one ``stat`` a month; only
a month whose time differs is reread.  Two changes within one tick of the file system's clock
share a time, so a month that changed within the last two seconds is not noted as read (git
treats its index the same way).

The rollback journal, not WAL: writers are rare and their transactions short; WAL needs shared
memory, which network file systems lack, and cannot be opened from a read-only one.  Where the
index cannot be written, it is made in memory.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from leaselab.archive.ident import is_id
from leaselab.archive.row import COLUMNS, Row, read_row
from leaselab.archive.running import RESULT

INDEX = "index.sqlite"
_VERSION = 13
_SETTLED_NS = 2_000_000_000
_UNSETTLED = -1
_PATIENCE_S = 10.0
_CANNOT_WRITE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
}
BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def names(columns: Iterable[str]) -> str:
    """Names of columns as SQL has them."""
    return ", ".join(f'"{column}"' for column in columns)


_MARKS = ", ".join(f":{column}" for column in COLUMNS)
_INSERT = f"INSERT OR REPLACE INTO result ({names(COLUMNS)}) VALUES ({_MARKS})"  # noqa: S608
_TABLES = (
    f"CREATE TABLE result ({names(COLUMNS)}, PRIMARY KEY (id)) WITHOUT ROWID",
    "CREATE INDEX result_by_start ON result (started_at, id)",
    "CREATE INDEX result_by_end ON result (finished_at, id)",
    "CREATE INDEX result_by_path ON result (path)",
    "CREATE INDEX result_by_scenario ON result (scenario, started_at, id)",
    "CREATE INDEX result_by_experiment ON result (experiment, id) WHERE experiment NOT NULL",
    "CREATE TABLE month (name PRIMARY KEY, changed_ns INTEGER NOT NULL) WITHOUT ROWID",
    # results that could not be read: of which state of their files, and why
    "CREATE TABLE unread (path PRIMARY KEY, stamp NOT NULL, why NOT NULL) WITHOUT ROWID",
    f"PRAGMA user_version = {_VERSION}",
)
_log = logging.getLogger(__name__)


class _Looked(NamedTuple):
    """A result as read: its row, and the reason why it cannot be read, or an empty text."""

    path: str
    stamp: str
    row: Row
    why: str


class IndexFile:
    """The index of one results folder; it and the folder may be absent."""

    def __init__(self, root: Path, say_unreadable: Callable[[str, object], None]) -> None:
        """`say_unreadable` gets the name of each unreadable result, and the reason."""
        self._root = root
        self._say_unreadable = say_unreadable

    @property
    def path(self) -> Path:
        """Path of the file, which may not exist."""
        return self._root / INDEX

    def opened(self) -> sqlite3.Connection:
        """The updated database; in memory where the folder cannot be written."""
        if not self._root.is_dir():
            return _memory()
        try:
            return self._updated()
        except sqlite3.DatabaseError as error:
            if code_of(error) in BUSY:
                _log.warning(
                    "%s is being brought up to date: the newest results may be missing",
                    self.path,
                )
                return _connect(self.path)
            if code_of(error) in _CANNOT_WRITE:
                return self._in_memory(copied=True)
            return self.remade(error)

    def _updated(self) -> sqlite3.Connection:
        if not _is_file(self.path):  # SQLite would wait for a pipe's other end
            raise sqlite3.DatabaseError("not an ordinary file")
        with _closed_on_error(_connect(self.path)) as database:
            version = _version(database)
            if version not in (0, _VERSION):
                raise sqlite3.DatabaseError(f"index version {version}, not {_VERSION}")
            if version == 0:
                _create(database)
            self._catch_up(database)
        return database

    def _in_memory(self, *, copied: bool) -> sqlite3.Connection:
        """The updated index in memory; `copied` starts it from the file."""
        with _closed_on_error(_memory()) as database:
            if not copied or not self._copy_into(database):
                _log.warning("%s cannot be written: reading every result", self.path)
            self._catch_up(database)
        return database

    def _copy_into(self, database: sqlite3.Connection) -> bool:
        """Copy the file into the database; False without a usable file."""
        if not _is_file(self.path):
            return False
        address = f"{self.path.absolute().as_uri()}?mode=ro"
        with (
            contextlib.suppress(sqlite3.DatabaseError),
            contextlib.closing(sqlite3.connect(address, uri=True)) as file,
        ):
            if _version(file) == _VERSION:
                file.backup(database)
                return True
        return False

    def remade(self, error: Exception) -> sqlite3.Connection:
        """A new index, because the old one cannot be used."""
        _log.warning("%s: %s: making it again from the results", self.path, error)
        try:
            self._unlink()
            return self._updated()
        except (OSError, sqlite3.DatabaseError):
            return self._in_memory(copied=False)

    def _unlink(self) -> None:
        for name in (INDEX, f"{INDEX}-journal"):
            (self._root / name).unlink(missing_ok=True)

    def _catch_up(self, database: sqlite3.Connection) -> None:
        """Update the index from the results, and report those that cannot be read."""
        self._read_changed_months(database)
        unread = database.execute("SELECT path, stamp, why FROM unread ORDER BY path")
        for path, stamp, why in unread.fetchall():
            now = why
            if _stamp(self._root / path) != stamp:  # it was repaired, or made readable
                looked = self._look(path)
                database.execute("BEGIN IMMEDIATE")
                with database:
                    _write(database, looked)
                now = looked.why
            if now:
                self._say_unreadable(path.rpartition("/")[2], now)

    def _look(self, path: str) -> _Looked:
        stamp = _stamp(self._root / path)
        return _Looked(path, stamp, *read_row(self._root, path))

    def _read_changed_months(self, database: sqlite3.Connection) -> None:
        noted = dict(database.execute("SELECT name, changed_ns FROM month").fetchall())
        present = dict(self._months())
        for month in sorted(noted.keys() | present.keys()):
            if noted.get(month) != present.get(month):
                self._read_month(database, month, present.get(month), noted.get(month))

    def _months(self) -> Iterator[tuple[str, int]]:
        """The folders ``<yyyy>/<mm>`` with their modification times (ns)."""
        for year in _folders(self._root, 4):
            try:
                months = _folders(self._root / year.name, 2)
                yield from (
                    (f"{year.name}/{month.name}", month.stat().st_mtime_ns) for month in months
                )
            except OSError as error:  # another user's
                self._say_unreadable(year.name, error)

    def _read_month(
        self, database: sqlite3.Connection, month: str, changed: int | None, noted: int | None
    ) -> None:
        """Update the index for a month, given its folder's change time (ns); None: gone."""
        try:
            present = _ids(self._root / month) if changed is not None else set()
        except OSError as error:
            self._say_unreadable(month, error)
            return
        known = {
            row[0]
            for row in database.execute(
                "SELECT id FROM result WHERE path >= ? AND path < ?", (f"{month}/", f"{month}0")
            )
        }  # '0' follows '/' in ASCII, so the range is exactly the month's
        note = changed
        if note is not None and time.time_ns() - note < _SETTLED_NS:
            note = _UNSETTLED
        if present == known and note == noted:
            return
        looked = [self._look(f"{month}/{name}") for name in sorted(present - known)]
        database.execute("BEGIN IMMEDIATE")
        with database:
            for result in looked:
                _write(database, result)
            for name in known - present:
                database.execute("DELETE FROM result WHERE id = ?", (name,))
                database.execute("DELETE FROM unread WHERE path = ?", (f"{month}/{name}",))
            if note is None:
                database.execute("DELETE FROM month WHERE name = ?", (month,))
            else:
                database.execute("INSERT OR REPLACE INTO month VALUES (?, ?)", (month, note))


def _connect(path: Path | str) -> sqlite3.Connection:
    # Autocommit, so that transactions are only the explicit ones of this file.
    return sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)


@contextlib.contextmanager
def _closed_on_error(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield database
    except BaseException:
        database.close()
        raise


def _is_file(path: Path) -> bool:
    """Whether it is a regular file, or can be created."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _memory() -> sqlite3.Connection:
    database = _connect(":memory:")
    _create(database)
    return database


def code_of(error: sqlite3.DatabaseError) -> int:
    """SQLite's primary error code; 0 where Python raised the error."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _create(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")
    with database:
        if _version(database) == 0:  # no other process has created it meanwhile
            for statement in _TABLES:
                database.execute(statement)


def _write(database: sqlite3.Connection, looked: _Looked) -> None:
    database.execute(_INSERT, looked.row)
    database.execute("DELETE FROM unread WHERE path = ?", (looked.path,))
    if looked.why:
        values = (looked.path, looked.stamp, looked.why)
        database.execute("INSERT INTO unread VALUES (?, ?, ?)", values)


def _stamp(place: Path) -> str:
    """Identity of the state of a result's file, and whether it is readable."""
    path = place / RESULT
    try:
        return f"{path.lstat().st_ctime_ns} {os.access(path, os.R_OK)}"
    except OSError as error:
        return str(error.errno)


def _folders(path: Path, digits: int) -> list[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        return [
            entry
            for entry in entries
            if len(entry.name) == digits and entry.name.isdigit() and entry.is_dir()
        ]


def _ids(month: Path) -> set[str]:
    with os.scandir(month) as entries:
        return {entry.name for entry in entries if is_id(entry.name)}
