"""The benches of an inventory, and which of them is free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaselab.lab.inventory import GENERATOR_GROUP, Inventory, read_inventory
from leaselab.lab.lock import status
from leaselab.lab.transport import connect
from leaselab.model.errors import LeaselabError, lab_broken, usage_error

ONE_BENCH = ("hosts.yml", "hosts.yaml", "hosts")
"""A folder with one of these is one bench; any other has a bench in each YAML file."""


def read_benches(path: Path) -> tuple[Inventory, ...]:
    """Read every bench of an inventory: a file, a folder of one, a folder of several.

    Raises what `read_inventory` raises, and a usage error for a folder without any
    bench, two benches of one name, or a machine that is in two of them.
    """
    path = path.absolute()
    if not path.is_dir() or any((path / name).exists() for name in ONE_BENCH):
        return (read_inventory(path),)
    files = sorted([*path.glob("*.yml"), *path.glob("*.yaml")])
    if not files:
        raise usage_error(
            "no bench in this inventory",
            where=str(path),
            wanted=f"{ONE_BENCH[0]}, or a file for each bench such as rack1.yml",
        )
    with ThreadPoolExecutor(min(8, len(files))) as pool:
        benches = tuple(pool.map(read_inventory, files))
    _check_apart(path, benches)
    return benches


def _check_apart(path: Path, benches: Sequence[Inventory]) -> None:
    """Refuse what would let two benches disturb each other: their locks do not meet."""
    names: dict[str, Path] = {}
    machines: dict[tuple[str, int], str] = {}
    for bench in benches:
        if bench.bench in names:
            raise usage_error(
                f"two benches have the name {bench.bench}",
                where=str(path),
                found=f"{names[bench.bench].name} and {bench.path.name}",
                wanted="another leaselab_bench in each",
            )
        names[bench.bench] = bench.path
        for access in (host.access for host in bench.hosts if not host.only_builds):
            machine = (access.address, access.port)
            if machines.setdefault(machine, bench.bench) != bench.bench:
                raise usage_error(
                    f"{access.address} port {access.port} is in two benches",
                    where=str(path),
                    found=f"{machines[machine]} and {bench.bench}",
                    wanted="machines of their own; only a builder may be shared",
                )


def bench_named(benches: Sequence[Inventory], name: str) -> Inventory:
    """Return the bench of that name; a usage error that lists them where there is none."""
    for bench in benches:
        if bench.bench == name:
            return bench
    raise usage_error(
        f"no bench {name}",
        where=", ".join(str(bench.path) for bench in benches),
        wanted=f"one of {', '.join(bench.bench for bench in benches)}",
    )


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Whether a bench can be had."""

    bench: Inventory
    holder: dict[str, Any] | None
    """Who has it, None when nobody has."""
    problem: str = ""
    """Why it cannot be had at all: its generator does not answer."""

    def __str__(self) -> str:
        """Return ``rack1: held by ana@laptop for 20261122T…``."""
        if self.holder:
            told = f"held by {self.holder['name']} for {self.holder['purpose']}"
        else:
            told = self.problem or "free"
        return f"{self.bench.bench}: {told}"


def occupancy(bench: Inventory) -> Occupancy:
    """Ask a bench's generator who has it; one that was never provisioned is free."""
    try:
        with connect(bench.only(GENERATOR_GROUP).access) as generator:
            try:
                return Occupancy(bench, status(generator))
            except LeaselabError:
                return Occupancy(bench, None)
    except LeaselabError as error:
        return Occupancy(bench, None, str(error))


def free_bench(
    benches: Sequence[Inventory], ask: Callable[[Inventory], Occupancy] = occupancy
) -> Inventory:
    """Return the first bench that nobody has; a broken-lab error that says who has them.

    A bench that is the only one is returned unasked: whoever uses it finds out, and a
    local lab may still have to be brought up.
    """
    if len(benches) == 1:
        return benches[0]
    with ThreadPoolExecutor(min(8, len(benches))) as pool:
        asked = list(pool.map(ask, benches))
    for one in asked:
        if one.holder is None and not one.problem:
            return one.bench
    raise lab_broken(
        "no bench is free",
        where=str(benches[0].path.parent),
        found="; ".join(map(str, asked)),
        todo="wait for one, or name one with --bench to see what is wrong with it",
    )
