"""The configuration of a server as a tree: what stands at a place, and what holds there.

Paths are keys joined by dots.  In patterns of paths keys may have a shell's wildcards, ``[*]``
is each element of a list, and ``/`` at the beginning is beside the server's object, not in it.
"""

from __future__ import annotations

import ipaddress
import re
from bisect import bisect_right
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate
from typing import Any, NamedTuple

from leaselab.inputs.commented_json import Array, Object
from leaselab.inputs.json_tokens import Spot, octets
from leaselab.model.errors import LeaselabError, usage_error

_EACH = "[*]"
_BLANKS = {ord(" "): None, ord("\t"): None}


class Match(NamedTuple):
    """What stands at a path."""

    path: str
    value: Any
    spot: Spot
    around: tuple[Match, ...] = ()
    """The objects in which it stands, the nearest first, down to the server's."""


Replaced = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Of a keyword that stands for others: what each of its values means in these."""


class Level(Mapping[str, Any]):
    """What holds at an object: its own settings, then those of the objects around it."""

    def __init__(self, at: Match, replaced: Replaced) -> None:
        """Resolve what is at and around a place."""
        objects = [one for one in (at, *at.around) if isinstance(one.value, Object)]
        self._at = at
        self._objects = [(item, _settings(item.value, replaced)) for item in objects]
        self._names = ("", *replaced)

    def every(self, key: str) -> list[Any]:
        """The values of a key at all objects that have it, the nearest first."""
        return [own[key] for _, own in self._objects if key in own]

    def decided_at(self, key: str) -> Match:
        """Where the value of a key stands; its object where no object has it."""
        for at, own in self._objects:
            if key in own:
                name = next(name or key for name in self._names if (name or key) in at.value)
                return Match(f"{at.path}.{name}", at.value[name], at.value.spots[name])
        return self._at

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401  # of any type
        for _, own in self._objects:
            if key in own:
                return own[key]
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key for _, own in self._objects for key in own))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Configuration:
    """The configuration of one server, in an object that may hold others beside it."""

    def __init__(self, name: str, top: Object, prefix: str = "") -> None:
        """`name` is its key in `top`; `prefix` is the path of `top` in its file."""
        self.name, self._top, self._prefix = name, top, prefix
        self.whole = Match(prefix + name, top[name], top.spots[name])

    def at(self, *patterns: str) -> Iterator[Match]:
        """What stands at patterns of paths, one after the other, each in the file's order."""
        for pattern in patterns:
            steps = re.findall(r"[^.\[\]/]+|\[\*\]", pattern)
            if not pattern.startswith("/"):
                yield from _below(self.whole, steps)
                continue
            for key in _keys(self._top, steps[0]):
                match = Match(self._prefix + key, self._top[key], self._top.spots[key])
                yield from _below(match, steps[1:])

    def keywords(self, opaque: Collection[str]) -> Iterator[Match]:
        """Every key of the server's object and of those beside it, except below some keys."""
        for key, value in self._top.items():
            yield Match(self._prefix + key, value, self._top.spots[key])
        yield from _keywords(self.whole, opaque)

    def check(self, forms: Mapping[str, Any]) -> None:
        """Refuse values that have not the form that a tree of forms has at their place."""
        for pattern, form in forms.items():
            for match in self.at(pattern):
                _check(match, form)


def servers(value: Any, names: Collection[str], prefix: str = "") -> Iterator[Configuration]:  # noqa: ANN401  # of any type
    """The servers' configurations in a document, by names of their objects.

    It is a configuration, or what a server answers to config-get: that is below ``arguments``,
    and may be one of several in a list.
    """
    if isinstance(value, Array) and not prefix:
        for number, answer in enumerate(value):
            yield from servers(answer, names, f"[{number}].")
    elif isinstance(value, Object):
        held = [name for name in value if name in names]
        for name in held:
            yield Configuration(name, value, prefix)
        if not held and not prefix.endswith("arguments."):
            yield from servers(value.get("arguments"), names, f"{prefix}arguments.")


def lacking(match: Match, key: str) -> LeaselabError:
    """Make the usage error for an object without a key that its server needs."""
    wrong = refused(match)
    wrong.found = f"no {key}"
    return wrong


def refused(match: Match, wanted: str = "") -> LeaselabError:
    """Make the usage error for a value that no server takes; says its kind, never the value."""
    return usage_error(
        "a value of another type or form than the server takes",
        where=f"{match.spot}: {match.path}",
        found=kind_of(match.value) if wanted else "",
        wanted=wanted,
        todo="have the server itself check the file, such as kea-dhcp4 -t FILE",
    )


def kind_of(value: Any) -> str:  # noqa: ANN401  # of any type
    """What JSON calls a value."""
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return next((kind for type_, kind in kinds.items() if isinstance(value, type_)), "") or (
        "null" if value is None else "a number"
    )


def addresses(pool: str) -> int:
    """How many addresses a pool has: ``first - last``, or a prefix.  Raises ValueError."""
    low, high = ends_of(pool)
    return high - low + 1


def bytes_of(value: str) -> bytes:
    """The bytes of an identifier: text in quotes, or hexadecimal digits.  Raises ValueError."""
    value = value.strip()
    if quoted := re.fullmatch("'(.+)'", value):
        return octets(quoted[1])
    parts = [part for part in re.split("[: ]", value.removeprefix("0x")) if part]
    digits = "".join(part.zfill(len(part) + len(part) % 2) for part in parts)
    if not digits:
        raise ValueError("no identifier")
    return bytes.fromhex(digits)


def inside(hosts: Sequence[str], pools: Sequence[str]) -> int:
    """How many of some addresses are in any of some pools.  Raises ValueError."""
    ends = sorted(ends_of(pool) for pool in pools)
    lows, highs = [low for low, _ in ends], list(accumulate((high for _, high in ends), max))
    numbers = [int(ipaddress.ip_address(host)) for host in hosts]
    before = [bisect_right(lows, number) for number in numbers]
    return sum(
        last > 0 and number <= highs[last - 1]
        for number, last in zip(numbers, before, strict=True)
    )


def _settings(value: Object, replaced: Replaced) -> Mapping[str, Any]:
    meant = [replaced[key].get(str(value[key]), {}) for key in replaced if key in value]
    return {**value, **ChainMap(*map(dict, meant))} if meant else value


def _keys(value: Object, pattern: str) -> list[str]:
    """The keys of an object that a shell's pattern names."""
    if not re.search(r"[*?]", pattern):
        return [pattern] if pattern in value else []
    return [key for key in value if fnmatchcase(key, pattern)]


def _below(at: Match, steps: Sequence[str]) -> Iterator[Match]:
    if not steps:
        yield at
    elif steps[0] == _EACH and isinstance(at.value, Array):
        for number, value in enumerate(at.value):
            match = Match(f"{at.path}[{number}]", value, at.value.spots[number], at.around)
            yield from _below(match, steps[1:])
    elif isinstance(at.value, Object):
        for key in _keys(at.value, steps[0]):
            around = (at, *at.around)
            match = Match(f"{at.path}.{key}", at.value[key], at.value.spots[key], around)
            yield from _below(match, steps[1:])


def _check(match: Match, form: Any) -> None:  # noqa: ANN401  # a tree
    """Refuse a value that has not a form, which is of `FORMS`, or an object's or a list's."""
    kind: str = form
    steps: Mapping[str, Any] = {}
    if isinstance(form, Mapping):
        kind, steps = "an object", form
    elif isinstance(form, list):
        kind, steps = "a list", {_EACH: form[0]}
    if not FORMS[kind](match.value):
        raise refused(match, wanted=kind)
    for step, inner in steps.items():
        for below in _below(match, [step]):
            _check(below, inner)


def _keywords(at: Match, opaque: Collection[str]) -> Iterator[Match]:
    if isinstance(at.value, Array):
        for number, value in enumerate(at.value):
            yield from _keywords(Match(f"{at.path}[{number}]", value, at.spot), opaque)
    elif isinstance(at.value, Object):
        for key, value in at.value.items():
            match = Match(f"{at.path}.{key}", value, at.value.spots[key])
            yield match
            if key not in opaque:
                yield from _keywords(match, opaque)


def network_of(prefix: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return the network of a prefix, in which may be blanks.  Raises ValueError."""
    address, slash, length = prefix.translate(_BLANKS).partition("/")
    if not slash:
        raise ValueError("no length")
    return ipaddress.ip_network((address, int(length)), strict=False)


def ends_of(pool: str) -> tuple[int, int]:
    """Return the first and the last address of a pool, as `addresses` reads it."""
    pool = pool.translate(_BLANKS)
    if "/" in pool:
        network = ipaddress.ip_network(pool, strict=False)
        return int(network.network_address), int(network.broadcast_address)
    first, last = (ipaddress.ip_address(end) for end in pool.split("-"))
    if first.version != last.version or int(first) > int(last):
        raise ValueError("the ends of a pool are not in order")
    return int(first), int(last)


def _takes(read: Callable[[str], Any]) -> Callable[[Any], bool]:
    """Whether a function reads a value, which has to be a string."""

    def taken(value: Any) -> bool:  # noqa: ANN401  # of any type
        try:
            return isinstance(value, str) and read(value) is not None
        except ValueError:
            return False

    return taken


FORMS: Mapping[str, Callable[[Any], bool]] = {
    "an object": lambda value: isinstance(value, Object),
    "a list": lambda value: isinstance(value, Array),
    "a string": lambda value: isinstance(value, str),
    "true or false": lambda value: isinstance(value, bool),
    "a whole number of 32 bits": lambda value: (
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32
    ),
    "a number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "an address": _takes(ipaddress.ip_address),
    "a pool: first - last, or a prefix": _takes(addresses),
    "a prefix": _takes(network_of),
    "an identifier of hexadecimal digits, or a text": _takes(bytes_of),
}
"""Forms of values by their names in errors, each with the test of a value for it."""
