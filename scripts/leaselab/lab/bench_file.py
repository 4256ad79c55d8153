"""bench.json, the one seam between Ansible and the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leaselab.lab.build import build
from leaselab.model.bench import Bench
from leaselab.model.errors import usage_error

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
    """Turn a bench document, such as bench.json or a journal's first event, into a Bench."""
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
    fields = {key: value for key, value in document.items() if key != "schema_version"}
    bench = build(Bench, fields, where)
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
