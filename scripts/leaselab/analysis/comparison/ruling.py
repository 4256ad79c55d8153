"""What the policy of a server's repository says of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from leaselab.analysis.comparison.cost import CostVerdict
from leaselab.analysis.comparison.verdict import Comparison, Limit, Verdict
from leaselab.analysis.duels.duel import Answer, DuelVerdict, Judged
from leaselab.model.policy import Acceptance, Clause, InForce, Ruled, Ruling, State
from leaselab.model.procedures.cost import COST
from leaselab.model.procedures.duel import DUEL


def judge(rules: InForce, comparison: Comparison) -> Ruling | None:
    """Judge a comparison by a policy; None of what is neither counted nor a duel.

    Each change for the worse that the verdict has seen is allowed by a rule, accepted by a
    trailer of B's commit, or not allowed.
    """
    verdict, scenario = comparison.verdict, comparison.other.scenario.name
    if comparison.error is not None or verdict is None:
        return None
    if verdict.cost is not None:
        clause = rules.policy.clause(scenario, COST)
        found = [*_of_counts(clause, verdict.cost)]
    elif verdict.duel is not None:
        clause = rules.policy.clause(scenario, DUEL, verdict.duel.metric)
        found = [*_of_duel(clause, comparison, verdict, verdict.duel)]
    else:
        return None
    figures = tuple(_with_acceptance(one, clause, rules.accepted) for one in found)
    return Ruling(scenario, rules.source, figures, rules.notes)


def _of_counts(clause: Clause, cost: CostVerdict) -> Iterator[Ruled]:
    found = [
        _ruled(
            clause,
            Ruled(
                part.name,
                State.BROKEN if part.grown else State.KEPT,
                share=part.difference / part.before if part.before else None,
                amount=part.difference,
                value=part.after,
                unit=part.unit,
            ),
        )
        for part in cost.parts
    ]
    seen = [one for one in found if one.state is not State.KEPT]
    yield from seen or found[:1]


def _of_duel(
    clause: Clause, comparison: Comparison, verdict: Verdict, duel: DuelVerdict
) -> Iterator[Ruled]:
    """First what decides; where it did not get worse and another figure did, without it."""

    def judged(one: Judged, state: State) -> Ruled:
        return _ruled(clause, _figure(comparison, one, state))

    others = (judged(one, State.BROKEN if one.worse else State.KEPT) for one in duel.others)
    worse = [one for one in others if one.state is not State.KEPT]
    answers = {Answer.SLOWER: State.BROKEN, Answer.UNKNOWN: State.UNKNOWN}
    main = judged(duel.main, answers.get(duel.answer, State.KEPT))
    bounded = main.rule is not None and math.isfinite(main.rule.allowed.most)
    if main.state is State.ALLOWED and bounded and verdict.limit is not Limit.NONE:
        main = replace(main, state=State.UNKNOWN)  # it is slower by at least so much
    if main.state is not State.KEPT or not worse:
        yield main
    yield from worse


def _figure(comparison: Comparison, one: Judged, state: State) -> Ruled:
    """A figure of a duel: how much worse it is, of one not known well enough at most."""
    base, other = (
        None if record is None else record.metric(one.name)
        for record in (comparison.base, comparison.other)
    )
    is_bound = state is State.UNKNOWN
    share = one.bound if is_bound else abs(one.ratio - 1)
    return Ruled(
        one.name,
        state,
        share=None if state is State.KEPT else share,
        is_bound=is_bound,
        amount=share * base.value if base and base.value is not None else None,
        value=other.value if other else None,
        unit=other.unit if other else "",
    )


def _ruled(clause: Clause, figure: Ruled) -> Ruled:
    """The same with its rule: allowed where that allows it, not allowed beyond a limit."""
    rule = clause.rules.get(figure.figure)
    state = figure.state
    if rule is not None and rule.allowed.holds(figure):
        state = State.KEPT if state is State.KEPT else State.ALLOWED
    elif rule is not None and rule.allowed.is_limit and figure.value is not None:
        state = State.BROKEN
    return replace(figure, rule=rule, state=state)


def _with_acceptance(figure: Ruled, clause: Clause, accepted: tuple[Acceptance, ...]) -> Ruled:
    if figure.state is not State.BROKEN:
        return figure
    for one in accepted:
        if one.scenario == clause.scenario and one.figure in (figure.figure, clause.procedure):
            return replace(figure, state=State.ACCEPTED, accepted=one)
    return figure
