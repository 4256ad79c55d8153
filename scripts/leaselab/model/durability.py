"""What a lease backend promises of a lease once the client has its answer."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any


class Durability(enum.Enum):
    """Where a lease is when its client is told of it, strongest first.

    Rates of different ones are not comparable: what lies between them is the disk's
    doing, up to a factor of ten.
    """

    SYNCED = "synced"
    """On the disk: survives loss of power."""
    WRITTEN = "written"
    """With the operating system: survives the end of the server and its database, but
    not of their host."""
    BUFFERED = "buffered"
    """In the database's memory: survives the end of the server, but not of the database."""
    MEMORY = "memory"
    """Nowhere else: ends with the server."""


def durability_of(server: Mapping[str, Any]) -> str:
    """Return that of the `server` of a result; empty for one that never ran.

    Results older than the field are all of memfile with its file.
    """
    return str(server.get("durability", Durability.WRITTEN.value) or "")
