"""Finds known costs in the configuration of a server, as the server's role declares them.

``vars/costs.yml`` of a role says what costs, where a configuration says so and under which
condition, and which points of experiments measure it; ``vars/advice.yml`` says what cannot be
judged.  Conditions are Jinja's, as those of a role's ``tasks/scenario.yml``; filters for its
language are in the role's ``filter_plugins``.  So no module knows a server, and a role can
declare its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leaselab.lab.catalog import load_scenarios
from leaselab.lab.commented_json import Document, read_commented_json
from leaselab.lab.configuration import Match
from leaselab.lab.json_tokens import Spot, plain
from leaselab.lab.judge import Given, Judge, judges, numbers
from leaselab.lab.known_costs import KnownCost, KnownPair
from leaselab.model.advice import Advice, Cost, Finding, NotJudged, Place
from leaselab.model.errors import usage_error


def advise(file: Path, scenarios: Path, given: Given, *, root: Path | None = None) -> Advice:
    """Return the known costs that a configuration file has, and what was not judged.

    `file` may also be a server's answer to config-get, or ``-`` for standard input; `root` is
    where absolute names of included files are looked for.  `scenarios` is the folder of
    scenario files.
    Raises a usage error for a file that is no configuration of a known kind of server.
    """
    document = read_commented_json(file, root)
    asked = judges(document, given._replace(scenarios=load_scenarios(scenarios).keys()))
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
    release, costs = numbers(judge.release), judge.costs
    others = {
        **{
            word: f"since {first}"
            for first, words in costs.since.items()
            if release < numbers(first)
            for word in words
        },
        **{
            word: f"before {first}"
            for first, words in costs.until.items()
            if release >= numbers(first)
            for word in words
        },
    }
    places: dict[str, list[Place]] = {}
    for match in judge.configuration.keywords(costs.opaque) if others else ():
        word = match.path.rpartition(".")[2]
        if word in others:
            places.setdefault(word, []).append(_place(match.path, match.spot))
    for word, stands_at in places.items():
        why = f"only releases {others[word]} have it; judged as {'.'.join(map(str, release))}"
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
