"""Cost: what the server does for each transaction, counted and not timed."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from leaselab.model.procedure import MEDIAN, MetricKind, Rounds, Unjudged, per

COST: Final = "cost"
"""Name of the procedure, and key in `Round.files` of what a round has counted."""
INSTRUCTIONS, GROWTH = "instructions", "growth"
ALLOCATOR = "allocator"
SYSTEM_CALLS, ALLOCATIONS, WRITTEN_BYTES = "system_calls", "allocations", "written_bytes"
PAGE_FAULTS, COUNTED_SHARE = "page_faults", "counted_share"
QUERIES, ROWS = "queries", "rows"
BRANCHES, MISPREDICTED = "branches", "mispredicted_branches"
CACHE_MISSES, LAST_LEVEL_MISSES = "cache_misses", "last_level_misses"
"""Names of its metrics."""
NOTHING: Final = "nothing"
WARM_UP = 50
"""Transactions before those that are counted: the code and the data that the first ones alone
touch are not theirs."""
FEWER = 3
"""Divisor of the transactions that are counted with more clients: each does more there."""
USUAL, MORE = "usual", "more"
"""Names of the steps that are counted: with the clients, and with more of them."""


class Cost(Unjudged, frozen=True, kw_only=True, tag=COST):
    """Instructions, system calls and allocations of the server for each transaction.

    The server runs under valgrind, and its generator sends only while it sleeps, so that the
    counts are the same on a busy machine.  They say that the code does more, never how much
    slower it is.
    """

    rounds: Rounds = 4
    """Rounds planned: starts of the server, whose counts differ by little or not at all."""
    trim: Annotated[int, msgspec.Meta(ge=0, le=500)] = 0
    """No round is dropped: a round that cannot count is refused."""
    transactions: Annotated[int, msgspec.Meta(ge=10, le=100_000)] = 300
    """Transactions that are counted."""
    clients: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 300
    """Clients that return in turn, each with its lease: what the server stores is the same in
    each round. Of fewer than the transactions, some return within a second, for which dnsmasq
    writes nothing."""
    more_clients: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 1000
    """Clients of a second count in the same start, which shows what the server does for each
    further lease; 0 for none."""
    simulate: Literal["nothing", "caches"] = NOTHING
    """What valgrind simulates as well, which takes twice as long. caches: also the prediction
    of branches; two levels, of 32 KiB for code, 32 KiB for data and 8 MiB for both."""
    late_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 20.0
    """Longest time of a reply: valgrind makes a server 20 to 60 times slower (s)."""

    wait_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 40.0
    """How long the generator waits for replies after its last packet (s)."""

    @property
    def words(self) -> str:
        return f"{self.transactions} transactions counted in lock step, {self.clients} clients"

    @property
    def most_attempted(self) -> int:
        return max(self.clients, self.more_clients)

    @property
    def longest_trial_s(self) -> float:
        return self.longest_trials_s

    @property
    def longest_trials_s(self) -> float:
        """A bound for a hang: some 5 s on a quiet machine (s)."""
        return 600.0

    @property
    def counts_alone(self) -> bool:
        return True

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics, all of one transaction but the growth and the share."""
        of_one = per(plural)

        def kind(name: str, title: str, of: str, *, seldom: bool = False) -> MetricKind:
            return MetricKind(name, title, f"{of} {of_one}", "lower", MEDIAN, seldom)

        return (
            kind(INSTRUCTIONS, "instructions", "instructions"),
            MetricKind(
                GROWTH,
                "instructions for each further lease",
                f"instructions {of_one} and further lease",
                "lower",
                MEDIAN,
            ),
            kind(ALLOCATOR, "instructions of the allocator", "instructions"),
            kind(SYSTEM_CALLS, "system calls", "calls"),
            kind(ALLOCATIONS, "allocations", "calls"),
            kind(WRITTEN_BYTES, "bytes written", "bytes"),
            kind(PAGE_FAULTS, "page faults", "faults"),
            kind(QUERIES, "queries to the database", "queries", seldom=True),
            kind(ROWS, "rows of the database", "rows", seldom=True),
            kind(BRANCHES, "branches", "branches", seldom=True),
            kind(MISPREDICTED, "mispredicted branches", "branches", seldom=True),
            kind(CACHE_MISSES, "cache misses", "misses", seldom=True),
            kind(LAST_LEVEL_MISSES, "last-level cache misses", "misses", seldom=True),
            MetricKind(COUNTED_SHARE, "share counted", "ratio", "neither", MEDIAN),
        )
