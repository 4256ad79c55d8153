"""The scenarios that exist: files of families, each a small matrix."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from leaselab.lab.build import build, unknown
from leaselab.lab.server_kind import check_kind
from leaselab.model.errors import usage_error
from leaselab.model.scenario import Scenario

_KEYS = {"description", "common", "axes"}


def load_scenarios(folder: Path) -> dict[str, Scenario]:
    """Read every scenario, by name and in the order of the names.

    Raises a usage error that names file and key for anything it cannot take.
    """
    scenarios: dict[str, Scenario] = {}
    for path in sorted(folder.glob("*.yml")):
        for scenario in _family(path):
            if scenario.name in scenarios:
                raise usage_error(f"scenario {scenario.name} exists twice", where=path.name)
            scenarios[scenario.name] = scenario
    if not scenarios:
        raise usage_error("no scenarios", where=str(folder), wanted="YAML files")
    return dict(sorted(scenarios.items()))


def find_scenario(folder: Path, name: str) -> Scenario:
    """Return one scenario; an unknown name raises a usage error with the nearest."""
    scenarios = load_scenarios(folder)
    if name not in scenarios:
        raise unknown("scenario", name, list(scenarios), "scenarios")
    return scenarios[name]


def match_scenarios(folder: Path, patterns: Sequence[str]) -> list[Scenario]:
    """Return the scenarios that any of the patterns means, each once, in the order given.

    Patterns are a shell's (``v4-*``).  One that means nothing raises a usage
    error, with the nearest name where it has no wildcard.
    """
    scenarios = load_scenarios(folder)
    found: dict[str, Scenario] = {}
    for pattern in patterns:
        names = fnmatch.filter(scenarios, pattern)
        if not names:
            raise unknown("scenario", pattern, list(scenarios), "scenarios")
        found.update((name, scenarios[name]) for name in names)
    return list(found.values())


def _family(path: Path) -> Iterator[Scenario]:
    try:
        family = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise usage_error(
            f"not YAML: {' '.join(str(error).split())}", where=path.name
        ) from error
    if not isinstance(family, Mapping):
        raise usage_error("not a mapping", where=path.name, wanted=", ".join(sorted(_KEYS)))
    for key in family:
        if key not in _KEYS:
            raise unknown("key", str(key), sorted(_KEYS), path.name)
    for entries in itertools.product(*family.get("axes", [])):
        yield _scenario(path, family, entries)


def _scenario(
    path: Path, family: Mapping[str, Any], entries: tuple[Mapping[str, Any], ...]
) -> Scenario:
    settings: dict[str, Any] = {
        "description": family.get("description", ""),
        **family.get("common", {}),
    }
    for entry in entries:
        settings.update(entry)
    settings["name"] = "-".join(
        part for part in (str(entry.get("name", "")) for entry in entries) if part
    )
    scenario = build(Scenario, settings, f"{path.name}: {settings['name']}")
    check_kind(scenario)
    return scenario
