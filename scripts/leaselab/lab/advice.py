"""Finds known costs in the configuration of a server, as the server's role declares them.

``vars/advice.yml`` of a role says what costs, where a configuration says so and under which
condition, and which points of experiments measure it.  Conditions are Jinja's, as those of a
role's ``tasks/scenario.yml``.  So no module knows a server, and a role can declare its own.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Set
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2
from msgspec import Struct

from leaselab.lab.build import build
from leaselab.lab.catalog import load_scenarios
from leaselab.lab.commented_json import Array, Object, Spot, read_commented_json
from leaselab.lab.roles import ROLES, read_yaml
from leaselab.model.advice import Advice, Cost, Finding, Place
from leaselab.model.errors import usage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

_EACH = "[*]"
_VERSION = re.compile(r"\d+(\.\d+)*")
_BAD_CONFIGURATION = (
    jinja2.TemplateRuntimeError,
    TypeError,
    AttributeError,
    ValueError,
    KeyError,
    OverflowError,
)
"""What conditions raise where a configuration has a value of another type than its server's."""


class KnownPair(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two scenarios that differ in a cost; names lack the prefix of the load."""

    point: str
    """The one that has it."""
    base: str
    """The one that has not."""
    when: str = "true"
    """Condition on the configuration for this pair to be the one."""


class KnownCost(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that is known to cost, and how a configuration is seen to have it."""

    name: str
    """Name, in small letters and dashes."""
    what: str
    """What costs."""
    at: tuple[str, ...]
    """Patterns of paths at which `when` is asked, below the server's object; "" is itself."""
    when: str
    """Condition; `value` is what stands at the path."""
    found: str
    """Template that says what the configuration has; `values` are those that meet `when`."""
    todo: str
    """What to do about it."""
    pairs: tuple[KnownPair, ...] = ()
    """Points that measure it."""


class KnownCosts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The known costs of a kind of server, from its role's ``vars/advice.yml``."""

    objects: Mapping[str, tuple[str, ...]]
    """By the name of the object that holds a server's configuration: prefixes of the scenarios
    that measure it, the nearest first."""
    version: str
    """Release whose defaults hold unless another is named."""
    facts: Mapping[str, str] = {}
    """Expressions that conditions may use by name, each of those before it."""
    costs: tuple[KnownCost, ...]
    """The costs, in the order in which they are told."""


class _Match(NamedTuple):
    path: str
    value: Any
    spot: Spot


@cache
def known_costs() -> Mapping[str, KnownCosts]:
    """What roles declare, by kind of server."""
    found = {}
    for path in sorted(ROLES.glob("*/vars/advice.yml")):
        name = path.parents[1].name
        declared = read_yaml(path)[f"{name}_advice"]
        found[name] = build(KnownCosts, declared, f"role {name}: advice")
    return found


def advise(
    file: Path,
    scenarios: Path,
    *,
    version: str | None = None,
    clients: int | None = None,
    processors: int | None = None,
) -> Advice:
    """Return the known costs that a configuration file has.

    `scenarios` is the folder of scenario files, `version` the server's release, `clients` how
    many clients it is to serve, `processors` how many its host has; None where unknown.
    Raises a usage error for a file that is no configuration of a known kind of server.
    """
    document = read_commented_json(file)
    kinds = {name: kind for kind, one in known_costs().items() for name in one.objects}
    held = [name for name in document.top if name in kinds]
    if not held:
        raise usage_error(
            "not the configuration of a server whose costs are known",
            where=str(file),
            found=", ".join(list(document.top)[:5]) or "an empty object",
            wanted=f"an object with {' or '.join(kinds)}",
            todo="name the file that the server itself reads",
        )
    kind = kinds[held[0]]
    costs = known_costs()[kind]
    release = version or costs.version
    if not _VERSION.fullmatch(release):
        raise usage_error(
            "not a release",
            where="--server-version",
            found=release,
            wanted=f"as {costs.version}",
        )
    given = {
        "version": tuple(int(part) for part in release.split(".")),
        "clients": clients,
        "processors": processors,
    }
    names = load_scenarios(scenarios).keys()
    return Advice(
        file=str(file),
        server=kind,
        version=release,
        unread=document.unread,
        findings=tuple(
            finding
            for name in held
            if kinds[name] == kind
            for finding in _Judge(costs, name, document.top, given, names).findings()
        ),
    )


def matches(top: Object, name: str, pattern: str) -> Iterator[_Match]:
    """What stands at a pattern of paths below member `name` of `top`, in the order of the file.

    Keys are joined by dots and may have a shell's wildcards; ``[*]`` is each element of a list.
    """
    steps = re.findall(r"[^.\[\]]+|\[\*\]", pattern)
    yield from _below(_Match(name, top[name], top.spots[name]), steps)


def _below(at: _Match, steps: Sequence[str]) -> Iterator[_Match]:
    if not steps:
        yield at
    elif steps[0] == _EACH and isinstance(at.value, Array):
        for number, value in enumerate(at.value):
            spot = at.value.spots[number]
            yield from _below(_Match(f"{at.path}[{number}]", value, spot), steps[1:])
    elif isinstance(at.value, Object):
        for key in at.value:
            if fnmatchcase(key, steps[0]):
                spot = at.value.spots[key]
                yield from _below(_Match(f"{at.path}.{key}", at.value[key], spot), steps[1:])


class _Judge:
    """Asks each known cost's condition of one server's object."""

    def __init__(
        self,
        costs: KnownCosts,
        name: str,
        top: Object,
        given: Mapping[str, Any],
        scenarios: Set[str],
    ) -> None:
        self._costs, self._name, self._top = costs, name, top
        self._scenarios = scenarios
        self._known: dict[str, Any] = {
            **given,
            "object": name,
            "server": top[name],
            "at": self._values,
            "inside": inside,
        }

    def findings(self) -> Iterator[Finding]:
        """The costs that it has.  Raises a usage error for values that no server takes."""
        if not isinstance(self._top[self._name], Object):
            raise self._refused(self._top.spots[self._name], self._name)
        for name, expression in self._costs.facts.items():
            self._known[name] = self._ask(
                expression, {}, self._top.spots[self._name], self._name
            )
        for cost in self._costs.costs:
            finding = self._finding(cost)
            if finding is not None:
                yield finding

    def _finding(self, cost: KnownCost) -> Finding | None:
        seen = [
            match
            for pattern in cost.at
            for match in matches(self._top, self._name, pattern)
            if self._ask(cost.when, {"value": match.value}, match.spot, match.path)
        ]
        if not seen:
            return None
        first = seen[0]
        values = {"value": first.value, "values": [match.value for match in seen]}
        pairs = [
            pair for pair in cost.pairs if self._ask(pair.when, values, first.spot, first.path)
        ]
        try:
            found = _template(cost.found).render({**self._known, **values})
        except _BAD_CONFIGURATION as error:
            raise self._refused(first.spot, first.path) from error
        return Finding(
            name=cost.name,
            what=cost.what,
            found=found.encode("utf-8", "replace").decode(),
            todo=cost.todo,
            places=tuple(
                Place(path=match.path, file=match.spot.source.name, line=match.spot.line)
                for match in seen
            ),
            costs=tuple(self._cost(pair) for pair in pairs),
        )

    def _cost(self, pair: KnownPair) -> Cost:
        """Name the scenarios of a pair: of the nearest load that has both."""
        for prefix in self._costs.objects[self._name]:
            point, base = f"{prefix}-{pair.point}", f"{prefix}-{pair.base}"
            if {point, base} <= self._scenarios:
                return Cost(point=point, base=base, command=f"leaselab run {point} {base}")
        raise usage_error(
            "advice names scenarios that do not exist",
            where=self._name,
            found=f"{pair.point}, {pair.base}",
            wanted="names of scenarios without the prefix of their load",
        )

    def _values(self, *patterns: str) -> list[Any]:
        return [
            match.value
            for pattern in patterns
            for match in matches(self._top, self._name, pattern)
        ]

    def _ask(self, expression: str, values: Mapping[str, Any], spot: Spot, path: str) -> Any:  # noqa: ANN401  # of any type
        try:
            return _expression(expression)({**self._known, **values})
        except _BAD_CONFIGURATION as error:
            raise self._refused(spot, path) from error

    def _refused(self, spot: Spot, path: str) -> Exception:
        return usage_error(
            "something in here has another type or form than the server takes",
            where=f"{spot}: {path}",
            todo="have the server itself check the file",
        )


def addresses(pool: str) -> int:
    """How many addresses a pool has: ``first - last``, or a prefix.  Raises ValueError."""
    low, high = _ends(pool)
    return high - low + 1


def inside(hosts: Sequence[str], pools: Sequence[str]) -> int:
    """How many of some addresses are in any of some pools.  Raises ValueError."""
    ends = [_ends(pool) for pool in pools]
    numbers = [int(ipaddress.ip_address(host)) for host in hosts]
    return sum(any(low <= one <= high for low, high in ends) for one in numbers)


def _ends(pool: str) -> tuple[int, int]:
    if "/" in pool:
        network = ipaddress.ip_network(pool.replace(" ", ""), strict=False)
        return int(network.network_address), int(network.broadcast_address)
    first, last = (int(ipaddress.ip_address(end.strip())) for end in pool.split("-"))
    return first, last


_JINJA = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701  # plain text
_JINJA.filters |= {"addresses": addresses, "stem": lambda path: PurePosixPath(path).stem}


@cache
def _expression(text: str) -> Callable[..., Any]:
    return _JINJA.compile_expression(text, undefined_to_none=False)


@cache
def _template(text: str) -> jinja2.Template:
    return _JINJA.from_string(text)
