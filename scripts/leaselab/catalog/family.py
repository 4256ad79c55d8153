"""A family: the file of a small matrix of scenarios."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from leaselab.catalog.decoding import build
from leaselab.catalog.documents import parse_yaml
from leaselab.catalog.plain_file import given_content
from leaselab.catalog.roles import resolved
from leaselab.catalog.scenario_file import Entry, Factor, ScenarioFile, SupportPart, Value
from leaselab.model.errors import unknown, usage_error
from leaselab.model.procedure import WHERE
from leaselab.model.procedures import PROCEDURES, AnyProcedure, procedure_of
from leaselab.model.procedures.duel import DUEL, OPERATED, OPERATING, Duel
from leaselab.model.procedures.event import AFTER_SLACK_S, EVENT
from leaselab.model.procedures.max_rate import MAX_RATE
from leaselab.model.scenario import Scenario, ServerOptions, Transaction

OF_PROCEDURE = "procedure."
"""What the name of a factor begins with that is a parameter of the procedure."""
LOADS = "loads"
"""Folder beside the families: the loads that they name, a file each."""
_MOST_BYTES = 16 << 20
"""Bytes of a file at the most."""
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
"""Of a scenario; the server contract takes the same as the name of a variant."""
_DELAY = "pair_max_response_delay_s"
"""Option of a server: the silence after which its partner counts as unreachable (s)."""


@dataclass(frozen=True, slots=True)
class Family:
    """The scenarios of one file."""

    name: str
    """The file's stem."""
    scenarios: Mapping[str, Scenario]
    """By name, in the order of the axes, the last of them running fastest."""
    procedures: Mapping[str, Mapping[str, Any]]
    """By scenario: parameters of its procedure that differ from their defaults."""
    varied: Mapping[str, frozenset[str]]
    """By scenario: the parameters among them that are factors."""

    def procedure_of(self, scenario: str, overrides: Mapping[str, Any]) -> AnyProcedure:
        """Return the procedure of a scenario: what its file says, under what was asked for.

        Another procedure than the file's has other parameters, so the file's are left out then;
        so is its load where another one was asked for, a rate or a share of the max rate.
        Where every parameter is given, nothing of the file counts: a command has resolved it
        before, and a share may have become a rate.
        Raises a usage error for parameters that no measurement could meet.
        """
        if is_whole(overrides):
            return procedure_of(overrides)
        given = self.procedures[scenario]
        asked = overrides.get("name", given.get("name", MAX_RATE))
        if asked != given.get("name", MAX_RATE):
            operates = asked == DUEL and overrides.get("metric") in OPERATED
            given = {name: given[name] for name in OPERATING if operates and name in given}
        for name in sorted(self.varied[scenario] & overrides.keys() & given.keys()):
            if overrides[name] != given[name]:
                raise usage_error(
                    f"{name} is a factor of this scenario",
                    where=scenario,
                    found=str(overrides[name]),
                    wanted=str(given[name]),
                    todo="leave it out, or choose the scenario by its value: "
                    f"leaselab list --scenarios {self.name}",
                )
        loads = [name for name in ("rate", "share") if name in overrides]
        if len(loads) > 1:
            raise usage_error(
                "rate and share exclude each other",
                where=WHERE,
                found=f"rate {overrides['rate']} and share {overrides['share']}",
                wanted="one of them",
                todo="leave one out",
            )
        if loads:
            given = {
                name: value for name, value in given.items() if name not in ("rate", "share")
            }
        parameters = {**given, **overrides}
        if asked == EVENT:
            parameters = {**_after(self.scenarios[scenario], parameters), **parameters}
        procedure = procedure_of(parameters)
        if isinstance(procedure, Duel) and procedure.operates and not procedure.operations:
            raise usage_error(
                "there is nothing to do to the servers",
                where=f"scenario {scenario}",
                found=f"metric {procedure.metric}, and no operations",
                todo="name some: --set operations=reload",
            )
        return procedure


def load_families(folder: Path) -> dict[str, Family]:
    """Read every family, by name and in the order of the names.

    Raises a usage error that names file and key for anything it cannot take.  One command asks
    several times: files that have not changed are read once.
    """
    return dict(_families(folder, stamps_of(folder)))


Stamps = tuple[tuple[Path, int, int], ...]
"""Files with the time and the size by which a changed one is known."""


def stamps_of(folder: Path) -> Stamps:
    """The files of a folder of families as they are."""
    files = [*sorted(folder.glob("*.yml")), *sorted((folder / LOADS).glob("*.yml"))]
    return tuple((path, path.lstat().st_mtime_ns, path.lstat().st_size) for path in files)


@cache
def _families(folder: Path, stamps: Stamps) -> dict[str, Family]:  # noqa: ARG001  # the cache's key
    """Read the families of a folder whose files are as `stamps` say."""
    loads: dict[Path, Mapping[str, Any]] = {}
    families = {path.stem: _family(path, loads) for path in sorted(folder.glob("*.yml"))}
    seen: set[str] = set()
    for family in families.values():
        for name in family.scenarios:
            if name in seen:
                raise usage_error(
                    f"scenario {name} exists twice",
                    where=f"{family.name}.yml",
                    todo="name its entries in another way",
                )
            seen.add(name)
    if not seen:
        raise usage_error("no scenarios", where=str(folder), wanted="YAML files")
    return families


def read_family(path: Path) -> Family:
    """Read the family of one file; raises a usage error for one that is none."""
    return _family(path, {})


def _after(scenario: Scenario, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The time after an event that a pair needs; a usage error for less, and for no pair."""
    if not scenario.partner:
        raise usage_error(
            "an event needs a pair",
            where=f"scenario {scenario.name}",
            found="one server",
            wanted="two",
            todo="choose one whose name ends in -hs, -lb or -shared",
        )
    delay_s = float(scenario.server.options.get(_DELAY, 0.0))
    returned = parameters.get("return_s", 0)
    usual = round(delay_s) + AFTER_SLACK_S + (returned if isinstance(returned, int) else 0)
    given = parameters.get("after_s", usual)
    if isinstance(given, int | float) and given <= delay_s:
        raise usage_error(
            "after_s is shorter than the pair's response delay",
            where=WHERE,
            found=str(given),
            wanted=f"more than the scenario's {_DELAY}, {delay_s:g}",
            todo=f"leave it out: it is {usual} then",
        )
    return {"after_s": usual}


def is_whole(parameters: Mapping[str, Any]) -> bool:
    """Whether they are all that a procedure has."""
    kind = PROCEDURES.get(str(parameters.get("name")))
    return kind is not None and parameters.keys() >= set(kind.__struct_fields__)


def _family(path: Path, loads: dict[Path, Mapping[str, Any]]) -> Family:
    """Read a family; `loads` are the files of loads that are read already."""
    file = build(ScenarioFile, _mapping(path), path.name)
    scenarios: dict[str, Scenario] = {}
    procedures: dict[str, Mapping[str, Any]] = {}
    varied: dict[str, frozenset[str]] = {}
    for entries in itertools.product(*(_entries(axis, path.name) for axis in file.axes)):
        one = _scenario(path, file, entries, loads)
        scenarios[one.name] = one
        procedures[one.name] = _procedure(file, entries)
        varied[one.name] = frozenset(
            entry.factor.removeprefix(OF_PROCEDURE)
            for entry in entries
            if isinstance(entry, Value) and entry.factor.startswith(OF_PROCEDURE)
        )
    return Family(path.stem, scenarios, procedures, varied)


def _procedure(file: ScenarioFile, entries: Sequence[Entry]) -> dict[str, Any]:
    """Parameters of the procedure, merged; those of another one than the last named go."""
    parameters: dict[str, Any] = {}
    for part in (file, *entries):
        named = part.procedure.get("name")
        if named is not None and named != parameters.get("name", named):
            parameters = {}
        parameters |= part.procedure
    return parameters


def _entries(
    axis: tuple[Entry, ...] | Mapping[str, Sequence[Factor]], where: str
) -> Iterator[Entry]:
    """The entries of an axis; one of a factor has an entry for each of its values."""
    if not isinstance(axis, Mapping):
        yield from axis
        return
    if len(axis) != 1:
        raise usage_error(
            "an axis must set exactly one factor",
            where=where,
            found=", ".join(axis),
            wanted="one",
        )
    for name, values in axis.items():
        for value in values:
            yield _entry_of(name, value, where)


def _entry_of(factor: str, value: Factor, where: str) -> Value:
    """The entry that one value of a factor makes.

    A name without dots is an option of the server; with them it says what has it, such as
    ``load.pool``, ``procedure.clients``, ``beside.mysql.innodb_log_mib`` or
    ``hosts.host_tuning.governor``.  It is shown by its last part.
    """
    *place, last = factor.split(".")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    setting = {last: value}
    name = f"{last.replace('_', '-')}-{text}"
    made = Value(name=name, factors=setting, factor=factor)
    if not place:
        return replace(made, options=setting)
    if place in (["load"], ["procedure"]):
        return replace(made, **{place[0]: setting})
    if place[0] in ("beside", "hosts") and len(place) == 2:
        return replace(made, **{place[0]: {place[1]: setting}})
    if place == ["support"]:
        return replace(made, support=SupportPart(options=setting))
    raise usage_error(
        "not a place for a factor",
        where=where,
        found=factor,
        wanted="an option of the server, load.NAME, procedure.NAME, beside.ROLE.NAME, "
        "hosts.ROLE.NAME or support.NAME",
    )


def _scenario(
    path: Path,
    file: ScenarioFile,
    entries: Sequence[Entry],
    loads: dict[Path, Mapping[str, Any]],
) -> Scenario:
    name = "-".join(entry.name for entry in entries if entry.name) or path.stem
    where = f"{path.name}: {name}"
    if not _NAME.fullmatch(name):
        raise usage_error("not a name", where=where, wanted="small letters, digits, . _ and -")
    _check_factors(file, entries, where)
    options = dict(file.server.options)
    beside: dict[str, dict[str, Any]] = {}
    hosts: dict[str, dict[str, Any]] = {}
    factors: dict[str, Factor] = {}
    load: dict[str, Any] = {}
    partner = False
    support = ServerOptions(kind="")
    for part in (file, *entries):
        support = ServerOptions(
            kind=part.support.kind or support.kind,
            options={**support.options, **part.support.options},
        )
        load |= part.of_load
        partner = partner if part.partner is None else part.partner
        factors |= part.factors
        for merged, given in ((beside, part.beside), (hosts, part.hosts)):
            for role, settings in given.items():
                merged[role] = {**merged.get(role, {}), **settings}
        options |= part.options if isinstance(part, Entry) else {}
    generator, transaction, rest = _load(path.parent / LOADS, load, loads, where)
    try:
        scenario = Scenario(
            name=name,
            description=file.description,
            server=ServerOptions(kind=file.server.kind, options=options),
            partner=partner,
            beside=beside,
            hosts=hosts,
            support=support if support.kind or support.options else None,
            generator=generator,
            transaction=transaction,
            load=rest,
            factors=factors,
            across=file.across,
            axes=tuple(factors),
        )
    except ValueError as error:  # what a record cannot hold
        raise usage_error(str(error), where=where) from error
    return resolved(scenario, where)


def _check_factors(file: ScenarioFile, entries: Sequence[Entry], where: str) -> None:
    """Refuse a factor of an axis that another part sets as well: it would say two things."""
    for entry in entries:
        shown = entry.factor.rpartition(".")[2] if isinstance(entry, Value) else ""
        others = [part for part in (file, *entries) if part is not entry]
        if shown and any(shown in part.factors for part in others):
            raise usage_error(
                f"factor {shown} is set twice",
                where=where,
                todo="give the other one another name",
            )


def _load(
    folder: Path, asked: Mapping[str, Any], loads: dict[Path, Mapping[str, Any]], where: str
) -> tuple[str, Transaction, dict[str, Any]]:
    """Return the generator of a load, its transaction, and what else it is like.

    `asked` has the load's name and what differs from its file: nothing that is not in there.
    """
    name, changes = asked.get("name"), {key: asked[key] for key in asked if key != "name"}
    path = folder / f"{name}.yml"
    known = sorted(path.stem for path in folder.glob("*.yml"))
    if name not in known:
        raise unknown("load", name or "", known, where)
    there = f"{LOADS}/{path.name}"
    if path not in loads:
        loads[path] = _mapping(path)
    load = dict(loads[path])
    if missing := {"generator", "transaction"} - load.keys():
        raise usage_error("key missing", where=there, wanted=", ".join(sorted(missing)))
    generator, transaction = str(load.pop("generator")), load.pop("transaction")
    generator = str(changes.pop("generator", generator))
    for key in changes:
        if key not in load:
            raise unknown(f"setting of load {name}", key, list(load), where)
    load |= changes
    return generator, build(Transaction, transaction, f"{there}: transaction"), load


def _mapping(path: Path) -> Mapping[str, Any]:
    mapping = parse_yaml(given_content(path, _MOST_BYTES), path.name)
    if not isinstance(mapping, Mapping):
        raise usage_error(
            "not a mapping", where=path.name, found=repr(mapping)[:80], wanted="key: value"
        )
    return mapping
