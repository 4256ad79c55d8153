"""Finds known costs in the configuration of a server, as the server's role declares them.

``vars/advice.yml`` of a role says what costs, where a configuration says so and under which
condition, which points of experiments measure it, and what cannot be judged.  Conditions are
Jinja's, as those of a role's ``tasks/scenario.yml``; filters for its language are in the role's
``filter_plugins``.  So no module knows a server, and a role can declare its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import jinja2

from leaselab.lab.catalog import load_scenarios
from leaselab.lab.commented_json import Document, Object, read_commented_json
from leaselab.lab.configuration import (
    Configuration,
    Level,
    Match,
    addresses,
    inside,
    kind_of,
    refused,
    servers,
)
from leaselab.lab.json_tokens import Spot, plain
from leaselab.lab.known_costs import (
    KnownCost,
    KnownCosts,
    KnownPair,
    kinds_of_objects,
    known_costs,
)
from leaselab.lab.roles import ROLES, load_module
from leaselab.model.advice import Advice, Cost, Finding, NotJudged, Place
from leaselab.model.errors import LeaselabError, usage_error

_VERSION = re.compile(r"(?:\d{1,4}:)?v?(\d{1,9}(?:\.\d{1,9}){0,9})(?:[-+~_,].*)?")
"""A release, or the version of its package: epoch, release, what the distribution adds."""
_BAD_CONFIGURATION = (
    jinja2.TemplateRuntimeError,
    TypeError,
    AttributeError,
    ValueError,
    LookupError,
    ArithmeticError,
)
"""What conditions raise where a configuration has a value of another type than its server's."""


def advise(
    file: Path,
    scenarios: Path,
    *,
    root: Path | None = None,
    version: str | None = None,
    clients: int | None = None,
    processors: int | None = None,
) -> Advice:
    """Return the known costs that a configuration file has, and what was not judged.

    `file` may also be a server's answer to config-get, or ``-`` for standard input; `root` is
    where absolute names of included files are looked for.  `scenarios` is the folder of
    scenario files, `version` the server's release or its package's version, `clients` how many
    clients it is to serve, `processors` how many its host has; None where unknown.
    Raises a usage error for a file that is no configuration of a known kind of server.
    """
    document = read_commented_json(file, root)
    kinds = kinds_of_objects()
    held = list(servers(document.top, kinds))
    if not held:
        raise _no_configuration(document, kinds)
    kind = kinds[held[0].name]
    costs = known_costs()[kind]
    release = _VERSION.fullmatch(costs.version if version is None else version)
    if release is None:
        raise usage_error(
            "not a release",
            where="--server-version",
            found=str(version),
            wanted=f"as {costs.version}, or as {costs.version}.1-2 of a package",
        )
    given = {"version": _numbers(release[1]), "clients": clients, "processors": processors}
    names = load_scenarios(scenarios).keys()
    judges = [_Judge(costs, one, given, names) for one in held if kinds[one.name] == kind]
    return Advice(
        file=document.spot.source.name,
        server=kind,
        version=release[1],
        not_judged=(
            *_unread(document),
            *(one for judge in judges for one in judge.not_judged()),
        ),
        findings=tuple(finding for judge in judges for finding in judge.findings()),
    )


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


def _unread(document: Document) -> Iterator[NotJudged]:
    for unread in document.unread:
        yield NotJudged(
            what=f"included file not read: {plain(unread.name)}",
            why=unread.why,
            places=(_place("", unread.spot),),
        )


class _Judge:
    """Asks each known cost's condition of one server's configuration."""

    def __init__(
        self,
        costs: KnownCosts,
        configuration: Configuration,
        given: Mapping[str, Any],
        scenarios: Set[str],
    ) -> None:
        self._costs, self._configuration, self._scenarios = costs, configuration, scenarios
        whole = configuration.whole
        if not isinstance(whole.value, Object):
            raise refused(whole, wanted="an object")
        configuration.check(costs.values)
        self._known: dict[str, Any] = {
            **given,
            "object": configuration.name,
            "server": whole.value,
            "unread": lambda key: bool(whole.value.unread & {key, ""}),
            "at": lambda *patterns: [match.value for match in configuration.at(*patterns)],
            "levels": lambda *patterns: [self._level(at) for at in configuration.at(*patterns)],
            "inside": inside,
        }
        for name, expression in costs.facts.items():
            self._known[name] = self._ask(expression, whole)

    def findings(self) -> Iterator[Finding]:
        """The costs that it has.  Raises a usage error for values that no server takes."""
        for cost in self._costs.costs:
            seen = self._meets(cost.at, cost.when)
            if seen:
                yield self._finding(cost, seen)

    def not_judged(self) -> Iterator[NotJudged]:
        """What it says that cannot be judged."""
        for rule in self._costs.not_judged:
            named: dict[str, list[Place]] = {}
            for match in self._meets(rule.at, rule.when):
                what = self._render(rule.what, match, value=match.value)
                named.setdefault(what, []).append(_place(match.path, match.spot))
            for what, places in named.items():
                yield NotJudged(what=what, why=rule.why, places=tuple(places))
        yield from self._of_another_release()

    def _of_another_release(self) -> Iterator[NotJudged]:
        release = self._known["version"]
        others = {
            **{
                word: f"since {first}"
                for first, words in self._costs.since.items()
                if release < _numbers(first)
                for word in words
            },
            **{
                word: f"before {first}"
                for first, words in self._costs.until.items()
                if release >= _numbers(first)
                for word in words
            },
        }
        places: dict[str, list[Place]] = {}
        for match in self._configuration.keywords(self._costs.opaque) if others else ():
            word = match.path.rpartition(".")[2]
            if word in others:
                places.setdefault(word, []).append(_place(match.path, match.spot))
        for word, stands_at in places.items():
            judged = ".".join(map(str, release))
            why = f"only releases {others[word]} have it; judged as {judged}"
            yield NotJudged(what=f"keyword {word}", why=why, places=tuple(stands_at))

    def _meets(self, patterns: tuple[str, ...], condition: str) -> list[Match]:
        return [
            match
            for match in self._configuration.at(*patterns)
            if self._ask(condition, match, value=match.value, level=self._level(match))
        ]

    def _finding(self, cost: KnownCost, seen: list[Match]) -> Finding:
        first, levels = seen[0], [self._level(match) for match in seen]
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
            found=self._render(cost.found, first, **values),
            todo=cost.todo,
            places=tuple(dict.fromkeys(_place(match.path, match.spot) for match in places)),
            costs=tuple(
                self._cost(pair) for pair in cost.pairs if self._ask(pair.when, first, **values)
            ),
        )

    def _cost(self, pair: KnownPair) -> Cost:
        """Name the scenarios of a pair: of the nearest load that has both."""
        for prefix in self._costs.objects[self._configuration.name]:
            point, base = f"{prefix}-{pair.point}", f"{prefix}-{pair.base}"
            if {point, base} <= self._scenarios:
                return Cost(point=point, base=base, command=f"leaselab run {point} {base}")
        raise usage_error(
            "advice names scenarios that do not exist",
            where=self._configuration.name,
            found=f"{pair.point}, {pair.base}",
            wanted="names of scenarios without the prefix of their load",
        )

    def _level(self, match: Match) -> Level:
        return Level(match, self._costs.replaced)

    def _ask(self, expression: str, at: Match, **values: Any) -> Any:  # noqa: ANN401  # of any type
        try:
            return _expression(expression)({**self._known, **values})
        except _BAD_CONFIGURATION as error:
            raise refused(at) from error

    def _render(self, template: str, at: Match, **values: Any) -> str:  # noqa: ANN401  # of any type
        try:
            return plain(_template(template).render({**self._known, **values}))
        except _BAD_CONFIGURATION as error:
            raise refused(at) from error


def _numbers(release: str) -> tuple[int, ...]:
    """A release as numbers, of which there are two at least."""
    numbers = [int(part) for part in release.split(".")]
    return (*numbers, 0) if len(numbers) == 1 else tuple(numbers)


def _place(path: str, spot: Spot) -> Place:
    return Place(path=plain(path), file=plain(spot.source.name), line=spot.line)


@cache
def _environment() -> jinja2.Environment:
    """Jinja with the filters of conditions: those here, and those of roles' advice."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701  # plain text
    environment.filters |= {
        "addresses": addresses,
        "stem": lambda path: PurePosixPath(path).stem,
    }
    for name in known_costs():
        path = ROLES / name / "filter_plugins" / f"{name}_advice.py"
        module = load_module(f"leaselab_{path.stem}", path)
        if module is not None:
            environment.filters |= module.FilterModule().filters()
    return environment


@cache
def _expression(text: str) -> Callable[..., Any]:
    return _environment().compile_expression(text, undefined_to_none=False)


@cache
def _template(text: str) -> jinja2.Template:
    return _environment().from_string(text)
