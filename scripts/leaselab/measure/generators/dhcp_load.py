"""What every load of DHCP clients has: addresses that it uses up, clients that come back.

The same for every generator: what its pool holds, which procedures it can have, and the doubts
that follow from leases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from leaselab.measure.generators.adapter import POOL_TOO_FULL, Seen
from leaselab.model.bench import Bench
from leaselab.model.errors import usage_error
from leaselab.model.pool import POOL_USE_LIMIT, pool_size
from leaselab.model.procedure import Procedure
from leaselab.model.procedures.burst import Burst
from leaselab.model.record import MALFORMED
from leaselab.model.scenario import Scenario
from leaselab.model.trial import SHARES, Load

STAGES = {4: ("DISCOVER-OFFER", "REQUEST-ACK"), 6: ("SOLICIT-ADVERTISE", "REQUEST-REPLY")}
"""Stages of an exchange for a new lease, by address family."""

WANTED = ("address", "prefix", "both")
"""What clients may ask for: the first where the load does not say."""
DUPLICATE_ADDRESS = "duplicate-address"
"""The server gave one address to two clients."""
REJECTED = "rejected"
"""The server refused leases, so it did less work than it was asked for."""
LOST_UPDATES = "lost-updates"
"""A server of a pair held fewer leases than clients were answered."""
_REPLY_ROOM = 10
"""By how much longer replies may take near the max rate than while clients were too few."""


def check_leases(scenario: Scenario, procedure: Procedure, *, judged: bool = False) -> None:
    """Raise a usage error where leases expire too soon, or addresses are too few to measure.

    Leases may expire where what becomes of each is `judged` by its own times.
    """
    where = f"scenario {scenario.name}"
    for key in ("family", "addresses" if "population" in scenario.load else "pool"):
        if key not in scenario.load:
            raise usage_error("a key of the load is missing", where=where, wanted=key)
    lifetime_s = scenario.server.options.get("lease_lifetime_s", math.inf)
    clients = returning_clients(scenario)
    # Clients that come back take no other addresses when their leases have expired.
    if lifetime_s <= procedure.longest_s and not clients and not judged:
        raise usage_error(
            "leases could expire while the sweep runs",
            where=where,
            found=f"lease_lifetime_s {lifetime_s}",
            wanted=f"more than {procedure.longest_s:.0f} s, the longest this can take",
            todo="raise lease_lifetime_s, or lower rounds or trial_s",
        )
    if procedure.keeps and not clients:
        raise usage_error(
            "clients would come again to a server that was not reset, as if they were new",
            where=where,
            found=f"reset {procedure.reset}",
            wanted="a load whose clients come back",
            todo="leave out reset, or give the load a number of clients",
        )
    size = addresses_of(scenario)
    procedure.check_capacity(size, where)
    if clients and (procedure.fills or isinstance(procedure, Burst)):
        fills = "returning clients cannot fill a pool"
        raise usage_error(
            fills if procedure.fills else "the clients of a burst do not come back",
            where=where,
            found=f"a load of {clients} clients",
            wanted="clients that are all new",
            todo="take such a load, or another procedure",
        )
    most_leased = min(procedure.most_attempted, clients or math.inf)
    if not procedure.fills and most_leased > POOL_USE_LIMIT * size:
        raise usage_error(
            "the load could fill the pool beyond half, where allocation slows down",
            where=where,
            found=f"{size} addresses",
            wanted=f"at least {most_leased / POOL_USE_LIMIT:.0f}, twice what "
            "is offered until the server is reset",
            todo="enlarge the pool, or offer less: a lower rate, or for a shorter time",
        )


def addresses_of(scenario: Scenario) -> int:
    """How many addresses clients can get: those of the pool, or those that the load names."""
    load = scenario.load
    return int(load["addresses"]) if "addresses" in load else pool_size(load["pool"])


def most_given(scenario: Scenario) -> int | None:
    """How many exchanges the pool has an address for; None where clients come back."""
    return None if returning_clients(scenario) else addresses_of(scenario)


def wanted_of(scenario: Scenario) -> str:
    """Return what clients ask for: ``address``, or in DHCPv6 ``prefix`` or ``both``.

    Raises a usage error for another word.
    """
    reply = scenario.load.get("want", WANTED[0])
    known = WANTED[:1] if scenario.load["family"] == 4 else WANTED
    if reply not in known:
        raise usage_error(
            "clients cannot ask for that",
            where=f"scenario {scenario.name}: want",
            found=repr(reply),
            wanted=" or ".join(known),
        )
    return str(reply)


def returning_clients(scenario: Scenario) -> int:
    """How many clients there are, which come back in turn; 0: each of them is a new one.

    Raises a usage error for a number of clients that is none.
    """
    clients = scenario.load.get("clients", 0)
    if type(clients) is not int or clients < 0:
        raise usage_error(
            "not a number of clients",
            where=f"scenario {scenario.name}: clients",
            found=repr(clients),
            wanted="a whole number, or nothing for new ones only",
        )
    return clients


def filled(scenario: Scenario) -> bool:
    """Whether clients have leases before a load begins."""
    with_lease = wishes_of(scenario).keys() - {"new", "rapid", "inform"}
    return bool(with_lease or scenario.load.get("lease_clock"))


def wishes_of(scenario: Scenario) -> dict[str, float]:
    """Return what DHCP clients want (``new``, ``renew`` and the like) by its share, above 0.

    Raises a usage error for shares that are none, or for clients that have no lease to renew.
    """
    where = f"scenario {scenario.name}"
    wishes = {kind: scenario.load.get(key, 0.0) for kind, key in SHARES.items()}
    total = round(sum(wishes.values()), 9)
    if min(wishes.values()) < 0 or total > 1:
        raise usage_error(
            "not shares of the exchanges",
            where=where,
            found=", ".join(
                f"{SHARES[kind]} {share}" for kind, share in wishes.items() if share
            ),
            wanted="0 to 1, together at most 1",
        )
    with_leases = any(wishes.values()) or scenario.load.get("lease_clock")
    if with_leases and not returning_clients(scenario):
        raise usage_error(
            "clients that are all new have no lease to renew or to release",
            where=where,
            wanted="a load with a number of clients",
        )
    wishes = {"new": round(1 - total, 9), **wishes}
    return {kind: share for kind, share in wishes.items() if share > 0}


def clients_of(scenario: Scenario, load: Load) -> int:
    """How many clients a load has that come back in turn; 0: each of them is a new one.

    A load that has fewer than the scenario keeps the server as empty as its short trials do,
    unless all clients have their leases before.
    """
    own = returning_clients(scenario)
    if own and load.clients and not filled(scenario):
        return min(own, load.clients)
    return own or load.clients


def too_few_words(
    scenario: Scenario, load: Load, procedure: Procedure, reply_s: float | None
) -> str:
    """Say how many clients a load needs, so that one waits whenever something is due.

    By Little's law: as many as begin while a reply takes, with room, those that wait for what
    may be lost, and those that end without a lease beyond the ones that get it.  The median
    reply took `reply_s` (s); None where none came.  Twice what they are, at the least.
    """
    clients, wishes = clients_of(scenario, load), wishes_of(scenario)
    wait_s = max(procedure.late_s, procedure.wait_s)
    waits_s = wait_s
    if reply_s is not None:
        waits_s = min(wait_s, _REPLY_ROOM * reply_s + procedure.loss_ratio * wait_s)
    ending = sum(wishes.get(kind, 0.0) for kind in ("release", "decline"))
    ending -= sum(wishes.get(kind, 0.0) for kind in ("new", "rapid"))
    rate = max(load.counts) * len(load.counts) / load.duration_s if load.counts else load.rate
    needed = math.ceil(rate * (waits_s + load.duration_s * max(0.0, ending)))
    needed = max(needed, 2 * clients)
    file = scenario.load.get("clients_file")
    how = f" (--scale {math.ceil(needed / clients * file['scale'])})" if file else ""
    return f"{clients} clients; {rate:g}/s may need {needed}{how}"


@dataclass(frozen=True, slots=True)
class Granted:
    """What clients were answered in a trial."""

    clients: int
    """How many clients there were, which came back in turn; 0: each of them was a new one."""
    attempted: int
    """Exchanges begun."""
    answered: int
    """Exchanges whose last reply came."""
    refusals: int
    """Replies that refused a lease."""
    duplicates: int
    """Addresses that two clients had at once."""
    malformed: int
    """Replies that were no DHCP messages."""


def lease_doubts(bench: Bench, granted: Granted, seen: Seen, *, passes: bool) -> Iterator[str]:
    """Yield the words for what leases and replies say against a trial.

    A server that refuses what is too much for it has failed like any other: so has a pair
    that a load breaks.  Only a pass is doubted for it: one server alone, or one whose partner
    missed updates, does less work than was asked for.  Servers of a pair may differ by the
    exchanges that stayed without an answer, but no answered client may be unknown to either;
    a pair that was not in its state is doubted for that instead.
    """
    most_leased = granted.clients or math.inf
    in_use = max(min(granted.attempted, most_leased), seen.in_use or 0)
    if granted.malformed:
        yield MALFORMED
    if granted.duplicates:
        yield DUPLICATE_ADDRESS
    if passes and granted.refusals + seen.refused and not bench.scenario.load.get("refuses"):
        yield REJECTED
    if in_use > POOL_USE_LIMIT * addresses_of(bench.scenario):
        yield POOL_TOO_FULL
    if (
        passes
        and not seen.trouble
        and len(seen.held) > 1
        and min(seen.held.values()) < min(granted.answered, most_leased)
    ):
        yield LOST_UPDATES
