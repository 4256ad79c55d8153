"""leaselab.yml as people write it: a policy, or each thing that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

import msgspec

from leaselab.catalog.catalogue import LISTED
from leaselab.catalog.decoding import Keys, faults
from leaselab.catalog.documents import Lines, parse_yaml
from leaselab.model.errors import LeaselabError, unknown, usage_error
from leaselab.model.policy import (
    FIGURES,
    Allowance,
    Clause,
    Policy,
    PolicyFile,
    Rule,
    ScenarioTerms,
    Terms,
)
from leaselab.model.procedures.cost import COST
from leaselab.model.procedures.duel import DUEL, METRICS
from leaselab.model.source import BRANCH_POINT

MOST_BYTES = 64 << 10
_MOST_VALUES = 10_000
Place = Callable[[Keys], str]
"""Gives the file and the line of what is at a path."""


def read_policy(
    text: str, name: str, scenarios: Collection[str]
) -> tuple[Policy | None, list[LeaselabError]]:
    """Read the text of a policy; None with errors, each with ``name:line``.

    `scenarios` are the names of those that exist.
    """
    try:
        document = parse_yaml(text, name, _MOST_VALUES)
    except LeaselabError as error:
        return None, [error]
    lines = Lines(text)

    def place(path: Keys) -> str:
        return f"{name}:{lines.of(path)}"

    errors = faults(PolicyFile, document, place)
    if errors:
        return None, sorted(errors, key=_line)
    file = msgspec.convert(document, PolicyFile)
    usual = Clause(
        scenario="",
        procedure=file.procedure or COST,
        against=file.against or BRANCH_POINT,
        metric=file.metric or METRICS[0],
        rules=_rules(file, place, ()),
    )
    clauses = tuple(
        _clause(terms, usual, _rules(terms, place, ("scenarios", number)))
        for number, terms in enumerate(file.scenarios)
    )
    errors = [*_wrong(file, clauses, place, scenarios)]
    duels = [clause for clause in clauses if clause.metric] or [usual]
    for unseen in (error for clause in duels for error in _unseen(clause)):
        if str(unseen) not in map(str, errors):  # a rule for all is in several clauses
            errors.append(unseen)
    policy = None if errors else Policy(clauses, usual, file.override)
    return policy, sorted(errors, key=_line)


def _line(error: LeaselabError) -> int:
    return int(error.where.rpartition(":")[2])


def _rules(terms: Terms, place: Place, path: Keys) -> Mapping[str, Rule]:
    return {
        figure: Rule(figure, Allowance.of(amount), place((*path, "allow", figure)))
        for figure, amount in terms.allow.items()
    }


def _clause(terms: ScenarioTerms, usual: Clause, own: Mapping[str, Rule]) -> Clause:
    """A scenario's terms, with the usual ones where it has none of its own."""
    procedure = terms.procedure or usual.procedure
    made = Clause(
        terms.scenario,
        procedure,
        terms.against or usual.against,
        (terms.metric or usual.metric) if procedure == DUEL else "",
    )
    fit = {name: rule for name, rule in usual.rules.items() if name in made.figures}
    return replace(made, rules={**fit, **own})


def _wrong(
    file: PolicyFile, clauses: tuple[Clause, ...], place: Place, scenarios: Collection[str]
) -> Iterator[LeaselabError]:
    """What no type says: names that do not exist, and what has no effect."""
    yield from _wrong_terms(file, place, ())
    seen: dict[tuple[str, ...], str] = {}
    for number, (terms, clause) in enumerate(zip(file.scenarios, clauses, strict=True)):
        path = ("scenarios", number)
        where = place((*path, "scenario"))
        if terms.scenario not in scenarios:
            yield unknown("scenario", terms.scenario, [*scenarios], where, listed=LISTED)
        if clause.what in seen:
            yield usage_error(
                f"{terms.scenario} is there twice with procedure {clause.procedure}",
                where=where,
                found=f"it is also at {seen[clause.what]}",
                wanted="each once",
                todo="remove one of the two",
            )
        seen.setdefault(clause.what, where)
        yield from _wrong_terms(terms, place, path)
        if terms.metric is not None and clause.procedure == COST:
            yield usage_error(
                "metric has an effect on duels only",
                where=place((*path, "metric")),
                found=f"procedure {clause.procedure}",
                wanted=f"procedure: {DUEL}",
                todo="leave it out",
            )
        others = [name for name in FIGURES if name not in clause.figures]
        for name in terms.allow.keys() & others:
            yield usage_error(
                f"{name} is not judged by procedure {clause.procedure}",
                where=place((*path, "allow", name)),
                found=name,
                wanted=f"one of {', '.join(clause.figures)}",
                todo="leave it out, or name another procedure",
            )


def _wrong_terms(terms: Terms, place: Place, path: Keys) -> Iterator[LeaselabError]:
    """Names and amounts of one level."""
    if terms.metric is not None and terms.metric not in METRICS:
        yield unknown("metric", terms.metric, METRICS, place((*path, "metric")))
    for name in terms.allow:
        if name not in FIGURES:
            yield unknown("figure", name, FIGURES, place((*path, "allow", name)))


def _unseen(clause: Clause) -> Iterator[LeaselabError]:
    """Amounts so small that a duel does not see them."""
    for name in clause.figures:
        rule = clause.rules.get(name)
        least = 0.0005 if name == clause.metric else clause.duel.least(name) / 2
        if rule is not None and rule.allowed.is_share and rule.allowed.most < least:
            yield usage_error(
                f"a duel about {clause.metric} does not see so small a change of {name}",
                where=rule.place,
                found=f"{100 * rule.allowed.most:g} %",
                wanted=f"{100 * least:g} % or more",
                todo=f"raise it, or have {name} judged by a duel of its own: metric: {name}"
                if name in METRICS and name != clause.metric
                else "raise it",
            )
