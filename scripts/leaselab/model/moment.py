"""Moments as documents have them."""

from __future__ import annotations

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """Write an aware moment in UTC: ``2026-11-21T11:30:05.000Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> str:
    """Write this moment likewise."""
    return timestamp(datetime.now(UTC))


def minutes(began: str, ended: str) -> float:
    """Return how long it is from one moment to another, as documents have them (min)."""
    span = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    return span.total_seconds() / 60
