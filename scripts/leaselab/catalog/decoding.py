"""Building frozen values from parsed files, refusing what does not belong."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar

import msgspec

from leaselab.model.errors import LeaselabError, unknown, usage_error

T = TypeVar("T")


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


def shown(value: object) -> str:
    """A value as an error shows it, of at most 40 characters."""
    try:
        return repr(value)[:40]
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
