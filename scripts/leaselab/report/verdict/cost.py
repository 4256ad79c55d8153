"""What two servers do for each transaction, in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leaselab.analysis.comparison.cost import CostVerdict, Part
from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.duels.duel import Answer, DuelVerdict
from leaselab.model.procedure import COMPLETED
from leaselab.report.verdict.words import interval_words, percent

HEADINGS = ["for each transaction", "A", "B", "B - A", "range of A", "of B", "judged from"]
NAMES = 1
"""Columns of `rows` that are words."""
NOT_COUNTED = "the kernel's time, waiting, contention and real caches are not"
"""What no count sees."""


def rows(verdict: CostVerdict) -> Iterator[list[str]]:
    """What stands under `HEADINGS`: each kind of what was counted."""
    for part in verdict.parts:
        star = "*" if part.changed else " "
        yield [
            part.title,
            amount(part.before),
            amount(part.after),
            f"{signed_amount(part.difference)}{star}",
            *(amount(one) for one in part.ranges),
            amount(part.least),
        ]


def closing_words(
    verdict: CostVerdict, name: str, before: str, functions: ProfileDifference | None
) -> str:
    """The answer in a sentence; `name` and `before` are B and A.

    It names the function that has changed most, where `functions` are given.
    """
    part = verdict.instructions
    if not (verdict.grown or verdict.fallen):
        size = f"{100 * part.least / part.before:.2g} %"
        return (
            f"Equal: {name} costs as many {part.unit} as {before}: {amount(part.after)} of "
            f"{amount(part.before)}, and a change of {size} would count."
        )
    word = "More" if verdict.grown else "Less"
    shown = verdict.grown or verdict.fallen
    others = [one for one in shown if one is not part]
    parts = []
    if part in shown:
        size = f"{100 * abs(verdict.ratio - 1):.2g} % {'more' if part.grown else 'fewer'}"
        most = _most(functions, grown=part.grown)
        parts.append(f"{size} {part.unit} ({signed_amount(part.difference)}{most})")
    parts += [
        f"{amount(abs(one.difference))} {'more' if one.grown else 'less'} {one.title}"
        for one in others
    ]
    return f"{word}: {name} costs {', '.join(parts)} than {before}."


def _most(functions: ProfileDifference | None, *, grown: bool) -> str:
    """The function that grew, or fell, most: `, of which +3 010 in answer`; else empty."""
    changed = (functions.grown if grown else functions.fallen) if functions else ()
    if not changed:
        return ""
    first = changed[0]
    return f", of which {signed_amount(first.own.difference)} in {first.name}"


def together_words(verdict: CostVerdict, duel: DuelVerdict) -> str:
    """What a count and a duel of the same two say, in a sentence.

    Where the duel saw a change and the count none of that sign, it says where to look.
    """
    changed = [
        percent(one.ratio)
        if one is verdict.instructions
        else f"{signed_amount(one.difference)} {one.title}"
        for one in verdict.parts
        if one.changed
    ]
    text = f"Cost {' and '.join(changed) or 'equal'}"
    what = "rate" if duel.metric == COMPLETED else "CPU time"
    slower = duel.answer is Answer.SLOWER or bool(duel.worse)
    if duel.answer is Answer.SAME:
        text += f", no change of {what} bigger than {100 * duel.bound:.1f} %"
    else:
        size = f"{percent(duel.ratio)} ({interval_words(duel.ci95)})"
        unknown = "not known well enough: " if duel.answer is Answer.UNKNOWN else ""
        text += f", {what} {unknown}{size}"
    unexplained = (slower and not verdict.grown) or (
        duel.answer is Answer.FASTER and not verdict.fallen
    )
    return f"{text}{': look at the kernel, waiting, locks or layout' * unexplained}."


def limits_words(verdict: CostVerdict) -> str:
    """What the count cannot see, in a line."""
    share = verdict.counted_share
    of = (
        ""
        if share is None
        else f" stand for about {100 * share:.0f} % of the server's CPU time, and"
    )
    return (
        f"instructions{of} say that the code does more, not how much slower it is; "
        f"{NOT_COUNTED}"
    )


def amount(value: float) -> str:
    """A count for each transaction: whole from 1000 on, in groups of three digits."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"
    return text.replace(",", " ")


def signed_amount(value: float) -> str:
    """The same with its sign."""
    return f"{'+' if value > 0 else ''}{amount(value)}"


def cost_document(verdict: CostVerdict) -> dict[str, Any]:
    """The same for ``--json``, for each transaction."""
    return {
        "counted_share": verdict.counted_share,
        "parts": [_document(part) for part in verdict.parts],
    }


def _document(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "unit": part.unit,
        "a": part.before,
        "b": part.after,
        "range_a": part.ranges[0],
        "range_b": part.ranges[1],
        "least": part.least,
        "changed": part.changed,
    }
