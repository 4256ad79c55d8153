"""A review for ``--json``."""

from __future__ import annotations

from typing import Any

from leaselab.analysis.comparison.verdict import answer_word
from leaselab.analysis.history.series import Change, Duel, Point, Series, State
from leaselab.archive.schema import document_of
from leaselab.report.review.review import Review
from leaselab.report.review.table import notes
from leaselab.report.verdict.cost import cost_document


def review_document(review: Review) -> dict[str, Any]:
    """The review for ``--json``; moments in UTC, ratios as such."""
    return {
        "since": review.period.since or None,
        "until": review.period.until if review.period.until != "9999" else None,
        "metric": review.metric,
        "series": [_series_document(series) for series in review.series],
        "changes": [
            {
                "scenario": series.scenario,
                "metric": series.metric,
                "anchor": series.anchor or None,
                **change_document(change),
            }
            for series, change in review.of(*State)
        ],
        "notes": notes(review),
    }


def _series_document(series: Series) -> dict[str, Any]:
    names = ("scenario", "metric", "unit", "bench", "environment")
    return {
        **{name: getattr(series, name) for name in names},
        "anchor": series.anchor or None,
        "builds": len(series.points),
        "enough": series.enough,
    }


def change_document(change: Change) -> dict[str, Any]:
    """A change for ``--json``; its ratio is that of what confirmed it, if anything did."""
    ratio, ci95 = change.size
    return {
        "state": change.state.value,
        "shape": change.shape.value,
        "worse": change.worse,
        "ratio": ratio,
        "ci95": ci95,
        "before": _point_document(change.last_before),
        "after": _point_document(change.first_after),
        "culprit": change.culprit and change.culprit.commit,
        "accepted": change.accepted and document_of(change.accepted),
        "detected": _point_document(change.detected),
        "detected_at": change.detected_at,
        "another_environment": change.moved_lab,
        "duel": None if change.duel is None else _duel_document(change.duel),
        "cost": cost_document(change.counted.verdict) if change.counted else None,
    }


def _point_document(point: Point) -> dict[str, Any]:
    return {
        "build": point.name,
        "commit": point.commit,
        "subject": point.subject,
        "results": list(point.ids),
    }


def _duel_document(duel: Duel) -> dict[str, Any]:
    return {
        "word": answer_word(duel.answer, duel.metric),
        "ratio": duel.ratio,
        "ci95": duel.ci95,
        "results": list(duel.ids),
        "finished_at": duel.at,
    }
