"""Ids of sweeps: sortable, readable, and sufficient to locate a result."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

from leaselab.model.errors import usage_error

_SHAPE = re.compile(
    r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})[0-9]{2}T[0-9]{6}Z"
    r"-[a-z0-9][a-z0-9._-]{0,149}-[0-9a-f]{4}"
)
_WORD = re.compile(r"[a-z0-9][a-z0-9._-]{0,149}")
_TOKEN = re.compile(r"[0-9a-f]{4}")


def new_id(now: datetime, scenario: str, token: str) -> str:
    """The id of a sweep that starts now, such as ``20261121T113005Z-v4-memfile-3f9a``.

    `now` has a time zone; `token` is four hexadecimal digits of randomness,
    which keep two sweeps of one second apart.  Raises usage_error for a scenario that cannot be
    part of a file name.
    """
    if now.utcoffset() is None:
        raise ValueError("an id needs a time with a time zone")
    if not _WORD.fullmatch(scenario):
        raise usage_error(
            "a scenario's name cannot stand in a result's id",
            found=repr(scenario),
            wanted="at most 150 lower-case letters, digits, '.', '_' and '-'",
        )
    if not _TOKEN.fullmatch(token):
        raise ValueError(f"an id's token is four hexadecimal digits, not {token!r}")
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{scenario}-{token}"


def fresh_id(scenario: str) -> str:
    """An id of a sweep that starts now, which may be taken; errors as `new_id`."""
    return new_id(datetime.now(UTC), scenario, secrets.token_hex(2))


def is_id(text: str) -> bool:
    """True when the text has the shape of a full id."""
    return _SHAPE.fullmatch(text) is not None


def month_of(sweep_id: str) -> tuple[str, str]:
    """Year and month of the id, the two folders that its result lies in.

    Raises usage_error when the text is not a full id.
    """
    match = _SHAPE.fullmatch(sweep_id)
    if match is None:
        raise usage_error(
            "not the id of a sweep",
            found=repr(sweep_id),
            wanted="such as 20261121T113005Z-v4-memfile-3f9a",
        )
    return match["year"], match["month"]
