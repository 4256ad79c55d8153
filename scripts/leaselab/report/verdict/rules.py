"""What a policy says of comparisons, in words: the rule, the change, who accepted it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from leaselab.analysis.comparison.verdict import Comparison
from leaselab.model.policy import (
    FILE,
    TRAILER,
    Allowance,
    Policy,
    Rule,
    Ruled,
    Ruling,
    State,
    drops,
)
from leaselab.model.source import SHORT
from leaselab.report.listing import signed_amount
from leaselab.report.verdict.words import two_digits


def rule_lines(comparisons: Iterable[Comparison]) -> Iterator[str]:
    """A line for each rule that comparisons come from, then where they are from, and notes."""
    rulings = [one.ruling for one in comparisons if one.ruling is not None]
    for ruling in rulings:
        yield from (_line(one, ruling.scenario) for one in ruling.figures)
    sources = (f"the rules are those of {ruling.source}" for ruling in rulings)
    yield from dict.fromkeys(sources)
    yield from dict.fromkeys(note for ruling in rulings for note in ruling.notes)


def clause_lines(policy: Policy) -> Iterator[str]:
    """What a policy says, a line for each scenario, rule and address."""
    for clause in policy.clauses:
        about = f" about {clause.metric}" if clause.metric else ""
        yield f"{clause.scenario}: {clause.procedure}{about} against {clause.against}"
        for rule in clause.rules.values():
            yield f"  {rule_words(rule, rule.figure, clause.scenario)}"
    for rule in policy.usual.rules.values():
        yield rule_words(rule, rule.figure, "others" if policy.clauses else "all")
    if policy.override:
        yield f"{TRAILER} counts of {', '.join(policy.override)}"


def rule_words(rule: Rule | None, figure: str, scenario: str) -> str:
    """A rule: ``leaselab.yml:12 instructions of v4-dnsmasq may grow by 0.5 %``."""
    if rule is None:
        return f"{FILE} has no rule for {figure} of {scenario}"
    change = "drop" if drops(figure) else "grow"
    return f"{rule.place} {figure} of {scenario} may {change} {_allowed(rule.allowed)}"


def ruling_document(ruling: Ruling | None) -> dict[str, Any] | None:
    """The same for ``--json``; shares are 0..1."""
    if ruling is None:
        return None
    return {
        "source": ruling.source,
        "outcome": ruling.outcome.label,
        "rules": [
            {
                "figure": one.figure,
                "place": one.rule.place if one.rule else None,
                "word": one.state.value,
                "share": one.share,
                "amount": one.amount,
                "value": one.value,
                "unit": one.unit or None,
                "accepted_by": one.accepted.address if one.accepted else None,
                "reason": one.accepted.reason if one.accepted else None,
                "text": _line(one, ruling.scenario),
            }
            for one in ruling.figures
        ],
        "notes": [*ruling.notes],
    }


def _line(figure: Ruled, scenario: str) -> str:
    return f"rule: {rule_words(figure.rule, figure.figure, scenario)}: {_answer(figure)}"


def _answer(figure: Ruled) -> str:
    if figure.state is State.KEPT:
        return str(figure.state.value)
    by_amount = figure.share is None or (figure.rule and not figure.rule.allowed.is_share)
    change = two_digits(figure.share or 0)
    change = f"-{change}" if drops(figure.figure) else f"+{change}"
    if figure.rule and figure.rule.allowed.is_limit and figure.value is not None:
        change = f"{figure.value:.4g} {figure.unit}"
    elif by_amount and figure.amount is not None:
        amount = -figure.amount if drops(figure.figure) else figure.amount
        change = f"{signed_amount(amount)} {figure.unit}"
    elif figure.is_bound:
        change += " at most"
    who = figure.accepted
    if who is None:
        return f"{change}, {figure.state.value}"
    return (
        f"{change}, {figure.state.value} by {who.address} in commit {who.commit[:SHORT]}: "
        f"{who.reason}"
    )


def _allowed(allowed: Allowance) -> str:
    if math.isinf(allowed.most):
        return "by any amount"
    amount = f"{100 * allowed.most:g} %" if allowed.is_share else f"{allowed.most:g}"
    return f"{'to' if allowed.is_limit else 'by'} {amount}"
