"""Cost: what the server does for each transaction, as its contract counts it."""

from __future__ import annotations

import gzip

import msgspec

from leaselab.measure.procedures.method import Found, Method
from leaselab.model.observation import Counted, CountedStep
from leaselab.model.procedures.cost import (
    ALLOCATIONS,
    ALLOCATOR,
    COST,
    COUNTED_SHARE,
    GROWTH,
    INSTRUCTIONS,
    MORE,
    PAGE_FAULTS,
    SYSTEM_CALLS,
    USUAL,
    WRITTEN_BYTES,
    Cost,
)

FILE = f"{COST}.json.gz"
"""Name of what a round has counted, as `Counted`."""
LEAST_S = 0.1
"""Least CPU time that has a share (s): the kernel counts hundredths."""
ALLOCATING = frozenset(
    {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "mallocx", "rallocx"}
)
"""Functions of an allocator that allocate; C++'s `new` calls one of them."""


class Counting(Method[Cost]):
    """A count in each round, of a server that is started for it."""

    def result_of(self, counted: Counted) -> Found:
        """Return what a count comes to."""
        content = gzip.compress(msgspec.json.encode(counted), mtime=0)
        return Found(figures(counted), files={FILE: content})


def figures(counted: Counted) -> dict[str, float | None]:
    """What a count comes to for each transaction, by the metrics' names."""
    usual, more = counted.steps[USUAL], counted.steps.get(MORE)
    plain = usual.plain
    growth = None
    if more is not None:
        further = more.leases - usual.leases
        growth = (instructions_of(more) - instructions_of(usual)) / further
    user_s, system_s = (
        sum(getattr(step.plain, name) for step in counted.steps.values())
        for name in ("user_s", "system_s")
    )
    allocated = sum(one.calls for one in usual.valgrind.functions if one.name in ALLOCATING)
    return {
        INSTRUCTIONS: instructions_of(usual),
        ALLOCATOR: allocator_of(usual),
        GROWTH: growth,
        SYSTEM_CALLS: sum(plain.system_calls.values()) / usual.transactions,
        ALLOCATIONS: allocated / usual.transactions,
        WRITTEN_BYTES: plain.written_bytes / usual.transactions,
        PAGE_FAULTS: plain.page_faults / usual.transactions,
        **{
            name: made / usual.transactions
            for name, made in (*plain.database.items(), *usual.valgrind.simulated.items())
        },
        COUNTED_SHARE: user_s / (user_s + system_s) if user_s + system_s >= LEAST_S else None,
    }


def instructions_of(step: CountedStep) -> float:
    """Return the instructions of each transaction, without those of the allocator.

    What that does depends on which thread has freed what before: with two packet threads it
    scatters by 0.2 % of all instructions, and the rest by a twentieth of that.
    """
    own = sum(function.own for function in step.valgrind.functions)
    return own / step.transactions - allocator_of(step)


def allocator_of(step: CountedStep) -> float:
    """Return the instructions of the allocator for each transaction."""
    return sum(one.allocator for one in step.valgrind.functions) / step.transactions
