"""Results as Markdown, for a merge request."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from leaselab.analysis.credibility import flags
from leaselab.analysis.matrix import cell_of
from leaselab.model.server import server_name
from leaselab.report.markup import escaped
from leaselab.report.matrix import print_matrix


def markdown(documents: Sequence[Mapping[str, Any]]) -> str:
    """The table of results, what is to be known of them, and which they are."""
    stream = io.StringIO()
    stream.write("## Leaselab\n\n")
    print_matrix([cell_of(document) for document in documents], markdown=True, stream=stream)
    doubts = [
        f"- **{document['scenario']['name']}**: {flag.word}: {escaped(flag.text)}\n"
        for document in documents
        for flag in flags(document)
        if flag.level != "known"
    ]
    if doubts:
        stream.writelines(["\n### To be careful with\n\n", *doubts])
    stream.write("\n### Results\n\n")
    for document in documents:
        server = document["server"]
        source = (server["build"] or {}).get("source") or {}
        told = f"- `{document['id']}`: {escaped(server_name(server))}"
        if source:
            told += f", {escaped(source['subject'])}"
        stream.write(told + "\n")
    return stream.getvalue()
