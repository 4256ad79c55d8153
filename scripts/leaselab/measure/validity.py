"""Whether a trial says anything about the server; the words for why it does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leaselab.measure.outcomes import GENERATOR_LIMITED, GENERATOR_STALLED
from leaselab.measure.perfdhcp import Counts, Output
from leaselab.model.observation import Foreign, HostUse
from leaselab.model.plan import POOL_USE_LIMIT
from leaselab.model.trial import Goal, TrialRequest

POOL_TOO_FULL = "pool-too-full"
"""More than half of the pool was leased: allocation slows down there."""
DUPLICATE_ADDRESS = "duplicate-address"
"""The server gave one address to two clients."""
REJECTED = "rejected"
"""The server refused leases, so it did less work than it was asked for."""
MALFORMED = "malformed-replies"
"""Replies came that were no DHCP messages, and of which nobody knows what they answered."""
FOREIGN_REPLY = "foreign-reply"
"""A DHCP server that is not the bench's answered on the test network."""
FOREIGN_REQUEST = "foreign-request"
"""A client or relay that is not the bench's asked there: the server may have served it."""

LOST_UPDATES = "lost-updates"
"""A server of a pair held fewer leases than clients were answered."""
PAIR_STATE = "pair-state"
"""The pair was not, or not any more, in the state asked for at the end of the trial."""

OFFERED_SHARE = 0.99
"""Share of the exchanges asked for that the generator must start."""
STALL_S = 0.02
"""Time without any request sent that may be a stall (s)."""
STALL_INTERVALS = 20.0
"""The same, in intervals between two requests: at low rates 20 ms are usual."""
BUFFERED = 100
"""Exchanges of a burst that a server's socket takes at least: its buffer holds some 277
packets."""
CAUGHT_UP = 1.3
"""A stall is followed by requests faster than asked for, by this factor at least; what
follows a server that stood still is not, as its clients never stopped."""
STEAL_SHARE = 0.05
"""Share of the traffic's time that a hypervisor may take before it counts as a stall."""
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


def foreign_doubt(foreign: Sequence[Foreign]) -> tuple[str, str]:
    """Return the word for DHCP that is not the bench's, and whose it is; empty without any.

    Of both kinds it is the reply that may have been taken for the server's own.
    """
    if not foreign:
        return "", ""
    replies = [one for one in foreign if one.kind == "reply"]
    word = FOREIGN_REPLY if replies else FOREIGN_REQUEST
    return word, "; ".join(str(one) for one in replies or foreign)


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
    output: Output,
    counts: Counts,
    request: TrialRequest,
    goal: Goal,
    *,
    aborted: bool,
    pool_size: int,
    refused: int = 0,
    generator: HostUse | None = None,
) -> str:
    """Return the word for why the trial does not count, empty when it does.

    `refused` is how many requests the server says it refused, `generator` what happened
    to the generator's host meanwhile; None where nobody looked.
    """
    failed = counts.late + counts.lost
    may_fail = goal.loss_ratio * counts.started
    passes = failed <= may_fail
    refusals = output.first.rejected + output.second.rejected + refused
    stalled = _cost_of_stalls(output, request, generator)
    wanted = request.rate * request.duration_s
    found = (
        (GENERATOR_LIMITED, not aborted and not enough_started(counts.started, wanted)),
        (MALFORMED, output.malformed > 0),
        (DUPLICATE_ADDRESS, output.second.duplicates > 0),
        # A server that refuses what is too much for it has failed like any other.
        (REJECTED, passes and refusals > 0),
        (POOL_TOO_FULL, counts.started > POOL_USE_LIMIT * pool_size),
        (GENERATOR_STALLED, not passes and failed - stalled <= may_fail),
    )
    return next((word for word, is_so in found if is_so), "")


def _cost_of_stalls(output: Output, request: TrialRequest, generator: HostUse | None) -> float:
    """Exchanges that the generator's own stalls may have cost, at most.

    What it has missed comes in a burst, and of that a server loses what its socket's
    buffer does not take.
    """
    stopped = stalls_s(output, request.rate)
    if generator is not None:
        taken = generator.steal_s if generator.steal_s > STEAL_SHARE * request.duration_s else 0
        hidden_s = max(generator.throttled_s, taken) - sum(stopped)
        stopped = [*stopped, max(0.0, hidden_s)]
    cost = sum(max(0.0, request.rate * stall_s - BUFFERED) for stall_s in stopped)
    return cost + (generator.receive_errors if generator is not None else 0)


def stalls_s(output: Output, rate: int) -> list[float]:
    """Each time for which the generator stood still, by the times of its requests (s).

    Only answered requests have a time.  A gap in them is a stall where requests
    follow faster than they were asked for: perfdhcp sends what it has missed at once,
    three packets a turn.
    """
    sent_at = np.sort(output.first.sent_at)
    gaps = np.diff(sent_at)
    found = []
    for place in np.flatnonzero(gaps > max(STALL_S, STALL_INTERVALS / rate)):
        gap = float(gaps[place])
        for share in (0.125, 0.25, 0.5):
            until = np.searchsorted(sent_at, sent_at[place + 1] + share * gap, side="right")
            if until - place - 1 > CAUGHT_UP * rate * share * gap + 3:
                found.append(gap)
                break
    return found


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
