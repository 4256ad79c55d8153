"""The whole report: which pages there are, and what each is made of."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaselab.archive.checksums import SUMS
from leaselab.model.errors import BELIEVED, LeaselabError, usage_error
from leaselab.report.site.benches import MEANINGS, bench_rows
from leaselab.report.site.compare import Group, choose, group
from leaselab.report.site.history import history, scenario_line
from leaselab.report.site.links import history_page, sweep_page
from leaselab.report.site.overview import NEWEST, overview
from leaselab.report.site.pages import Pages
from leaselab.report.site.sweep import sweep
from leaselab.report.site.validity import NOT_OK, validity

if TYPE_CHECKING:
    from leaselab.archive.row import Row
    from leaselab.archive.store import Store

_log = logging.getLogger(__name__)
NAV = (
    ("index", "Overview"),
    ("histories", "History"),
    ("compare", "Compare"),
    ("validity", "Validity"),
)
"""Pages of every report, and their words."""
BENCHES = ("benches", "Benches")
"""The page that only the archive's report has: who publishes a result publishes no lab."""
SWEEPS = 3
"""Newest results of each scenario that have a page of their own, unless asked for more."""


def write_site(
    store: Store, folder: Path, refs: Sequence[str] = (), *, sweeps: int = SWEEPS
) -> Path:
    """Write the report of an archive, or of the results that `refs` name.

    `sweeps` is how many of the newest results of each scenario have a page of
    their own; pages of older ones that were written before stay.  Returns the
    first page.  Raises usage_error for a reference that names no result, and
    where there is none.
    """
    named = list(dict.fromkeys(store.find(ref).name for ref in refs))
    selection = _Named(store, named) if named else _Archive(store)
    nav = NAV if named else (*NAV, BENCHES)
    return _Site(store, selection, Pages(folder, nav), folder, sweeps).write()


def write_benches(store: Store, folder: Path) -> Path:
    """Write the page of the benches alone, beside what else the report has; return it.

    Until the archive's report was written it leads nowhere else.
    """
    nav = (*NAV, BENCHES) if (folder / "index.html").exists() else (BENCHES,)
    pages = Pages(folder, nav)
    pages.keep(lambda _: True)
    _Site(store, _Archive(store), pages, folder, 0).write_benches()
    pages.finish()
    return folder / f"{BENCHES[0]}.html"


class _Archive:
    """All results: asked of the index piece by piece, as there may be very many."""

    def __init__(self, store: Store) -> None:
        self._index = store.index
        self.named: Sequence[str] = ()
        self.scenarios = self._index.scenarios()

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


class _Named:
    """The results that somebody named, answering the same questions."""

    def __init__(self, store: Store, ids: Sequence[str]) -> None:
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

    def of(self, scenario: str) -> list[Row]:
        return [row for row in self._rows if row["scenario"] == scenario]

    def newest(self) -> list[str]:
        found: dict[tuple[str, str], str] = {}
        for row in reversed(self._rows):
            if row["durability"] is not None:
                found.setdefault((row["scenario"], row["durability"]), row["id"])
        return list(found.values())

    def latest(self, limit: int) -> list[Row]:
        return self._rows[::-1][:limit]

    def without_figure(self, limit: int) -> list[Row]:
        failed = [row for row in self._rows if row["outcome"] not in BELIEVED]
        return failed[::-1][:limit]

    def outcomes(self) -> dict[str, int]:
        words = [row["outcome"] for row in self._rows]
        return {word: words.count(word) for word in sorted(set(words))}


class _Site:
    def __init__(
        self, store: Store, chosen: _Archive | _Named, pages: Pages, folder: Path, sweeps: int
    ) -> None:
        self._store = store
        self._chosen = chosen
        self._pages = pages
        self._sweeps = sweeps
        self._documents: dict[str, dict[str, Any]] = {}
        self._refused: dict[str, str] = {}
        beside = folder.resolve().is_relative_to(store.root.resolve())
        self._to_results = os.path.relpath(store.root, folder) if beside else None
        self._first = folder / "index.html"

    def write(self) -> Path:
        """Write every page that is not current."""
        if not self._chosen.scenarios:
            raise usage_error(
                "there is no result to report",
                where=str(self._store.root),
                todo="`leaselab run` makes one",
            )
        if not self._chosen.named:
            self._pages.keep(self._still_there)
        newest = self._chosen.newest()
        for ref in (*newest, *self._chosen.named):
            self._write_sweep(ref)
        lines, groups = [], []
        for scenario in self._chosen.scenarios:
            rows = self._chosen.of(scenario)
            compared = choose(rows)
            shown = rows[-self._sweeps :] if self._sweeps else []
            for ref in (*compared, *(row["id"] for row in shown)):
                self._write_sweep(ref)
            compared = [ref for ref in compared if ref not in self._refused]
            self._pages.write(
                history_page(scenario),
                "history.html",
                [rows, [self._has_page(row["id"]) for row in rows]],
                partial(history, scenario, rows, partial(self._href, up="../")),
            )
            lines.append(scenario_line(scenario, rows))
            if len(compared) > 1:
                groups.append((scenario, compared))
        if len(self._chosen.named) > 1:
            named = [ref for ref in self._chosen.named if ref not in self._refused]
            groups = [("the results that were named", named)] if len(named) > 1 else []
        self._pages.write("histories", "histories.html", lines, lambda: ({"lines": lines}, ()))
        self._write_summaries(newest, groups)
        if not self._chosen.named:
            self.write_benches()
        self._pages.finish()
        return self._first

    def _write_summaries(
        self, newest: Sequence[str], groups: Sequence[tuple[str, Sequence[str]]]
    ) -> None:
        """The pages that show results of all scenarios."""
        documents = [one for ref in newest if (one := self._light(ref)) is not None]
        latest = self._chosen.latest(NEWEST)
        outcomes = self._chosen.outcomes()
        failed = self._chosen.without_figure(NOT_OK + 1)
        linked = {"href": self._href}
        self._pages.write(
            "index",
            "overview.html",
            [newest, latest, outcomes, [self._href(row) for row in latest]],
            lambda: ({**overview(documents, latest, outcomes), **linked}, ()),
        )
        self._pages.write(
            "validity",
            "validity.html",
            [newest, failed, [self._href(row) for row in failed], self._refused],
            lambda: ({**validity(documents, failed), **linked, "refused": self._refused}, ()),
        )
        self._pages.write("compare", "compare.html", groups, partial(self._compared, groups))

    def write_benches(self) -> None:
        """The page of all benches, as they were last seen."""
        rows = bench_rows(self._store)
        links = [self._href(row["result"]) for row in rows if row["result"]]
        self._pages.write(
            BENCHES[0],
            "benches.html",
            [rows, links],
            lambda: ({"rows": rows, "meanings": MEANINGS, "href": self._href}, ()),
        )

    def _write_sweep(self, ref: str) -> None:
        """The page of a result; one that is damaged has none, and is told on another."""
        page = sweep_page(ref)
        try:
            # a result never changes, so that its checksums stand for all of it
            sums = (self._store.place(ref) / SUMS).read_text(encoding="utf-8")
            source = [sums, self._to_results]
            self._pages.write(page, "sweep.html", source, partial(self._sweep, ref))
        except (LeaselabError, OSError) as error:
            self._refuse(ref, error)
            self._pages.drop(page)

    def _refuse(self, ref: str, error: Exception) -> None:
        if ref not in self._refused:
            _log.warning("%s is left out: %s", ref, error)
        self._refused[ref] = str(error)

    def _sweep(self, ref: str) -> tuple[Mapping[str, Any], list[Any]]:
        return sweep(self._store.load(ref), self._store.place(ref), self._raw(ref, "../"))

    def _compared(
        self, groups: Sequence[tuple[str, Sequence[str]]]
    ) -> tuple[Mapping[str, Any], list[Any]]:
        made: list[Group] = []
        for name, refs in groups:
            results = [
                (one, self._store.place(ref))
                for ref in refs
                if (one := self._light(ref)) is not None
            ]
            if len(results) > 1:
                made.append(group(name, results))
        return {"groups": made}, [one.figure for one in made]

    def _still_there(self, page: str) -> bool:
        """Whether a page that was written before is of a result that is there."""
        folder, _, ref = page.partition("/")
        return sweep_page(ref) == page and folder != "" and self._store.place(ref).exists()

    def _has_page(self, ref: str) -> bool:
        return self._pages.has(sweep_page(ref))

    def _href(self, row: Mapping[str, Any], up: str = "") -> str:
        """Where a result is shown: on its page, else as it lies in the archive."""
        if self._has_page(row["id"]):
            return f"{up}{sweep_page(row['id'])}.html"
        place = self._raw(row["id"], up)
        return f"{place}/result.json" if place else ""

    def _raw(self, ref: str, up: str) -> str | None:
        """The way from a page to the result's folder; None for a site that lies elsewhere."""
        if self._to_results is None:
            return None
        place = self._store.place(ref).relative_to(self._store.root)
        return f"{up}{self._to_results}/{place.as_posix()}"

    def _light(self, ref: str) -> dict[str, Any] | None:
        """A result for the pages that show many: without its seconds, which are most of it.

        None for one that is not to be believed; it is told on a page of its own kind.
        """
        if ref not in self._documents and ref not in self._refused:
            try:
                document = self._store.load(ref)
            except (LeaselabError, OSError) as error:
                self._refuse(ref, error)
                return None
            parts = [*document["runs"], document.get("confirmation") or {"trials": []}]
            for trial in (trial for part in parts for trial in part["trials"]):
                trial["per_second"] = []
                trial["samples"] = trial["samples"][:1] + trial["samples"][-1:]
                trial["partner_samples"] = []
            self._documents[ref] = document
        return self._documents.get(ref)
