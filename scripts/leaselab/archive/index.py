"""Queries of the index of results, which is derived from the results."""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from leaselab.archive.index_file import BUSY, IndexFile, code_of, names
from leaselab.archive.row import COLUMNS, LISTED, PLACE, Row
from leaselab.model import moment
from leaselab.model.errors import BELIEVED, lab_broken

_PATTERN = frozenset("*?[")
_SELECT = f"SELECT {names(LISTED)} FROM result"  # noqa: S608  # constants, as all SQL text here
_SELECT_ALL = f"SELECT {names(COLUMNS)} FROM result"  # noqa: S608
_SKEW = timedelta(days=1)
"""Permitted lead of another machine's clock, from which results were copied."""
_CHOSEN = (
    "CREATE TEMP TABLE result AS"
    " SELECT * FROM main.result WHERE id IN (SELECT value FROM json_each(?))"
)
"""Definition of a temporary view that hides the table of the same name."""
_log = logging.getLogger(__name__)


class Index:
    """The index for `list` and `find`; updated on every opening."""

    def __init__(self, root: Path, only: Sequence[str] | None = None) -> None:
        """Open the index of a results folder; it and the folder may be absent.

        `only` limits every query to the results with these ids.
        """
        self._root = root
        self._only = only
        self._file = IndexFile(root, self.say_unreadable)
        self.said: set[str] = set()
        """Ids of unreadable results that were reported."""

    def of(self, only: Sequence[str] | None) -> Index:
        """The same index, limited to the results of these ids; None for all."""
        index = Index(self._root, only)
        index.said = self.said
        return index

    def say_unreadable(self, name: str, why: object) -> None:
        """Report an unreadable result, once each."""
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
        """Results with all columns of the index, in reverse order.

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
        ids: dict[str, list[str]] = {}
        for row in self._query(query):
            ids.setdefault(row["experiment"], []).append(row["id"])
        return ids

    def builds(self) -> set[str]:
        """The keys of all builds that results name."""
        rows = self._query("SELECT DISTINCT builds FROM result WHERE builds NOT NULL")
        return {key for row in rows for key in row["builds"].split()}

    def outcomes(self) -> dict[str, int]:
        """How many results ended how."""
        query = "SELECT outcome, count(*) AS n FROM result GROUP BY outcome ORDER BY outcome"
        return {row["outcome"]: row["n"] for row in self._query(query)}

    def without_figure(self, limit: int) -> list[Row]:
        """The newest results without a figure, with all columns, newest first."""
        places = ", ".join("?" * len(BELIEVED))
        query = f"{_SELECT_ALL} WHERE outcome NOT IN ({places})"
        return self._newest_first(query, [*BELIEVED], limit)

    def newest_places(self, pattern: str, bench: str | None = None) -> list[Row]:
        """The newest result of each scenario that a pattern names, procedure and durability.

        On one bench or on all; a result without a durability never ran.  A result dated in the
        future is the newest only where there is no other, and so is one of a single round: it
        is a try.  In a session, the fixed reference comes after the results compared with it.
        """
        where = " WHERE durability NOT NULL AND scenario GLOB ? AND (bench = ? OR ? IS NULL)"
        query = (
            f"SELECT {names(LISTED)},"  # noqa: S608
            " max((started_at <= ?) || (json_array_length(rounds) IS NOT 1) || started_at"
            " || (anchor IS NOT id) || id)"
            f" FROM result{where} GROUP BY {names(PLACE)} ORDER BY started_at DESC, id DESC"
        )
        return self._query(query, [_soon(), pattern, bench, bench])

    def newest(self, back: int = 0) -> Row | None:
        """The result that finished last, or the one `back` places before it.

        Results dated in the future rank last: a machine with a fast clock made them.
        """
        rows = self._newest_first(_SELECT, [], back + 1, "finished_at")
        return rows[back] if back < len(rows) else None

    def _newest_first(
        self, query: str, values: Sequence[object], limit: int | None, by: str = "started_at"
    ) -> list[Row]:
        """A limited number of results, the latest first, then those dated in the future.

        A machine whose clock was ahead has made the latter: they do not count as the newest.
        """
        word = "AND" if " WHERE " in query else "WHERE"
        parts = [
            f"SELECT * FROM ({query} {word} {by} {dated} ? ORDER BY {by} DESC, id DESC LIMIT ?)"  # noqa: S608
            for dated in ("<=", ">")
        ]
        most = -1 if limit is None else limit
        each = [*values, _soon(), most]
        return self._query(f"{' UNION ALL '.join(parts)} LIMIT ?", [*each, *each, most])

    def named_by(self, part: str, limit: int) -> list[Row]:
        """Results whose id starts with the text, or else ends with it; the newest first."""
        for condition, values in (
            ("id >= ? AND id < ?", [part, part + "\U0010ffff"]),
            ("substr(id, -length(?)) = ?", [part, part]),
        ):
            query = f"{_SELECT} WHERE {condition} ORDER BY id DESC LIMIT ?"
            if rows := self._query(query, [*values, limit]):
                return rows
        return []

    def refresh(self) -> None:
        """Update the index now, rather than at the next query."""
        self._file.opened().close()

    def _query(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        try:
            return self._ask(self._file.opened(), query, values)
        except sqlite3.DatabaseError as error:
            if code_of(error) in BUSY:
                raise lab_broken(
                    "the index of results is busy", where=str(self._file.path), todo="try again"
                ) from error
            return self._ask(self._file.remade(error), query, values)

    def _ask(
        self, database: sqlite3.Connection, query: str, values: Sequence[object]
    ) -> list[Row]:
        with contextlib.closing(database):
            if self._only is not None:
                database.execute(_CHOSEN, [json.dumps(self._only)])
            cursor = database.execute(query, values)
            columns = [column[0] for column in cursor.description]
            return [dict(zip(columns, row, strict=True)) for row in cursor]


def _soon() -> str:
    """The time after which a date counts as in the future."""
    return moment.timestamp(datetime.now(UTC) + _SKEW)


def _conditions(scenario: str | None, **others: str | None) -> tuple[str, list[object]]:
    """The SQL conditions on columns, and their values.

    SQLite finds a scenario's name by its index, a pattern by looking at each row.
    """
    pattern = scenario is not None and not _PATTERN.isdisjoint(scenario)
    wanted = {f'"{column}" = ?': value for column, value in others.items()}
    wanted = {"scenario GLOB ?" if pattern else "scenario = ?": scenario, **wanted}
    used = {text: value for text, value in wanted.items() if value is not None}
    return (f" WHERE {' AND '.join(used)}" if used else ""), list(used.values())
