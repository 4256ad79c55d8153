"""What two servers do for each transaction, in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leaselab.analysis.comparison.cost import CostVerdict, Part
from leaselab.analysis.comparison.profile import ProfileDifference

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
