"""Results as a test report, for the trend of a continuous integration server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite

from leaselab.analysis.matrix import cell_of
from leaselab.report.matrix import shown

_CLASS = "leaselab"


def junit(documents: Iterable[Mapping[str, Any]]) -> bytes:
    """A suite for each bench, a case for each result.

    A regression is a failure; everything that gave no figure is an error, with
    the outcome as its type: an invalid measurement is no pass.
    """
    suites: dict[str, TestSuite] = {}
    for document in documents:
        bench = document["bench"]["name"]
        suite = suites.setdefault(bench, TestSuite(f"leaselab on {_printable(bench)}"))
        suite.add_testcase(_case(document))
    report = JUnitXml("leaselab")
    for suite in suites.values():
        report.add_testsuite(suite)
    report.update_statistics()
    return bytes(report.tostring())


def _case(document: Mapping[str, Any]) -> TestCase:
    cell = cell_of(document)
    case = TestCase(
        f"{cell.scenario} {_printable(cell.server)}",
        f"{_CLASS}.{cell.scenario}",
        document["summary"]["wall_s"],
    )
    text = _printable("; ".join(reason["text"] for reason in document["reasons"]))
    words = " ".join(reason["word"] for reason in document["reasons"])
    if cell.outcome == "regression":
        case.result = [Failure(text, words or cell.outcome)]
    elif cell.outcome != "ok":
        case.result = [Error(text, f"{cell.outcome}: {words}" if words else cell.outcome)]
    case.system_out = f"{shown(cell)} exchanges/s, {cell.goal}, result {document['id']}"
    return case


def _printable(text: str) -> str:
    """The text without what XML cannot hold, such as a terminal's colours."""
    return "".join(
        letter if letter.isprintable() or letter in "\t\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )
