"""The whole report: which pages there are, and what each is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from leaselab.analysis.history.changes import belongs
from leaselab.analysis.history.series import Change, Series, State
from leaselab.archive.checksums import PRUNED, SUMS
from leaselab.archive.disk import content_of
from leaselab.archive.row import Row
from leaselab.archive.store import Store
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.record import Record
from leaselab.report.facts import about
from leaselab.report.review.document import change_document
from leaselab.report.review.reading import review_of
from leaselab.report.review.review import Review
from leaselab.report.review.words import title_words
from leaselab.report.site.beside import beside, beside_ids
from leaselab.report.site.compare import Group, choose, compared, group, newest_duel
from leaselab.report.site.duel import said_of
from leaselab.report.site.experiment import experiment, experiment_line
from leaselab.report.site.history import anchor_words, history, history_list
from leaselab.report.site.history_panels import Line, lines_of
from leaselab.report.site.news import News, answer, news_of, with_changes
from leaselab.report.site.overview import MEANINGS, NEWEST, bench_rows, overview
from leaselab.report.site.pages import Pages, experiment_page, history_page, sweep_page
from leaselab.report.site.results import Results
from leaselab.report.site.review import REVIEW, review_page
from leaselab.report.site.sweep import sweep
from leaselab.report.site.validity import NOT_OK, validity

NAV = (
    ("index", "Overview"),
    ("histories", "History"),
    ("compare", "Compare"),
    ("validity", "Validity"),
)
"""Pages of every report, and their words."""
BENCHES = ("benches", "Benches")
"""The page that only the archive's report has: who publishes a result publishes no lab."""
CAPACITY = ("capacity", "Capacity")
"""The page of what some clients ask for: the archive's report leads to it once it is there."""
EXPERIMENTS = 20
"""Number of newest experiments that have a page in any case."""
SWEEPS = 3
"""Newest results of each scenario that have a page of their own, unless asked for more."""
_NO_FILES: Mapping[str, str] = MappingProxyType({})


def write_site(
    store: Store,
    folder: Path,
    refs: Sequence[str] = (),
    *,
    sweeps: int = SWEEPS,
    files: Mapping[str, str] = _NO_FILES,
) -> Path:
    """Write the report of an archive, or of the results that `refs` name.

    `sweeps` is how many of the newest results of each scenario have a page of their own; pages
    of older ones that were written before stay until their raw outputs are pruned.  `files` has
    the name of the file of each scenario, in the catalogue's order.  Returns the first page.
    Raises usage_error for a reference that names no result, and where there is none.
    """
    named = list(dict.fromkeys(store.find(ref).name for ref in refs))
    if named and len(store.index.of(named).every()) < len(named):
        raise usage_error(
            "a result of another archive",
            where=str(store.root),
            todo="name its folder with --results",
        )
    nav = NAV if named else _archive_nav(folder)
    return _Site(store, named, Pages(folder, nav), folder, sweeps=sweeps, files=files).write()


def write_benches(store: Store, folder: Path) -> Path:
    """Write the page of the benches alone, beside what else the report has; return it.

    Until the archive's report was written it leads nowhere else.
    """
    nav = _archive_nav(folder) if (folder / "index.html").exists() else (BENCHES,)
    pages = Pages(folder, nav)
    pages.keep(lambda _: True)
    _Site(store, (), pages, folder).write_benches()
    pages.finish()
    return folder / f"{BENCHES[0]}.html"


def _archive_nav(folder: Path) -> tuple[tuple[str, str], ...]:
    """The pages that every page of the archive's report leads to."""
    planned = (folder / f"{CAPACITY[0]}.html").exists()
    return (*NAV, REVIEW, BENCHES, *[CAPACITY] * planned)


class _Site:
    def __init__(
        self,
        store: Store,
        named: Sequence[str],
        pages: Pages,
        folder: Path,
        *,
        sweeps: int = 0,
        files: Mapping[str, str] = _NO_FILES,
    ) -> None:
        self._files = files
        self._rows: dict[str, Sequence[Row]] = {}
        self._store = store
        self._named = named
        self._index = store.index.of(named or None)
        self._experiments = self._index.experiments()
        self._pages = pages
        self._sweeps = sweeps
        self._results = Results(store, folder)
        self._first = folder / "index.html"

    def write(self) -> Path:
        """Write every page that is not current."""
        scenarios = self._index.scenarios()
        if not scenarios:
            raise usage_error(
                "there is no result to report",
                where=str(self._store.root),
                todo="`leaselab run` makes one",
            )
        if not self._named:
            self._pages.keep(self._still_there)
        newest = [row["id"] for row in self._index.newest_places("*")]
        for ref in (*newest, *self._named):
            self._write_sweep(ref)
        lines: dict[str, list[Line]] = {}
        groups: list[tuple[str, Sequence[str]]] = []
        for scenario in scenarios:
            with self._pages.apart(history_page(scenario)):
                rows = self._every(scenario)
                for row in rows[-self._sweeps :] if self._sweeps else ():
                    self._write_sweep(row["id"])
                lines[scenario] = lines_of(scenario, rows)
                groups += self._groups(lines[scenario])
        if len(self._named) > 1:
            named = [ref for ref in self._named if ref not in self._results.refused]
            groups = [("the results that were named", named)] if len(named) > 1 else []
        experiments = self._write_experiments()  # before histories, which lead to duels
        for scenario, own in lines.items():
            for line in own:
                self._write_history(
                    line, self._every(scenario), [other for other in own if other is not line]
                )
        figures = [line for own in lines.values() for line in own]
        with self._pages.apart("histories"):
            listed = history_list(figures, self._open)
            self._pages.write("histories", "histories.html", listed, lambda: (listed, ()))
        if not self._named:
            self._write_review(figures)
            with self._pages.apart(BENCHES[0]):
                self.write_benches()
        self._write_summaries(newest, groups, figures, experiments)
        self._pages.finish()
        return self._first

    def _groups(self, lines: Sequence[Line]) -> Iterator[tuple[str, Sequence[str]]]:
        """Results of lines that are compared, which then have a page, by the line's name."""
        for line in lines:
            changes = [
                change
                for series, change in self._open
                if belongs(series, line.scenario, line.metric, line.unit)
            ]
            for name, chosen in (
                (line.name, choose(line.rows, changes)),
                (f"{line.scenario}, duel", newest_duel(line.rows)),
            ):
                for ref in chosen:
                    self._write_sweep(ref)
                readable = [ref for ref in chosen if ref not in self._results.refused]
                if len(readable) > 1:
                    yield name, readable

    @cached_property
    def _review(self) -> Review:
        """Of the whole archive."""
        return review_of(self._store)

    @cached_property
    def _open(self) -> list[tuple[Series, Change]]:
        """The changes that nobody accepted and no duel refuted."""
        return self._review.of(State.CONFIRMED, State.SUSPECTED)

    def _news(self, *scenarios: str) -> tuple[News, ...]:
        """The open changes of scenarios, for the pages of their results.

        They lead to no page of a duel, as that may come later.
        """
        return tuple(
            news_of(*entry, {}, lambda _: False)
            for entry in self._open
            if entry[0].scenario in scenarios
        )

    def _known(self, scenario: str | None = None) -> list[dict[str, Any]]:
        """What is known of the changes of a scenario, or of all: pages depend on it."""
        return [
            change_document(change)
            for series, change in self._review.of(*State)
            if scenario in (None, series.scenario)
        ]

    def _write_review(self, lines: Sequence[Line]) -> None:
        """The page of what moved, by month."""
        pages = {(line.scenario, line.metric): history_page(line.page) for line in lines}

        def href(series: Series) -> str:
            page = pages.get((series.scenario, series.metric))
            return f"{page}.html" if page else ""

        self._pages.write(
            REVIEW[0],
            "review.html",
            [[[row["id"] for row in line.rows] for line in lines], self._known()],
            lambda: review_page(self._review.months, href),
        )

    def _write_history(self, line: Line, rows: Sequence[Row], others: Sequence[Line]) -> None:
        """The page of one figure; `rows` are all of its scenario, with those of duels."""
        self._pages.write(
            history_page(line.page),
            "history.html",
            [
                line.rows,
                [row["id"] for row in rows],
                [self._has_page(row["id"]) for row in rows],
                [self._pages.has(experiment_page(row["experiment"] or "")) for row in rows],
                [(other.page, other.title) for other in others],
                self._known(line.scenario),
            ],
            partial(self._history, line, others),
        )

    def _history(
        self, line: Line, others: Sequence[Line]
    ) -> tuple[Mapping[str, Any], list[Any]]:
        series = [
            each
            for each in self._review.series
            if belongs(each, line.scenario, line.metric, line.unit)
            or (each.of_counts and each.scenario == line.scenario)
        ]
        href = partial(self._href, up="../")
        values, figures = history(line, series, href, others, self._pages.has)
        newest = self._results.light(line.rows[-1]["id"])
        return {**values, "about": about(newest.scenario) if newest else ""}, figures

    def _write_experiments(self) -> list[dict[str, Any]]:
        """The pages of experiments: the newest, and what pages of results lead to.

        Returns what the overview lists, newest first.
        """
        listed = []
        newest = list(self._experiments)[-EXPERIMENTS:]
        for ident, refs in reversed(self._experiments.items()):
            if ident not in newest and not any(map(self._has_page, refs)):
                continue
            for ref in refs:
                self._write_sweep(ref)
            with self._pages.apart(experiment_page(ident)):
                points = self._points(ident)
                if not points:
                    continue
                known = self._news(*{one.scenario.name for one in points})
                self._pages.write(
                    experiment_page(ident),
                    "experiment.html",
                    [[point.id for point in points], [asdict(one) for one in known]],
                    partial(self._experiment, points, known),
                )
                listed.append(experiment_line(points))
        return listed[:EXPERIMENTS]

    def _points(self, ident: str) -> list[Record]:
        """The results of an experiment that can be read, in its order."""
        refs = self._experiments[ident]
        points = [record for ref in refs if (record := self._results.light(ref)) is not None]
        order = points[0].experiment.points if points and points[0].experiment else ()
        points.sort(
            key=lambda record: order.index(record.id) if record.id in order else len(order)
        )
        return points

    def _newest_duel(self, experiments: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        """The newest duel of a list of experiments, with its answer; None without any."""
        for line in experiments:
            said = said_of(self._points(line["id"]))
            if said is not None:
                return {**line, **said}
        return None

    def _experiment(
        self, points: Sequence[Record], known: Sequence[News]
    ) -> tuple[Mapping[str, Any], list[Any]]:
        values, figures = experiment(points, [self._results.spent(point) for point in points])
        return {**values, "known": known}, figures

    def _write_summaries(
        self,
        newest: Sequence[str],
        groups: Sequence[tuple[str, Sequence[str]]],
        lines: Sequence[Line],
        experiments: Sequence[Mapping[str, Any]],
    ) -> None:
        """The pages that show results of all scenarios."""
        records = [record for ref in newest if (record := self._results.light(ref)) is not None]
        failed = self._index.without_figure(NOT_OK + 1)
        linked = {"href": self._href}
        self._pages.write(
            "validity",
            "validity.html",
            [newest, failed, [self._href(row) for row in failed], self._results.refused],
            lambda: (
                {**validity(records, failed), **linked, "refused": self._results.refused},
                (),
            ),
        )
        self._pages.write(
            "compare",
            "compare.html",
            [groups, self._known()],
            partial(self._compared, groups),
        )
        with self._pages.apart("index"):  # the last one: it names pages that are left out
            known = {row["id"]: row for row in self._index.every(newest=2 * NEWEST)}
            latest = [
                {**row, "against": anchor_words(row, known)}
                for row in [*known.values()][-NEWEST:][::-1]
            ]
            outcomes = self._index.outcomes()
            self._pages.write(
                "index",
                "overview.html",
                [
                    [[row["id"] for row in line.rows] for line in lines],
                    [newest, latest, outcomes, experiments, list(self._files.items())],
                    [[self._href(row) for row in latest], self._pages.left_out, self._known()],
                ],
                lambda: self._overview(records, lines, latest, outcomes, experiments),
            )

    def _overview(
        self,
        records: Sequence[Record],
        lines: Sequence[Line],
        latest: Sequence[Mapping[str, Any]],
        outcomes: Mapping[str, int],
        experiments: Sequence[Mapping[str, Any]],
    ) -> tuple[Mapping[str, Any], list[Any]]:
        rows = [row for line in lines for row in line.rows]
        pages = {(line.scenario, line.metric): line.page for line in lines}
        newest = max(row["started_at"] for row in latest)
        series = self._review.series
        news = None if self._named else answer(series, newest, pages, self._pages.has)
        values, figures = overview(records, rows, latest, outcomes, self._files)
        open_ = [] if self._named else self._open
        values["families"] = with_changes(values["families"], open_)
        few = news is not None and not news.enough and not news.news
        linked = {
            "href": self._href,
            "experiments": experiments,
            "answer": news,
            "fought": self._newest_duel(experiments) if few else None,
            "left_out": self._pages.left_out,
        }
        return {**values, **linked}, figures

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
        """The page of a result; one that is damaged has none, and another page names it."""
        page = sweep_page(ref)
        known = self._news(ref.partition("-")[2].rpartition("-")[0])
        try:
            # a result never changes but for what is pruned of it: its checksums stand for it
            sums = content_of(self._store.place(ref) / SUMS)
            compared = self._beside(ref)
            source = [
                sums.decode(errors="replace"),
                self._results.to_results,
                self._results.pruned(ref),
                [asdict(one) for one in known],
                compared,
            ]
            made = partial(self._sweep, ref, known, compared)
            self._pages.write(page, "sweep.html", source, made)
        except (LeaselabError, OSError) as error:
            self._results.refuse(ref, error)
            self._pages.drop(page)

    def _beside(self, ref: str) -> dict[str, list[str]]:
        """What a result is compared with on its page."""
        return beside_ids(ref, self._every(self._scenarios.get(ref)))

    @cached_property
    def _scenarios(self) -> dict[str, str]:
        """The scenario of each result, by its id; an unreadable one has none."""
        return {row["id"]: row["scenario"] for row in self._index.rows() if row["scenario"]}

    def _every(self, scenario: str | None) -> Sequence[Row]:
        """The rows of a scenario, oldest first, which are read once."""
        if scenario is None:
            return ()
        if scenario not in self._rows:
            self._rows[scenario] = self._index.every(scenario)
        return self._rows[scenario]

    def _sweep(
        self, ref: str, known: Sequence[News], compared: Mapping[str, Sequence[str]]
    ) -> tuple[Mapping[str, Any], list[Any]]:
        record = self._store.load(ref)
        values, figures = sweep(
            record,
            self._store.place(ref),
            self._results.raw(ref, "../"),
            self._results.pruned(ref),
            beside(record, compared, self._results.light),
            spent=self._results.spent(record),
        )
        return {**values, "known": known, "href": partial(self._href, up="../")}, figures

    def _compared(
        self, groups: Sequence[tuple[str, Sequence[str]]]
    ) -> tuple[Mapping[str, Any], list[Any]]:
        made: list[Group] = []
        for name, refs in groups:
            results = [
                (record, self._store.place(ref))
                for ref in refs
                if (record := self._results.light(ref)) is not None
            ]
            if len(results) > 1:
                anchors = {record.anchor for record, _ in results if record.anchor}
                known = [
                    record for ref in sorted(anchors) if (record := self._results.light(ref))
                ]
                by_id = {record.id: record for record in known}
                made.append(group(name, results, by_id, every=len(self._named) > 1))
        open_ = [] if self._named else self._open
        news = [news_of(*entry, {}, self._pages.has) for entry in open_]
        return compared(made, news, title_words(open_)), [part.figure for part in made]

    def _still_there(self, page: str) -> bool:
        """Whether a page that was written before is of something that is there."""
        folder, _, ref = page.partition("/")
        if page == CAPACITY[0]:
            return True
        if page == experiment_page(ref):
            return ref in self._experiments
        if sweep_page(ref) != page or folder == "":
            return False
        place = self._store.place(ref)
        return place.exists() and not (place / PRUNED).exists()

    def _has_page(self, ref: str) -> bool:
        return self._pages.has(sweep_page(ref))

    def _href(self, row: Mapping[str, Any], up: str = "") -> str:
        """Where a result is shown: on its page, else as it lies in the archive."""
        if self._has_page(row["id"]):
            return f"{up}{sweep_page(row['id'])}.html"
        place = self._results.raw(row["id"], up)
        return f"{place}/result.json" if place else ""
