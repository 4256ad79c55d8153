"""Timestamps of documents: real dates, so that readers can calculate with them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta

from leaselab.model.bounds import END

_YEAR = "(?:19[7-9][0-9]|2[01][0-9]{2})"
_LEAP = (
    "(?:19(?:7[26]|8[048]|9[26])|20(?:[02468][048]|[13579][26])"
    "|21(?:0[48]|[2468][048]|[13579][26]))"
)
_DAY = (
    f"(?:{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    f"|{_LEAP}-02-29)"
)
_TIME = r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
_ZONE = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
Moment = Annotated[str, Meta(pattern=f"^{_DAY}{_TIME}Z{END}")]
"""From 1970 to 2199, in UTC: conversion to other zones and nearby years does not overflow."""
Zoned = Annotated[str, Meta(pattern=f"^{_DAY}{_TIME}{_ZONE}{END}")]
"""The same range, in any time zone that Python accepts."""


def timestamp(moment: datetime) -> str:
    """Write an aware moment in UTC: ``2026-11-21T11:30:05.000Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> str:
    """Write the present moment in the same format."""
    return timestamp(datetime.now(UTC))


def minutes(began: str, ended: str) -> float:
    """Return the time from one timestamp to another (min)."""
    span = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    return span.total_seconds() / 60
