"""Whether one server does more for each transaction than another, by what was counted of both.

Counts of equal code differ by nothing or by little, so what decides is the range of each
server's own starts, and not a test of chance.
"""

from __future__ import annotations

import gzip
import statistics
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from leaselab.analysis.comparison.profile import (
    ProfileDifference,
    Spent,
    difference,
    spent_of,
)
from leaselab.model.observation import Counted
from leaselab.model.procedures.cost import (
    ALLOCATOR,
    BRANCHES,
    CACHE_MISSES,
    COST,
    COUNTED_SHARE,
    GROWTH,
    INSTRUCTIONS,
    MISPREDICTED,
    PAGE_FAULTS,
    USUAL,
    Cost,
)
from leaselab.model.record import Metric, Record

LEAST_RATIO = 0.001
"""Least change of the instructions that is judged (ratio): another order of linking changed
them by at most 0.0002.  A change of the allocator's is judged from as many instructions on."""
RANGES = 3.0
"""The same over the range of a server's own starts."""
LEAST_GROWTH = 5.0
"""Least change of the instructions for each further entry that a server stores: one more walk
of a list costs 8 and more for each."""
LEAST_WHOLE = 0.5
"""Least change of a number of calls that is judged: they are whole numbers where each
transaction is served alike."""
LEAST_SIMULATED = 0.02
"""Least change of simulated misses that is judged (ratio): another order of linking moves
code and data, which then displace each other in other places of a cache."""
LEAST_FAULTS = 0.1
"""Least change of the page faults for each transaction: new clients grow a heap."""
REST = "(libraries, not called by the server)"
"""Instructions of common libraries that no function of the server has called."""


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of what is counted, of A and of B, for each transaction."""

    name: str
    """Of the metric."""
    title: str
    unit: str
    before: float
    after: float
    """Medians of the starts."""
    lowest: tuple[float, float]
    highest: tuple[float, float]
    """Of the starts of each."""
    least: float
    """Least difference that is judged."""

    @property
    def ranges(self) -> tuple[float, float]:
        """Highest less lowest of the starts, of each."""
        (a, b), (low_a, low_b) = self.highest, self.lowest
        return a - low_a, b - low_b

    @property
    def difference(self) -> float:
        """B's less A's."""
        return self.after - self.before

    @property
    def changed(self) -> bool:
        """Whether it differs by more than its starts do."""
        return abs(self.difference) > self.least

    @property
    def grown(self) -> bool:
        """Whether B has more of it."""
        return self.changed and self.difference > 0

    @property
    def ratio(self) -> float:
        """B's over A's, of which no start had none."""
        return self.after / self.before

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest ratio of a start of B to a start of A."""
        return self.lowest[1] / self.highest[0], self.highest[1] / self.lowest[0]


@dataclass(frozen=True, slots=True)
class CostVerdict:
    """What was counted of two servers."""

    parts: tuple[Part, ...]
    """The instructions first."""
    counted_share: float | None
    """Share of the server's CPU time that instructions can stand for (0..1): the rest is the
    kernel's.  None where it used too little to tell."""

    @property
    def instructions(self) -> Part:
        """The part that is named first."""
        return self.parts[0]

    @property
    def grown(self) -> tuple[Part, ...]:
        """What B has more of."""
        return tuple(part for part in self.parts if part.grown)

    @property
    def fallen(self) -> tuple[Part, ...]:
        """What B has less of."""
        return tuple(part for part in self.parts if part.changed and not part.grown)

    @property
    def deciding(self) -> tuple[Part, ...]:
        """What makes it more, or less; empty where they are equal."""
        return self.grown or self.fallen

    @property
    def change(self) -> float:
        """How much B has more of what grew most, over its `least`; 0 where nothing changed.

        Where nothing grew, how much it has less of what fell most, below 0.
        """
        most = max(
            (abs(part.difference) / part.least for part in self.deciding),
            default=0.0,
        )
        return most if self.grown else -most

    @property
    def ratio(self) -> float:
        """Instructions of B over those of A."""
        return self.instructions.ratio


def judge_cost(base: Record, other: Record) -> CostVerdict | None:
    """Judge two records of procedure `cost`; None for others, or a start without a count."""
    if not (isinstance(base.procedure, Cost) and isinstance(other.procedure, Cost)):
        return None
    if not all([*base.values(INSTRUCTIONS), *other.values(INSTRUCTIONS)]):
        return None
    parts = [
        part
        for metric in other.metrics
        if metric.better != "neither" and (part := _part(metric, base, other)) is not None
    ]
    if not parts or parts[0].name != INSTRUCTIONS:
        return None
    share = other.metric(COUNTED_SHARE)
    return CostVerdict(tuple(parts), share.value if share else None)


def _part(metric: Metric, base: Record, other: Record) -> Part | None:
    """One part; None where it was not counted of one of the two."""
    before, after = (
        [value for value in record.values(metric.name) if value is not None]
        for record in (base, other)
    )
    if not (before and after):
        return None
    a, b = statistics.median(before), statistics.median(after)
    lowest, highest = (min(before), min(after)), (max(before), max(after))
    widest = max(high - low for low, high in zip(lowest, highest, strict=True))
    least = max(RANGES * widest, _least(metric.name, base))
    return Part(metric.name, metric.title, metric.unit, a, b, lowest, highest, least)


def _least(name: str, base: Record) -> float:
    ratio, of = {
        INSTRUCTIONS: (LEAST_RATIO, INSTRUCTIONS),
        ALLOCATOR: (LEAST_RATIO, INSTRUCTIONS),
        BRANCHES: (LEAST_RATIO, BRANCHES),
        MISPREDICTED: (LEAST_SIMULATED, MISPREDICTED),
        CACHE_MISSES: (LEAST_SIMULATED, CACHE_MISSES),
    }.get(name, (0, ""))
    if of:
        return ratio * statistics.median(
            value for value in base.values(of) if value is not None
        )
    return {GROWTH: LEAST_GROWTH, PAGE_FAULTS: LEAST_FAULTS}.get(name, LEAST_WHOLE)


def counted_of(record: Record, read: Callable[[str], bytes]) -> list[Counted]:
    """What each round of a record has counted; empty where it has counted nothing.

    `read` returns a file of the result by its name.
    """
    return [
        msgspec.json.decode(gzip.decompress(read(made.files[COST])), type=Counted)
        for made in record.rounds
        if COST in made.files
    ]


def rounds_of(record: Record, read: Callable[[str], bytes]) -> list[Spent]:
    """What each round of a profile or of a count was spent on; empty for others.

    `read` is as of `counted_of`.
    """
    if isinstance(record.procedure, Cost):
        return [by_function(counted) for counted in counted_of(record, read)]
    return spent_of(record, read)


def difference_of(
    base: Record, other: Record, read: Callable[[str, str], bytes]
) -> ProfileDifference | None:
    """Compare what the rounds of two profiles or counts were spent on; None for others.

    `read` returns a file of a result by the result's id and the file's name.
    """
    before, after = (rounds_of(each, partial(read, each.id)) for each in (base, other))
    return difference(base, other, before, after)


def by_function(counted: Counted) -> Spent:
    """Instructions and calls for each transaction by function, and its system calls.

    Those of the allocator are left out.

    What a function of the server had common libraries do is its own: a changed call shows in
    the code that makes it.  Within a recursion of a library that counts more than once; then
    all of these shares are less, so that the rows add up.
    """
    step = counted.steps[USUAL]
    functions, transactions = step.valgrind.functions, step.transactions
    everything = sum(function.own - function.allocator for function in functions)
    of_server = [function for function in functions if not function.shared]
    shared = sum(function.library for function in of_server)
    left = everything - sum(function.own for function in of_server)
    share = min(1.0, left / shared) if shared else 1.0
    own, whole, calls = (defaultdict[str, float](float) for _ in range(3))
    for function in of_server:
        own[function.name] += (function.own + share * function.library) / transactions
        whole[function.name] += function.inclusive / transactions
        calls[function.name] += function.calls / transactions
    total = everything / transactions
    own[REST] = whole[REST] = max(0.0, total - sum(own.values()))
    system_calls = {
        name: count / transactions for name, count in step.plain.system_calls.items()
    }
    return Spent(own, whole, total, calls=calls, system_calls=system_calls)
