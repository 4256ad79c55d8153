"""bench.json, the one seam between Ansible and the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leaselab.catalog.decoding import build
from leaselab.model.bench import NO_ACCESS, SCHEMA_VERSION, Bench
from leaselab.model.errors import usage_error
from leaselab.model.procedures import procedure_of
from leaselab.model.record import GENERATOR, PARTNER, SERVER


def parse_bench(document: Any, where: str) -> Bench:  # noqa: ANN401  (parsed JSON)
    """Turn a bench document into a Bench.

    Raises a usage error for one of another version, or that lacks a host, a server or the
    access to a host.  Those of results lack that: for them there is `parse_measured`.
    """
    bench = parse_measured(document, where)
    for role in (SERVER, GENERATOR):
        if role not in bench.hosts:
            raise usage_error(f"no host for the {role}", where=where, wanted=f"hosts.{role}")
    for role, host in bench.hosts.items():
        if host.access is NO_ACCESS:
            raise usage_error(
                "a key is missing", where=f"{where}: hosts: {role}", wanted="access"
            )
    if bench.scenario.partners and not (PARTNER in bench.hosts and bench.partner):
        raise usage_error(
            "no partner for the pair"
            if bench.scenario.partner
            else "no supporting server, such as the authoritative one",
            where=where,
            wanted="servers.partner and hosts.partner",
            todo="deploy again, with a host in the inventory's group dhcp_partner",
        )
    return bench


def parse_measured(document: Any, where: str) -> Bench:  # noqa: ANN401  (parsed JSON)
    """Turn the bench document of a result into what it was measured with.

    Raises a usage error for one of another version or without a server.
    """
    if not isinstance(document, Mapping):
        raise usage_error("not a JSON object", where=where, todo="deploy again")
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        raise usage_error(
            "schema version is not this leaselab's",
            where=where,
            found=str(version),
            wanted=str(SCHEMA_VERSION),
            todo="deploy again",
        )
    given = {key: value for key, value in document.items() if key != "schema_version"}
    procedure = procedure_of(given.get("procedure", {}))
    bench = build(Bench, {**given, "procedure": procedure}, where)
    if SERVER not in bench.servers:
        raise usage_error("no server", where=where, wanted=f"servers.{SERVER}")
    return bench
