"""Whether a result is of the server, or of the generator and the path to the server."""

from __future__ import annotations

from msgspec.structs import replace

from leaselab.model.errors import Outcome
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Ceiling, Reason, Record

NEAR = 0.8
"""Share of the ceiling above which a load may show the generator's limit, and not the server's
(ratio)."""
LIMITED = "generator-limited"
"""Word for such a result."""


def under(ceiling: Ceiling | None, record: Record) -> Record:
    """Return a result with the ceiling that is known for it, and a reason where it is near.

    One that shows a ceiling itself has none.
    """
    if ceiling is None or record.procedure.of_generator:
        return record
    record = replace(record, ceiling=ceiling)
    share = _highest(record) / ceiling.rate
    if share <= NEAR or record.outcome != Outcome.OK.label:
        return record
    text = (
        f"{100 * share:.0f} % of {ceiling.rate:.0f}/s, the ceiling of {record.generator.name} "
        f"and the path on this bench ({ceiling.id}); wanted at most {100 * NEAR:.0f} %"
    )
    return replace(record, reasons=(Reason(word=LIMITED, text=text), *record.reasons))


def _highest(record: Record) -> float:
    """The highest load that the result's figures are of (transactions/s)."""
    if isinstance(record.procedure, MaxRate):
        return record.figure.value or 0.0
    return max((trial.completed_rate for trial in record.trials if trial.valid), default=0.0)
