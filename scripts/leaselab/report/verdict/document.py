"""Comparisons as JSON documents, for ``--json``; missing values are None."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from leaselab.analysis.comparison.incompatibilities import also_changed, family_differences
from leaselab.analysis.comparison.matrix import cell_of
from leaselab.analysis.comparison.verdict import Comparison, answer_word
from leaselab.analysis.duels.error_budget import ErrorBudget
from leaselab.analysis.duels.layouts import OverLayouts
from leaselab.model.errors import Outcome
from leaselab.model.record import Record
from leaselab.report.matrix import ends_document
from leaselab.report.verdict.cost import cost_document
from leaselab.report.verdict.rules import ruling_document
from leaselab.report.verdict.sentence import closing, layouts_words


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """One comparison."""
    base, other, verdict = comparison.base, comparison.other, comparison.verdict
    cost = comparison.counted or (verdict and verdict.cost)
    return {
        "word": comparison.word,
        "outcome": comparison.outcome.label,
        "text": closing(comparison),
        "reason": str(comparison.error) if comparison.error is not None else None,
        "scenario": other.scenario.name,
        "bench": other.bench.name,
        "environment": other.bench.environment,
        "procedure": other.procedure.ruler(),
        "metric": other.figure.name,
        "unit": other.figure.unit,
        "differs": {
            difference.field: list(difference.values)
            for difference in (family_differences(base, other) if base is not None else ())
        },
        "a": _result(base) if base is not None else None,
        "b": _result(other),
        "ratio": verdict.ratio if verdict else None,
        "ratio_is": verdict.limit.value if verdict else None,
        **ends_document(verdict),
        "p": verdict.p if verdict else None,
        "basis": verdict.basis.value if verdict else None,
        "anchor": (verdict.anchor or None) if verdict else None,
        "threshold_percent": comparison.threshold_percent,
        "smallest_seen": verdict.smallest_seen if verdict else None,
        "duel": _duel_document(comparison),
        "cost": cost_document(cost) if cost else None,
        "policy": ruling_document(comparison.ruling),
    }


def comparisons_document(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """All comparisons, each as `comparison_document` has one."""
    return {
        "outcome": outcome(comparisons).label,
        "comparisons": [comparison_document(comparison) for comparison in comparisons],
    }


def outcome(comparisons: Sequence[Comparison]) -> Outcome:
    """A regression where there is one, else the first outcome that is not well."""
    outcomes = [comparison.outcome for comparison in comparisons]
    if Outcome.REGRESSION in outcomes:
        return Outcome.REGRESSION
    return next((outcome for outcome in outcomes if outcome is not Outcome.OK), Outcome.OK)


def _duel_document(comparison: Comparison) -> dict[str, Any] | None:
    """What a duel says beyond that; None where the two are of none."""
    base, verdict = comparison.base, comparison.verdict
    if base is None or verdict is None or verdict.duel is None:
        return None
    duel = verdict.duel
    return {
        "word": answer_word(duel.answer, duel.metric),
        "rounds": duel.rounds,
        "look": duel.look,
        "bound": duel.bound,
        "power": duel.power,
        "starts": asdict(duel.starts) if duel.starts else None,
        "correlated": duel.correlated,
        "order": duel.order,
        "dropped": duel.dropped,
        "judged": [asdict(other) | {"answer": other.said.value} for other in duel.others],
        "also_changed": also_changed(base, comparison.other),
        "error_budget": budget_document(comparison.budget),
    }


def budget_document(budget: ErrorBudget | None) -> dict[str, Any] | None:
    """An error budget for ``--json``: shares 0..1, times in min; None where there is none."""
    return None if budget is None else asdict(budget)


def layouts_document(layouts: OverLayouts) -> dict[str, Any]:
    """All of it for ``--json``; ratios are B to A."""
    return {
        "cause": layouts.cause.name.lower(),
        "text": " ".join(layouts_words(layouts)),
        "ratio": layouts.ratio,
        "ci95": list(layouts.ci95) if layouts.ci95 else None,
        "pooled_of": len(layouts.layouts),
        "build_scatter": layouts.scatter,
        "layouts": [
            {"seed": layout.seed, "word": layout.answer.value, "ratio": layout.ratio}
            for layout in layouts.layouts
        ],
    }


def _result(record: Record) -> dict[str, Any]:
    server, source = record.server, record.source
    cell = cell_of(record)
    return {
        "id": record.id,
        "scenario": record.scenario.name,
        "started_at": record.started_at,
        "outcome": record.outcome,
        "server": server.name,
        "version": server.version,
        "package": server.package,
        "commit": server.commit,
        "subject": source.subject if source else None,
        "dirty": bool(source and source.dirty),
        "value": cell.value,
        "ci95": record.figure.ci95 if cell.value is not None else None,
        "runs": cell.rounds,
        "trim": record.procedure.trim,
    }
