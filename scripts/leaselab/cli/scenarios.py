"""What can be measured: ``list --scenarios`` and ``show --scenario``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import msgspec
from rich.table import Table

from leaselab.cli.options import print_json
from leaselab.lab.catalog import find_procedure, find_scenario, match_scenarios
from leaselab.lab.checkout import checkout_root
from leaselab.lab.documents import parse_json
from leaselab.lab.roles import options_of
from leaselab.measure.generators import check_fits
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.procedure import WHERE
from leaselab.model.scenario import Scenario
from leaselab.report.console import Console

PARAMETERS = "--parameters"


def print_scenarios(patterns: Sequence[str], generator: str | None, *, as_json: bool) -> None:
    """Print what can be measured, or what some patterns mean of it."""
    folder = checkout_root() / "scenarios"
    _show_all(match_scenarios(folder, patterns or ["*"], generator), as_json=as_json)


def print_scenario(name: str, parameters: str, generator: str | None, *, as_json: bool) -> None:
    """Print one scenario as it would be run, with some parameters as JSON."""
    folder = checkout_root() / "scenarios"
    scenario = find_scenario(folder, name, generator)
    try:
        procedure = find_procedure(folder, name, _parameters(parameters))
    except LeaselabError as error:
        error.where = PARAMETERS if error.where == WHERE else error.where
        raise
    check_fits(scenario, procedure)
    document = msgspec.to_builtins({"scenario": scenario, "procedure": procedure})
    if as_json:
        print_json(document)
        return
    document["scenario"]["server"].pop("defaulted")  # its values are among the options
    for title, values in document.items():
        print(f"{title}:")
        _show_values(values, "  ")


def _parameters(text: str) -> dict[str, Any]:
    """Read the parameters that were asked for."""
    parameters = parse_json(text, PARAMETERS)
    if not isinstance(parameters, dict):
        raise usage_error(
            "not an object",
            where=PARAMETERS,
            found=text[:40],
            wanted="a JSON object",
            todo='write such as {"rounds": 3}',
        )
    return parameters


def _show_all(scenarios: list[Scenario], *, as_json: bool) -> None:
    if as_json:
        print_json(msgspec.to_builtins(scenarios))
        return
    # Families differ in their factors: columns are those that all have, or most would be empty.
    named = dict.fromkeys(name for scenario in scenarios for name in scenario.factors)
    common = set(named).intersection(*(scenario.factors for scenario in scenarios))
    factors = [name for name in named if name in common]
    rows = [_row(scenario, factors) for scenario in scenarios]
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(row))
        return
    table = Table(box=None, pad_edge=False)
    for title in ("scenario", *factors, "set"):
        table.add_column(title, no_wrap=title == "scenario")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _row(scenario: Scenario, factors: list[str]) -> tuple[str, ...]:
    """Its name, where it stands by each of these factors, and what else is said or set."""
    kind = scenario.server.kind
    parts = [
        (options_of(kind, "scenario"), scenario.server.options),
        *((options_of(role, "tune"), set_) for role, set_ in scenario.beside.items()),
    ]
    differing = [
        f"{name}={value}"
        for declared, values in parts
        for name, value in values.items()
        if value != declared[name]["default"] and value != scenario.factors.get(name)
    ]
    places = [str(scenario.factors[name]) for name in factors]
    others = [
        f"{name}={value}" for name, value in scenario.factors.items() if name not in factors
    ]
    return (scenario.name, *places, " ".join([*others, *differing]) or "-")


def _show_values(values: dict[str, Any], indent: str) -> None:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            print(f"{indent}{name}:")
            _show_values(value, indent + "  ")
        elif isinstance(value, dict | list | tuple):
            print(f"{indent}{name}: {', '.join(map(str, value)) or '-'}")
        else:
            print(f"{indent}{name}: {'-' if value == '' else value}")
