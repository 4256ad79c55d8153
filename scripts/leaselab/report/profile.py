"""CPU time of two builds by function: a table and a sentence."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from leaselab.analysis.comparison.profile import (
    LEAST_SHARE,
    NOT_SAMPLED,
    Change,
    FunctionChange,
    ProfileDifference,
    Spent,
    averaged,
)
from leaselab.model.procedures.profile import part_title
from leaselab.model.record import Record
from leaselab.model.text import some_of
from leaselab.report.facts import whole_of
from leaselab.report.listing import amount, signed_amount
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
_CALLS = ("calls A", "calls B")
"""Headings of how often it was called."""
_SPARE = (*CALLEES, "±", "own in A")
"""Columns of counts that a narrow terminal may lack; ± is 0 of most."""


class Table(NamedTuple):
    """A table whose first column are words."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    code: bool = True
    """Whether these words are names in a program."""


def print_profile(profiles: ProfileDifference, stream: TextIO | None = None) -> None:
    """Print the functions of two profiles; stdout, or there."""
    stream = stream or sys.stdout
    write_lines(stream, ["", summary(profiles)])
    if shown := [*rows(profiles, changed=True)]:
        stream.write("\n")
        spare = _SPARE if profiles.counted else CALLEES
        write_table(stream, headings(profiles), shown, NAMES, spare)
        write_lines(stream, notes(profiles))
    if moved := [*call_rows(profiles, changed=True)]:
        stream.write("\n")
        write_table(stream, call_headings(profiles), moved, NAMES)


def where(*, counted: bool) -> str:
    """Heading of what is shown of profiles, or of counts."""
    return f"Where {'instructions go' if counted else 'CPU time goes'}"


def headings(profiles: ProfileDifference) -> list[str]:
    """Headings of `rows`."""
    own = ["own in A", "in B", "B - A", "±"]
    calls = _CALLS if profiles.counted else ()
    return [f"function ({profiles.unit})", *own, *calls, *CALLEES]


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
            amount(function.own.before),
            amount(function.own.after),
            *_cells(function.own),
            *(_ends(function.calls) if function.calls else ()),
            *_cells(function.whole),
        ]


def counted_table(record: Record) -> Table:
    """What a count has counted, a row for each part: the figures of all starts together."""
    body = []
    for metric in whole_of(record):
        values = [value for value in record.values(metric.name) if value is not None]
        if metric.value is not None and values:
            unit = "" if " per " in metric.unit else f" ({metric.unit})"
            ends = (metric.value, min(values), max(values))
            body.append([f"{metric.title}{unit}", *map(amount, ends)])
    title = f"Counted for each {record.scenario.transaction.name}"
    return Table(title, ["part", "median", "lowest", "highest"], body, code=False)


def spent_tables(rounds: Sequence[Spent], unit: str) -> Iterator[Table]:
    """What one result was spent on, by function, and its system calls; at least one round.

    `unit` is that of its figure.
    """
    mean, per = averaged(rounds), unit.partition(" ")[2]
    if mean.waits:
        yield _waits_table(mean.waits, unit)
    names = sorted(mean.own, key=lambda name: (-mean.own[name], name))
    rest = names[SHOWN:]
    counted = bool(mean.calls)
    body = [
        [
            short_name(name),
            amount(mean.own[name]),
            amount(mean.whole[name]),
            *([amount(mean.calls.get(name, 0.0))] * counted),
        ]
        for name in names[:SHOWN]
    ]
    if rest:
        own = amount(sum(mean.own[name] for name in rest))
        body.append([f"{len(rest)} others", own, "-", *["-"] * counted])
    headings = [f"function ({unit})", "own", "with callees", *["calls"] * counted]
    yield Table(f"{where(counted=counted)}: {amount(mean.all)} {unit}", headings, body)
    if mean.system_calls:
        calls = sorted(mean.system_calls.items(), key=lambda one: (-one[1], one[0]))
        total = amount(sum(mean.system_calls.values()))
        yield Table(
            f"System calls: {total} {per}",
            ["system call", f"calls {per}"],
            [[name, amount(count)] for name, count in calls],
        )


def _waits_table(waits: Mapping[str, float], unit: str) -> Table:
    """The parts of the time of a transaction, the longest first."""
    whole = math.fsum(waits.values())
    body = [
        [part_title(cause), amount(spent), f"{100 * spent / whole:.1f}"]
        for cause, spent in sorted(waits.items(), key=lambda one: (-one[1], one[0]))
    ]
    title = f"Where the time goes: {amount(whole)} {unit}"
    return Table(title, [f"part ({unit})", "mean", "%"], body, code=False)


def call_headings(profiles: ProfileDifference) -> list[str]:
    """Headings of `call_rows`."""
    return [f"system calls {_per(profiles)}", "A", "B", "B - A"]


def call_rows(profiles: ProfileDifference, *, changed: bool = False) -> Iterator[list[str]]:
    """What stands under `call_headings`: system calls by name, those that changed most first.

    With `changed`, those alone whose number changed.
    """
    for name, change in profiles.system_calls.items():
        if change.seen or not changed:
            before, after = amount(change.before), amount(change.after)
            yield [name, before, after, f"{signed_amount(change.difference)}{_star(change)}"]


def short_name(name: str) -> str:
    """A function's name, cut where it is too long for a table."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def summary(profiles: ProfileDifference) -> str:
    """One sentence: how much more B costs, and which functions grew for sure."""
    whole, unit = profiles.whole, profiles.unit
    what = "CPU time " if _one(profiles) == "µs" else ""
    text = f"{what}{amount(whole.before)} {unit} in A, {amount(whole.after)} in B: "
    text += _signed(whole, profiles)
    if whole.before:
        text += f" ({100 * whole.difference / whole.before:+z.1f} %)"
    return f"{text}. {growth(profiles)}"


def headline(profiles: ProfileDifference) -> str:
    """The answer in a line: the function whose own time is seen to differ most."""
    for word, functions in (("more", profiles.grown), ("less", profiles.fallen)):
        if functions:
            first = functions[0]
            rest = f", and in {len(functions) - 1} more" if len(functions) > 1 else ""
            return f"B spends {word} in {spent_words(first, profiles)}{rest}"
    return growth(profiles).removesuffix(".")


def spent_words(function: FunctionChange, profiles: ProfileDifference) -> str:
    """What a function spends more or less: ``reply: +12.00 instructions per exchange``."""
    size = f"{_signed(function.own, profiles)} {_per(profiles)}"
    return f"{short_name(function.name)}: {size}"


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
    named = [f"{short_name(one.name)} {_signed(one.own, profiles)}" for one in functions]
    return f"{what}: {some_of(named, NAMED)}." if named else ""


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
    """The same for ``--json``, for each transaction; times are microseconds."""
    unit = "" if profiles.counted else "_us"
    return {
        "rounds": profiles.rounds,
        "paired": profiles.paired,
        "whole": _document(profiles.whole, unit),
        "functions": [
            {
                "name": function.name,
                "own": _document(function.own, unit),
                "with_callees": _document(function.whole, unit),
                "calls": _document(function.calls) if function.calls else None,
            }
            for function in profiles.functions
        ],
        "system_calls": {
            name: _document(change) for name, change in profiles.system_calls.items()
        },
    }


def _document(change: Change, unit: str = "") -> dict[str, Any]:
    return {
        f"a{unit}": change.before,
        f"b{unit}": change.after,
        f"difference{unit}": change.difference,
        f"half_width{unit}": change.reach,
        "seen": change.seen,
    }


def _cells(change: Change) -> list[str]:
    """The difference, with a star where it is seen, and half of its interval."""
    return [
        f"{signed_amount(change.difference)}{_star(change)}",
        "-" if change.reach is None else amount(change.reach),
    ]


def _ends(change: Change) -> list[str]:
    """A and B, with a star where they are seen to differ."""
    return [amount(change.before), f"{amount(change.after)}{_star(change)}"]


def _star(change: Change) -> str:
    return "*" if change.seen else " "


def _per(profiles: ProfileDifference) -> str:
    """What all is of: ``per exchange``."""
    return profiles.unit.partition(" ")[2]


def _one(profiles: ProfileDifference) -> str:
    """What is counted of a transaction: µs, or instructions."""
    return profiles.unit.partition(" ")[0]


def _signed(change: Change, profiles: ProfileDifference) -> str:
    reach = change.reach
    exact = profiles.counted and not reach  # as of starts that are equal
    ends = "" if reach is None or exact else f" ± {amount(reach)}"
    return f"{signed_amount(change.difference)}{ends} {_one(profiles)}"
