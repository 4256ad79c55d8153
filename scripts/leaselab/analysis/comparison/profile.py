"""Where CPU time goes by function, and which functions cost more in one build than in another.

A profile has, for each round, samples by stack.  They are turned into CPU time per transaction,
so that builds compare that served a different number of transactions.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from leaselab.analysis.comparison.basis import alternated
from leaselab.analysis.figures.statistics import CONFIDENCE, quantile
from leaselab.model.procedures.profile import SAMPLED_US, STACKS, WAITS
from leaselab.model.record import Record

Stack = tuple[str, ...]

NOT_SAMPLED = "(not sampled)"
"""CPU time that no sample stands for: the kernel's, where perf may not sample it."""
SHOWN_US = 0.005
"""Difference of CPU time (us) from which on tables show more than 0."""
LEAST_SHARE = 0.005
"""Share of the CPU time, in one of the builds, from which on a function is compared:
others have too few samples for a result, and each that is compared widens all intervals."""
_CLONE = re.compile(
    r"(?:\.(?:isra|part|constprop|lto_priv|cold|llvm)(?:\.\d+)*)+$| \[clone [^]]*\]"
)
"""What a compiler appends to the name of a function of which it has made another version."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent on each transaction in one round: CPU time (us), or instructions."""

    own: Mapping[str, float]
    """By function: while it ran itself."""
    whole: Mapping[str, float]
    """By function: while it, or what it had called, ran."""
    all: float
    """By the server."""
    by_stack: Mapping[Stack, float] = field(default_factory=dict)
    """By stack, from the outermost function to the one that ran; empty where none is known."""
    calls: Mapping[str, float] = field(default_factory=dict)
    """By function: how often it was called; empty of samples, which do not say."""
    system_calls: Mapping[str, float] = field(default_factory=dict)
    """By name: how often the server made them; empty of samples."""
    waits: Mapping[str, float] = field(default_factory=dict)
    """Parts of the whole time of a transaction (us), by cause; empty of counts."""


@dataclass(frozen=True, slots=True)
class Change:
    """What each transaction takes in A and in B, over the rounds: CPU time (us), or a count."""

    before: float
    after: float
    reach: float | None
    """Half of the interval of the difference; None where one round is left."""

    @property
    def difference(self) -> float:
        """B's less A's."""
        return self.after - self.before

    @property
    def seen(self) -> bool:
        """Whether its interval leaves 0 out, and it is more than tables show as 0."""
        size = abs(self.difference)
        return self.reach is not None and size > self.reach and size >= SHOWN_US


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """One function in A and in B."""

    name: str
    own: Change
    """While it ran itself."""
    whole: Change
    """While it, or what it had called, ran."""
    calls: Change | None
    """How often it was called; None of samples."""

    @property
    def seen(self) -> bool:
        """Whether it, by itself, costs another time in B."""
        return self.own.seen


@dataclass(frozen=True, slots=True)
class ProfileDifference:
    """What B spends its CPU time on, beside A."""

    functions: Sequence[FunctionChange]
    """Those whose growth is seen, the largest first, then those whose fall is; then the others,
    by how much they grew."""
    whole: Change
    """Of the server's whole CPU time; its interval is a 95 % interval by itself."""
    rounds: int
    """How many of each are compared."""
    paired: bool
    """Whether A's and B's rounds alternated, so that rounds of one number are compared."""
    stacks: Mapping[Stack, tuple[float, float]]
    """By stack: CPU time for each transaction in A and in B, mean of the rounds (us)."""
    unit: str
    """Of all these times, such as ``µs per exchange``."""
    system_calls: Mapping[str, Change]
    """By name, those whose number changed most first; empty of samples."""

    @property
    def counted(self) -> bool:
        """Whether it is of counts, which know of calls, and not of samples."""
        return any(function.calls for function in self.functions)

    @property
    def grown(self) -> Sequence[FunctionChange]:
        """Functions whose growth is seen, the largest first."""
        return [
            function
            for function in self.functions
            if function.seen and function.own.difference > 0
        ]

    @property
    def fallen(self) -> Sequence[FunctionChange]:
        """Functions whose fall is seen, the largest first."""
        return [
            function
            for function in self.functions
            if function.seen and function.own.difference < 0
        ]


def spent_of(record: Record, read: Callable[[str], bytes]) -> list[Spent]:
    """What each round of a record was spent on; empty where it has no stacks.

    `read` returns a file of the result by its name.
    """
    found = []
    for round_ in record.rounds:
        cpu_us, sampled_us = round_.metrics.get("cpu_us"), round_.metrics.get(SAMPLED_US)
        if STACKS in round_.files and sampled_us:
            text = gzip.decompress(read(round_.files[STACKS])).decode(errors="replace")
            waits = json.loads(read(round_.files[WAITS])) if WAITS in round_.files else {}
            found.append(replace(spent(text, sampled_us, cpu_us), waits=waits))
    return found


def spent(folded: str, sampled_us: float, cpu_us: float | None) -> Spent:
    """Return what stacks stand for; `folded` has a line for each, with its samples at the end.

    `sampled_us` is the CPU time for each transaction that all of them stand for, `cpu_us` that
    of the server (us).
    """
    counts = Counter[tuple[str, ...]]()
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        counts[tuple(_CLONE.sub("", name) for name in stack.split(";"))] += int(count)
    each = sampled_us / counts.total() if counts else 0.0
    by_stack = {stack: each * count for stack, count in counts.items()}
    if cpu_us is not None and cpu_us > sampled_us:
        by_stack[NOT_SAMPLED,] = cpu_us - sampled_us
    own, whole = defaultdict[str, float](float), defaultdict[str, float](float)
    for functions, time_us in by_stack.items():
        own[functions[-1]] += time_us
        for name in set(functions):  # one that calls itself counts once in a stack
            whole[name] += time_us
    return Spent(own, whole, math.fsum(by_stack.values()), by_stack)


def averaged(rounds: Sequence[Spent]) -> Spent:
    """The mean of some rounds, at least one; without their stacks."""

    def means(of: Callable[[Spent], Mapping[str, float]]) -> dict[str, float]:
        names = {name for one in rounds for name in of(one)}
        return {
            name: statistics.fmean(of(one).get(name, 0.0) for one in rounds) for name in names
        }

    return Spent(
        means(lambda one: one.own),
        means(lambda one: one.whole),
        _mean(rounds, _all),
        calls=means(lambda one: one.calls),
        system_calls=means(lambda one: one.system_calls),
        waits=means(lambda one: one.waits),
    )


def difference(
    base: Record, other: Record, before: Sequence[Spent], after: Sequence[Spent]
) -> ProfileDifference | None:
    """Compare the profiles of two records, A's and B's; None where one has none."""
    paired = alternated(base, other) and len(before) == len(after)
    if not (before and after):
        return None
    return compared(before, after, paired=paired, unit=base.figure.unit)


def compared(
    before: Sequence[Spent], after: Sequence[Spent], *, paired: bool, unit: str
) -> ProfileDifference:
    """Compare what each round of A and of B was spent on, at least one of each.

    `unit` is that of their times, in words.

    All intervals of functions, of their own time and of the whole, hold together with 95 %
    (Bonferroni): 1 of 20 lists has a false difference.  So do those of system calls.
    """
    least = LEAST_SHARE * max(_mean(before, _all), _mean(after, _all))
    names = sorted(
        name
        for name in {name for one in (*before, *after) for name in one.whole}
        if max(_mean(before, _whole(name)), _mean(after, _whole(name))) >= least
    )
    chance = (1 - CONFIDENCE) / (2 * len(names)) if names else 1 - CONFIDENCE

    def change(of: Callable[[Spent], float], chance: float) -> Change:
        first, second = [of(one) for one in before], [of(one) for one in after]
        error, freedom = _error(first, second, paired=paired)
        reach = None if error is None else quantile(freedom, chance) * error
        return Change(statistics.fmean(first), statistics.fmean(second), reach)

    counted = any(one.calls for one in (*before, *after))
    functions = [
        FunctionChange(
            name,
            change(_own(name), chance),
            change(_whole(name), chance),
            change(_calls(name), chance) if counted else None,
        )
        for name in names
    ]
    functions.sort(key=_order)
    called = {name for one in (*before, *after) for name in one.system_calls}
    apart = (1 - CONFIDENCE) / max(1, len(called))
    system_calls = [(name, change(_system_calls(name), apart)) for name in called]
    system_calls.sort(key=lambda one: (-abs(one[1].difference), -one[1].after, one[0]))
    stacks = {stack for one in (*before, *after) for stack in one.by_stack}
    return ProfileDifference(
        functions,
        change(_all, 1 - CONFIDENCE),
        min(len(before), len(after)),
        paired,
        {
            stack: (_mean(before, _of_stack(stack)), _mean(after, _of_stack(stack)))
            for stack in stacks
        },
        unit,
        dict(system_calls),
    )


def _error(
    first: Sequence[float], second: Sequence[float], *, paired: bool
) -> tuple[float | None, float]:
    """Standard error of the difference of two means, and its degrees of freedom.

    None where one round is left.
    """
    if min(len(first), len(second)) < 2:
        return None, 0.0
    if paired:
        differences = [two - one for one, two in zip(first, second, strict=True)]
        n = len(differences)
        return statistics.stdev(differences) / math.sqrt(n), n - 1.0
    parts = [statistics.variance(values) / len(values) for values in (first, second)]
    sizes = (len(first), len(second))
    below = sum(part**2 / (n - 1) for part, n in zip(parts, sizes, strict=True))
    freedom = sum(parts) ** 2 / below if below else float(sum(sizes) - 2)
    return math.sqrt(sum(parts)), freedom


def _order(one: FunctionChange) -> tuple[int, float, str]:
    """Growth that is seen comes first, then a fall that is; each the largest first."""
    grown = -one.own.difference
    if not one.seen:
        return 2, grown, one.name
    return (0, grown, one.name) if grown < 0 else (1, -grown, one.name)


def _mean(rounds: Sequence[Spent], of: Callable[[Spent], float]) -> float:
    return statistics.fmean(of(round_) for round_ in rounds)


def _all(one: Spent) -> float:
    return one.all


def _own(name: str) -> Callable[[Spent], float]:
    return lambda one: one.own.get(name, 0.0)


def _whole(name: str) -> Callable[[Spent], float]:
    return lambda one: one.whole.get(name, 0.0)


def _calls(name: str) -> Callable[[Spent], float]:
    return lambda one: one.calls.get(name, 0.0)


def _system_calls(name: str) -> Callable[[Spent], float]:
    return lambda one: one.system_calls.get(name, 0.0)


def _of_stack(stack: Stack) -> Callable[[Spent], float]:
    return lambda one: one.by_stack.get(stack, 0.0)
