"""Kinds of servers, as their roles declare them: which settings of a scenario they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from leaselab.lab.build import unknown
from leaselab.model.errors import usage_error
from leaselab.model.scenario import Scenario

ROLES = Path(__file__).resolve().parents[3] / "roles"
"""They belong to the code that reads them, so they lie in the same checkout."""
_CONTRACT = "files/server"
"""What a role of a server has, and no other."""


def check_kind(scenario: Scenario) -> None:
    """Refuse settings that the role of the scenario's server does not declare.

    A result repeats its scenario, and would claim what was never configured.  Raises a
    usage error for a kind of server that does not exist, too.
    """
    kinds = sorted(path.parents[1].name for path in ROLES.glob(f"*/{_CONTRACT}"))
    where = f"scenario {scenario.name}"
    if scenario.server not in kinds:
        raise unknown("kind of server", scenario.server, kinds, where)
    declared = declared_options(scenario.server)
    for setting, value in _settings(scenario):
        name = f"{scenario.server}_{setting}"
        if name not in declared:
            raise usage_error(
                f"{scenario.server} has no {setting.replace('_', ' ')}",
                where=where,
                found=str(value),
                wanted=f"a server whose role declares {name}",
            )
        choices = declared[name].get("choices")
        if choices is not None and value not in choices:
            raise usage_error(
                f"{scenario.server} has no such {setting.replace('_', ' ')}",
                where=where,
                found=str(value),
                wanted=" or ".join(map(str, choices)),
            )
    for name in scenario.tuning:
        known = declared_options(scenario.backend) if scenario.has_database else {}
        if name not in known:
            raise unknown("setting of the backend", name, sorted(known), f"{where}: tuning")


@cache
def declared_options(role: str) -> Mapping[str, Mapping[str, Any]]:
    """Every option that a role declares for any of its entry points, by its name."""
    path = ROLES / role / "meta" / "argument_specs.yml"
    specs = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
    return {name: option for spec in specs.values() for name, option in spec["options"].items()}


def _settings(scenario: Scenario) -> Iterator[tuple[str, Any]]:
    """What a scenario asks of its server beyond what every server has, by option."""
    yield "backend", scenario.backend
    if not scenario.memfile_persist:
        yield "memfile_persist", scenario.memfile_persist
    threading = scenario.multi_threading
    if threading.enabled:
        yield "multi_threading", threading.enabled
        yield "threads", threading.threads
        yield "queue_size", threading.queue_size
    if scenario.high_availability.pair:
        yield "pair_mode", scenario.high_availability.mode
