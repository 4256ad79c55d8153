"""A comparison of two results in words: on a terminal, as JSON, and for other reports."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

from leaselab.analysis.credibility import flags
from leaselab.analysis.matrix import cell_of, goal_words
from leaselab.analysis.steadiness import UNSTEADY
from leaselab.analysis.verdict import Change, Limit
from leaselab.model.plan import ruler
from leaselab.model.server import server_name
from leaselab.model.source import SHORT, source_of
from leaselab.report.commits import printable
from leaselab.report.facts import moment_words
from leaselab.report.matrix import aligned, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leaselab.analysis.verdict import Comparison, Verdict

HEADINGS = ["", "server", "commit", "subject", "result", "max rate/s"]
NAMES = 5
"""Columns of `rows` that are words."""
_SUBJECT = 50
"""Letters of a subject that a table shows."""


def print_comparison(comparison: Comparison, stream: TextIO | None = None) -> None:
    """Print both results, figures, conditions and last the verdict; stdout unless given."""
    stream = stream or sys.stdout
    stream.writelines(aligned(HEADINGS, [*rows(comparison)], NAMES))
    told = [*figures(comparison), *conditions(comparison), *doubts(comparison)]
    stream.writelines(["\n", *(f"{printable(line)}\n" for line in told)])
    stream.write(f"\n{printable(closing(comparison))}\n")


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The comparison for ``--json``; what there is none of is None."""
    verdict = comparison.verdict
    return {
        "outcome": comparison.word,
        "text": closing(comparison),
        "reason": str(comparison.error) if comparison.error is not None else None,
        "scenario": comparison.other["scenario"]["name"],
        "bench": comparison.other["bench"]["name"],
        "environment": comparison.other["bench"].get("environment"),
        "goal": ruler(comparison.other["goal"]),
        "a": _result(comparison.base) if comparison.base is not None else None,
        "b": _result(comparison.other),
        "ratio": verdict.ratio if verdict else None,
        "ratio_is": verdict.limit.value if verdict else None,
        "ci95": list(verdict.ci95) if verdict else None,
        "p": verdict.p if verdict else None,
        "threshold_percent": comparison.threshold_percent,
        "smallest_drop": verdict.smallest_drop if verdict else None,
    }


def rows(comparison: Comparison) -> Iterator[list[str]]:
    """What stands under `HEADINGS`: A, where there is one, and B."""
    for letter, document in (("A", comparison.base), ("B", comparison.other)):
        if document is None:
            continue
        server, cell = document["server"], cell_of(document)
        source = source_of(server)
        yield [
            letter,
            printable(server_name({**server, "commit": None})),
            (server["commit"] or "")[:SHORT] + "*" * bool(source.get("dirty")),
            printable(source.get("subject", ""))[:_SUBJECT],
            document["id"],
            shown(cell),
        ]


def figures(comparison: Comparison) -> Iterator[str]:
    """The figures of the verdict, a line each; nothing without one."""
    verdict = comparison.verdict
    if verdict is None:
        return
    if verdict.limit is Limit.NO_LOAD:
        return
    low, high = verdict.ci95
    if verdict.limit is not Limit.NONE:
        faster = "A" if verdict.limit is Limit.AT_MOST else "B"
        yield (
            f"ratio B to A: {verdict.limit.value} {verdict.ratio:.3f}, 95 % interval {low:.3f} "
            f"to {high:.3f}: {faster} passed all that its bench could offer"
        )
        yield f"t test: {_chance(verdict.p)}; threshold: {verdict.threshold_percent:g} %"
        return
    yield (
        f"ratio B to A: {verdict.ratio:.3f}, 95 % interval {low:.3f} to {high:.3f} "
        f"({_change(verdict.ratio)}, {_change(low)} to {_change(high)})"
    )
    yield f"Yuen's test: {_chance(verdict.p)}; threshold: {verdict.threshold_percent:g} %"
    yield _sight(verdict)


def conditions(comparison: Comparison) -> Iterator[str]:
    """Under which conditions the two were measured, a line each."""
    base, other = comparison.base, comparison.other
    bench = other["bench"]
    yield (
        f"{other['scenario']['name']} on bench {bench['name']}, environment "
        f"{bench.get('environment') or '-'}"
    )
    yield goal_words(other["goal"])
    told = _runs(other)
    if base is not None and _runs(base) != told:
        told = f"A: {_runs(base)}; B: {told}"
    yield f"± is half of a 95 % interval; {told}"
    began = f"B began {moment_words(other['started_at'])}"
    if base is not None:
        began = f"A began {moment_words(base['started_at'])}, {began}"
    if base is not None and comparison.verdict is not None:
        began += (
            f", {_apart(base, other)} later: what the machine itself became faster or "
            "slower by is part of the ratio"
        )
    yield began


def doubts(comparison: Comparison) -> Iterator[str]:
    """What there is to be careful with, a line each."""
    for letter, document in (("A", comparison.base), ("B", comparison.other)):
        for flag in flags(document) if document is not None else ():
            if flag.level == "doubt":
                yield f"{letter}: {flag.word}: {flag.text}"


def closing(comparison: Comparison) -> str:
    """The verdict in one sentence, by the commit that it is on.

    Where a result's machine was unsteady, that comes first.
    """
    moving = [
        letter
        for letter, document in (("A", comparison.base), ("B", comparison.other))
        if document is not None
        and comparison.verdict is not None
        and any(reason["word"] == UNSTEADY for reason in document["reasons"])
    ]
    if not moving:
        return _closing(comparison)
    return (
        f"On a machine that was unsteady while {' and '.join(moving)} "
        f"{'was' if len(moving) == 1 else 'were'} measured: {_closing(comparison)}"
    )


def _closing(comparison: Comparison) -> str:
    other, base, verdict = comparison.other, comparison.base, comparison.verdict
    name = _server_words(other)
    if comparison.error is not None:
        return f"No verdict on {name}: {comparison.error}"
    if verdict is None or base is None:
        return (
            f"Nothing to compare with yet: {name} is the first of its kind. The archive has no "
            "earlier result with a figure and an interval of another server on this bench, in "
            "this environment, by this scenario and goal."
        )
    if verdict.limit is Limit.NO_LOAD:
        found = other["reasons"][0]["text"]
        return (
            f"Regression: {name} keeps the goal at no load, unlike {_server_words(base)}: "
            f"{found}."
        )
    return _judged(verdict, f"{name} is {_measured(verdict)} than {_server_words(base)}")


def _judged(verdict: Verdict, told: str) -> str:
    """The verdict on what was told."""
    chance = _chance(verdict.p)
    if verdict.change is Change.REGRESSION:
        return f"Regression: {told} ({chance}); {_allowed(verdict)}."
    if verdict.change is Change.IMPROVEMENT:
        return f"Improvement: {told} ({chance})."
    if verdict.limit is Limit.AT_LEAST:
        return f"No regression: {told}; {_allowed(verdict)}."
    if verdict.differs:
        return f"No change that counts: {told} ({chance}); {_allowed(verdict)}."
    return f"No change seen: {told}, which may be chance ({chance}). {_sight(verdict)}."


def _server_words(document: Mapping[str, Any]) -> str:
    """What a result is of: the commit it was built from, hash and subject, or the package."""
    server = document["server"]
    source = source_of(server)
    if not server["commit"]:
        package = f" ({server['package']})" if server["package"] else ""
        return f"{server_name(server)} as packaged{package}"
    told = f"{server_name({**server, 'commit': None})} of commit {server['commit'][:SHORT]}"
    if source.get("subject"):
        told += f" ({source['subject']})"
    return told + " with uncommitted changes" * bool(source.get("dirty"))


def _measured(verdict: Verdict) -> str:
    """The change in words, such as ``8.0 % slower``."""
    percent = f"{100 * abs(verdict.ratio - 1):.1f} %"
    if verdict.limit is Limit.AT_LEAST and verdict.ratio < 1:
        return f"at most {percent} slower"
    least = "at least " if verdict.limit is not Limit.NONE else ""
    return f"{least}{percent} {'slower' if verdict.ratio < 1 else 'faster'}"


def _sight(verdict: Verdict) -> str:
    """How small a drop would have shown."""
    drop = f"{100 * verdict.smallest_drop:.1f} %"
    least = f"The smallest drop that runs with this scatter could have shown is {drop}"
    if verdict.sees_threshold:
        return least
    return f"{least}, so that one of {verdict.threshold_percent:g} % may have gone unseen"


def _allowed(verdict: Verdict) -> str:
    return f"{verdict.threshold_percent:g} % are allowed"


def _chance(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def _change(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def _runs(document: Mapping[str, Any]) -> str:
    goal = document["goal"]
    return f"{goal['runs']} runs, {goal['trim']} dropped at each end"


def _apart(base: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    first, second = (datetime.fromisoformat(one["started_at"]) for one in (base, other))
    minutes = abs((second - first).total_seconds()) / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _result(document: Mapping[str, Any]) -> dict[str, Any]:
    server, source = document["server"], source_of(document["server"])
    rate = document["summary"]["max_rate"] if cell_of(document).mean is not None else None
    return {
        "id": document["id"],
        "started_at": document["started_at"],
        "outcome": document["outcome"],
        "server": server["name"],
        "version": server["version"],
        "package": server["package"],
        "commit": server["commit"],
        "subject": source.get("subject"),
        "dirty": bool(source.get("dirty")),
        "max_rate": rate["trimmed_mean"] if rate else None,
        "ci95": rate["ci95"] if rate else None,
        "runs": document["goal"]["runs"],
        "trim": document["goal"]["trim"],
    }
