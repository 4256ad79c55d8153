"""What a lease backend promises of a lease once the client has its answer."""

from __future__ import annotations

import enum


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
