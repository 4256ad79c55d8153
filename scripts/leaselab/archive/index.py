"""The index of results: SQLite, derived from the result.json files, never the truth.

How staleness is seen without walking the tree: a result appears in or leaves ``<yyyy>/<mm>/``
only by a rename or a removal, and both change that folder's modification time.  So the index
keeps the time of every month folder it has read, and a look costs one ``stat`` a month; only a
month whose time differs is read again.  Two changes within one tick of the file system's clock
share a time, so a month that changed within the last two seconds is not noted as read (git
treats its index the same way).

The rollback journal, not WAL: writers are rare and their transactions short; WAL needs shared
memory, which network file systems lack, and cannot be opened from a read-only one.  Where the
index cannot be written, it is made in memory.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import stat
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from leaselab.archive.ident import is_id
from leaselab.archive.row import COLUMNS, LISTED, PLACE, Row, read_row
from leaselab.archive.running import RESULT
from leaselab.model import moment
from leaselab.model.errors import lab_broken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

INDEX = "index.sqlite"
_VERSION = 9
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
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_PATTERN = frozenset("*?[")


def _names(columns: Iterable[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


_SELECT = f"SELECT {_names(LISTED)} FROM result"  # noqa: S608  # constants, as all SQL text here
_SELECT_ALL = f"SELECT {_names(COLUMNS)} FROM result"  # noqa: S608
_SKEW = timedelta(days=1)
"""How far ahead of this machine's clock another's may be, of which results were copied."""
_MARKS = ", ".join(f":{column}" for column in COLUMNS)
_INSERT = f"INSERT OR REPLACE INTO result ({_names(COLUMNS)}) VALUES ({_MARKS})"  # noqa: S608
_CHOSEN = (
    "CREATE TEMP TABLE result AS"
    " SELECT * FROM main.result WHERE id IN (SELECT value FROM json_each(?))"
)
"""What stands before the table of the same name, for this connection alone."""
_TABLES = (
    f"CREATE TABLE result ({_names(COLUMNS)}, PRIMARY KEY (id)) WITHOUT ROWID",
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
    """What came of reading a result: its row, and why it cannot be read; empty where it can."""

    path: str
    stamp: str
    row: Row
    why: str


class Index:
    """What `list` and `find` ask; brought up to date on every opening."""

    def __init__(self, root: Path, only: Sequence[str] | None = None) -> None:
        """Open the index of a results folder; it and the folder may be absent.

        Every question is about the results whose ids `only` names, about all without it.
        """
        self._root = root
        self._only = only
        self.said: set[str] = set()
        """Results that were named as ones that cannot be read."""

    def of(self, only: Sequence[str] | None) -> Index:
        """The same index, asked about the results of these ids alone; None for all."""
        index = Index(self._root, only)
        index.said = self.said
        return index

    def say_unreadable(self, name: str, why: object) -> None:
        """Name a result that cannot be read; each is named once, however often it is met."""
        if name not in self.said:
            self.said.add(name)
            _log.warning("%s is left out: %s", name, why)

    def rows(
        self,
        *,
        scenario: str | None = None,
        outcome: str | None = None,
        commit: str | None = None,
        bench: str | None = None,
        limit: int | None = None,
    ) -> list[Row]:
        """Results, newest start first; those that are dated in the future come last.

        `scenario` is a shell pattern, `outcome` an outcome's label, `commit` a
        full hash, `bench` a bench's name, `limit` the highest number of rows.
        """
        where, values = _conditions(scenario, outcome=outcome, commit=commit, bench=bench)
        return self._newest_first(f"{_SELECT}{where}", values, limit)

    def every(self, scenario: str | None = None, newest: int | None = None) -> list[Row]:
        """Results with all that the index has of them, the other way round.

        `scenario` is a shell pattern; None for all.  `newest` is the highest
        number of rows, of which the oldest are left out.
        """
        where, values = _conditions(scenario)
        return self._newest_first(f"{_SELECT_ALL}{where}", values, newest)[::-1]

    def scenarios(self) -> list[str]:
        """The scenarios that have results, by name; an unreadable result has none."""
        query = "SELECT DISTINCT scenario FROM result WHERE scenario NOT NULL ORDER BY scenario"
        return [row["scenario"] for row in self._query(query)]

    def experiments(self) -> dict[str, list[str]]:
        """The ids of the results of each experiment, oldest first; the newest one last."""
        query = "SELECT experiment, id FROM result WHERE experiment NOT NULL ORDER BY id"
        found: dict[str, list[str]] = {}
        for row in self._query(query):
            found.setdefault(row["experiment"], []).append(row["id"])
        return found

    def builds(self) -> set[str]:
        """The keys of all builds that results name."""
        rows = self._query("SELECT DISTINCT builds FROM result WHERE builds NOT NULL")
        return {key for row in rows for key in row["builds"].split()}

    def outcomes(self) -> dict[str, int]:
        """How many results ended how."""
        query = "SELECT outcome, count(*) AS n FROM result GROUP BY outcome ORDER BY outcome"
        return {row["outcome"]: row["n"] for row in self._query(query)}

    def without_figure(self, limit: int) -> list[Row]:
        """The newest results that came to no figure, with all columns, newest first."""
        query = f"{_SELECT_ALL} WHERE outcome NOT IN ('ok', 'regression')"
        return self._newest_first(query, [], limit)

    def newest_places(self, pattern: str, bench: str | None = None) -> list[Row]:
        """The newest result of each scenario that a pattern names, procedure and durability.

        On one bench or on all; a result without a durability never ran.  One that is dated in
        the future is the newest where there is no other.
        """
        where = " WHERE durability NOT NULL AND scenario GLOB ? AND (bench = ? OR ? IS NULL)"
        query = (
            f"SELECT {_names(LISTED)}, max((started_at <= ?) || started_at || id)"  # noqa: S608
            f" FROM result{where} GROUP BY {_names(PLACE)} ORDER BY started_at DESC, id DESC"
        )
        return self._query(query, [_soon(), pattern, bench, bench])

    def newest(self, back: int = 0) -> Row | None:
        """The result that finished last, or the one `back` places before it.

        Those that are dated in the future come before all others.
        """
        rows = self._newest_first(_SELECT, [], back + 1, "finished_at")
        return rows[back] if back < len(rows) else None

    def _newest_first(
        self, query: str, values: Sequence[object], limit: int | None, by: str = "started_at"
    ) -> list[Row]:
        """At most so many results, the latest date first, then those dated in the future.

        A machine whose clock was ahead has made these: none of them is the newest for years.
        """
        rows: list[Row] = []
        word = "AND" if " WHERE " in query else "WHERE"
        for dated in ("<=", ">"):
            left = -1 if limit is None else limit - len(rows)
            if left:
                ordered = f"{query} {word} {by} {dated} ? ORDER BY {by} DESC, id DESC LIMIT ?"
                rows += self._query(ordered, [*values, _soon(), left])
        return rows

    def starting_with(self, prefix: str, limit: int) -> list[Row]:
        """Results whose id starts with the text, oldest first."""
        query = f"{_SELECT} WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
        return self._query(query, [prefix, prefix + "\U0010ffff", limit])

    def refresh(self) -> None:
        """Bring the index up to date now, rather than at the next question."""
        self._open().close()

    def _query(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        try:
            return self._ask(self._open(), query, values)
        except sqlite3.DatabaseError as error:
            if _code(error) in _BUSY:
                raise lab_broken(
                    "the index of results is busy", where=str(self._path), todo="try again"
                ) from error
            return self._ask(self._anew(error), query, values)

    def _ask(
        self, database: sqlite3.Connection, query: str, values: Sequence[object]
    ) -> list[Row]:
        with contextlib.closing(database):
            if self._only is not None:
                database.execute(_CHOSEN, [json.dumps(self._only)])
            cursor = database.execute(query, values)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def _open(self) -> sqlite3.Connection:
        """The database, up to date; in memory where the folder cannot be written."""
        if not self._root.is_dir():
            return _memory()
        try:
            return self._updated()
        except sqlite3.DatabaseError as error:
            if _code(error) in _BUSY:
                _log.warning(
                    "%s is being brought up to date: newest results may miss", self._path
                )
                return _connect(self._path)
            if _code(error) in _CANNOT_WRITE:
                return self._in_memory(copied=True)
            return self._anew(error)

    @property
    def _path(self) -> Path:
        return self._root / INDEX

    def _updated(self) -> sqlite3.Connection:
        if not _is_file(self._path):  # SQLite would wait for a pipe's other end
            raise sqlite3.DatabaseError("not an ordinary file")
        with _closed_on_error(_connect(self._path)) as database:
            found = _version(database)
            if found not in (0, _VERSION):
                raise sqlite3.DatabaseError(f"index version {found}, not {_VERSION}")
            if found == 0:
                _create(database)
            self._catch_up(database)
        return database

    def _in_memory(self, *, copied: bool) -> sqlite3.Connection:
        """The index in memory, up to date; `copied` starts it from the file."""
        with _closed_on_error(_memory()) as database:
            if not copied or not self._copy_into(database):
                _log.warning("%s cannot be written: reading every result", self._path)
            self._catch_up(database)
        return database

    def _copy_into(self, database: sqlite3.Connection) -> bool:
        """Copy the file into the database; False when there is none to copy."""
        if not _is_file(self._path):
            return False
        address = f"{self._path.absolute().as_uri()}?mode=ro"
        with (
            contextlib.suppress(sqlite3.DatabaseError),
            contextlib.closing(sqlite3.connect(address, uri=True)) as file,
        ):
            if _version(file) == _VERSION:
                file.backup(database)
                return True
        return False

    def _anew(self, error: Exception) -> sqlite3.Connection:
        """The index made anew, because the old one cannot be used."""
        _log.warning("%s: %s: making it anew from the results", self._path, error)
        try:
            self._unlink()
            return self._updated()
        except (OSError, sqlite3.DatabaseError):
            return self._in_memory(copied=False)

    def _unlink(self) -> None:
        for name in (INDEX, f"{INDEX}-journal"):
            (self._root / name).unlink(missing_ok=True)

    def _catch_up(self, database: sqlite3.Connection) -> None:
        """Make the index agree with the results, and name those that cannot be read."""
        self._read_changed_months(database)
        unread = database.execute("SELECT path, stamp, why FROM unread ORDER BY path")
        for path, stamp, why in unread.fetchall():
            now = why
            if _stamp(self._root / path) != stamp:  # somebody mended it, or let us read it
                looked = self._look(path)
                database.execute("BEGIN IMMEDIATE")
                with database:
                    _write(database, looked)
                now = looked.why
            if now:
                self.say_unreadable(path.rpartition("/")[2], now)

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
                    (f"{year.name}/{one.name}", one.stat().st_mtime_ns) for one in months
                )
            except OSError as error:  # another user's
                self.say_unreadable(year.name, error)

    def _read_month(
        self, database: sqlite3.Connection, month: str, changed: int | None, noted: int | None
    ) -> None:
        """Make the index agree with a month, whose folder changed when (ns); None: is gone."""
        try:
            present = _ids(self._root / month) if changed is not None else set()
        except OSError as error:
            self.say_unreadable(month, error)
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
            for one in looked:
                _write(database, one)
            for name in known - present:
                database.execute("DELETE FROM result WHERE id = ?", (name,))
                database.execute("DELETE FROM unread WHERE path = ?", (f"{month}/{name}",))
            if note is None:
                database.execute("DELETE FROM month WHERE name = ?", (month,))
            else:
                database.execute("INSERT OR REPLACE INTO month VALUES (?, ?)", (month, note))


def _soon() -> str:
    """The moment from which on a date is in the future."""
    return moment.timestamp(datetime.now(UTC) + _SKEW)


def _conditions(scenario: str | None, **others: str | None) -> tuple[str, list[object]]:
    """The conditions that columns have to meet, and their values.

    SQLite finds a scenario's name by its index, a pattern by looking at each row.
    """
    pattern = scenario is not None and not _PATTERN.isdisjoint(scenario)
    wanted = {f'"{column}" = ?': value for column, value in others.items()}
    wanted = {"scenario GLOB ?" if pattern else "scenario = ?": scenario, **wanted}
    used = {text: value for text, value in wanted.items() if value is not None}
    return (f" WHERE {' AND '.join(used)}" if used else ""), list(used.values())


def _connect(path: Path | str) -> sqlite3.Connection:
    # Autocommit, so that the transactions are the ones that stand in this file.
    return sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)


@contextlib.contextmanager
def _closed_on_error(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield database
    except BaseException:
        database.close()
        raise


def _is_file(path: Path) -> bool:
    """Whether it is a file, or could be made."""
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


def _code(error: sqlite3.DatabaseError) -> int:
    """SQLite's primary error code; 0 where Python raised the error."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _create(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")
    with database:
        if _version(database) == 0:  # nobody else was quicker
            for statement in _TABLES:
                database.execute(statement)


def _write(database: sqlite3.Connection, looked: _Looked) -> None:
    database.execute(_INSERT, looked.row)
    database.execute("DELETE FROM unread WHERE path = ?", (looked.path,))
    if looked.why:
        values = (looked.path, looked.stamp, looked.why)
        database.execute("INSERT INTO unread VALUES (?, ?, ?)", values)


def _stamp(place: Path) -> str:
    """Which state of a result's file was looked at, and whether we may read it."""
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
