"""The scenarios that exist: files of families, each a small matrix."""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from leaselab.lab.build import build
from leaselab.lab.roles import resolved
from leaselab.model.errors import unknown, usage_error
from leaselab.model.procedure import AnyProcedure, MaxRate, procedure_of
from leaselab.model.record import Scenario, ServerOptions, Transaction

LOADS = "loads"
"""Folder beside the families: the loads that they name, a file each."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
Factor = str | int | float | bool


class _Server(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: str
    options: dict[str, Any] = {}


class _Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a family and each entry of its axes may set."""

    load: str | None = None
    partner: bool | None = None
    beside: dict[str, dict[str, Any]] = {}
    factors: dict[str, Factor] = {}


class _Entry(_Settings, frozen=True, kw_only=True):
    name: str = ""
    options: dict[str, Any] = {}


class _File(_Settings, frozen=True, kw_only=True):
    description: str
    server: _Server
    across: tuple[str, ...] = ()
    axes: tuple[tuple[_Entry, ...] | dict[str, tuple[Factor, ...]], ...] = ()
    procedure: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Family:
    """The scenarios of one file."""

    name: str
    """The file's stem."""
    scenarios: Mapping[str, Scenario]
    """By name, in the order of the axes, the last of them running fastest."""
    procedure: Mapping[str, Any]
    """Parameters of a sweep that differ from their defaults, as the file has them."""


def load_families(folder: Path) -> dict[str, Family]:
    """Read every family, by name and in the order of the names.

    Raises a usage error that names file and key for anything it cannot take.  One command asks
    several times: files that have not changed are read once.
    """
    files = [*sorted(folder.glob("*.yml")), *sorted((folder / LOADS).glob("*.yml"))]
    stamps = [(path, path.stat().st_mtime_ns, path.stat().st_size) for path in files]
    return dict(_families(folder, tuple(stamps)))


@cache
def _families(folder: Path, stamps: tuple[tuple[Path, int, int], ...]) -> dict[str, Family]:  # noqa: ARG001  # they tell one state of the files from another
    """Read the families of a folder whose files are as `stamps` say."""
    loads: dict[Path, Mapping[str, Any]] = {}
    families = {path.stem: _family(path, loads) for path in sorted(folder.glob("*.yml"))}
    seen: set[str] = set()
    for family in families.values():
        for name in family.scenarios:
            if name in seen:
                raise usage_error(f"scenario {name} exists twice", where=f"{family.name}.yml")
            seen.add(name)
    if not seen:
        raise usage_error("no scenarios", where=str(folder), wanted="YAML files")
    return families


def load_scenarios(folder: Path) -> dict[str, Scenario]:
    """Read every scenario, by name and in the order of the names; errors as `load_families`."""
    return _scenarios(load_families(folder))


def find_scenario(folder: Path, name: str) -> Scenario:
    """Return one scenario; an unknown name raises a usage error with the nearest."""
    scenarios = load_scenarios(folder)
    if name not in scenarios:
        raise unknown("scenario", name, list(scenarios), "scenarios")
    return scenarios[name]


def match_scenarios(folder: Path, patterns: Sequence[str]) -> list[Scenario]:
    """Return the scenarios that any of the patterns means, each once, in the order given.

    Patterns are a shell's (``v4-*``); where one is no scenario's name but a family's, it means
    all of that family in the order of its axes.  One that means nothing raises a usage error,
    with the nearest name where it has no wildcard.
    """
    families = load_families(folder)
    scenarios = _scenarios(families)
    found: dict[str, Scenario] = {}
    for pattern in patterns:
        names = fnmatch.filter(scenarios, pattern)
        if not names and pattern in families:
            names = list(families[pattern].scenarios)
        if not names:
            raise unknown("scenario", pattern, [*scenarios, *families], "scenarios")
        found.update((name, scenarios[name]) for name in names)
    return list(found.values())


def _scenarios(families: Mapping[str, Family]) -> dict[str, Scenario]:
    return dict(sorted(pair for one in families.values() for pair in one.scenarios.items()))


def _family(path: Path, loads: dict[Path, Mapping[str, Any]]) -> Family:
    """Read a family; `loads` are the files of loads that are read already."""
    file = build(_File, _mapping(path), path.name)
    found = {
        one.name: one
        for entries in itertools.product(*(_entries(axis, path.name) for axis in file.axes))
        for one in [_scenario(path, file, entries, loads)]
    }
    return Family(path.stem, found, file.procedure)


def find_procedure(folder: Path, scenario: str, overrides: Mapping[str, Any]) -> AnyProcedure:
    """Return the procedure of a scenario: what its file says, under what was asked for.

    Another procedure than the file's has other parameters, so the file's are left out then;
    so is its load where another one was asked for, a rate or a share of the max rate.
    Raises a usage error for parameters that no measurement could meet.
    """
    families = load_families(folder).values()
    given = next(one.procedure for one in families if scenario in one.scenarios)
    usual = MaxRate.__struct_config__.tag
    asked = overrides.get("name", given.get("name", usual))
    if asked != given.get("name", usual):
        given = {}
    loads = [name for name in ("rate", "share") if name in overrides]
    if len(loads) > 1:
        raise usage_error("two loads", where=scenario, wanted="a rate or a share, not both")
    if loads:
        given = {name: value for name, value in given.items() if name not in ("rate", "share")}
    return procedure_of({**given, **overrides})


def _entries(
    axis: tuple[_Entry, ...] | Mapping[str, Sequence[Factor]], where: str
) -> Iterator[_Entry]:
    """The entries of an axis; one of a factor has an entry for each of its values."""
    if not isinstance(axis, Mapping):
        yield from axis
        return
    if len(axis) != 1:
        raise usage_error("an axis of one factor", where=where, found=", ".join(axis))
    for name, values in axis.items():
        for value in values:
            told = str(value).lower() if isinstance(value, bool) else str(value)
            setting = {name: value}
            yield _Entry(name=f"{name}-{told}", options=setting, factors=setting)


def _scenario(
    path: Path,
    file: _File,
    entries: Sequence[_Entry],
    loads: dict[Path, Mapping[str, Any]],
) -> Scenario:
    name = "-".join(entry.name for entry in entries if entry.name) or path.stem
    where = f"{path.name}: {name}"
    if not _NAME.fullmatch(name):
        raise usage_error("not a name", where=where, wanted="small letters, digits, . _ and -")
    options = dict(file.server.options)
    beside: dict[str, dict[str, Any]] = {}
    factors: dict[str, Factor] = {}
    load, partner = None, False
    for part in (file, *entries):
        load = load if part.load is None else part.load
        partner = partner if part.partner is None else part.partner
        factors |= part.factors
        for role, settings in part.beside.items():
            beside[role] = {**beside.get(role, {}), **settings}
        options |= part.options if isinstance(part, _Entry) else {}
    generator, transaction, rest = _load(path.parent / LOADS, load, loads, where)
    scenario = Scenario(
        name=name,
        description=file.description,
        server=ServerOptions(kind=file.server.kind, options=options),
        partner=partner,
        beside=beside,
        generator=generator,
        transaction=transaction,
        load=rest,
        factors=factors,
        across=file.across,
    )
    return resolved(scenario, where)


def _load(
    folder: Path, name: str | None, loads: dict[Path, Mapping[str, Any]], where: str
) -> tuple[str, Transaction, dict[str, Any]]:
    """Return the generator of a load, its transaction, and what else it is like."""
    path = folder / f"{name}.yml"
    known = sorted(path.stem for path in folder.glob("*.yml"))
    if name not in known:
        raise unknown("load", name or "", known, where)
    there = f"{LOADS}/{path.name}"
    if path not in loads:
        loads[path] = _mapping(path)
    found = dict(loads[path])
    if missing := {"generator", "transaction"} - found.keys():
        raise usage_error("key missing", where=there, wanted=", ".join(sorted(missing)))
    generator, transaction = str(found.pop("generator")), found.pop("transaction")
    return generator, build(Transaction, transaction, f"{there}: transaction"), found


def _mapping(path: Path) -> Mapping[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise usage_error(
            f"not YAML: {' '.join(str(error).split())}", where=path.name
        ) from error
    if not isinstance(found, Mapping):
        raise usage_error("not a mapping", where=path.name, found=repr(found))
    return found
