"""Which results a report is of: all of an archive, or those that somebody named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.model.errors import BELIEVED, usage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.archive.row import Row
    from leaselab.archive.store import Store


class Archive:
    """All results: asked of the index piece by piece, as there may be very many."""

    def __init__(self, store: Store) -> None:
        """Ask the index which scenarios and experiments there are."""
        self._index = store.index
        self.named: Sequence[str] = ()
        self.scenarios = self._index.scenarios()
        self.experiments = self._index.experiments()
        """The ids of the results of each, oldest first; the newest one last."""

    def of(self, scenario: str) -> list[Row]:
        """Results of one scenario, oldest first."""
        return self._index.every(scenario)

    def newest(self) -> list[str]:
        """The newest result of each scenario and durability, as far as servers ran."""
        return [row["id"] for row in self._index.newest_places("*")]

    def latest(self, limit: int) -> list[Row]:
        """The newest of all, newest first."""
        return self._index.every(newest=limit)[::-1]

    def without_figure(self, limit: int) -> list[Row]:
        """The newest that came to no figure, newest first."""
        return self._index.without_figure(limit)

    def outcomes(self) -> dict[str, int]:
        """How many ended how."""
        return self._index.outcomes()


class Named:
    """The results that somebody named, answering the same questions."""

    def __init__(self, store: Store, ids: Sequence[str]) -> None:
        """Look the results up.  Raises usage_error where the archive has not all of them."""
        self.named = ids
        wanted = set(ids)
        self._rows = [row for row in store.index.every() if row["id"] in wanted]
        if len(self._rows) < len(wanted):
            raise usage_error(
                "a result of another archive",
                where=str(store.root),
                todo="name its folder with --results",
            )
        self.scenarios = sorted({row["scenario"] for row in self._rows if row["scenario"]})
        self.experiments: dict[str, list[str]] = {}
        for row in self._rows:
            if row["experiment"]:
                self.experiments.setdefault(row["experiment"], []).append(row["id"])

    def of(self, scenario: str) -> list[Row]:
        """Results of one scenario, oldest first."""
        return [row for row in self._rows if row["scenario"] == scenario]

    def newest(self) -> list[str]:
        """The newest result of each scenario and durability, as far as servers ran."""
        found: dict[tuple[str, str], str] = {}
        for row in reversed(self._rows):
            if row["durability"] is not None:
                found.setdefault((row["scenario"], row["durability"]), row["id"])
        return list(found.values())

    def latest(self, limit: int) -> list[Row]:
        """The newest of all, newest first."""
        return self._rows[::-1][:limit]

    def without_figure(self, limit: int) -> list[Row]:
        """The newest that came to no figure, newest first."""
        failed = [row for row in self._rows if row["outcome"] not in BELIEVED]
        return failed[::-1][:limit]

    def outcomes(self) -> dict[str, int]:
        """How many ended how."""
        words = [row["outcome"] for row in self._rows]
        return {word: words.count(word) for word in sorted(set(words))}
