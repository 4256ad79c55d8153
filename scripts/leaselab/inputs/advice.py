"""Finds known costs in the configuration of a server, as the server's role declares them.

``vars/costs.yml`` of a role says what costs, where a configuration says so and under which
condition, and which points of experiments measure it; ``vars/advice.yml`` says what cannot be
judged.  Conditions are Jinja's, as those of a role's ``tasks/scenario.yml``; filters for its
language are in the role's ``filter_plugins``.  So no module knows a server, and a role can
declare its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import jinja2

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.releases import numbers, version_of
from leaselab.inputs.commented_json import Document, Object, read_commented_json
from leaselab.inputs.configuration import (
    Configuration,
    Level,
    Match,
    addresses,
    inside,
    kind_of,
    refused,
    servers,
)
from leaselab.inputs.json_tokens import Spot, below, in_place, plain
from leaselab.inputs.kea.grammar import FILTERS
from leaselab.inputs.known_costs import (
    KnownCost,
    KnownCosts,
    KnownPair,
    kinds_of_objects,
    known_costs,
)
from leaselab.model.advice import Advice, Cost, Finding, NotJudged, Place
from leaselab.model.errors import LeaselabError, usage_error

_BAD_CONFIGURATION = (
    jinja2.TemplateRuntimeError,
    TypeError,
    AttributeError,
    ValueError,
    LookupError,
    ArithmeticError,
)
"""What conditions raise where a configuration has a value of another type than its server's."""


class Given(NamedTuple):
    """What is known beside a configuration; None where it is not."""

    version: str | None = None
    """Release of the server, or its package's version."""
    clients: int | None = None
    """Number of clients that it is to serve."""
    processors: int | None = None
    """Number of processors that it may use."""
    host_processors: int | None = None
    """Number of processors of its host, where a quota gives it the time of fewer."""
    scenarios: Set[str] = frozenset()
    """Names of the scenarios that may measure a cost."""


class Judge:
    """Asks conditions of one server's configuration."""

    def __init__(
        self,
        costs: KnownCosts,
        configuration: Configuration,
        release: str,
        given: Given,
    ) -> None:
        """Raises a usage error for values that no server takes."""
        self.costs, self.configuration, self.scenarios = costs, configuration, given.scenarios
        self.release, self.kind = release, kinds_of_objects()[configuration.name]
        whole = configuration.whole
        if not isinstance(whole.value, Object):
            raise refused(whole, wanted="an object")
        configuration.check(costs.values)
        self._known: dict[str, Any] = {
            "version": numbers(release),
            "clients": given.clients,
            "processors": given.processors,
            "host_processors": given.host_processors,
            "object": configuration.name,
            "server": whole.value,
            "unread": lambda key: bool(whole.value.unread & {key, ""}),
            "at": lambda *patterns: [match.value for match in configuration.at(*patterns)],
            "levels": lambda *patterns: [self.level(at) for at in configuration.at(*patterns)],
            "inside": inside,
        }
        for name, expression in costs.facts.items():
            self._known[name] = self.ask(expression, whole)

    def seen(self, cost: KnownCost) -> list[Match]:
        """Where the configuration has a cost."""
        return self.meets(self.configuration.at(*cost.at), cost.when)

    def meets(self, places: Iterable[Match], condition: str) -> list[Match]:
        """The places that meet a condition."""
        return [
            match
            for match in places
            if self.ask(condition, match, value=match.value, level=self.level(match))
        ]

    def level(self, match: Match) -> Level:
        """What holds at a place."""
        return Level(match, self.costs.replaced)

    def ask(self, expression: str, at: Match, **values: Any) -> Any:  # noqa: ANN401  # of any type
        """The value of an expression; a usage error for a configuration of other types."""
        try:
            return _expression(expression)({**self._known, **values})
        except _BAD_CONFIGURATION as error:
            raise refused(at) from error

    def render(self, template: str, at: Match, **values: Any) -> str:  # noqa: ANN401  # of any type
        """A template's text; errors as those of `ask`."""
        try:
            return plain(_template(template).render({**self._known, **values}))
        except _BAD_CONFIGURATION as error:
            raise refused(at) from error


def judges(document: Document, given: Given) -> list[Judge]:
    """One for each server that a document configures, all of one kind.

    Raises a usage error for a document that is no configuration of a known kind of server.
    """
    kinds = kinds_of_objects()
    held = list(servers(document.top, kinds))
    if not held:
        raise _no_configuration(document, kinds)
    kind = kinds[held[0].name]
    costs = known_costs()[kind]
    release = version_of(costs.version if given.version is None else given.version)
    if not release:
        raise usage_error(
            "not a release",
            where="--server-version",
            found=str(given.version),
            wanted=f"as {costs.version}, or as {costs.version}.1-2 of a package",
        )
    return [Judge(costs, one, release, given) for one in held if kinds[one.name] == kind]


def _no_configuration(document: Document, kinds: Mapping[str, str]) -> LeaselabError:
    """Describe a document that holds no configuration of a server."""
    what = kind_of(document.top)
    if isinstance(document.top, Object):
        keys = [plain(key[:40]) for key in list(document.top)[:5]]
        what = ", ".join(keys) or "an empty object"
    return usage_error(
        "not the configuration of a server whose costs are known",
        where=str(document.spot),
        found=what,
        wanted=f"an object with {' or '.join(kinds)}, or an answer to config-get that has it",
        todo="name the file that the server itself reads",
    )


@cache
def _environment() -> jinja2.Environment:
    """Jinja with the filters of conditions: those here, and those of Kea's language."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701  # plain text
    environment.filters |= {
        "addresses": addresses,
        "stem": lambda path: PurePosixPath(path).stem,
    }
    environment.filters |= FILTERS
    return environment


@cache
def _expression(text: str) -> Callable[..., Any]:
    return _environment().compile_expression(text, undefined_to_none=False)


@cache
def _template(text: str) -> jinja2.Template:
    return _environment().from_string(text)


def advise(
    file: Path, catalogue: Catalogue, given: Given, *, root: Path | None = None
) -> Advice:
    """Return the known costs that a configuration file has, and what was not judged.

    `file` may also be a server's answer to config-get, or ``-`` for standard input; `root` is
    where absolute names of included files are looked for.  `catalogue` has the
    scenarios that costs name.
    Raises a usage error for a file that is no configuration of a known kind of server.
    """
    document = read_commented_json(file, below(root) if root else in_place)
    asked = judges(document, given._replace(scenarios=catalogue.scenarios.keys()))
    return Advice(
        file=document.spot.source.name,
        server=asked[0].kind,
        version=asked[0].release,
        not_judged=(
            *_unread(document),
            *(unjudged for judge in asked for unjudged in _not_judged(judge)),
        ),
        findings=tuple(finding for judge in asked for finding in _findings(judge)),
    )


def _unread(document: Document) -> Iterator[NotJudged]:
    for unread in document.unread:
        yield NotJudged(
            what=f"included file not read: {plain(unread.name)}",
            why=unread.why,
            places=(_place("", unread.spot),),
        )


def _findings(judge: Judge) -> Iterator[Finding]:
    """The costs that a configuration has."""
    for cost in judge.costs.costs:
        seen = judge.seen(cost)
        if seen:
            yield _finding(judge, cost, seen)


def _not_judged(judge: Judge) -> Iterator[NotJudged]:
    """What a configuration says that cannot be judged."""
    for rule in judge.costs.not_judged:
        named: dict[str, list[Place]] = {}
        for match in judge.meets(judge.configuration.at(*rule.at), rule.when):
            what = judge.render(rule.what, match, value=match.value)
            named.setdefault(what, []).append(_place(match.path, match.spot))
        for what, places in named.items():
            yield NotJudged(what=what, why=rule.why, places=tuple(places))
    yield from _of_another_release(judge)


def _of_another_release(judge: Judge) -> Iterator[NotJudged]:
    release = numbers(judge.release)
    places: dict[tuple[str, str], list[Place]] = {}
    for match, first, gone in judge.costs.released(judge.configuration):
        word = match.path.rpartition(".")[2]
        when = f"since {first}" if first and release < numbers(first) else ""
        when = f"before {gone}" if gone and release >= numbers(gone) else when
        if when:
            places.setdefault((word, when), []).append(_place(match.path, match.spot))
    for (word, when), stands_at in places.items():
        why = f"only releases {when} have it; judged as {'.'.join(map(str, release))}"
        yield NotJudged(what=f"keyword {word}", why=why, places=tuple(stands_at))


def _finding(judge: Judge, cost: KnownCost, seen: list[Match]) -> Finding:
    first, levels = seen[0], [judge.level(match) for match in seen]
    values = {
        "value": first.value,
        "values": [match.value for match in seen],
        "level": levels[0],
        "levels_seen": levels,
    }
    places = seen
    if cost.setting:
        places = [level.decided_at(cost.setting) for level in levels]
    return Finding(
        name=cost.name,
        what=cost.what,
        found=judge.render(cost.found, first, **values),
        todo=cost.todo,
        places=tuple(dict.fromkeys(_place(match.path, match.spot) for match in places)),
        costs=tuple(
            _cost(judge, pair) for pair in cost.pairs if judge.ask(pair.when, first, **values)
        ),
    )


def _cost(judge: Judge, pair: KnownPair) -> Cost:
    """Name the scenarios of a pair: of the nearest load that has both."""
    name = judge.configuration.name
    for prefix in judge.costs.objects[name]:
        point, base = f"{prefix}-{pair.point}", f"{prefix}-{pair.base}"
        if {point, base} <= judge.scenarios:
            return Cost(point=point, base=base, command=f"leaselab run {point} {base}")
    raise usage_error(
        "advice names scenarios that do not exist",
        where=name,
        found=f"{pair.point}, {pair.base}",
        wanted="names of scenarios without the prefix of their load",
    )


def _place(path: str, spot: Spot) -> Place:
    return Place(path=plain(path), file=plain(spot.source.name), line=spot.line)
