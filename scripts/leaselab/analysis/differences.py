"""What differs between results: configuration, environment, goal, field by field."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PARTS = ("scenario", "goal", "server", "partner", "generator", "bench", "provenance")
_EVERY_TIME = frozenset(
    {
        "bench.lock_owner",
        "provenance.command",
        "server.config_file",
        "partner.config_file",
        "scenario.description",
    }
)
"""Fields that differ without meaning anything, or say again what another says."""
_NONE = "-"


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not the same in all of several results."""

    field: str
    """Its place, such as ``server.build.options.cxxflags``."""
    values: tuple[str, ...]
    """What each result has there, in their order."""


def differences(documents: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Return the fields of result documents that differ, in the order of the schema."""
    parts = [{part: document.get(part) for part in _PARTS} for document in documents]
    return [found for found in field_differences(parts) if found.field not in _EVERY_TIME]


def field_differences(values: Sequence[Any]) -> list[Difference]:
    """Return the fields that differ between parts of documents, each of them any JSON."""
    return _differing([dict(_fields(value)) for value in values])


def config_differences(configs: Sequence[str | None]) -> list[Difference]:
    """Return the settings that differ between configuration files.

    JSON is compared field by field, other text line by line: a line that not
    all of them have.
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


def _json(text: str | None) -> Any:  # noqa: ANN401  # whatever the file holds
    try:
        return json.loads(text or "")
    except ValueError:
        return None


def _fields(value: Any, place: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401  # JSON
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _fields(part, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        for number, part in enumerate(value):
            yield from _fields(part, f"{place}[{number}]")
    else:
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield place, _NONE if value is None else shown
