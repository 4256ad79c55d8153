"""What two servers do for each transaction, in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leaselab.analysis.comparison.cost import CostVerdict, Part
from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.duels.duel import Answer, DuelVerdict
from leaselab.model.procedure import COMPLETED
from leaselab.model.procedures.cost import INSTRUCTIONS, SYSTEM_CALLS
from leaselab.report.listing import amount, signed_amount
from leaselab.report.profile import short_name
from leaselab.report.verdict.words import interval_words, percent, two_digits

HEADINGS = ["for each transaction", "A", "B", "B - A", "range of A", "of B", "judged from"]
NAMES = 1
"""Columns of `rows` that are words."""
NAMED = 3
"""System calls in a sentence."""


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

    It names the function and the system call that changed most, where `functions` are given.
    """
    part = verdict.instructions
    if not verdict.deciding:
        size = two_digits(part.least / part.before)
        return (
            f"Equal: {name} costs as many {part.unit} as {before}: {amount(part.after)} of "
            f"{amount(part.before)}, and a change of {size} would count."
        )
    word = "More" if verdict.grown else "Less"
    parts = ", ".join(_whole_words(one, functions) for one in verdict.deciding)
    return f"{word}: {name} costs {parts} than {before}."


def detail_words(verdict: CostVerdict, functions: ProfileDifference | None) -> str:
    """What a verdict says beyond its first part: what of it changed most, and the others."""
    first, *others = verdict.deciding
    words = [most_words(first, functions), *(_whole_words(one, functions) for one in others)]
    return ", ".join(filter(None, words))


def _whole_words(part: Part, functions: ProfileDifference | None) -> str:
    most = most_words(part, functions)
    return f"{part_words(part)} ({most})" if most else part_words(part)


def part_words(part: Part) -> str:
    """A change in a few words: ``1.2 % more instructions per exchange``."""
    if part.name == INSTRUCTIONS:
        size = two_digits(abs(part.after / part.before - 1))
        return f"{size} {'more' if part.grown else 'fewer'} {part.unit}"
    return f"{amount(abs(part.difference))} {'more' if part.grown else 'fewer'} {part.title}"


def short_words(part: Part) -> str:
    """The same for a table: ``+1.2 % instructions``."""
    if part.name == INSTRUCTIONS:
        return f"{two_digits(part.after / part.before - 1, '+')} {part.title}"
    return f"{signed_amount(part.difference)} {part.title}"


def most_words(part: Part, functions: ProfileDifference | None) -> str:
    """What changed most of a part: ``+3 140, of which +3 010 in answer``; else empty."""
    if part.name == INSTRUCTIONS:
        changed = (functions.grown if part.grown else functions.fallen) if functions else ()
        most = [
            f"{signed_amount(one.own.difference)} in {short_name(one.name)}"
            for one in changed[:1]
        ]
        return ", of which ".join([signed_amount(part.difference), *most])
    if part.name != SYSTEM_CALLS or not functions:
        return ""
    moved = [
        f"{signed_amount(change.difference)} {name}"
        for name, change in functions.system_calls.items()
        if change.seen and (change.difference > 0) == part.grown
    ]
    return ", ".join(moved[:NAMED])


def together_words(verdict: CostVerdict, duel: DuelVerdict) -> str:
    """What a count and a duel of the same two say, in a sentence.

    Where the duel saw a change and the count none of that sign, it says where to look.
    """
    changed = [
        percent(one.ratio) if one is verdict.instructions else short_words(one)
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
        f"instructions{of} say that the code does more, not how much slower it is; they leave "
        "out the kernel's time, waiting, contention and real caches"
    )


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
