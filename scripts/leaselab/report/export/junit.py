"""Results and verdicts as a test report, for the trend of a continuous integration server."""

from __future__ import annotations

from collections.abc import Iterable

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from leaselab.analysis.comparison.matrix import cell_of
from leaselab.analysis.comparison.verdict import Comparison
from leaselab.archive.row import Row
from leaselab.model.errors import BELIEVED, Outcome
from leaselab.model.record import Record
from leaselab.model.text import printable_lines
from leaselab.report.matrix import shown
from leaselab.report.verdict.rules import rule_lines
from leaselab.report.verdict.sentence import closing
from leaselab.report.verdict.table import conditions

_CLASS = "leaselab"


def junit(results: Iterable[tuple[Row, Record | str]]) -> bytes:
    """A suite for each bench, a case for each result.

    `results` are index rows with their records, or with why they cannot be read.
    A regression is a failure; everything that gave no figure is an error, with
    the outcome as its type: an invalid measurement is no pass.
    """
    return _report(
        (row["bench"], _unreadable(row, record) if isinstance(record, str) else _case(record))
        for row, record in results
    )


def junit_of_comparisons(comparisons: Iterable[Comparison]) -> bytes:
    """A case for each result that is judged, and one for the verdict on it.

    A regression is a failure, what came to no verdict is an error, and a first
    of its kind is skipped: none of them is a pass.
    """
    return _report(
        (comparison.other.bench.name, case)
        for comparison in comparisons
        for case in (_case(comparison.other), _verdict(comparison))
    )


def _report(cases: Iterable[tuple[str | None, TestCase]]) -> bytes:
    """The report of cases, each with the bench whose suite it belongs to."""
    suites: dict[str, TestSuite] = {}
    for bench, case in cases:
        name = printable_lines(bench or "unknown bench")
        suites.setdefault(name, TestSuite(f"leaselab on {name}")).add_testcase(case)
    report = JUnitXml("leaselab")
    for suite in suites.values():
        report.add_testsuite(suite)
    report.update_statistics()
    return bytes(report.tostring())


def _verdict(comparison: Comparison) -> TestCase:
    scenario = printable_lines(comparison.other.scenario.name)
    # a name without versions, so that a server's trend is of one case
    case = TestCase(f"{scenario} verdict", f"{_CLASS}.{scenario}")
    text = printable_lines("\n".join([closing(comparison), *rule_lines([comparison])]))
    if comparison.error is not None:
        case.result = [Error(text, comparison.word)]
    elif comparison.outcome is Outcome.REGRESSION:
        case.result = [Failure(text, comparison.word)]
    elif comparison.outcome is Outcome.INVALID:
        case.result = [Error(text, comparison.word)]
    elif comparison.verdict is None:
        case.result = [Skipped(text, comparison.word)]
    case.system_out = printable_lines("\n".join([text, *conditions(comparison)]))
    return case


def _unreadable(row: Row, why: str) -> TestCase:
    case = TestCase(str(row["id"]), _CLASS)
    case.result = [Error(printable_lines(why), "unreadable")]
    return case


def _case(record: Record) -> TestCase:
    cell = cell_of(record)
    name = printable_lines(cell.scenario)
    case = TestCase(f"{name} {printable_lines(cell.server)}", f"{_CLASS}.{name}", record.wall_s)
    text = printable_lines("; ".join(reason.text for reason in record.reasons))
    words = printable_lines(" ".join(reason.word for reason in record.reasons))
    if cell.outcome == Outcome.REGRESSION.label:
        case.result = [Failure(text, words or cell.outcome)]
    elif cell.outcome not in BELIEVED:
        case.result = [Error(text, f"{cell.outcome}: {words}" if words else cell.outcome)]
    figure = f"{shown(cell)} {cell.unit}" if cell.value is not None else "no figure"
    case.system_out = f"{figure}, {cell.procedure}, result {record.id}"
    return case
