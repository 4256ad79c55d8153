"""Results as a test report, for the trend of a continuous integration server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite

from leaselab.analysis.matrix import cell_of
from leaselab.model.errors import BELIEVED, Outcome
from leaselab.report.matrix import shown

_CLASS = "leaselab"


def junit(results: Iterable[tuple[Mapping[str, Any], Mapping[str, Any] | str]]) -> bytes:
    """A suite for each bench, a case for each result.

    `results` are index rows with their documents, or with why they cannot be read.
    A regression is a failure; everything that gave no figure is an error, with
    the outcome as its type: an invalid measurement is no pass.
    """
    suites: dict[str, TestSuite] = {}
    for row, document in results:
        bench = row["bench"] or "unknown bench"
        suite = suites.setdefault(bench, TestSuite(f"leaselab on {_printable(bench)}"))
        suite.add_testcase(
            _unreadable(row, document) if isinstance(document, str) else _case(document)
        )
    report = JUnitXml("leaselab")
    for suite in suites.values():
        report.add_testsuite(suite)
    report.update_statistics()
    return bytes(report.tostring())


def _unreadable(row: Mapping[str, Any], why: str) -> TestCase:
    case = TestCase(str(row["id"]), _CLASS)
    case.result = [Error(_printable(why), "unreadable")]
    return case


def _case(document: Mapping[str, Any]) -> TestCase:
    cell = cell_of(document)
    name = _printable(cell.scenario)
    case = TestCase(
        f"{name} {_printable(cell.server)}",
        f"{_CLASS}.{name}",
        document["summary"]["wall_s"],
    )
    text = _printable("; ".join(reason["text"] for reason in document["reasons"]))
    words = _printable(" ".join(reason["word"] for reason in document["reasons"]))
    if cell.outcome == Outcome.REGRESSION.label:
        case.result = [Failure(text, words or cell.outcome)]
    elif cell.outcome not in BELIEVED:
        case.result = [Error(text, f"{cell.outcome}: {words}" if words else cell.outcome)]
    rate = f"{shown(cell)} exchanges/s" if cell.mean is not None else "no figure"
    case.system_out = f"{rate}, {cell.goal}, result {document['id']}"
    return case


def _printable(text: str) -> str:
    """The text without what XML cannot hold, such as a terminal's colours."""
    return "".join(
        letter if letter.isprintable() or letter in "\t\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )
