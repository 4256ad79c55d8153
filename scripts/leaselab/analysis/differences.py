"""What differs between results: configuration, environment, procedure, field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from leaselab.model.record import Record

_EVERY_TIME = re.compile(
    r"bench\.lock_owner|provenance\.command|[^.]+\.(config_file|variant)"
    r"|scenario\.(description|factors\..+|across|(server|support)\.untold)"
)
"""Fields that differ without meaning anything, or say again what another says."""
_NAMES_BUILDS = re.compile(r"(?P<role>[^.]+)\.(running_)?config_sha256")
"""Hashes of configurations that contain the names of a build: no two builds have the same."""
_NONE = "-"


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
