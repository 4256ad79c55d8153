"""Building frozen values from parsed files, refusing what does not belong."""

from __future__ import annotations

import re
import reprlib
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar

import msgspec

from leaselab.model.errors import LeaselabError, unknown, usage_error

T = TypeVar("T")
Keys = tuple[Any, ...]
"""Keys and indices that lead to a value of a document."""


def build(kind: type[T], data: Any, where: str) -> T:  # noqa: ANN401  (parsed JSON or YAML)
    """Build a dataclass or struct from a mapping, nested ones too.

    Raises a usage error for an unknown key (naming the nearest), a missing
    key, or a value of another type; `where` says which file and key.
    """
    if not isinstance(data, Mapping):
        raise usage_error("not a mapping", where=where, found=shown(data), wanted="key: value")
    _refuse_unknown(kind, data, where)
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise _refused(str(error), data, where) from error


def faults(
    kind: Any,  # noqa: ANN401  # the type of a field
    data: Any,  # noqa: ANN401  # parsed YAML
    place: Callable[[Keys], str],
    path: Keys = (),
) -> list[LeaselabError]:
    """Return all that keeps parsed YAML from being a struct, or a part of one.

    `place` says where the value at a path is; what a type takes is its `Meta.description`.
    """
    bare = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
    inner = typing.get_args(bare)
    errors: list[LeaselabError] = []
    if (
        isinstance(bare, type)
        and issubclass(bare, msgspec.Struct)
        and isinstance(data, Mapping)
    ):
        fields = {field.name: field for field in msgspec.structs.fields(bare)}
        for key, value in data.items():
            if key in fields:
                errors += faults(fields[key].type, value, place, (*path, key))
            else:
                errors.append(unknown("key", str(key), list(fields), place((*path, key))))
        errors += [
            usage_error("a key is missing", where=place(path), wanted=name, todo="add it")
            for name, field in fields.items()
            if field.required and name not in data
        ]
        return errors
    if typing.get_origin(bare) is dict and isinstance(data, Mapping):
        for key, value in data.items():
            errors += faults(inner[1], value, place, (*path, key))
    elif typing.get_origin(bare) is tuple and isinstance(data, list):
        for number, value in enumerate(data):
            errors += faults(inner[0], value, place, (*path, number))
    return errors or _misfit(kind, data, place(path))


def _misfit(kind: Any, data: Any, where: str) -> list[LeaselabError]:  # noqa: ANN401  # as above
    try:
        msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        refused = _refused(str(error), data, where)
        if takes := _takes(kind):
            refused.what, refused.found = "it does not take this value", shown(data)
            refused.wanted, refused.todo = takes, "correct it"
        return [refused]
    return []


def _takes(kind: Any) -> str:  # noqa: ANN401  # as above
    """What a type takes, by its description; empty where it has none."""
    if typing.get_origin(kind) not in (typing.Annotated, typing.Union, types.UnionType):
        return ""
    inner = typing.get_args(kind)
    texts = (one.description if isinstance(one, msgspec.Meta) else _takes(one) for one in inner)
    return next(filter(None, texts), "")


_OF_LISTS = reprlib.Repr()
_OF_LISTS.maxlevel, _OF_LISTS.maxstring = 2, 40


def shown(value: object) -> str:
    """A value as an error shows it, of at most 40 characters."""
    try:
        # Of lists the first: by aliases, a short file may stand for gigabytes.
        return (_OF_LISTS.repr if isinstance(value, Mapping | list) else repr)(value)[:40]
    except ValueError:  # Python writes no number of thousands of digits
        return "a number of thousands of digits"


def _refused(message: str, data: Any, where: str) -> LeaselabError:  # noqa: ANN401  (as above)
    """Return msgspec's words for what does not fit as an error that says found and wanted."""
    what, _, place = message.replace("`", "").partition(" - at ")
    of_key, _, path = place.partition("$")
    keys = path.replace(".", ": ")
    place = f"{where}{keys}".replace(": [", "[")
    if match := re.fullmatch(r"Object missing required field (.+)", what):
        return usage_error("a key is missing", where=place, wanted=match[1])
    if of_key:  # YAML reads `on`, `no` and dates as what they look like
        return usage_error("a key that is no text", where=place, todo="put it in quotes")
    if match := re.fullmatch(r"Expected (.+), got (.+)", what):
        held = f"{match[2]} {_at(path, data)}".rstrip()
        return usage_error("value of another type", where=place, found=held, wanted=match[1])
    return usage_error(what, where=place, todo="correct this value")


def _at(path: str, data: Any) -> str:  # noqa: ANN401  (as above)
    """The plain value at a path of msgspec's; empty for others."""
    for name, number in re.findall(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]", path):
        try:
            data = data[name or int(number)]
        except (LookupError, TypeError, ValueError):
            return ""
    return "" if isinstance(data, Mapping | list) or data is None else shown(data)


def _refuse_unknown(hint: Any, data: Any, where: str) -> None:  # noqa: ANN401  (any field's)
    """Refuse keys that no field has: msgspec ignores them in dataclasses."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        for arm in arguments:
            _refuse_unknown(arm, data, where)
    elif isinstance(data, Mapping):
        known = _fields(hint) if isinstance(hint, type) else {}
        for key, value in data.items():
            if known and key not in known:
                raise unknown("key", str(key), list(known), where)
            inner = known[key] if known else arguments[-1] if arguments else Any
            _refuse_unknown(inner, value, f"{where}: {key}")
    elif isinstance(data, list | tuple) and arguments:
        for value in data:
            _refuse_unknown(arguments[0], value, where)


@cache
def _fields(kind: type) -> Mapping[str, Any]:
    """Types of the fields of a dataclass or struct by name; none of anything else."""
    if is_dataclass(kind) or issubclass(kind, msgspec.Struct):
        return typing.get_type_hints(kind)
    return {}
