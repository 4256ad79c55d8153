"""What came of confirming a result, in words, and which trials are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.record import Record
    from leaselab.model.trial import Trial


def confirmation_words(record: Record) -> str:
    """One sentence: at which rate the result was confirmed, for how long; or why it was not."""
    found, trials = record.confirmation, confirming(record)
    if not found:
        return f"not confirmed: {record.procedure.unconfirmed}"
    highest = record.procedure.loss_ratio
    rate = f"{record.scenario.transaction.plural}/s"
    at = f"at {found.rate} {rate} over {_seconds(trials):.0f} s"
    if not any(trial.valid for trial in trials):
        words = sorted({trial.reason for trial in trials})
        return f"not confirmed {at}: none of the trials counts ({', '.join(words)})"
    loss = f"loss {100 * found.loss_ratio:.2f} %"
    if found.holds:
        return f"confirmed {at}: {loss}"
    if found.loss_ratio > highest:
        return f"not confirmed {at}: {loss}, and the goal is at most {100 * highest:g} %"
    most = max(overload(record), key=lambda trial: trial.completed_rate)
    return (
        f"not confirmed {at}: {loss}, but of {most.rate} {rate} the server completed "
        f"{most.completed_rate:.0f}, far more than the runs found"
    )


def confirming(record: Record) -> Sequence[Trial]:
    """The trials below the lowest bound of the rounds; none where nobody tried."""
    found = record.confirmation
    return [one for one in found.trials if one.rate == found.rate] if found else []


def overload(record: Record) -> Sequence[Trial]:
    """The trial that offers far more than was confirmed; none of several servers."""
    found = record.confirmation
    return [one for one in found.trials if one.rate != found.rate] if found else []


def _seconds(trials: Sequence[Trial]) -> float:
    """How long the trials that count offered traffic (s), of all where none does."""
    counted = [trial for trial in trials if trial.valid] or trials
    return sum(trial.traffic_s for trial in counted)
