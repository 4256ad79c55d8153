"""The benches of an inventory, and which of them is free."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leaselab.archive.disk import PRIVATE, write_whole
from leaselab.lab.bench.lock import Maintenance, NoLockError, status
from leaselab.lab.hosts.inventory import (
    BUILDER_GROUP,
    GENERATOR_GROUP,
    NEEDED_GROUPS,
    UNSAFE,
    VAULT,
    Inventory,
    InventoryHost,
    Machine,
    read_inventory,
)
from leaselab.lab.hosts.logins import PARTS
from leaselab.lab.hosts.transport import connect
from leaselab.model.errors import LeaselabError, lab_broken, usage_error

BENCH = "leaselab_bench"
_HERE = re.compile(r"\{\{\s*inventory_dir\s*\}\}")
_OWN_FACTS = frozenset({"ansible_local"})
"""What Ansible adds to a listing by itself."""


def split(inventory: Inventory, kept: Path) -> tuple[Inventory, ...]:
    """Return the benches of an inventory; itself where it has one.

    `kept` is the folder of the files that are written, readable by their owner alone, as
    variables may be secrets.  A host that only builds and has no `leaselab_bench` is
    shared by all.  Raises a usage error for any other host without one.
    """
    measured = [host for host in inventory.hosts if not host.only_builds]
    named = dict.fromkeys(filter(None, map(_bench, inventory.hosts)))
    if len(named) <= 1:
        return (inventory,)
    names = list(named)
    lost = [host.access.name for host in measured if not _bench(host)]
    if lost:
        raise usage_error(
            f"it has several benches, and not all hosts have a {BENCH}",
            where=str(inventory.path),
            found=f"none for {', '.join(lost)}",
            wanted=f"one of {', '.join(names)}",
        )
    kept.mkdir(parents=True, exist_ok=True)
    benches = tuple(
        replace(
            inventory,
            path=_write(kept / f"{name}.json", _of(inventory, name), inventory.path),
            bench=name,
            hosts=_of(inventory, name),
        )
        for name in names
    )
    for file in set(kept.glob("*.json")) - {bench.path for bench in benches}:
        file.unlink(missing_ok=True)  # of a bench that is not there any more
    for bench in benches:
        _check_whole(bench, inventory.path)
    return benches


def _bench(host: InventoryHost) -> str:
    return str(host.variables.get(BENCH) or "")


def _of(inventory: Inventory, name: str) -> tuple[InventoryHost, ...]:
    return tuple(
        host
        for host in inventory.hosts
        if _bench(host) == name or (host.only_builds and not _bench(host))
    )


def _check_whole(bench: Inventory, source: Path) -> None:
    """Refuse a bench that lacks a part, in the words of the source."""
    for part in NEEDED_GROUPS:
        if not bench.group(part):
            raise usage_error(
                f"no host of bench {bench.bench} in group {part}",
                where=str(source),
                found=", ".join(host.access.name for host in bench.hosts),
                wanted="one host of the bench in each needed group",
            )


def _write(path: Path, hosts: Sequence[InventoryHost], source: Path) -> Path:
    groups: dict[str, Any] = {
        part: {"hosts": {host.access.name: {} for host in hosts if part in host.parts}}
        for part in PARTS
    }
    variables = {
        host.access.name: {
            key: _written(value, source)
            for key, value in host.listed.items()
            if key not in _OWN_FACTS
        }
        for host in hosts
    }
    # Only in JSON does Ansible read its own marks of what is no template, or is encrypted.
    text = json.dumps({"bench": {"hosts": variables, "children": groups}}, indent=1).encode()
    # Each command reads the benches; it waits for the disk only where one has changed.
    if not path.is_file() or path.read_bytes() != text:
        write_whole(path, text, PRIVATE)
    return path


def _written(value: object, source: Path) -> object:
    """A value as a file elsewhere has to say it."""
    if isinstance(value, Mapping):
        if set(value) in ({UNSAFE}, {VAULT}):
            return value
        return {str(key): _written(one, source) for key, one in value.items()}
    if isinstance(value, list):
        return [_written(one, source) for one in value]
    if isinstance(value, str):
        folder = source if source.is_dir() else source.parent
        return _HERE.sub(lambda _: str(folder), value)
    return value


ONE_BENCH = ("hosts.yml", "hosts.yaml", "hosts")
"""A folder with one of these is one source; any other has a source in each YAML file."""
_PROGRAMS = ("", ".py", ".sh")


def read_benches(path: Path, kept: Path) -> tuple[Inventory, ...]:
    """Read every bench of an inventory: a file, a folder of one source, a folder of several.

    A source is anything that Ansible reads as an inventory: hosts in YAML, the configuration
    of a plugin, a program; it may have several benches, whose files are written below `kept`
    (`split`).  Raises what `read_inventory` raises, and a usage error for a folder
    without any bench, two benches of one name, or a machine that is in two of them.
    """
    path = path.absolute()
    one = not path.is_dir() or any((path / name).exists() for name in ONE_BENCH)
    files = [path] if one else _sources(path)
    if not files:
        raise usage_error(
            "no bench in this inventory",
            where=str(path),
            wanted=f"{ONE_BENCH[0]}, or a file for each bench such as rack1.yml",
        )
    with ThreadPoolExecutor(min(8, len(files))) as pool:
        read = list(pool.map(read_inventory, files))
    benches = tuple(bench for source in read for bench in split(source, kept / _place(source)))
    _check_apart(path, benches)
    return benches


def _sources(folder: Path) -> list[Path]:
    programs = [
        file
        for file in folder.iterdir()
        if file.suffix in _PROGRAMS and file.is_file() and os.access(file, os.X_OK)
    ]
    return sorted([*folder.glob("*.yml"), *folder.glob("*.yaml"), *programs])


def _place(source: Inventory) -> str:
    """Name of the folder for the benches of a source; another source has another one."""
    return f"{source.path.stem}-{hashlib.sha256(str(source.path).encode()).hexdigest()[:8]}"


def _check_apart(path: Path, benches: Sequence[Inventory]) -> None:
    """Refuse benches that could disturb each other: each has a lock of its own."""
    names: dict[str, Path] = {}
    machines: dict[Machine, str] = {}
    for bench in benches:
        if bench.bench in names:
            raise usage_error(
                f"two benches have the name {bench.bench}",
                where=str(path),
                found=f"{names[bench.bench].name} and {bench.path.name}",
                wanted="another leaselab_bench in each",
            )
        names[bench.bench] = bench.path
        for machine in (host.machine for host in bench.hosts if not host.only_builds):
            if machines.setdefault(machine, bench.bench) != bench.bench:
                raise usage_error(
                    f"{machine[0]} port {machine[1]} is in two benches",
                    where=str(path),
                    found=f"{machines[machine]} and {bench.bench}",
                    wanted="machines of their own; only a builder may be shared",
                )
    _check_builders(path, benches, machines)


def _check_builders(
    path: Path, benches: Sequence[Inventory], machines: Mapping[Machine, str]
) -> None:
    """Refuse a bench's builder that another bench measures on, whose lock it does not ask."""
    for bench in benches:
        for builder in bench.group(BUILDER_GROUP):
            other = machines.get(builder.machine, bench.bench)
            if other != bench.bench:
                raise usage_error(
                    f"the builder of {bench.bench} is a machine of {other}",
                    where=str(path),
                    found=f"{builder.machine[0]} port {builder.machine[1]} in both",
                    wanted="a builder that no other bench measures on",
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
    """Whether a bench can be used."""

    bench: Inventory
    holder: dict[str, Any] | None
    """Who holds the bench, None when it is free."""
    problem: str = ""
    """Why it cannot be used at all: its generator does not answer."""
    maintenance: Maintenance | None = None
    """Who has it in maintenance, None when it is not in maintenance."""

    def __str__(self) -> str:
        """Return ``rack1: held by ana@laptop for 20261122T…``."""
        if self.maintenance:
            state = f"in maintenance by {self.maintenance}"
        elif self.holder:
            state = f"held by {self.holder['name']} for {self.holder['purpose']}"
        else:
            state = self.problem or "free"
        return f"{self.bench.bench}: {state}"


def occupancy(bench: Inventory) -> Occupancy:
    """Ask a bench's generator who has it; one that was never provisioned is free."""
    try:
        with connect(bench.only(GENERATOR_GROUP).access) as generator:
            try:
                lock = status(generator)
                return Occupancy(bench, lock.holder, maintenance=lock.maintenance)
            except NoLockError:
                return Occupancy(bench, None)
    except LeaselabError as error:
        return Occupancy(bench, None, str(error))


def free_bench(
    benches: Sequence[Inventory], ask: Callable[[Inventory], Occupancy] = occupancy
) -> Inventory:
    """Return the first free bench; a broken-lab error names the holders where none is free.

    A bench that is the only one is returned without asking: the command that uses it finds
    out, and a local lab may still have to be brought up.
    """
    if len(benches) == 1:
        return benches[0]
    with ThreadPoolExecutor(min(8, len(benches))) as pool:
        asked = list(pool.map(ask, benches))
    for one in asked:
        if one.holder is None and one.maintenance is None and not one.problem:
            return one.bench
    raise lab_broken(
        "no bench is free",
        where=str(benches[0].path.parent),
        found="; ".join(map(str, asked)),
        todo="wait for one, or name one with --bench to see what is wrong with it",
    )
