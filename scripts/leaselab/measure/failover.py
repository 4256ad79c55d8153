"""A failover: what clients notice when the server of a pair dies under a steady load."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from leaselab.measure import perfdhcp
from leaselab.model.errors import invalid_measurement
from leaselab.model.trial import TrialRequest

if TYPE_CHECKING:
    from leaselab.measure.bench_trial import BenchTrials
    from leaselab.measure.perfdhcp import Times
    from leaselab.model.observation import Generated

STEP_S = 0.1
"""Resolution of the outage (s)."""
KEPT_SHARE = 0.9
"""Share of the offered load that counts as being served."""
TIMEOUT_SLACK_S = 30.0


class Pair(Protocol):
    """A pair whose server can be made to die."""

    def crash(self) -> None:
        """End the server as a crash would."""

    def leases(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the client of every lease by address, the server's and the partner's."""


@dataclass(frozen=True, slots=True)
class Load:
    """The steady load, and when the server dies."""

    rate: int
    """Offered load, below the max rate (exchanges/s)."""
    before_s: int
    """Traffic before the crash (s)."""
    after_s: int
    """Traffic after it (s); longer than the pair takes to notice."""


@dataclass(frozen=True, slots=True)
class Failover:
    """What came of it."""

    outage_s: float
    """How long the load was not served (s, in steps of `STEP_S`)."""
    started: int
    answered: int
    """Exchanges whose last reply came, in time or not."""
    lost: int
    """Exchanges without their replies in time."""
    server_leases: int
    """Leases in the dead server's store."""
    partner_leases: int
    missing: int
    """Leases of the dead server that the partner does not know."""
    conflicting: int
    """Leases of the dead server whose address the partner has for another client."""


def crash_under(
    load: Load,
    trials: BenchTrials,
    pair: Pair,
    sleep: Callable[[float], None] = time.sleep,
) -> Generated:
    """Offer the load to a settled pair with an empty store, and kill its server in it."""
    bench = trials.bench
    request = TrialRequest(load.rate, load.before_s + load.after_s)
    argv = perfdhcp.command(
        bench.generator,
        trials.target,
        request,
        bench.plan.goal,
        wait_s=bench.plan.wait_s,
        may_abort=False,
    )
    longest_s = request.duration_s + bench.plan.wait_s + TIMEOUT_SLACK_S
    with ThreadPoolExecutor(max_workers=1) as pool:
        traffic = pool.submit(
            trials.generator.generate, argv, bench.generator.environment, longest_s
        )
        sleep(load.before_s)
        pair.crash()
        return traffic.result()


def figures(generated: Generated, load: Load, trials: BenchTrials, pair: Pair) -> Failover:
    """What came of it, from the generator's output and the stores of both.

    Raises an invalid-measurement error when the load was not served before the
    crash, or not again within `after_s`.
    """
    output = perfdhcp.parse(trials.text(generated), trials.bench.scenario.family)
    counts = perfdhcp.judge(output, trials.bench.plan.goal, load.rate)
    server, partner = pair.leases()
    return Failover(
        outage_s=outage_s(served(output.second.received_at, load), load),
        started=counts.started,
        answered=output.second.received,
        lost=counts.started - counts.completed,
        server_leases=len(server),
        partner_leases=len(partner),
        missing=sum(address not in partner for address in server),
        conflicting=sum(
            partner.get(address, client) != client for address, client in server.items()
        ),
    )


def served(received_at: Times, load: Load) -> Times:
    """Last replies in each step over those that were due, shape (steps,).

    The generator ends a little before its time; the steps in which it has are
    left out.
    """
    steps = round((load.before_s + load.after_s) / STEP_S)
    origin = float(received_at.min()) if received_at.size else 0.0
    counts, _ = np.histogram(received_at - origin, bins=steps, range=(0.0, steps * STEP_S))
    share: Times = counts / (load.rate * STEP_S)
    return share[: int(perfdhcp.COUNT_SHARE * steps)]


def outage_s(share: Times, load: Load) -> float:
    """The longest stretch of steps in which less than `KEPT_SHARE` was served (s).

    The longest, because a shared machine stumbles for a step now and then.
    """
    before = share[: round(load.before_s / STEP_S)]
    if np.median(before) < KEPT_SHARE:
        raise invalid_measurement(
            "the load was not served before the server died",
            found=f"{100 * float(np.median(before)):.0f} % of {load.rate}/s",
            wanted=f"{100 * KEPT_SHARE:.0f} % or more",
            todo="offer less: --rate",
        )
    short = np.concatenate(([False], share < KEPT_SHARE, [False]))
    edges = np.flatnonzero(np.diff(short))
    starts, ends = edges[::2], edges[1::2]
    if not starts.size:
        return 0.0
    longest = int(np.argmax(ends - starts))
    if ends[longest] == share.size:
        raise invalid_measurement(
            "the load was not served again",
            found=f"still short {load.after_s} s after the server died",
            todo="give the pair longer: --after-s",
        )
    return float((ends[longest] - starts[longest]) * STEP_S)
