"""Whether a trial says anything about the server; the words for why it does not."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.measure.outcomes import GENERATOR_LIMITED
from leaselab.measure.perfdhcp import Counts, Output
from leaselab.model.plan import POOL_USE_LIMIT
from leaselab.model.trial import Goal, TrialRequest

POOL_TOO_FULL = "pool-too-full"
"""More than half of the pool was leased: allocation slows down there."""
DUPLICATE_ADDRESS = "duplicate-address"
"""The server gave one address to two clients."""
REJECTED = "rejected"
"""The server refused leases, so it did less work than it was asked for."""

LOST_UPDATES = "lost-updates"
"""A server of a pair held fewer leases than clients were answered."""
PAIR_STATE = "pair-state"
"""The pair was not, or not any more, in the state asked for at the end of the trial."""

OFFERED_SHARE = 0.99
"""Share of the exchanges asked for that the generator must start."""
START_SLACK = 2
"""Exchanges that may be missing whatever the rate: the last one is due as traffic ends."""


def traffic_s(output: Output, request: TrialRequest) -> float:
    """How long exchanges were really started (s).

    As long as the exchanges started take at the rate asked for, unless the
    generator aborted or fell behind: then as long as the answered requests
    span, or as many seconds as its reports show it sending.
    """
    if enough_started(output.first.sent, request.rate * request.duration_s):
        return output.first.sent / request.rate
    if output.first.received:
        return min(float(request.duration_s), float(output.first.sent_at.max()))
    sending = [report for report in output.reports if report[0] < output.first.sent]
    return float(min(request.duration_s, len(sending) + 1))


def enough_started(started: int, wanted: float) -> bool:
    """Whether the generator offered what was asked."""
    return started >= OFFERED_SHARE * wanted - START_SLACK


def was_aborted(output: Output, request: TrialRequest, abort_after: int | None) -> bool:
    """Whether the generator gave up early, rather than offering too little.

    Both leave fewer exchanges started than asked.  A generator that gave up
    had kept the rate for as long as it sent, and had left at least
    `abort_after` exchanges unanswered when it stopped, some of which may have
    come back since.
    """
    if abort_after is None or enough_started(
        output.first.sent, request.rate * request.duration_s
    ):
        return False
    return enough_started(output.first.sent, request.rate * traffic_s(output, request))


def doubt(
    output: Output, counts: Counts, request: TrialRequest, *, aborted: bool, pool_size: int
) -> str:
    """Return the word for why the trial does not count, empty when it does."""
    if not aborted and not enough_started(counts.started, request.rate * request.duration_s):
        return GENERATOR_LIMITED
    if output.first.duplicates or output.second.duplicates:
        return DUPLICATE_ADDRESS
    if output.first.rejected or output.second.rejected:
        return REJECTED
    if counts.started > POOL_USE_LIMIT * pool_size:
        return POOL_TOO_FULL
    return ""


def pair_doubt(
    counts: Counts, goal: Goal, trouble: str, answered: int, held: Sequence[int]
) -> str:
    """Return the word for why a pair's trial does not count, empty when it does.

    `trouble` says how the pair differs from the state asked for, `answered` how
    many clients got their last reply, `held` the leases of each server.  Those
    may differ by the exchanges that stayed without an answer, but no answered
    client may be unknown to either server.  Only a pass is doubted: one server
    alone, or one whose partner was not told, does less work than was asked for,
    while a load that breaks the pair and then fails has failed.
    """
    if counts.late + counts.lost > goal.loss_ratio * counts.started:
        return ""
    if trouble:
        return PAIR_STATE
    if len(held) > 1 and min(held) < answered:
        return LOST_UPDATES
    return ""
