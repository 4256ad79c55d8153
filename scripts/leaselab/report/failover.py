"""A failover in words."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from leaselab.model.durability import durability_of
from leaselab.model.server import server_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_COLUMNS = {
    "outage s": "outage_s",
    "started": "started",
    "answered": "answered",
    "lost": "lost",
    "server leases": "server_leases",
    "partner leases": "partner_leases",
    "missing": "missing",
    "conflicting": "conflicting",
}


def failover_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The lines of ``leaselab failover``; takes its document."""
    found, load = document["failovers"], document["load"]
    scenario, server, bench = document["scenario"], document["server"], document["bench"]
    pair = scenario["high_availability"]
    outages = [one["outage_s"] for one in found]
    told = f"{_seconds(outages)} until leases flowed again" if found else document["outcome"]
    yield (
        f"{scenario['name']} · {server_name(server)} · durability {durability_of(server)}: "
        f"{told}"
    )
    yield ""
    yield "  ".join(["failover", *_COLUMNS])
    for number, one in enumerate(found, start=1):
        cells = [f"{number:>8}"]
        for title, field in _COLUMNS.items():
            text = f"{one[field]:.1f}" if field == "outage_s" else str(one[field])
            cells.append(text.rjust(len(title)))
        yield "  ".join(cells)
    yield ""
    yield (
        f"  load     {load['rate']} exchanges/s for {load['before_s']} s, server killed, "
        f"{load['after_s']} s more"
    )
    yield (
        f"  lost     exchanges without both replies within {document['late_s']:g} s each; "
        "answered: the last one came, in time or not"
    )
    yield (
        "  missing  the dead server's leases that the partner does not know; conflicting: "
        "whose address it gave to another client"
    )
    yield (
        f"  pair     {pair['mode']}, heartbeat {pair['heartbeat_s']:g} s, unreachable after "
        f"{pair['max_response_delay_s']:g} s, down after {pair['max_unacked_clients']} "
        "unanswered clients"
    )
    yield (
        "  outage   in steps of 0.1 s, the longest stretch with less than 90 % of the load "
        "served"
    )
    yield f"  bench    {bench['name']}, environment {bench['environment']}"


def _seconds(outages: Sequence[float]) -> str:
    if len(outages) == 1:
        return f"{outages[0]:.1f} s"
    middle, low, high = statistics.median(outages), min(outages), max(outages)
    return f"median {middle:.1f} s of {len(outages)} ({low:.1f} to {high:.1f} s)"
