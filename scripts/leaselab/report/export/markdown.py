"""Results and verdicts as Markdown, for a merge request."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leaselab.analysis.credibility import flags
from leaselab.analysis.matrix import cell_of
from leaselab.model.server import server_name
from leaselab.model.source import source_of
from leaselab.report.markup import escaped
from leaselab.report.matrix import markdown_table, print_matrix, shown
from leaselab.report.verdict import (
    HEADINGS,
    NAMES,
    closing,
    conditions,
    doubts,
    figures,
    rows,
)

if TYPE_CHECKING:
    from leaselab.analysis.verdict import Comparison


def markdown(documents: Sequence[Mapping[str, Any]]) -> str:
    """A table for each kind of server, what is to be known, and each result with its figure.

    A table has one place for each backend and way of running, which the newest
    result takes; the list at the end has them all.
    """
    stream = io.StringIO()
    stream.write("## Leaselab\n\n")
    cells = [cell_of(document) for document in documents]
    for server in sorted({cell.server.split(" ")[0] for cell in cells}):
        members = [cell for cell in cells if cell.server.split(" ")[0] == server]
        print_matrix(members, markdown=True, stream=stream)
        stream.write("\n")
    doubts = [
        f"- **{escaped(document['scenario']['name'])}**: {escaped(flag.word)}: "
        f"{escaped(flag.text)}\n"
        for document in documents
        for flag in flags(document)
        if flag.level != "known"
    ]
    if doubts:
        stream.writelines(["\n### To be careful with\n\n", *doubts])
    stream.write("\n### Results\n\n")
    for document in documents:
        server = document["server"]
        source = source_of(server)
        told = f"- `{document['id']}`: {shown(cell_of(document))}, "
        told += escaped(server_name(server))
        if source:
            told += f", {escaped(source['subject'])}"
        stream.write(told + "\n")
    return stream.getvalue()


def markdown_of_comparison(comparison: Comparison) -> str:
    """A comment on a commit: the verdict, both results, the figures, the conditions."""
    parts = [
        f"## Leaselab: {comparison.word}\n\n{escaped(closing(comparison))}\n\n",
        *markdown_table(HEADINGS, list(rows(comparison)), NAMES),
    ]
    for heading, lines in (
        ("Figures", figures(comparison)),
        ("Conditions", conditions(comparison)),
        ("To be careful with", doubts(comparison)),
    ):
        told = [f"- {escaped(line)}\n" for line in lines]
        if told:
            parts += [f"\n### {heading}\n\n", *told]
    return "".join(parts)
