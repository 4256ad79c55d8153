"""Schedules, by the grammar of Jenkins' triggers: five fields, and H."""

from __future__ import annotations

import re
from dataclasses import dataclass


class CronError(ValueError):
    """A schedule that Jenkins refuses; its text says what is wrong and where."""


@dataclass(frozen=True)
class Field:
    """One of the five: its name, and the least and the greatest number in it."""

    name: str
    least: int
    greatest: int


FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of the month", 1, 31),
    Field("month", 1, 12),
    Field("day of the week", 0, 7),
)
ALIASES = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_TERM = re.compile(
    r"(?P<any>\*)(/(?P<any_step>\d+))?"
    r"|H(\((?P<from>\d+)-(?P<to>\d+)\))?(/(?P<hash_step>\d+))?"
    r"|(?P<first>\d+)(-(?P<last>\d+)(/(?P<step>\d+))?)?"
)


def check(spec: str) -> bool:
    """Whether `spec` spreads the load: every schedule in it has an H or is an alias.

    `spec` is what a trigger holds: lines of schedules, among which may be empty ones and
    comments, and `TZ=` in the first.  Raises CronError where Jenkins would refuse it, and
    where nothing is scheduled at all.
    """
    lines = spec.splitlines()
    if lines and lines[0].startswith("TZ="):
        zone = lines.pop(0).removeprefix("TZ=").strip()
        if not re.fullmatch(r"[A-Za-z][\w+\-]*(/[\w+\-]+)*", zone):
            raise CronError(f"no such time zone: {zone or 'none'}")
    schedules = [line.strip() for line in lines if line.strip()]
    schedules = [line for line in schedules if not line.startswith("#")]
    if not schedules:
        raise CronError("nothing is scheduled")
    spread = [_schedule(line) for line in schedules]  # each is looked at, all() would stop
    return all(spread)


def _schedule(line: str) -> bool:
    """Whether one schedule spreads the load."""
    if line.startswith("@"):
        if line not in ALIASES:
            raise CronError(f"{line} is none of {', '.join(sorted(ALIASES))}")
        return True
    fields = line.split()
    if len(fields) != len(FIELDS):
        names = ", ".join(field.name for field in FIELDS)
        raise CronError(f"{len(fields)} fields where five are wanted: {names}")
    for text, field in zip(fields, FIELDS, strict=True):
        for term in text.split(","):
            _term(term, field)
    return "H" in line


def _term(term: str, field: Field) -> None:
    """Refuse a term that is not one, or whose numbers are not of the field."""
    found = _TERM.fullmatch(term)
    if not found:
        raise CronError(f"{field.name}: {term or 'nothing'} is no number, range, * or H")
    part = {name: int(text) for name, text in found.groupdict().items() if text and text != "*"}
    for name in ("from", "to", "first", "last"):
        if name in part and not field.least <= part[name] <= field.greatest:
            raise CronError(
                f"{field.name}: {part[name]} is not in {field.least} to {field.greatest}"
            )
    span = field.greatest - field.least + 1
    for begin, end in (("from", "to"), ("first", "last")):
        if end in part:
            span = part[end] - part[begin] + 1
            if span < 1:
                raise CronError(f"{field.name}: {term} ends before it begins")
    for name in ("any_step", "hash_step", "step"):
        if name in part and not 1 <= part[name] <= span:
            raise CronError(
                f"{field.name}: a step of {part[name]} in {term} is not in 1 to {span}"
            )
