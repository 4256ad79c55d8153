"""What the policy of a server's repository says of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from leaselab.analysis.comparison.cost import CostVerdict
from leaselab.analysis.comparison.verdict import Comparison, Limit, Verdict
from leaselab.analysis.duels.duel import Answer, DuelVerdict
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
        found = [*_of_duel(clause, verdict, verdict.duel)]
    else:
        return None
    figures = tuple(_with_acceptance(one, clause, rules.accepted) for one in found)
    return Ruling(scenario, rules.source, figures, rules.notes)


def _of_counts(clause: Clause, cost: CostVerdict) -> Iterator[Ruled]:
    for part in cost.grown:
        share = part.difference / part.before if part.before else None
        figure = Ruled(
            part.name, State.BROKEN, share=share, amount=part.difference, unit=part.unit
        )
        yield _ruled(clause, figure)
    if not cost.grown:
        yield _ruled(clause, Ruled(cost.instructions.name, State.KEPT))


def _of_duel(clause: Clause, verdict: Verdict, duel: DuelVerdict) -> Iterator[Ruled]:
    """First what decides; where it did not get worse and another figure did, without it."""
    worse = [
        _ruled(clause, Ruled(one.name, State.BROKEN, share=abs(one.ratio - 1)))
        for one in duel.worse
    ]
    main = Ruled(duel.metric, State.KEPT)
    if duel.answer is Answer.SLOWER:
        main = Ruled(duel.metric, State.BROKEN, share=abs(duel.ratio - 1))
    elif duel.answer is Answer.UNKNOWN:
        main = Ruled(duel.metric, State.UNKNOWN, share=duel.main.bound, is_bound=True)
    main = _ruled(clause, main)
    bounded = main.rule is not None and math.isfinite(main.rule.allowed.most)
    if main.state is State.ALLOWED and bounded and verdict.limit is not Limit.NONE:
        main = replace(main, state=State.UNKNOWN)  # it is slower by at least so much
    if main.state is not State.KEPT or not worse:
        yield main
    yield from worse


def _ruled(clause: Clause, figure: Ruled) -> Ruled:
    """The same with its rule; allowed where that allows the change."""
    rule = clause.rules.get(figure.figure)
    holds = rule is not None and rule.allowed.holds(figure.share, figure.amount)
    state = State.ALLOWED if holds and figure.state is not State.KEPT else figure.state
    return replace(figure, rule=rule, state=state)


def _with_acceptance(figure: Ruled, clause: Clause, accepted: tuple[Acceptance, ...]) -> Ruled:
    if figure.state is not State.BROKEN:
        return figure
    for one in accepted:
        if one.scenario == clause.scenario and one.figure in (figure.figure, clause.procedure):
            return replace(figure, state=State.ACCEPTED, accepted=one)
    return figure
