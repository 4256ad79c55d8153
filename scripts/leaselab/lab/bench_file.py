"""bench.json, the one seam between Ansible and the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from leaselab.lab.build import build
from leaselab.model.bench import Bench, ServerUnderTest
from leaselab.model.errors import usage_error
from leaselab.model.plan import Plan
from leaselab.model.scenario import Scenario

SCHEMA_VERSION = 1


def read_bench(path: Path) -> Bench:
    """Read bench.json.

    Raises a usage error when it is missing, damaged, of another version or
    lacks a host, and when its scenario cannot hold its sweep.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise usage_error(
            "no such file",
            where=str(path),
            todo="deploy and tune first: leaselab run, or ansible/site.yml",
        ) from error
    except (OSError, ValueError) as error:
        raise usage_error(f"not readable: {error}", where=str(path)) from error
    return parse_bench(document, str(path))


def parse_bench(document: Any, where: str) -> Bench:  # noqa: ANN401  (parsed JSON)
    """Turn a bench document into a Bench.

    It has how the hosts are reached, which that of a result has not: for such a one there
    is `parse_measured`.
    """
    bench = build(Bench, _fields(document, where), where)
    for role in ("server", "generator"):
        if role not in bench.hosts:
            raise usage_error(f"no host for the {role}", where=where, wanted=f"hosts.{role}")
    if bench.scenario.high_availability.pair and not (
        "partner" in bench.hosts and bench.partner
    ):
        raise usage_error(
            "no partner for the pair",
            where=where,
            wanted="partner and hosts.partner",
            todo="deploy again, with a host in the inventory's group dhcp_partner",
        )
    bench.plan.check_fits(bench.scenario)
    return bench


@dataclass(frozen=True, slots=True)
class Measured:
    """What a result was measured with: its bench document without the hosts."""

    inventory: str
    """Its place in the checkout, or its own name; a path in results of older releases."""
    server: ServerUnderTest
    scenario: Scenario
    plan: Plan
    distribution: str = ""


def parse_measured(document: Any, where: str) -> Measured:  # noqa: ANN401  (parsed JSON)
    """Turn the bench document of a result into what it was measured with."""
    wanted = {field.name for field in fields(Measured)}
    given = _fields(document, where)
    return build(Measured, {key: given[key] for key in given if key in wanted}, where)


def _fields(document: Any, where: str) -> Mapping[str, Any]:  # noqa: ANN401  (parsed JSON)
    """Return the fields of a bench document of this leaselab's version; else a usage error."""
    if not isinstance(document, Mapping):
        raise usage_error("not a JSON object", where=where)
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        raise usage_error(
            "schema version is not this leaselab's",
            where=where,
            found=str(version),
            wanted=str(SCHEMA_VERSION),
            todo="deploy again",
        )
    return {key: value for key, value in document.items() if key != "schema_version"}
