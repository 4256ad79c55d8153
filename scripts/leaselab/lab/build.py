"""Building frozen values from parsed files, refusing what does not belong."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from leaselab.model.errors import usage_error

T = TypeVar("T")


def build(kind: type[T], data: Any, where: str) -> T:  # noqa: ANN401  (parsed JSON or YAML)
    """Build a dataclass from a mapping, nested ones too.

    Raises a usage error for an unknown key (naming the nearest), a missing
    key, or a value of another type; `where` says which file and key.
    """
    if not isinstance(data, Mapping):
        raise usage_error("not a mapping", where=where, found=repr(data), wanted="key: value")
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    for key in data:
        if key not in fields:
            raise unknown("key", str(key), list(fields), where)
    values = {key: _value(hints[key], value, f"{where}: {key}") for key, value in data.items()}
    missing = [
        name
        for name, field in fields.items()
        if name not in values
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise usage_error("key missing", where=where, wanted=", ".join(missing))
    return kind(**values)


def unknown(what: str, found: str, known: list[str], where: str) -> Exception:
    """Make the usage error for a name that does not exist, naming the nearest."""
    near = difflib.get_close_matches(found, known, n=1, cutoff=0.4)
    return usage_error(
        f"unknown {what} {found!r}",
        where=where,
        wanted="" if near else f"one of {', '.join(sorted(known))}",
        todo=f"did you mean {near[0]!r}?" if near else "",
    )


def _value(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401  (any field of any dataclass)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(_one_of(tuple(member.value for member in hint), value, where))
    if dataclasses.is_dataclass(hint):
        return build(typing.cast("type[Any]", hint), value, where)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return _one_of(arguments, value, where)
    if origin in (types.UnionType, typing.Union):  # the only ones here are "X | None"
        return value if value is None else _value(arguments[0], value, where)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise usage_error("not a mapping", where=where, found=repr(value))
        inner = arguments[1]
        return {key: _value(inner, item, f"{where}: {key}") for key, item in value.items()}
    return _plain(hint, value, where)


def _one_of(choices: tuple[Any, ...], value: Any, where: str) -> Any:  # noqa: ANN401  (as above)
    if value not in choices:
        wanted = " or ".join(map(repr, choices))
        raise usage_error("value not allowed", where=where, found=repr(value), wanted=wanted)
    return value


def _plain(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401  (as above)
    if hint is Any:
        return value
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise usage_error(
            "value of another type", where=where, found=repr(value), wanted=hint.__name__
        )
    return value
