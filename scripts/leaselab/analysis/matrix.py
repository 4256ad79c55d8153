"""Results of several scenarios in the shape of ISC's tables: backends by ways of running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaselab.model.durability import durability_of
from leaselab.model.errors import BELIEVED
from leaselab.model.server import server_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ONE, HOT_STANDBY, LOAD_BALANCING = "none", "hot-standby", "load-balancing"


@dataclass(frozen=True, slots=True)
class Cell:
    """One result, as far as a table shows it."""

    scenario: str
    id: str
    family: int
    backend: str
    durability: str
    threads: bool
    mode: str
    """High availability: `ONE`, `HOT_STANDBY` or `LOAD_BALANCING`."""
    outcome: str
    mean: float | None
    """Trimmed mean of the max rate (exchanges/s); None where there is none."""
    half_width: float | None
    """Half of its 95 % interval; None where the runs are too few for one."""
    extent: tuple[float, float] | None
    """The lowest and the highest of all runs (exchanges/s); None where there is but one."""
    runs: int
    server: str
    """Server and its version."""
    goal: str
    """What a trial had to keep, and the width of the brackets."""
    bench: str
    environment: str
    started_at: str
    finished_at: str

    @property
    def known(self) -> tuple[float, float, float] | None:
        """The max rate between the least and the most it may be (exchanges/s).

        By its interval, else by all runs; None without a figure.
        """
        if not self.mean:
            return None
        if self.half_width is not None:
            return self.mean - self.half_width, self.mean, self.mean + self.half_width
        low, high = self.extent or (self.mean, self.mean)
        return low, self.mean, high


@dataclass(frozen=True, slots=True)
class Row:
    """One backend of one family at one durability: its cells by (threads, mode)."""

    family: int
    backend: str
    durability: str
    cells: Mapping[tuple[bool, str], Cell]

    @property
    def compared(self) -> tuple[tuple[float, float, float], tuple[float, float, float]] | None:
        """What is known of one server without and with threads; None unless they compare."""
        single, multi = self.cells.get((False, ONE)), self.cells.get((True, ONE))
        if single is None or multi is None or single.known is None or multi.known is None:
            return None
        if _like(single) != _like(multi):
            return None
        return single.known, multi.known

    @property
    def gain(self) -> float | None:
        """What threads bring one server: multi over single minus 1.

        None where the two do not compare, and where what one may be reaches into
        what the other may be.
        """
        if self.compared is None:
            return None
        (low, single, high), (multi_low, multi, multi_high) = self.compared
        if low <= multi_high and multi_low <= high:
            return None
        return multi / single - 1.0


def _like(cell: Cell) -> tuple[str, ...]:
    """What two cells must have in common for one to be set against the other."""
    return cell.server, cell.goal, cell.bench, cell.environment


def cell_of(document: Mapping[str, Any]) -> Cell:
    """The cell of a result.json."""
    scenario, bench = document["scenario"], document["bench"]
    rate = document["summary"]["max_rate"] if document["outcome"] in BELIEVED else None
    interval = rate["ci95"] if rate else None
    server = document["server"]
    return Cell(
        scenario=scenario["name"],
        id=document["id"],
        family=scenario["family"],
        backend=scenario["backend"],
        durability=durability_of(server),
        threads=scenario.get("multi_threading", {}).get("enabled", False),
        mode=scenario.get("high_availability", {}).get("mode", ONE),
        outcome=document["outcome"],
        mean=rate["trimmed_mean"] if rate else None,
        half_width=(interval[1] - interval[0]) / 2 if interval else None,
        extent=(rate["min"], rate["max"]) if rate and rate["n"] > 1 else None,
        runs=document["goal"]["runs"],
        server=server_name(server),
        goal=goal_words(document["goal"]),
        bench=bench["name"],
        environment=bench["environment"] or "",
        started_at=document["started_at"],
        finished_at=document["finished_at"],
    )


def goal_words(goal: Mapping[str, Any]) -> str:
    """What a trial had to keep and the width of the brackets, of the `goal` of a result."""
    return (
        f"loss at most {100 * goal['loss_ratio']:g} %, replies within {goal['late_s']:g} s, "
        f"bracket at most {100 * goal['relative_width']:g} %, trials of {goal['trial_s']:g} s"
    )


def rows_of(cells: Iterable[Cell]) -> list[Row]:
    """The rows of a table, families apart, backends in the order of the cells.

    Of two cells for one place, the later started counts.
    """
    places: dict[tuple[int, str, str], dict[tuple[bool, str], Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.family, cell.started_at)):
        row = places.setdefault((cell.family, cell.backend, cell.durability), {})
        row[cell.threads, cell.mode] = cell
    return [Row(*place, places[place]) for place in sorted(places)]
