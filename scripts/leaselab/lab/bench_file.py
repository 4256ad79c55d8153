"""bench.json, the one seam between Ansible and the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from leaselab.lab.build import build
from leaselab.model.bench import Bench, ServerUnderTest
from leaselab.model.errors import usage_error
from leaselab.model.procedures import AnyProcedure, procedure_of
from leaselab.model.record import GENERATOR, PARTNER, SERVER, Scenario

SCHEMA_VERSION = 2


def parse_bench(document: Any, where: str) -> Bench:  # noqa: ANN401  (parsed JSON)
    """Turn a bench document into a Bench.

    Raises a usage error for one of another version, or that lacks a host or a server.  It has
    how the hosts are reached, which that of a result has not: for such a one there is
    `parse_measured`.
    """
    given = _fields(document, where, SCHEMA_VERSION)
    bench = build(Bench, given, where)
    for role in (SERVER, GENERATOR):
        if role not in bench.hosts:
            raise usage_error(f"no host for the {role}", where=where, wanted=f"hosts.{role}")
    if SERVER not in bench.servers:
        raise usage_error("no server", where=where, wanted=f"servers.{SERVER}")
    if bench.scenario.needs_partner and not (PARTNER in bench.hosts and bench.partner):
        raise usage_error(
            "no partner for the pair" if bench.scenario.partner else "no support",
            where=where,
            wanted="servers.partner and hosts.partner",
            todo="deploy again, with a host in the inventory's group dhcp_partner",
        )
    return bench


@dataclass(frozen=True, slots=True)
class Measured:
    """What a result was measured with: its bench document without the hosts."""

    inventory: str
    """Its place in the checkout, or its own name."""
    servers: Mapping[str, ServerUnderTest]
    """By role."""
    scenario: Scenario
    procedure: AnyProcedure
    distribution: str = ""
    generator: Mapping[str, Any] = field(default_factory=dict)
    """As deployed; `build` where it was built from a commit."""


def parse_measured(document: Any, where: str) -> Measured:  # noqa: ANN401  (parsed JSON)
    """Turn the bench document of a result into what it was measured with."""
    given = _fields(document, where, SCHEMA_VERSION)
    wanted = {one.name for one in fields(Measured)}
    return build(Measured, {key: given[key] for key in given if key in wanted}, where)


def _fields(document: Any, where: str, known: int) -> dict[str, Any]:  # noqa: ANN401  (as above)
    """Return the fields of a bench document of a known version, its procedure checked.

    Raises a usage error for another version.
    """
    if not isinstance(document, Mapping):
        raise usage_error("not a JSON object", where=where)
    version = document.get("schema_version")
    if version != known:
        raise usage_error(
            "schema version is not this leaselab's",
            where=where,
            found=str(version),
            wanted=str(known),
            todo="deploy again",
        )
    given = {key: value for key, value in document.items() if key != "schema_version"}
    return {**given, "procedure": procedure_of(given.get("procedure", {}))}
