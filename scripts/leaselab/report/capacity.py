"""Clients' demand, and the configurations that carry it: text and JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from leaselab.analysis.demand.capacity import Basis, Carries, Configuration, Serving
from leaselab.analysis.demand.demand import DAY_S, Asked, Demand, Flow, Restart
from leaselab.report.listing import aligned, heading, number
from leaselab.report.matrix import conditions, shown
from leaselab.report.width import write_lines, write_table

_NONE = "-"
_RATE = "transactions/s"
_UNITS = ((DAY_S, "d"), (3600, "h"), (60, "min"), (1, "s"))
NOTHING = "no max rate was measured here yet: `leaselab run` measures one"
_SIGNS = {Basis.MEASURED: "", Basis.LARGER: "≤ ", Basis.SMALLER: "≈ ", Basis.MAX_RATE: "≥ "}
_BASES = {
    Basis.MEASURED: "",
    Basis.LARGER: "≤: measured with more clients",
    Basis.SMALLER: "≈: measured with fewer clients, and multiplied",
    Basis.MAX_RATE: (
        "≥: not measured, clients over the lower end of the max rate; it takes longer, as "
        "clients that get no reply wait before they send again"
    ),
}
_ROOM_SIGNS = {
    Basis.MEASURED: "",
    Basis.LARGER: "≥ ",
    Basis.SMALLER: "≈ ",
    Basis.MAX_RATE: "≤ ",
}
"""Signs of the head room by the basis of the time: the less time, the more room."""
_WHOLE = 100
"""From here on, a load and a head room have no decimals."""
_NAMES = 3
"""Text columns of the table of configurations."""


def print_capacity(
    demand: Demand | Asked,
    configurations: Sequence[Configuration],
    stream: TextIO | None = None,
) -> None:
    """Print the demand, and how each configuration meets it; to stdout by default."""
    stream = stream or sys.stdout
    stream.write(f"{demand_words(demand)}\n\n")
    stream.writelines(aligned([_RATE, "steady", "peak"], loads(demand), 1))
    stream.write("\n")
    if configurations:
        write_table(stream, headings(configurations), map(texts, configurations), _NAMES)
        stream.write("\n")
    write_lines(stream, notes(demand, configurations))


def asked_words(demand: Demand | Asked) -> str:
    """Words for how much is asked for."""
    if isinstance(demand, Asked):
        return f"{demand.per_s:g} queries/s"
    return f"{demand.clients} clients"


def demand_words(demand: Demand | Asked) -> str:
    """Words for the clients."""
    if isinstance(demand, Asked):
        return f"{asked_words(demand)}, those of a file"
    population = demand.population
    parts = [
        asked_words(demand),
        f"each renews every {time_words(population.renewal_s)}",
    ]
    if population.new_per_day:
        parts.append(f"{100 * population.new_per_day:g} % of them new each day")
    return ", ".join([*parts, demand.arrival.words])


def loads(demand: Demand | Asked) -> list[list[str]]:
    """The kinds of transactions, and how many a second: steady, and at the peak.

    All of a column have the decimals of its sum, so that a reader can add them.
    """
    kinds = {"new clients": "new", "renewals": "renewals", "together": "total"}
    if isinstance(demand, Asked):
        kinds = {"queries": "total"}
    return [
        [
            words,
            *(
                number(getattr(flow, kind), _RATE if flow.total >= _WHOLE else None, flow.total)
                for flow in (demand.steady, demand.peak)
            ),
        ]
        for words, kind in kinds.items()
    ]


def headings(configurations: Sequence[Configuration]) -> list[str]:
    """Headings of the table of configurations; `texts` has its rows."""
    rate = next(
        (configuration.rate.cell for configuration in configurations if configuration.rate),
        None,
    )
    title = heading(rate.title, rate.unit) if rate else "max rate"
    return ["scenario", "durability", "server", title, "head room", "carries it", "restart"]


def texts(configuration: Configuration) -> list[str]:
    """A row of the table of configurations."""
    cell = configuration.cell
    return [
        cell.scenario,
        cell.durability or _NONE,
        cell.server,
        rate_words(configuration),
        room_words(configuration),
        configuration.carries.value,
        serving_words(configuration.serving),
    ]


def rate_words(configuration: Configuration) -> str:
    """The known rate of a configuration, in words."""
    if configuration.rate is None:
        return _NONE
    if configuration.rate.cell.value is None and configuration.rate.low is not None:
        return f"≥ {number(configuration.rate.low, configuration.rate.cell.unit)}"
    return shown(configuration.rate.cell)


def room_words(configuration: Configuration) -> str:
    """Head room in words, with a sign for what is known of it; large ones are whole."""
    room = configuration.head_room
    if room is None:
        return _NONE
    if configuration.in_time is not None:
        sign = _ROOM_SIGNS[configuration.in_time]
    else:
        sign = "≥ " if configuration.rate and configuration.rate.high is None else ""
    return sign + (f"{room:.0f}" if room >= _WHOLE else number(room))


def serving_words(serving: Serving | None) -> str:
    """How long a restart takes, with a sign for what is known of it."""
    if serving is None:
        return _NONE
    length, unit = _in_unit(serving.seconds)
    return f"{_SIGNS[serving.basis]}{number(length)} {unit}"


def time_words(seconds: float) -> str:
    """A length of time that was given: ``12 h``."""
    length, unit = _in_unit(seconds)
    return f"{length:.3g} {unit}"


def _in_unit(seconds: float) -> tuple[float, str]:
    """A length of time in its largest unit that gives 1 or more."""
    size, unit = next(
        (candidate for candidate in _UNITS if seconds >= candidate[0]), _UNITS[-1]
    )
    return seconds / size, unit


def notes(demand: Demand | Asked, configurations: Sequence[Configuration]) -> Iterator[str]:
    """Notes on the figures, a line each."""
    if not isinstance(demand, Asked):
        yield (
            "a renewal counts as a whole transaction: it is cheaper for a server, so this is "
            "on the safe side"
        )
    if not configurations:
        yield NOTHING
        return
    if any(
        configuration.rate and configuration.rate.low and configuration.rate.high is None
        for configuration in configurations
    ):
        yield "max rate ≥: every run passed this load, and no more could be offered"
    if demand.limit_s is not None:
        yield (
            "head room: the time that there is over the time that a restart takes; at most, "
            "where that is at least"
        )
    else:
        yield (
            "head room: the lower end of the max rate's 95 % interval (of too few runs for "
            "one, the lowest run) over the peak"
        )
        if not isinstance(demand, Asked) and isinstance(demand.arrival, Restart):
            yield "no time was given for the restart, so the peak is the steady load"
    if any(configuration.carries is Carries.PERHAPS for configuration in configurations):
        yield "perhaps: what is known of the configuration allows both"
    if not isinstance(demand, Asked):
        yield "restart: time until all clients, which begin at once, are served"
    bases = {
        configuration.serving.basis for configuration in configurations if configuration.serving
    }
    yield from (f"restart {text}" for basis, text in _BASES.items() if text and basis in bases)
    yield from conditions(
        [
            configuration.rate.cell if configuration.rate else configuration.cell
            for configuration in configurations
        ]
    )


def capacity_document(
    demand: Demand | Asked, configurations: Sequence[Configuration]
) -> dict[str, Any]:
    """The same for ``--json``."""
    judged = [_configuration(configuration) for configuration in configurations]
    if isinstance(demand, Asked):
        return {"queries_per_s": demand.per_s, "configurations": judged}
    population = demand.population
    return {
        "clients": population.clients,
        "renewal_s": population.renewal_s,
        "new_per_day": population.new_per_day,
        "arrival": {
            "pattern": type(demand.arrival).__name__.lower(),
            **asdict(demand.arrival),
            "words": demand.arrival.words,
        },
        "steady": _flow(demand.steady),
        "peak": _flow(demand.peak),
        "renewal_is": "a whole transaction",
        "configurations": judged,
    }


def _flow(flow: Flow) -> dict[str, float]:
    return {"new": flow.new, "renewals": flow.renewals, "total": flow.total}


def _configuration(configuration: Configuration) -> dict[str, Any]:
    cell, rate, serving = configuration.cell, configuration.rate, configuration.serving
    return {
        "scenario": cell.scenario,
        "id": cell.id,
        "server": cell.server,
        "durability": cell.durability,
        "bench": cell.bench,
        "environment": cell.environment,
        "outcome": cell.outcome,
        "rate": rate
        and {
            "value": rate.cell.value,
            "low": rate.low,
            "high": rate.high,
            "unit": rate.cell.unit,
            "id": rate.cell.id,
        },
        "carries": None
        if configuration.carries is Carries.UNKNOWN
        else configuration.carries.value,
        "head_room": configuration.head_room,
        "restart": serving
        and {
            "seconds": serving.seconds,
            "low_s": serving.low_s,
            "high_s": serving.high_s,
            "basis": serving.basis.value,
            "clients": serving.clients,
            "id": serving.id,
        },
    }
