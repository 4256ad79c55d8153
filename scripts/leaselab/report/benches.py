"""Table of all benches of a lab: state, holder, last result, age of the last check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from leaselab.report.listing import aligned, number, short
from leaselab.report.units import rows_in_shown_units

_NONE = "-"
_HEADINGS = ("bench", "state", "last result", "last check", "holder or fault")
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400


def bench_table(rows: Sequence[Mapping[str, Any]], now: str) -> list[str]:
    """One line a bench, below a line of headings.

    A row has `bench`, `state`, `told`, `last_result` (a row of the index or None) and
    `check` (a note of a check or None); `now` is a timestamp in the documents' format.
    """
    cells = [
        (
            row["bench"],
            row["state"],
            result_words(row["last_result"], now),
            check_words(row["check"], now),
            row["told"] or _NONE,
        )
        for row in rows
    ]
    return [line.rstrip() for line in aligned(_HEADINGS, cells, len(_HEADINGS))]


def result_words(result: Mapping[str, Any] | None, now: str) -> str:
    """A result in a few words: ``v4-memfile 7301/s, 2 h ago``."""
    if result is None:
        return _NONE
    (result,) = rows_in_shown_units([result])
    value, unit = result["value"], result["unit"]
    figure = result["outcome"] if value is None else f"{number(value, unit)}{short(unit)}"
    name = result["scenario"] or result["id"]
    return f"{name} {figure}, {age_words(result['finished_at'], now)} ago"


def check_words(check: Mapping[str, Any] | None, now: str) -> str:
    """A check in a few words: ``well, 40 min ago``."""
    if check is None:
        return "never seen"
    errors = f"{check['errors']} error{'s' * (check['errors'] != 1)}"
    return f"{'well' if check['ok'] else errors}, {age_words(check['at'], now)} ago"


def recovery_words(recovery: Mapping[str, Any], now: str) -> str:
    """A recovery in a few words: ``server answered 42 s after a power cycle, 2 h ago``."""
    hosts = [f"{role} answered {took:.0f} s" for role, took in recovery["boot_s"].items()]
    return f"{', '.join(hosts)} after a power cycle, {age_words(recovery['at'], now)} ago"


def age_words(then: str, now: str) -> str:
    """How long ago, in the largest unit that gives two or more: ``90 s``, ``40 min``."""
    seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds()
    for unit_s, unit in ((_DAY_S, "d"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if seconds >= 2 * unit_s:
            return f"{seconds / unit_s:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
