"""Which of the measured configurations carry a load, and how soon they serve everyone."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from leaselab.analysis.comparison.incompatibilities import same_configuration
from leaselab.analysis.comparison.matrix import Cell, cell_of
from leaselab.analysis.comparison.verdict import proven_rate
from leaselab.analysis.demand.demand import Asked, Demand
from leaselab.model.record import Record

MAX_RATE, SERVED_S = "max_rate", "served_s"
"""Metrics that say what a server carries, and how long it takes to serve clients that all
begin at once."""


class Carries(enum.Enum):
    """Whether a configuration carries a load."""

    YES = "yes"
    """Even with the least that its figure may be."""
    PERHAPS = "perhaps"
    """The load lies within what its figure may be, or nothing bounds the figure."""
    NO = "no"
    """Not even with the most that it may be."""
    UNKNOWN = "-"
    """It has no figure."""


_CARRIES = tuple(Carries)


class Basis(enum.Enum):
    """What a time is got from."""

    MEASURED = "measured"
    """A burst of as many clients."""
    LARGER = "larger burst"
    """A burst of more clients: it takes so long at most."""
    SMALLER = "smaller burst"
    """A burst of fewer clients, multiplied: neither end is proven."""
    MAX_RATE = "max rate"
    """Clients over the max rate: it takes longer, as clients that begin at once overload the
    server, and wait before they send again."""


@dataclass(frozen=True, slots=True)
class Burst:
    """A result of clients that all began at once and were all served."""

    cell: Cell
    clients: int
    low_s: float
    """The least that the time until all are served may be (s)."""
    high_s: float
    """The most (s)."""


@dataclass(frozen=True, slots=True)
class Serving:
    """How long it takes until all of the clients that begin at once are served."""

    seconds: float
    """To be reckoned with: the upper end of what is known (s)."""
    low_s: float
    """The least that it may be (s)."""
    high_s: float | None
    """The most (s); None where nothing bounds it."""
    basis: Basis
    clients: int | None
    """Of the burst that it is got from; None of a max rate."""
    id: str
    """The result that it is got from."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The rate that a configuration serves."""

    cell: Cell
    low: float | None
    """The least that it may be (transactions/s): the lower end of its 95 % interval, or where
    rounds are too few for one, the lowest round; None where there is no figure."""
    high: float | None
    """The most, likewise; None where nothing bounds it."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One measured configuration and what it makes of a demand."""

    cell: Cell
    """The result that names it: that of its max rate, else of a burst."""
    rate: Rate | None
    """None where its max rate was not measured."""
    serving: Serving | None
    """None where nothing says it."""
    carries: Carries
    head_room: float | None
    """Least rate over the rate needed; where all have to be served in a time, that time over
    the one it takes.  1 just carries it; None without a figure."""
    in_time: Basis | None = None
    """What the head room is got from, where it is one of time; None where it is one of
    rates."""


def configurations(
    records: Iterable[Record], demand: Demand | Asked, beside: Iterable[Record] = ()
) -> list[Configuration]:
    """What each record's configuration makes of the demand: those that carry it first.

    Of those that are judged alike the most head room comes first, and last what no burst was
    measured of where one is needed.

    Records that are about neither a max rate nor a burst are left out.  A burst belongs to each
    max rate of the same configuration, see `same_configuration`; those that belong to none
    stand by themselves, but for those of `beside`.
    """
    records = list(records)
    rates = [(one, _rate(one)) for one in records if one.figure.name == MAX_RATE]
    own = _bursts(records)
    all_bursts = [*own, *_bursts(beside)]
    found = []
    for record, rate in rates:
        bursts = [burst for other, burst in all_bursts if same_configuration(record, other)]
        found.append(_judged(rate.cell, rate, bursts, demand))
    alone = [
        (record, burst)
        for record, burst in own
        if not any(same_configuration(record, other) for other, _ in rates)
    ]
    while alone:
        first, burst = alone[0]
        alike = [each for record, each in alone if same_configuration(first, record)]
        found.append(_judged(burst.cell, None, alike, demand))
        alone = [(one, each) for one, each in alone if not same_configuration(first, one)]
    return sorted(found, key=_order)


def _bursts(records: Iterable[Record]) -> list[tuple[Record, Burst]]:
    """The bursts among records."""
    return [
        (record, burst)
        for record in records
        if record.figure.name == SERVED_S and (burst := _burst(record)) is not None
    ]


def _order(one: Configuration) -> tuple[object, ...]:
    unmeasured = one.in_time is Basis.MAX_RATE
    return _CARRIES.index(one.carries), unmeasured, -(one.head_room or 0.0), one.cell.scenario


def serving(clients: int, rate: Rate | None, bursts: Sequence[Burst]) -> Serving | None:
    """How long it takes until that many clients, which begin at once, are served.

    From the smallest burst of as many or more, else from the largest, else from the max rate.
    """
    enough = [one for one in bursts if one.clients >= clients]
    least_s = clients / rate.high if rate and rate.high else 0.0
    if enough:
        burst = min(enough, key=lambda one: one.clients)
        exact = burst.clients == clients
        return Serving(
            seconds=burst.high_s,
            low_s=burst.low_s if exact else min(least_s, burst.high_s),
            high_s=burst.high_s,
            basis=Basis.MEASURED if exact else Basis.LARGER,
            clients=burst.clients,
            id=burst.cell.id,
        )
    if bursts:
        burst = max(bursts, key=lambda one: one.clients)
        low_s = max(burst.low_s, least_s)
        return Serving(
            seconds=max(low_s, burst.high_s * clients / burst.clients),
            low_s=low_s,
            high_s=None,
            basis=Basis.SMALLER,
            clients=burst.clients,
            id=burst.cell.id,
        )
    if rate is None or not rate.low:
        return None
    seconds = clients / rate.low
    return Serving(seconds, least_s, None, Basis.MAX_RATE, None, rate.cell.id)


def _judged(
    cell: Cell, rate: Rate | None, bursts: Sequence[Burst], demand: Demand | Asked
) -> Configuration:
    taken = serving(demand.clients, rate, bursts) if demand.clients else None
    limit_s = demand.limit_s
    if limit_s is not None:
        room = limit_s / taken.seconds if taken else None
        basis = taken.basis if taken else None
        return Configuration(cell, rate, taken, _in_time(taken, limit_s), room, basis)
    needed = demand.peak.total
    low, high = (rate.low, rate.high) if rate else (None, None)
    room = None if low is None else low / needed
    return Configuration(cell, rate, taken, _carried(low, high, needed), room)


def _carried(low: float | None, high: float | None, needed: float) -> Carries:
    if low is None:
        return Carries.UNKNOWN
    if low >= needed:
        return Carries.YES
    return Carries.NO if high is not None and high < needed else Carries.PERHAPS


def _in_time(taken: Serving | None, limit_s: float) -> Carries:
    if taken is None:
        return Carries.UNKNOWN
    if taken.high_s is not None and taken.high_s <= limit_s:
        return Carries.YES
    return Carries.NO if taken.low_s > limit_s else Carries.PERHAPS


def _rate(record: Record) -> Rate:
    """The rate of a record about a max rate; one that is faster than its bench has no end."""
    cell = cell_of(record)
    if cell.known is None:
        return Rate(cell, proven_rate(record), None)
    low, _, high = cell.known
    return Rate(cell, max(0.0, low), high)


def _burst(record: Record) -> Burst | None:
    """The burst of a record; None where not all were served in every round that counts."""
    cell = cell_of(record)
    if cell.known is None:
        return None
    served = [
        round_.trials[round_.shown_trial].completed
        for round_ in record.rounds
        if round_.shown_trial is not None
    ]
    if not served or any(value is None for value in record.values(SERVED_S)):
        return None
    low, _, high = cell.known
    return Burst(cell, min(served), max(0.0, low), high)
