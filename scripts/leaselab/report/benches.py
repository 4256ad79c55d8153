"""Benches of a lab as text: a table of their states, and the findings of an inspection."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, TextIO

from rich.text import Text

from leaselab.report.console import Console
from leaselab.report.listing import aligned, number, short
from leaselab.report.units import rows_in_shown_units
from leaselab.report.width import folded

_NONE = "-"
_HEADINGS = ("bench", "state", "last result", "last check", "holder or fault")
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400


def bench_table(rows: Sequence[Mapping[str, Any]], now: str) -> list[str]:
    """One line a bench, below a line of headings.

    A row has `bench`, `state`, `detail`, `last_result` (a row of the index or None) and
    `check` (a note of a check or None); `now` is a timestamp in the documents' format.
    """
    cells = [
        (
            row["bench"],
            row["state"],
            result_words(row["last_result"], now),
            check_words(row["check"], now),
            row["detail"] or _NONE,
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
        return "never"
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


_STYLES = {"ok": "green", "warning": "yellow", "error": "bold red"}


def print_findings(document: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print what ``leaselab lab check --json`` would, to be read; stdout unless given.

    A pipe gets one line a finding, each whole in itself.
    """
    stream = stream or sys.stdout
    console = Console(file=stream, highlight=False)
    if console.is_terminal:
        for host, rows in groupby(document["findings"], key=lambda row: row["host"]):
            console.print(Text(host, style="bold"))
            console.print(*_lines(rows, console.width), sep="\n")
        console.print(
            Text(verdict(document), style=_STYLES["ok" if document["ok"] else "error"])
        )
        return
    stream.writelines(f"{finding['text']}\n" for finding in document["findings"])
    stream.write(verdict(document) + "\n")


def verdict(document: Mapping[str, Any]) -> str:
    """The last line: ``bench docker: ready (0 errors, 9 warnings)``."""
    word = "ready" if document["ok"] else "NOT ready"
    counts = ", ".join(
        f"{document[kind]} {kind if document[kind] != 1 else kind.removesuffix('s')}"
        for kind in ("errors", "warnings")
    )
    return f"bench {document['bench']}: {word} ({counts})"


def _lines(rows: Iterable[Mapping[str, str]], width: int) -> Iterator[Text]:
    """Level, check and what is there; below it what is wanted, and what to do."""
    for row in rows:
        begins = f" {row['level']:7}  {row['check']:14}  "
        found = Text(folded(begins + row["found"], width, len(begins)))
        found.stylize(_STYLES[row["level"]], end=9)
        yield found
        for words in ("wanted", "todo"):
            if row[words]:
                line = f"{'wanted' if words == 'wanted' else 'to do'}: {row[words]}"
                text = " " * len(begins) + line
                yield Text(folded(text, width, len(begins)), style="dim")
