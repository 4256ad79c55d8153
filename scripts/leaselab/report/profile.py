"""CPU time of two builds by function: a table and a sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from leaselab.analysis.comparison.profile import (
    LEAST_SHARE,
    NOT_SAMPLED,
    Change,
    FunctionChange,
    ProfileDifference,
)
from leaselab.report.width import write_lines, write_table

SHOWN = 15
"""Functions that a table shows."""
NAMED = 3
"""Number of functions in a sentence."""
NAMES = 1
"""Columns of `rows` that are words."""
LONGEST = 40
"""Letters of a function's name that a table shows; C++ has longer ones."""
CALLEES = ("callees B - A", "callees ±")
"""Headings of what a function took with those that it called."""


def print_profile(profiles: ProfileDifference, stream: TextIO | None = None) -> None:
    """Print the functions of two profiles; stdout, or there."""
    stream = stream or sys.stdout
    write_lines(stream, ["", summary(profiles)])
    if shown := [*rows(profiles, changed=True)]:
        stream.write("\n")
        write_table(stream, headings(profiles), shown, NAMES, CALLEES)
        write_lines(stream, notes(profiles))


def headings(profiles: ProfileDifference) -> list[str]:
    """Headings of `rows`."""
    own = ["own in A", "in B", "B - A", "±"]
    return [f"function ({profiles.unit})", *own, *CALLEES]


def rows(
    profiles: ProfileDifference, most: int = SHOWN, *, changed: bool = False
) -> Iterator[list[str]]:
    """What stands under `headings`: functions whose own time grew most, first.

    Functions that only call others, and without a significant change, are left out; with
    `changed`, all whose own time did not change significantly.
    """
    least = LEAST_SHARE * max(profiles.whole.before, profiles.whole.after)
    worth = [
        function
        for function in profiles.functions
        if function.seen
        or (not changed and function.whole.seen)
        or (not changed and max(function.own.before, function.own.after) >= least)
    ]
    for function in worth[:most]:
        yield [
            short_name(function.name),
            f"{function.own.before:.2f}",
            f"{function.own.after:.2f}",
            *_cells(function.own),
            *_cells(function.whole),
        ]


def short_name(name: str) -> str:
    """A function's name, cut where it is too long for a table."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def summary(profiles: ProfileDifference) -> str:
    """One sentence: how much more B costs, and which functions grew for sure."""
    whole, unit = profiles.whole, profiles.unit
    what = "CPU time " if _one(profiles) == "µs" else ""
    text = f"{what}{whole.before:.2f} {unit} in A, {whole.after:.2f} in B: "
    text += _signed(whole, profiles)
    if whole.before:
        text += f" ({100 * whole.difference / whole.before:+.1f} %)"
    return f"{text}. {growth(profiles)}"


def headline(profiles: ProfileDifference) -> str:
    """The answer in a line: the function whose own time is seen to differ most."""
    for word, functions in (("more", profiles.grown), ("less", profiles.fallen)):
        if functions:
            first = functions[0]
            rest = f", and in {len(functions) - 1} more" if len(functions) > 1 else ""
            size = f"{_signed(first.own, profiles)} {profiles.unit.partition(' ')[2]}"
            return f"B spends {word} in {short_name(first.name)}: {size}{rest}"
    return growth(profiles).removesuffix(".")


def growth(profiles: ProfileDifference) -> str:
    """The functions whose own time is known to have changed, in a sentence or two."""
    if profiles.rounds < 2:
        return "One round cannot separate growth from noise."
    parts = [
        _named("Grew most", profiles.grown, profiles),
        _named("Fell most", profiles.fallen, profiles),
    ]
    return " ".join(filter(None, parts)) or (
        "No function's own time changed by more than the rounds differ."
    )


def _named(what: str, functions: Sequence[FunctionChange], profiles: ProfileDifference) -> str:
    """Some functions with how much they changed; empty without any."""
    named = ", ".join(
        f"{short_name(function.name)} {_signed(function.own, profiles)}"
        for function in functions[:NAMED]
    )
    more = f" and {len(functions) - NAMED} more" if len(functions) > NAMED else ""
    return f"{what}: {named}{more}." if named else ""


def notes(profiles: ProfileDifference) -> Iterator[str]:
    """Notes on the table, a line each."""
    yield (
        f"± is half of an interval; those of all {len(profiles.functions)} functions hold "
        "together with 95 %, that of the whole by itself"
    )
    yield (
        f"{profiles.rounds} rounds of each, "
        + ("compared with each other in turn" if profiles.paired else "which did not alternate")
    )
    if any(function.name == NOT_SAMPLED for function in profiles.functions):
        yield (
            f"{NOT_SAMPLED} is CPU time of the server that no sample stands for: the kernel's, "
            "where perf may sample programs alone"
        )
    if any(unnamed(function) for function in profiles.functions):
        yield (
            "a name in brackets is a file: its functions have no symbols, as in a "
            "distribution's package"
        )


def unnamed(function: FunctionChange) -> bool:
    """Whether a row stands for all functions of a file that have no symbols."""
    return function.name.startswith("[")


def profile_document(profiles: ProfileDifference) -> dict[str, Any]:
    """The same for ``--json``; times are microseconds for each transaction."""
    return {
        "rounds": profiles.rounds,
        "paired": profiles.paired,
        "whole": _document(profiles.whole),
        "functions": [
            {
                "name": function.name,
                "own": _document(function.own),
                "with_callees": _document(function.whole),
            }
            for function in profiles.functions
        ],
    }


def _document(change: Change) -> dict[str, Any]:
    return {
        "a_us": change.before,
        "b_us": change.after,
        "difference_us": change.difference,
        "half_width_us": change.reach,
        "seen": change.seen,
    }


def _cells(change: Change) -> list[str]:
    """The difference, with a star where it is seen, and half of its interval."""
    star = "*" if change.seen else " "
    return [
        f"{_difference(change)}{star}",
        "-" if change.reach is None else f"{change.reach:.2f}",
    ]


def _one(profiles: ProfileDifference) -> str:
    """What is counted of a transaction: µs, or instructions."""
    return profiles.unit.partition(" ")[0]


def _signed(change: Change, profiles: ProfileDifference) -> str:
    reach = "" if change.reach is None else f" ± {change.reach:.2f}"
    return f"{_difference(change)}{reach} {_one(profiles)}"


def _difference(change: Change) -> str:
    """With its sign, as far as it has one: what is shown as 0 neither grew nor fell."""
    text = f"{change.difference:+.2f}"
    return text if text[1:].strip("0.") else text[1:]
