"""Schedules, by the grammar of Jenkins' triggers: five fields, and H."""

from __future__ import annotations

import re
import zoneinfo
from dataclasses import dataclass


class CronError(ValueError):
    """A schedule that Jenkins refuses; its text says what is wrong and where."""


@dataclass(frozen=True)
class Field:
    """One of the five: its name, and the least and the greatest number in it."""

    name: str
    least: int
    greatest: int
    hashed: int
    """How many of them a plain H chooses from: days that each month and each week have once."""


FIELDS = (
    Field("minute", 0, 59, 60),
    Field("hour", 0, 23, 24),
    Field("day of the month", 1, 31, 28),
    Field("month", 1, 12, 12),
    Field("day of the week", 0, 7, 7),
)
ALIASES = ("yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly")
_OF_JAVA = re.compile("[A-Z]{3}")
"""Names of time zones beside those of the database: Java has some of its own, such as PST."""
_TERM = re.compile(
    r"(?P<any>\*)(/(?P<any_step>[0-9]+))?"
    r"|H(\((?P<from>[0-9]+)-(?P<to>[0-9]+)\))?(/(?P<hash_step>[0-9]+))?"
    r"|(?P<first>[0-9]+)(-(?P<last>[0-9]+)(/(?P<step>[0-9]+))?)?"
)
_INT = 2**31 - 1


def check(spec: str) -> bool:
    """Whether `spec` spreads the load: every schedule in it has an H or is an alias.

    `spec` is what a trigger holds: lines of schedules, among which may be empty ones and
    comments, and `TZ=` in the first.  Without a schedule nothing is timed, which Jenkins takes
    (a job that only a hook starts).  Raises CronError where Jenkins would refuse it.
    """
    lines = [_trimmed(line) for line in re.split(r"\r?\n", spec)]
    if lines[0].startswith("TZ="):
        zone = lines.pop(0).replace("TZ=", "")
        if zone not in zoneinfo.available_timezones() and not _OF_JAVA.fullmatch(zone):
            raise CronError(f"no such time zone: {zone or 'none'}")
    schedules = [line for line in lines if line and not line.startswith("#")]
    spread = [
        _schedule(line) for line in schedules
    ]  # all of them, as all() would stop at the first
    return all(spread)


def _trimmed(line: str) -> str:
    """A line as Java trims it: of spaces and control characters only."""
    return line.strip("".join(map(chr, range(0x21))))


def _schedule(line: str) -> bool:
    """Whether one schedule spreads the load."""
    if line.startswith("@"):
        if re.split(r"[ \t]", line[1:])[0] not in ALIASES:
            raise CronError(f"{line} is none of {', '.join(f'@{name}' for name in ALIASES)}")
        return True
    fields = re.split(r"[ \t]+", line)
    if len(fields) != len(FIELDS):
        names = ", ".join(field.name for field in FIELDS)
        raise CronError(f"{len(fields)} fields where five are wanted: {names}")
    for text, field in zip(fields, FIELDS, strict=True):
        for term in text.split(","):
            _term(term, field)
    return "H" in line


def _term(term: str, field: Field) -> None:
    """Refuse an invalid term, or numbers outside of the field's range."""
    match = _TERM.fullmatch(term)
    if not match:
        raise CronError(f"{field.name}: {term or 'nothing'} is no number, range, * or H")
    part = {name: int(text) for name, text in match.groupdict().items() if text and text != "*"}
    for name in ("from", "to", "first", "last"):
        if name in part and not field.least <= part[name] <= field.greatest:
            raise CronError(
                f"{field.name}: {part[name]} is not in {field.least} to {field.greatest}"
            )
    for begin, end in (("from", "to"), ("first", "last")):
        if end in part and part[end] < part[begin]:
            raise CronError(f"{field.name}: {term} ends before it begins")
    # Only H has to fit its step between two of its numbers.
    span = part["to"] - part["from"] + 1 if "to" in part else field.hashed
    for name, most in (("hash_step", span), ("any_step", _INT), ("step", _INT)):
        if name in part and not 1 <= part[name] <= most:
            raise CronError(
                f"{field.name}: a step of {part[name]} in {term} is not in 1 to {most}"
            )
