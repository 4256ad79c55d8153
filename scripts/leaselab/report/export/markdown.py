"""Results and verdicts as Markdown, for a merge request."""

from __future__ import annotations

import io
from collections.abc import Sequence

from leaselab.analysis.comparison.matrix import cell_of
from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.comparison.verdict import Comparison
from leaselab.analysis.figures.credibility import flags
from leaselab.model.record import Record
from leaselab.model.server import server_name
from leaselab.report import profile
from leaselab.report.facts import steps_rows
from leaselab.report.listing import escaped, markdown_table
from leaselab.report.matrix import print_matrix, shown
from leaselab.report.units import in_shown_units
from leaselab.report.verdict.document import outcome
from leaselab.report.verdict.rules import rule_lines
from leaselab.report.verdict.sentence import closing, closings
from leaselab.report.verdict.table import (
    NAMES,
    SCENARIO_HEADINGS,
    SCENARIO_NAMES,
    budget_line,
    conditions,
    doubts,
    figures,
    headings,
    rows,
    scenario_rows,
)

_FUNCTIONS = 5
"""Functions that a comment shows."""


def markdown(records: Sequence[Record]) -> str:
    """A table for each kind of server, what is to be known, and each result with its figure.

    A table has one place for each way of running, which the newest result takes; the list at
    the end has them all.
    """
    stream = io.StringIO()
    records = in_shown_units(records)
    stream.write("## Leaselab\n\n")
    for server in sorted({record.server.name for record in records}):
        cells = [cell_of(record) for record in records if record.server.name == server]
        print_matrix(cells, markdown=True, stream=stream)
        stream.write("\n")
    doubts = [
        f"- **{escaped(record.scenario.name)}**: {escaped(flag.word)}: {escaped(flag.text)}\n"
        for record in records
        for flag in flags(record)
        if flag.level != "known"
    ]
    if doubts:
        stream.writelines(["\n### To be careful with\n\n", *doubts])
    stream.write("\n### Results\n\n")
    for record in records:
        text = (
            f"- `{record.id}`: {shown(cell_of(record))}, {escaped(server_name(record.server))}"
        )
        if record.source:
            text += f", {escaped(record.source.subject)}"
        stream.write(text + "\n")
    for record in records:
        if rows := steps_rows(record):
            table = markdown_table(rows[0], rows[1:], 1)
            stream.writelines([f"\n### {escaped(record.scenario.name)}\n\n", *table])
    return stream.getvalue()


def markdown_of_comparisons(comparisons: Sequence[Comparison]) -> str:
    """A comment on a commit; of several scenarios a table first, and those that stand out."""
    if len(comparisons) == 1:
        return _comparison(comparisons[0])
    parts = [
        f"## Leaselab: {outcome(comparisons).label}\n\n",
        *markdown_table(SCENARIO_HEADINGS, [*scenario_rows(comparisons)], SCENARIO_NAMES),
    ]
    lines = [*closings(comparisons), *rule_lines(comparisons)]
    bullets = [f"- {escaped(line)}\n" for line in lines]
    if bullets:
        parts += ["\n", *bullets]
    return "".join(parts)


def markdown_of_profiles(profiles: ProfileDifference) -> str:
    """What two builds spend: a sentence; folded, functions that grew most and system calls."""
    calls = [*profile.call_rows(profiles, changed=True)]
    table = markdown_table(
        profile.headings(profiles), [*profile.rows(profiles, _FUNCTIONS)], profile.NAMES
    )
    parts = [
        f"\n### {profile.where(counted=profiles.counted)}\n\n",
        f"{escaped(profile.summary(profiles))}\n\n",
        "<details><summary>By function</summary>\n\n",
        *table,
        "\n",
        *(f"- {escaped(line)}\n" for line in profile.notes(profiles)),
    ]
    if calls:
        table = markdown_table(profile.call_headings(profiles), calls, profile.NAMES)
        parts += ["\n", *table]
    return "".join([*parts, "\n</details>\n"])


def _comparison(comparison: Comparison) -> str:
    """The verdict, both results, the figures, the conditions."""
    parts = [
        f"## Leaselab: {comparison.words}\n\n{escaped(closing(comparison))}\n\n",
        *markdown_table(headings(comparison), list(rows(comparison)), NAMES),
    ]
    for heading, lines in (
        ("Rules", rule_lines([comparison])),
        ("Figures", [*figures(comparison), *budget_line(comparison)]),
        ("Conditions", conditions(comparison)),
        ("To be careful with", doubts(comparison)),
    ):
        bullets = [f"- {escaped(line)}\n" for line in lines]
        if bullets:
            parts += [f"\n### {heading}\n\n", *bullets]
    return "".join(parts)
