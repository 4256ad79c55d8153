"""A count of a server: a closed loop of transactions, in lock step with the server.

The next message leaves only when all threads of the server sleep.  So none meets another, and
what the server does for each transaction is the same on a busy machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leaselab.measure.ports import Counter, GeneratorHost, Server
from leaselab.model.errors import invalid_measurement
from leaselab.model.observation import Counted, CountedStep, Counts

INSTRUCTIONS, SYSTEM_CALLS = "instructions", "system-calls"
WITH_CACHES = f"{INSTRUCTIONS},caches"
"""What a contract counts a server by."""


@dataclass(frozen=True, slots=True)
class Step:
    """Loads by which a server is counted once, in the generator's words."""

    name: str
    argv: Sequence[str]
    """The generator, which takes loads line by line."""
    leases: int | None
    """Clients that have a lease after `filling`; None where the server gives none."""
    filling: str
    """The load that gives each client its lease; empty where there is none."""
    warm_up: str
    """The load before the one that is counted: code and data that the first touches alone."""
    counted: str
    transactions: int


def count(
    server: Server,
    host: GeneratorHost,
    environment: Mapping[str, str],
    steps: Sequence[Step],
    *,
    simulated: bool = False,
) -> Counted:
    """Count a server in two of its starts: under valgrind, and as it always runs.

    Branches and caches are `simulated` on demand.

    No probe comes before: of open load, it would leave memory that differs from start to start.
    Raises an invalid-measurement error where the server does not complete each transaction,
    does nothing for them, or stores other leases than those of its clients.
    """
    made: dict[str, dict[str, Counts]] = {step.name: {} for step in steps}
    valgrind = WITH_CACHES if simulated else INSTRUCTIONS
    for by in (SYSTEM_CALLS, valgrind):
        with server.counting(by) as counter:
            counter.settle()
            for step in steps:
                made[step.name][by] = _counted(by, counter, host, environment, step)
    return Counted(
        {
            step.name: CountedStep(
                step.transactions,
                step.leases or 0,
                made[step.name][SYSTEM_CALLS],
                made[step.name][valgrind],
            )
            for step in steps
        }
    )


def _counted(
    by: str, counter: Counter, host: GeneratorHost, environment: Mapping[str, str], step: Step
) -> Counts:
    """Offer the loads of a step; return what was counted."""
    with host.serving(step.argv, environment) as loads:

        def offer(load: str, *, lock_step: bool = True) -> None:
            counts = loads.offer(load, counter.settle if lock_step else None)["counts"]
            if counts["completed"] != counts["attempted"] or not counts["attempted"]:
                raise invalid_measurement(
                    "the server has not completed each transaction of a count",
                    where=load,
                    found=f"{counts['completed']} of {counts['attempted']}",
                    wanted="all of them",
                    todo="measure again; if this lasts, see the server's log on its host, and "
                    "the test network: leaselab lab check",
                )

        # What was before is not counted; valgrind is slower from then on.
        if by == SYSTEM_CALLS:
            counter.begin()
        if step.filling:
            offer(step.filling, lock_step=False)
        if by != SYSTEM_CALLS:
            counter.begin()
        offer(step.warm_up)
        # A server goes on after its reply: dnsmasq then signals the lease on its bus.
        counter.settle()
        counter.zero()
        offer(step.counted)
        counter.settle()
        counts = counter.take()
    held = counter.held() if step.leases else None
    if held not in (None, step.leases):
        raise invalid_measurement(
            "the server does not store the leases of its clients",
            where=step.counted,
            found=f"{held}",
            wanted=f"{step.leases}",
            todo="measure again; see the server's log on its host if this lasts",
        )
    if not counts.functions and not counts.system_calls:
        raise invalid_measurement(
            "the server has done nothing for the transactions of a count",
            where=step.counted,
            found="0 instructions",
            wanted="that it serves them",
            todo="see whether another server answers at its address: leaselab lab check",
        )
    return counts
