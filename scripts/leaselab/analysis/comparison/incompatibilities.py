"""What differs between results, field by field, and what of it forbids to compare them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from leaselab.analysis.comparison.ratio import common_share, runs_of
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
from leaselab.model.server import Server, server_name

_NONE = "-"


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """One thing that has to be the same for a ratio to be the server's doing, and is not."""

    what: str
    """Kind, such as ``procedure``."""
    found: str
    """What the second result has."""
    wanted: str
    """What the first has."""
    field: str = ""
    """Its place within the kind, such as ``trial_s``; empty where there is but one."""

    @property
    def name(self) -> str:
        """Kind and place."""
        return f"{self.what} {self.field}".strip()


def incompatibilities(base: Record, other: Record) -> list[Incompatibility]:
    """What keeps one record from being compared with another; empty where nothing does."""
    return [
        *_places(base, other),
        *_settings(base, other),
        *_procedure(base, other),
        *_parts("generator", _generator(base), _generator(other)),
    ]


def same_configuration(base: Record, other: Record) -> bool:
    """Whether both measured one server with the same settings, on one bench in one state.

    What was done with it may differ, and so may the names of the scenarios, and their factors:
    each experiment has its own for the same settings.
    """
    servers = [(server_name(one.server), one.release) for one in (base, other)]
    named = replace(other.scenario, name=base.scenario.name)
    alike = replace(other, scenario=named)
    return servers[0] == servers[1] and not any(
        (*_places(base, alike), *_settings(base, alike))
    )


def family_differences(base: Record, other: Record) -> list[Difference]:
    """In which factors, and in which settings by these, two points of one family differ.

    Empty for the same scenario, and for two whose server, load or factors are others: their
    figures are of different things.
    """
    was, now = base.scenario, other.scenario
    if was.name == now.name or was.factors.keys() != now.factors.keys():
        return []
    factors = field_differences([was.factors, now.factors])
    if not factors or any(
        _measures(was)[name] != part for name, part in _measures(now).items()
    ):
        return []
    settings = [
        {**_scenario(one, another), "tuning": _tuning(one)}
        for one, another in ((base, other), (other, base))
    ]
    named = {factor.field for factor in factors}
    return [
        *factors,
        *(
            difference
            for difference in field_differences(settings)
            if difference.field.removeprefix("server.options.") not in named
        ),
    ]


def also_changed(base: Record, other: Record) -> list[str]:
    """What differs between two servers beside their source, in words, one for each thing.

    The configuration, the compiler and options of the build, the packages of libraries, and
    what is tuned on the hosts.
    """
    was, now = base.server, other.server
    found = []
    if base.scenario.name == other.scenario.name and _config(was, now) != _config(now, was):
        found.append("the configuration file as rendered")
    found += [
        f"{part.what} {part.field}: {part.found} instead of {part.wanted}"
        for part in (
            *_parts("scenario", _scenario(base, other), _scenario(other, base)),
            *_parts("tuning", *map(_tuning, (base, other))),
            *_parts("build", *map(_how_built, (was, now))),
            *_parts("library", *map(_libraries, (was, now))),
        )
    ]
    return found


def _config(server: Server, other: Server) -> str | None:
    """Hash of a server's configuration: of its settings alone, where both have that."""
    if server.config_settings_sha256 and other.config_settings_sha256:
        return server.config_settings_sha256
    return server.config_sha256


def _how_built(server: Server) -> dict[str, Any]:
    """How a server was built, but for from what; empty for a package."""
    build = server.build
    if build is None:
        return {}
    builder = {name: one for name, one in build.builder.items() if name != "packages_sha256"}
    return {"system": build.system, "options": build.options, "builder": builder}


def _libraries(server: Server) -> dict[str, str]:
    """Hash of each library that it had loaded, but for those that are built with it."""
    return {
        path.rpartition("/")[2]: digest[:12]
        for path, digest in server.libraries_sha256.items()
        if not path.startswith("/opt/")
    }


def _measures(scenario: Scenario) -> dict[str, Any]:
    """The parts of a scenario that say what its figures are of."""
    return {
        "server": scenario.server.kind,
        "generator": scenario.generator,
        "transaction": scenario.transaction,
        "load": scenario.load,
    }


def _places(base: Record, other: Record) -> Iterator[Incompatibility]:
    yield from _one("bench", base.bench.name, other.bench.name)
    yield from _one("environment of the lab", base.bench.environment, other.bench.environment)
    yield from _one("slowdown", *map(_slowdown, (base, other)))


def _slowdown(record: Record) -> str | None:
    """By how much a server was slowed down on purpose; None where it was not.

    Of a duel, that is B.
    """
    of = record.experiment
    if of is None or not of.slowdown or of.points[:1] == (record.id,):
        return None
    return f"{100 * of.slowdown:g} %"


def _settings(base: Record, other: Record) -> Iterator[Incompatibility]:
    if other.scenario.name != base.scenario.name:
        # its settings follow from it; those of points of a family from their factors
        if not family_differences(base, other):
            yield Incompatibility("scenario", other.scenario.name, base.scenario.name)
    else:
        yield from _parts("scenario", _scenario(base, other), _scenario(other, base))
        yield from _parts("tuning", *map(_tuning, (base, other)))
    yield from _one("durability", base.server.durability, other.server.durability)


def _procedure(base: Record, other: Record) -> Iterator[Incompatibility]:
    yield from _parts("procedure", base.procedure.ruler(), other.procedure.ruler())
    runs, runs_wanted = runs_of(other), runs_of(base)
    if runs and runs_wanted and common_share(runs_wanted, runs) is None:
        shares = [f"{one.trim} of {len(one.values)} at each end" for one in (runs, runs_wanted)]
        yield Incompatibility("share of runs dropped", *shares)


def _one(what: str, wanted: str | None, found: str | None) -> Iterator[Incompatibility]:
    if (found or _NONE) != (wanted or _NONE):
        yield Incompatibility(what, found or _NONE, wanted or _NONE)


def _parts(what: str, wanted: object, found: object) -> Iterator[Incompatibility]:
    for difference in field_differences([wanted, found]):
        yield Incompatibility(
            what, difference.values[1], difference.values[0], difference.field
        )


def _scenario(record: Record, other: Record) -> dict[str, Any]:
    return record.scenario.settings(other.scenario)


def _generator(record: Record) -> dict[str, Any]:
    """All that is known of the generator but where it ran, which is the bench's."""
    generator = record.generator
    return {"name": generator.name, "version": generator.version, **generator.options}


def _tuning(record: Record) -> dict[str, Any]:
    """What was set on the hosts, by scenario or inventory; a version is not set."""
    beside = record.server.beside
    return {**record.server.tuning, **{name: beside[name].variables for name in beside}}


_EVERY_TIME = re.compile(
    r"bench\.lock_owner|provenance\.command|[^.]+\.(config_file|variant)"
    r"|scenario\.(description|factors\..+|across|axes|(server|support)\.defaulted)"
)
"""Fields that differ without meaning anything, or say again what another says."""
_NAMES_BUILDS = re.compile(r"(?P<role>[^.]+)\.(running_)?config_sha256")
"""Hashes of configurations that contain the names of a build: no two builds have the same."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not the same in all of several results."""

    field: str
    """Its place, such as ``server.build.options.cxxflags``."""
    values: tuple[str, ...]
    """What each result has there, in their order."""


def differences(records: Sequence[Record]) -> list[Difference]:
    """Return the fields of records that differ, in the order of the schema.

    Those of a server begin with its role.  Where each record has the hash of that server's
    settings alone, it stands for all hashes of its configuration.
    """
    parts = [
        {
            "scenario": record.scenario,
            "procedure": record.procedure,
            **record.servers,
            "generator": record.generator,
            "bench": record.bench,
            "provenance": record.provenance,
        }
        for record in records
    ]
    roles = {role for record in records for role in record.servers}
    known = {
        role
        for role in roles
        if all(
            role in record.servers and record.servers[role].config_settings_sha256
            for record in records
        )
    }
    return [
        difference
        for difference in field_differences(parts)
        if not _EVERY_TIME.fullmatch(difference.field)
        and not (
            (hashed := _NAMES_BUILDS.fullmatch(difference.field)) and hashed["role"] in known
        )
    ]


def field_differences(values: Sequence[Any]) -> list[Difference]:
    """Return the fields that differ between parts of records, each of them any JSON."""
    return _differing([dict(_fields(msgspec.to_builtins(value))) for value in values])


def config_differences(configs: Sequence[str | None]) -> list[Difference]:
    """Return the settings that differ between configuration files.

    JSON is compared field by field, other text line by line: a line that not all of them have.
    """
    parsed = [_json(text) for text in configs]
    if all(isinstance(one, dict) for one in parsed):
        flat = [dict(_fields(one or {})) for one in parsed]
    else:
        flat = [dict.fromkeys(_lines(text), "there") for text in configs]
    return _differing(flat)


def _differing(flat: Sequence[Mapping[str, str]]) -> list[Difference]:
    """The fields whose value is not the same in all, in the order in which they come."""
    names = dict.fromkeys(name for one in flat for name in one)
    return [
        Difference(name, values)
        for name in names
        if len(set(values := tuple(one.get(name, _NONE) for one in flat))) > 1
    ]


def _lines(text: str | None) -> Iterator[str]:
    for line in (text or "").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def _json(text: str | None) -> Any:  # noqa: ANN401  # any JSON value
    try:
        return json.loads(text or "")
    except ValueError:
        return None


def _fields(value: Any, place: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401  # JSON
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _fields(part, f"{place}.{name}" if place else str(name))
    elif (
        isinstance(value, list | tuple)
        and value
        and all(isinstance(one, dict) for one in value)
    ):
        for number, part in enumerate(value):
            yield from _fields(part, f"{place}[{number}]")
    else:
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield place, _NONE if value is None else shown
