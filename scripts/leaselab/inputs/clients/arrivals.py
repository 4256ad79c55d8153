"""When the clients of a file came: the procedure that replays it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from leaselab.inputs.clients.file import Traffic, shares_of
from leaselab.model.errors import usage_error
from leaselab.model.procedures.replay import MOST_MINUTES, REPLAY

_WITHOUT_LEASE = ("new", "rapid", "inform")
"""What clients begin themselves where the clocks of their leases do the rest."""
_DAY = 24 * 60


class Arrivals(NamedTuple):
    """Which arrivals are replayed."""

    minutes: int
    """The busiest minutes in a row, or all where there are fewer."""
    lease_clock: bool = False
    """Leases are renewed at their times, and not as often as in the file."""

    def of(
        self, traffic: Traffic, scale: float, given: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], list[str]]:
        """Return the procedure, the shares of what clients begin in it, and both in words.

        `given` is the scenario's procedure: what is late stays.  Raises a usage error for a
        file without times.
        """
        words = set(_WITHOUT_LEASE if self.lease_clock else traffic.minutes)
        minutes = {word: counts for word, counts in traffic.minutes.items() if word in words}
        every = [sum(counts) for counts in zip(*minutes.values(), strict=True)]
        first, seen = busiest(every, min(self.minutes, MOST_MINUTES))
        arrivals = scaled(seen, scale)
        if not any(arrivals):
            raise usage_error(
                "no arrivals to replay",
                where="--clients",
                found="hardly any clients without a lease" if traffic.minutes else "no times",
                wanted="a file of a capture",
                todo="offer a rate: --procedure fixed-load --set rate=N",
            )
        hour, minute = map(int, traffic.begins.split(":"))
        begins = (60 * hour + minute + first) % _DAY
        end = first + len(seen)
        shares = shares_of({word: sum(counts[first:end]) for word, counts in minutes.items()})
        lines = [
            f"  {len(seen)} of {len(every)} minutes, from {begins // 60:02}:"
            f"{begins % 60:02} (UTC): {sum(arrivals)} exchanges, at most {max(arrivals)} in one"
        ]
        if self.lease_clock:
            lines.append("  leases are renewed at the times that the server gives")
        kept = {key: given[key] for key in ("loss_ratio", "late_s", "wait_s") if key in given}
        return {**kept, "name": REPLAY, "arrivals": arrivals}, shares, lines


def busiest(minutes: list[int], length: int) -> tuple[int, list[int]]:
    """Return the first of so many minutes in a row in which most was begun, and them."""
    length = min(length, len(minutes))
    sums = [0, *accumulate(minutes)]
    within = [sums[at + length] - sums[at] for at in range(len(minutes) - length + 1)]
    first = within.index(max(within))
    return first, minutes[first : first + length]


def scaled(minutes: list[int], scale: float) -> list[int]:
    """Return so many times the counts; their sums are right to one half up to any minute."""
    sums = [0, *(round(scale * count) for count in accumulate(minutes))]
    return [later - earlier for earlier, later in pairwise(sums)]
