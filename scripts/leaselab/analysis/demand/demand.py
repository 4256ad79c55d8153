"""What a population of clients asks of a server: transactions per second, by kind.

Arithmetic alone, for any protocol: a client is given something that holds for a time, and
renews it before that time is over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from leaselab.model.errors import usage_error

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Flow:
    """Transactions per second, by kind."""

    new: float
    """Whole transactions of clients that have nothing yet (1/s)."""
    renewals: float
    """Of clients that renew what they have (1/s)."""

    @property
    def total(self) -> float:
        """Both kinds (1/s)."""
        return self.new + self.renewals


@dataclass(frozen=True, slots=True)
class Population:
    """Clients that are served over a long time, evenly spread over it."""

    clients: int
    """How many there are at any time."""
    renewal_s: float
    """Time after which a client renews what it was given, again and again (s)."""
    new_per_day: float = 0.0
    """Clients that are new each day, over all clients; as many leave."""

    def __post_init__(self) -> None:
        """Raise a usage error for a population that is none."""
        if self.clients < 1:
            raise usage_error("no clients", found=str(self.clients), wanted="1 or more")
        if not 0 < self.renewal_s < math.inf:
            raise usage_error(
                "clients have no time after which they renew",
                found=f"{self.renewal_s:g} s between two renewals",
                wanted="a time above 0",
            )
        if not 0 <= self.new_per_day < math.inf:
            raise usage_error(
                "new clients per day out of range",
                found=f"{self.new_per_day:g}",
                wanted="0 or more: 0.1 is a tenth of all clients",
            )

    @property
    def steady(self) -> Flow:
        """What they ask for where nothing makes them come together."""
        return Flow(self.clients * self.new_per_day / DAY_S, self.clients / self.renewal_s)


@dataclass(frozen=True, slots=True)
class Spread:
    """Nothing makes the clients come together."""

    def peak(self, population: Population) -> Flow:
        """The steady load."""
        return population.steady

    @property
    def words(self) -> str:
        """The pattern in words."""
        return "spread evenly"


@dataclass(frozen=True, slots=True)
class Rush:
    """A share of the clients arrives within a time, at one rate: the morning of an office."""

    share: float
    """Of all clients (0..1)."""
    window_s: float
    """Time within which they arrive (s)."""

    def __post_init__(self) -> None:
        """Raise a usage error for a rush that is none."""
        if not 0 < self.share <= 1:
            raise usage_error(
                "share of the clients out of range",
                found=f"{self.share:g}",
                wanted="above 0, 1 at most",
            )
        if not 0 < self.window_s < math.inf:
            raise usage_error(
                "the duration of a rush is out of range",
                found=f"{self.window_s:g} s",
                wanted="a time above 0",
                todo="for clients that all begin at once, use --at-once",
            )

    def peak(self, population: Population) -> Flow:
        """The busiest second.

        The others renew as ever.  Those who arrive are new; where the rush is longer than the
        time between two renewals, the first of them renew while the last arrive.  Later they
        all renew at the rate at which they came: never more than in this second.
        """
        arriving = self.share * population.clients / self.window_s
        waves = math.ceil(self.window_s / population.renewal_s) - 1
        steady = population.steady
        return Flow(
            steady.new + arriving, (1 - self.share) * steady.renewals + waves * arriving
        )

    @property
    def words(self) -> str:
        """The pattern in words."""
        return f"{100 * self.share:g} % of them arrive within {self.window_s / 60:g} min"


@dataclass(frozen=True, slots=True)
class Restart:
    """All clients begin in the same moment, as after a power cut."""

    within_s: float | None = None
    """Time within which all have to be served (s); None: however long it takes."""

    def __post_init__(self) -> None:
        """Raise a usage error for a time that is none."""
        if self.within_s is not None and not 0 < self.within_s < math.inf:
            raise usage_error(
                "--within-s must be above 0",
                found=f"{self.within_s:g} s",
                wanted="a time above 0",
            )

    def peak(self, population: Population) -> Flow:
        """All clients over the time they have; without one the steady load."""
        if self.within_s is None:
            return population.steady
        return Flow(population.clients / self.within_s, 0.0)

    @property
    def words(self) -> str:
        """The pattern in words."""
        limit = "" if self.within_s is None else f", to be served within {self.within_s:g} s"
        return f"all begin at once{limit}"


@dataclass(frozen=True, slots=True)
class Recorded:
    """As it was counted in the busiest minute of a network."""

    new: float
    renewals: float
    """Exchanges of that minute (1/s)."""

    def peak(self, population: Population) -> Flow:  # noqa: ARG002  # it is in the count
        """What was counted."""
        return Flow(self.new, self.renewals)

    @property
    def words(self) -> str:
        """The pattern in words."""
        return "as in the busiest minute of a file of clients"


Arrival = Spread | Rush | Restart | Recorded


@dataclass(frozen=True, slots=True)
class Demand:
    """Who asks, and when."""

    population: Population
    arrival: Arrival

    @property
    def steady(self) -> Flow:
        """The load of any second outside of the peak."""
        return self.population.steady

    @property
    def peak(self) -> Flow:
        """The load of the busiest second."""
        return self.arrival.peak(self.population)

    @property
    def clients(self) -> int:
        """How many there are."""
        return self.population.clients

    @property
    def limit_s(self) -> float | None:
        """Time within which all clients have to be served (s); None where none was given."""
        return self.arrival.within_s if isinstance(self.arrival, Restart) else None


@dataclass(frozen=True, slots=True)
class Asked:
    """Queries of clients that hold nothing, so that only their rate counts."""

    per_s: float
    """In the busiest second (1/s)."""
    clients: None = None
    limit_s: None = None

    @property
    def peak(self) -> Flow:
        """The load of the busiest second."""
        return Flow(self.per_s, 0.0)

    steady = peak
