"""A scenario with the clients of a file: its load has their kinds, shares and number."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.kept_scenarios import Made, keep
from leaselab.inputs.client_kinds import MOST_CLIENTS as OF_CONFIGURATION
from leaselab.inputs.client_kinds import RESERVED, leases_of, named_in
from leaselab.inputs.clients.arrivals import Arrivals, scaled
from leaselab.inputs.clients.file import Clients, Traffic
from leaselab.model.errors import usage_error
from leaselab.model.pool import POOL_USE_LIMIT, pool_size
from leaselab.model.scenario import Scenario
from leaselab.model.text import some_of
from leaselab.model.trial import SHARES

MOST_CLIENTS = 1 << 24
_MOST_ADDRESSES = 1 << 40
"""Addresses of a pool that are counted."""
_INTERFACE_ID = 18
_MOST_SHOWN = 5


class _Relay(NamedTuple):
    """Where clients of a user's own configuration come from."""

    address: str
    clients: int
    """How many its pools are for that are open to all."""
    wants: frozenset[str]
    agent: list[list[Any]]
    """Sub-options by which the relay identifies its interface to a server."""


def with_clients(
    catalogue: Catalogue,
    scenario: Scenario,
    clients: Clients,
    file_hash: str,
    scale: float,
    *,
    arrivals: Arrivals | None = None,
) -> Made:
    """Add a scenario with other clients to the catalogue.

    `file_hash` is that of the file that the clients are of; with `arrivals` it replays when
    they came.  Raises a usage error for a scenario that has no clients of DHCP, or others than
    the file, and for arrivals that the file does not have.
    """
    traffic = _fitting(scenario, clients)
    folder = catalogue.kept
    kinds, notes = _kinds(scenario, traffic, scale, folder)
    count = sum(int(kind["clients"]) for kind in kinds)
    if count > MOST_CLIENTS:
        raise usage_error(
            "too many clients",
            where="--scale",
            found=f"{count} clients",
            wanted=f"at most {MOST_CLIENTS}",
        )
    procedure = catalogue.family_of(scenario.name).procedures[scenario.name]
    shares, coming = traffic.shares, list[str]()
    if arrivals is not None:
        procedure, shares, coming = arrivals.of(traffic, scale, procedure)
    load = {
        **{key: value for key, value in scenario.load.items() if key not in SHARES.values()},
        "clients": count,
        "population": keep(folder, {"kinds": kinds}),
        **{key: shares[word] for word, key in SHARES.items() if shares.get(word)},
        **({"lease_clock": True} if arrivals is not None and arrivals.lease_clock else {}),
        "resends": traffic.resent > 0,
        "clients_file": {
            "sha256": file_hash,
            "scale": scale,
            "clients": traffic.clients,
            "kinds": len(traffic.kinds),
            "relays": traffic.relays,
        },
        **({"relayed": True} if scenario.load["family"] == 6 else {}),
    }
    if "addresses" not in load:
        load["addresses"] = min(pool_size(load["pool"]), _MOST_ADDRESSES)
    made = catalogue.add_like(scenario, procedure, load, "clients")
    peak = traffic.peak
    lines = [f"scenario {made.name}", f"  {count} clients in {len(kinds)} kinds"]
    lines += coming
    if peak and not coming:
        lines.append(f"  their peak minute: {peak.per_s * scale:g} exchanges/s (--set rate=N)")
    return Made(made, [*lines, *(f"  {note}" for note in [*traffic.notes, *notes])])


def _fitting(scenario: Scenario, clients: Clients) -> Traffic:
    """The clients of the scenario's family."""
    where = f"scenario {scenario.name}"
    family = scenario.load.get("family")
    if "queries" in scenario.load or family not in (4, 6):
        raise usage_error(
            "not a DHCP scenario", where=where, wanted="a DHCP scenario, such as v4-memfile"
        )
    if scenario.partner:
        raise usage_error(
            "a pair of servers takes no clients of a file",
            where=where,
            wanted="a scenario of one server",
        )
    if scenario.load.get("informs") == 1.0:
        raise usage_error(
            "its server gives no leases, which clients of a file ask for",
            where=where,
            todo="measure it with the clients that fit it: leave out --clients",
        )
    if "first_client" in scenario.load:
        raise usage_error(
            "its reservations are for its own clients, which a file cannot replace",
            where=where,
            wanted="a scenario without reservations",
        )
    traffic = clients.of(family)
    if traffic is None:
        raise usage_error(
            f"the file has no DHCPv{family} clients",
            where=where,
            wanted=f"a scenario of DHCPv{10 - family}, or another file",
        )
    return traffic


def _kinds(
    scenario: Scenario, traffic: Traffic, scale: float, folder: Path
) -> tuple[list[dict[str, Any]], list[str]]:
    """Kinds of clients, as many as scaled, behind the relays that the scenario has."""
    kinds = _scaled(traffic.kinds, scale) or [{**traffic.kinds[0], "clients": 1}]
    if "population" in scenario.load:
        kept = (folder / f"{scenario.load['population']}.json").read_text(encoding="utf-8")
        addresses = int(scenario.load["addresses"])
        relays, notes = _relays(json.loads(kept)["kinds"], addresses)
        behind, more = _behind(kinds, relays)
        return behind, [*notes, *more]
    want = str(scenario.load.get("want", "address"))
    notes = []
    if any("relay" in kind for kind in kinds):
        notes.append("all are behind the scenario's own relays")
    if any(kind.get("want", "address") != want for kind in kinds):
        notes.append(f"all ask for what the scenario has: {want}")
    apart = ("relay", "want")
    return [
        {
            **{key: value for key, value in kind.items() if key not in apart},
            **({"want": want} if want != "address" else {}),
        }
        for kind in kinds
    ], notes


def _scaled(kinds: list[dict[str, Any]], scale: float) -> list[dict[str, Any]]:
    """Kinds with so many times the clients in all; of many small ones some have none."""
    counts = scaled([int(kind["clients"]) for kind in kinds], scale)
    return [
        {**kind, "clients": count} for kind, count in zip(kinds, counts, strict=True) if count
    ]


def _relays(kinds: list[dict[str, Any]], addresses: int) -> tuple[list[_Relay], list[str]]:
    """The relays of a configuration, those with the largest pools first, and notes.

    Its own clients are fewer than half of large pools, which have so many leases in all.  Of
    a pool that is open to all at most half of them are in classes; relays without one are
    left out.
    """
    if any("relay" not in kind for kind in kinds):
        raise usage_error(
            "clients of a capture need relays of their own, and those of this file have none",
            where="--clients",
            todo="measure the file with the clients that fit it: leave out --clients",
        )
    sizes: Counter[str] = Counter()
    in_classes: Counter[str] = Counter()
    subnets: dict[str, str] = {}
    wants: dict[str, set[str]] = {}
    agents: dict[str, list[list[Any]]] = {}
    for kind in kinds:
        address = str(kind["relay"])
        subnets[address], of = named_in(kind)
        interface = [pair for pair in kind.get("agent", []) if pair[0] == _INTERFACE_ID]
        agents.setdefault(address, interface)
        if not of:
            sizes[address] += int(kind["clients"])
            wants.setdefault(address, set()).add(kind.get("want", "address"))
        elif of != RESERVED:
            in_classes[address] += int(kind["clients"])
    for address, size in sizes.items():
        sizes[address] += min(size, in_classes[address])
    closed = [subnet for address, subnet in subnets.items() if address not in sizes]
    if not sizes:
        raise usage_error(
            "no subnet of the file takes clients of a capture",
            where="--clients",
            found=some_of(closed, _MOST_SHOWN),
            wanted="a pool for clients without a reservation, in no class",
        )
    leases = sum(map(leases_of, kinds))
    room = max(1.0, POOL_USE_LIMIT * addresses / max(OF_CONFIGURATION, leases))
    relays = [
        _Relay(address, math.floor(size * room), frozenset(wants[address]), agents[address])
        for address, size in sizes.most_common()
    ]
    closed_to_all = (
        f"{some_of(closed, _MOST_SHOWN)}: only for reservations or classes, no client is there"
    )
    return relays, [closed_to_all] if closed else []


def _behind(
    kinds: list[dict[str, Any]], relays: list[_Relay]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Kinds behind the relays of a configuration: the largest behind the largest pools.

    Where a relay has fewer addresses than clients, each of its kinds is cut by one share.
    """
    sizes: Counter[str] = Counter()
    for kind in kinds:
        sizes[kind.get("relay", "")] += kind["clients"]
    places = {
        seen: relays[number % len(relays)]
        for number, (seen, _) in enumerate(sizes.most_common())
    }
    behind: Counter[str] = Counter()
    for kind in kinds:
        behind[places[kind.get("relay", "")].address] += kind["clients"]
    notes = [f"{len(places)} relays are behind {len(behind)} of the file's {len(relays)}"]
    notes += [
        f"{behind[relay.address]} clients of {relay.address} are cut to {relay.clients}: "
        "half of its pools"
        for relay in relays
        if behind[relay.address] > relay.clients
    ]
    groups: dict[str, tuple[_Relay, list[dict[str, Any]]]] = {}
    for kind in kinds:
        relay = places[kind.get("relay", "")]
        groups.setdefault(relay.address, (relay, []))[1].append(kind)
    made = []
    for relay, there in groups.values():
        part = min(1.0, relay.clients / behind[relay.address])
        made += [{**kind, **_at(relay, kind)} for kind in _scaled(there, part)]
    if not made:
        raise usage_error(
            "the pools are too small for a client of each relay",
            where="--config",
            todo="raise --scale, or enlarge the pools",
        )
    return made, notes


def _at(relay: _Relay, kind: dict[str, Any]) -> dict[str, Any]:
    """What a kind has of a relay."""
    want = kind.get("want", "address")
    if want not in relay.wants and not (want != "prefix" and "both" in relay.wants):
        want = min(relay.wants)
    agent = kind.get("agent", [])
    if relay.agent:
        agent = [*relay.agent, *(pair for pair in agent if pair[0] != _INTERFACE_ID)]
    return {"relay": relay.address, "want": want, **({"agent": agent} if agent else {})}
