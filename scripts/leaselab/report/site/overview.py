"""The pages of the whole lab: the newest result of each scenario in tables, and the benches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leaselab.analysis.comparison.matrix import cell_of
from leaselab.analysis.figures.credibility import flags, level_of, trust
from leaselab.archive.bench_notes import CHECK, STATUS, noted_benches, read_note
from leaselab.archive.store import Store
from leaselab.model.errors import BELIEVED
from leaselab.model.procedures.duel import DUEL
from leaselab.model.procedures.profile import PROFILE
from leaselab.model.record import Record
from leaselab.report.listing import common_kind
from leaselab.report.matrix import shown
from leaselab.report.site.families import COURSE, REACH, families
from leaselab.report.site.figure import Figure, figure
from leaselab.report.site.sweep_charts import runs_chart, runs_note
from leaselab.report.units import in_shown_units, rows_in_shown_units

NEWEST = 50
"""Results that the list of the newest shows."""
MEANINGS = {
    "free": "no user holds it",
    "measuring": "a sweep is running on it",
    "held": "a user holds it for several commands",
    "maintenance": "a user has taken it out of use, with a reason",
    "broken": "a host has a fault, or the last check found errors",
    "unreachable": "no host answers",
    "down": "a lab of this machine that is not up",
}
"""What the states of benches mean."""
_VERDICTS = {
    **dict.fromkeys(("free", "measuring", "held"), "good"),
    **dict.fromkeys(("broken", "unreachable"), "refused"),
}


def overview(
    records: Sequence[Record],
    rows: Sequence[Mapping[str, Any]],
    latest: Sequence[Mapping[str, Any]],
    outcomes: Mapping[str, int],
    files: Mapping[str, str],
) -> tuple[dict[str, Any], list[Figure | None]]:
    """What the overview's template gets, and its chart where there is one result.

    `records` are the newest of their scenarios, of which duels and profiles are left to the
    experiments; `rows` those of the histories, oldest first in each, `latest` rows of the
    index, newest first, with the ratio to the anchor in words as `against`, `outcomes` how many
    of all results ended how, `files` as of `families`.
    """
    latest = rows_in_shown_units(latest)
    judged = in_shown_units(records)
    cells = [
        cell_of(record) for record in judged if record.procedure.name not in (DUEL, PROFILE)
    ]
    count = sum(outcomes.values())
    runs = None
    if count == 1 and judged:
        runs = figure("runs", "Runs", runs_chart(judged[0]), note=runs_note(judged[0]))
    flagged = [(record, flags(record)) for record in records]
    return {
        "course": COURSE,
        "reach": REACH,
        "only": judged[0] if count == 1 and judged else None,
        "runs": runs,
        "families": families(cells, rows_in_shown_units(rows), files),
        "about": {record.scenario.name: record.scenario.description for record in records},
        "newest": latest,
        "shown": shown,
        "kind": common_kind(latest),
        "counted": _counted(outcomes),
        "trust": {
            record.id: trust(known) if level_of(known) == "doubt" else ""
            for record, known in flagged
        },
        "results": count,
        "outcomes": outcomes,
        "words": {
            record.id: " ".join(reason.word for reason in record.reasons) for record in records
        },
    }, [runs]


def _counted(outcomes: Mapping[str, int]) -> str:
    """How many results there are, and how many of them have a figure."""
    figures = sum(count for word, count in outcomes.items() if word in BELIEVED)
    parts = [f"{figures} with a figure"] * bool(figures)
    parts += [f"{count} {word}" for word, count in outcomes.items() if word not in BELIEVED]
    return f"{sum(outcomes.values())} results: {', '.join(parts)}"


def bench_rows(store: Store) -> list[dict[str, Any]]:
    """What the page of the benches shows of each that was ever asked, by name.

    Pages are not written again by themselves, so it has moments where a terminal has ages.
    """
    rows = []
    for name in noted_benches(store.root):
        seen = read_note(store.root, name, STATUS)
        if seen is None:
            continue
        results = rows_in_shown_units(store.index.rows(bench=name, limit=1))
        rows.append(
            {
                "bench": name,
                **seen,
                "verdict": _VERDICTS.get(seen["state"], "doubt"),
                "result": results[0] if results else None,
                "check": read_note(store.root, name, CHECK),
            }
        )
    return rows
