"""The release report: one page that compares a release of a server with an earlier one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from leaselab.analysis.comparison.ratio import Basis
from leaselab.analysis.comparison.verdict import compare
from leaselab.analysis.history.releases import Match, Release, matches_of, releases_of
from leaselab.archive.row import Row
from leaselab.archive.store import Store
from leaselab.model.errors import usage_error
from leaselab.model.record import SERVER, Record
from leaselab.model.source import SHORT, public_address
from leaselab.report.facts import config_text, facts, host_lines
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.pages import single_page
from leaselab.report.site.release_charts import releases_chart
from leaselab.report.site.release_sections import BASELINE, Entry, Families, Report
from leaselab.report.units import in_shown_units
from leaselab.report.verdict.sentence import counted

_CHANGED = ("worse", "better")
"""Looks of changes that were seen, in the order in which they are shown."""
_CONFIG_LIMIT = 200_000
"""Letters of a configuration that are attached."""
_BUILD = ("server", "commit", "repository", "build", "generator")
"""What is said of how a release was built and loaded, by the labels of `facts`."""


def release_report(
    store: Store, release: Release, against: Release, families: Families
) -> tuple[str, str]:
    """Make the report of a release: its name, and the page.

    `families` are those of the catalogue; the report is of those of the release's server, and
    says which have no result.  No report of other results has its name.  Raises usage_error
    where the release or `against` has no result.
    """
    known = {scenario.name for scenarios in families.values() for scenario in scenarios}
    rows = [row for row in store.index.every() if row["scenario"] in known]
    for side in (release, against):
        if not any(map(side.has, rows)):
            raise usage_error(
                "there is no result of this release",
                where=str(store.root),
                found=side.name,
                wanted=", ".join(each.name for each in releases_of(rows)) or "any result",
                todo="measure it: leaselab run FAMILY --repo REPO --commits A,B",
            )
    read: dict[str, Record] = {}
    entries = _entries(store, matches_of(rows, release, against), read)
    of = {entry.other.server.name for each in entries.values() for entry in each}
    mine = {
        name: scenarios
        for name, scenarios in families.items()
        if {scenario.server.kind for scenario in scenarios} & of
    }
    report = Report(release, against, mine, entries)
    context = _context(store, report, _history(store, rows, report, read))
    return report.name, single_page("release.html", context)


def _entries(
    store: Store, matches: Sequence[Match], read: dict[str, Record]
) -> dict[str, list[Entry]]:
    """What matches of rows come to, by scenario; results that cannot be read are left out.

    `read` has records by their ids; it gets those that are read here, as another match may
    name them again.
    """
    ids = dict.fromkeys(row["id"] for match in matches for row in match if row)
    missing = [ident for ident in ids if ident not in read]
    read |= {record.id: record for record in store.load_readable(missing)}
    shown = {
        record.id: record
        for record in in_shown_units([read[ident] for ident in ids if ident in read])
    }
    anchors = store.anchors_of(*read.values())
    read |= anchors
    entries: dict[str, list[Entry]] = {}
    for base_row, row in matches:
        other = read.get(row["id"])
        base = read.get(base_row["id"]) if base_row else None
        if other is None:
            continue
        judged = compare(base, other, anchors=anchors)
        entry = Entry(shown[other.id], shown[base.id] if base else None, judged)
        entries.setdefault(other.scenario.name, []).append(entry)
    return entries


def _history(
    store: Store, rows: Sequence[Row], report: Report, read: dict[str, Record]
) -> list[Figure | None]:
    """For each backend, the change of each scenario since `against`, by release."""
    figures = []
    for name in (name for name in BASELINE if name in report.families):
        scenarios = [family.name for family in report.families[name] if not family.partner]
        own = [row for row in rows if row["scenario"] in scenarios]
        values: list[dict[str, Any]] = []
        for release in releases_of(own):
            of_base = [row for row in own if release.has(row) and report.against.has(row)]
            if of_base:
                # In its place among the others, which are changes from it.
                known = dict.fromkeys(row["scenario"] for row in of_base)
                values += [_base(release.name, scenario) for scenario in known]
                continue
            matches = [match for match in matches_of(own, release, report.against) if match[0]]
            values += [
                {
                    "release": release.name,
                    "scenario": scenario,
                    "ratio": verdict.ratio,
                    "ci95": verdict.ci95,
                }
                for scenario, entries in _entries(store, matches, read).items()
                if (verdict := entries[0].comparison.verdict)
                and not entries[0].comparison.apart
            ]
        figures.append(
            figure(
                f"history-{name}",
                f"Change since {report.against.name} by release, {name}",
                releases_chart(values, f"Change by release, {name}"),
                note="Releases measured in turn with it, or with a common anchor: the "
                "drift of the machine cancels. The line through a dot is its 95 % interval.",
            )
        )
    return figures


def _base(release: str, scenario: str) -> dict[str, Any]:
    return {"release": release, "scenario": scenario, "ratio": 1.0, "ci95": (1.0, 1.0)}


def _context(store: Store, report: Report, history: Sequence[Figure | None]) -> dict[str, Any]:
    """What the template gets."""
    entries = [entry for each in report.entries.values() for entry in each]
    judged = [entry for entry in entries if entry.look != "unknown"]
    news = sorted(
        (entry for entry in entries if entry.news), key=lambda entry: _CHANGED.index(entry.look)
    )
    records = [entry.other for entry in entries]
    sides = {
        report.against.name: next((entry.base for entry in entries if entry.base), None),
        report.release.name: records[0] if records else None,
    }
    built = {
        name: dict(facts(record, Path(record.id)))
        for name, record in sides.items()
        if record is not None
    }
    sections = list(report.sections())
    bases = [entry.comparison.verdict.basis for entry in entries if entry.comparison.verdict]
    return {
        "name": report.name,
        "release": report.release.name,
        "against": report.against.name,
        "news": news,
        "answer": counted([entry.comparison for entry in judged])
        if judged
        else "no figure can be judged",
        "slower": next((new.scenario for new in news if new.look == "worse"), ""),
        "repository": _repository(records),
        "judged": len(judged),
        "apart": sum(entry.comparison.apart for entry in entries),
        "unjudged": sum(entry.comparison.verdict is None for entry in entries),
        "sections": sections,
        "missing": [name for section in sections for name in section.missing],
        "history": [figure for figure in history if figure is not None],
        "benches": _benches(records),
        "built": {
            label: [each.get(label, "-") for each in built.values()]
            for label in _BUILD
            if any(label in each for each in built.values())
        },
        "sides": list(built),
        "procedures": sorted({record.procedure.words for record in records}),
        "bases": [(basis.value, bases.count(basis)) for basis in Basis],
        "attached": _attached(store, report),
        "measured": (
            min((record.started_at for record in records), default=""),
            max((record.finished_at for record in records), default=""),
        ),
        "made": sorted({_made_by(record) for record in records}),
    }


def _attached(store: Store, report: Report) -> list[dict[str, Any]]:
    """Configurations and generator commands, each distinct one once."""
    names_by_text: dict[tuple[str, str], list[str]] = {}
    for name, entries in report.entries.items():
        for entry in entries:
            text = config_text(entry.other, store.place(entry.other.id), SERVER) or ""
            shown = next((each.shown for each in entry.other.rounds if each.shown), None)
            command = shlex.join(shown.argv) if shown else ""
            names = names_by_text.setdefault((text, command), [])
            names += [] if name in names else [name]
    return [
        {
            "names": names,
            "text": text[:_CONFIG_LIMIT],
            "cut": len(text) > _CONFIG_LIMIT,
            "command": command,
        }
        for (text, command), names in names_by_text.items()
        if text or command
    ]


def _benches(records: Iterable[Record]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """The hosts of each bench and environment, in words."""
    benches = {
        (record.bench.name, record.bench.environment or "-"): record.bench for record in records
    }
    return [
        (
            *place,
            [line for role, host in bench.hosts.items() for line in host_lines(role, host)],
        )
        for place, bench in benches.items()
    ]


def _made_by(record: Record) -> str:
    made = record.provenance
    return f"{made.leaselab_version} {(made.leaselab_commit or '')[:SHORT]}".rstrip()


def _repository(records: Sequence[Record]) -> str:
    """The option that names the server's repository; empty where that is not known."""
    source = records[0].source if records else None
    return f" --repo {shlex.quote(public_address(source.repository))}" if source else ""
