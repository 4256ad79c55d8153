"""What a generator is asked to offer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """A constant rate for a fixed time."""

    rate: int
    """Offered load (transactions begun per second)."""
    duration_s: int
    """Length of the traffic period (whole seconds: perfdhcp counts in those)."""
    first_client: int = 0
    """Number of the first client, so that loads one after the other have clients of their
    own."""
