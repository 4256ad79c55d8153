"""What can be measured: ``list --scenarios`` and ``show --scenario``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from leaselab.catalog.catalogue import Catalogue, of_server
from leaselab.catalog.documents import parse_json
from leaselab.catalog.roles import options_of
from leaselab.cli.options import print_json
from leaselab.measure.generators import check_fits
from leaselab.model.errors import LeaselabError, unknown, usage_error
from leaselab.model.procedure import WHERE
from leaselab.model.scenario import Scenario
from leaselab.model.text import some_of
from leaselab.report.width import write_lines

PARAMETERS = "--parameters"
_NAMED = 6
"""Scenarios of a family that a list of all names."""


def print_scenarios(
    patterns: Sequence[str], generator: str | None, server: str | None, *, as_json: bool
) -> None:
    """Print what can be measured, or what some patterns mean of it, or of one server."""
    scenarios = Catalogue.here().match(patterns or ["*"], generator)
    if server is not None:
        known = {scenario.name: scenario for scenario in scenarios}
        names = set(of_server(server, known))
        if not names:
            kinds = sorted({scenario.server.kind for scenario in scenarios})
            raise unknown("server", server, kinds, "--server")
        scenarios = [scenario for scenario in scenarios if scenario.name in names]
    if as_json:
        print_json(msgspec.to_builtins(scenarios))
    elif sys.stdout.isatty():
        write_lines(sys.stdout, _grouped(scenarios, whole=bool(patterns or server)))
    else:
        # Families differ in their factors: columns are those that all have.
        named = dict.fromkeys(name for scenario in scenarios for name in scenario.factors)
        common = set(named).intersection(*(scenario.factors for scenario in scenarios))
        for scenario in scenarios:
            print("\t".join(_row(scenario, [name for name in named if name in common])))


def print_scenario(name: str, parameters: str, generator: str | None, *, as_json: bool) -> None:
    """Print one scenario as it would be run, with some parameters as JSON."""
    catalogue = Catalogue.here()
    scenario = catalogue.find(name, generator)
    try:
        procedure = catalogue.procedure_of(scenario, _parameters(parameters))
    except LeaselabError as error:
        error.where = PARAMETERS if error.where == WHERE else error.where
        raise
    check_fits(scenario, procedure)
    document = msgspec.to_builtins({"scenario": scenario, "procedure": procedure})
    if as_json:
        print_json({**document, "partners": scenario.partners})
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


def _grouped(scenarios: Sequence[Scenario], *, whole: bool) -> Iterator[str]:
    """Lines by server and by family: its sentence, then names; `whole`: with what each sets."""
    by_server: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        by_server.setdefault(scenario.server.kind, []).append(scenario)
    for kind, of_kind in by_server.items():
        yield f"{kind}: {len(of_kind)} scenario{'s' * (len(of_kind) != 1)}"
        for about, family in _by_sentence(of_kind).items():
            yield f"  {about}"
            names = [scenario.name for scenario in family]
            if whole:
                width = max(map(len, names))
                yield from (f"    {each.name:{width}}  {_row(each, ())[-1]}" for each in family)
            else:
                yield f"    {some_of(names, _NAMED)}"
        yield ""
    if not whole:
        yield "All of a server, with what each sets: `leaselab list --scenarios --server NAME`"


def _by_sentence(scenarios: Sequence[Scenario]) -> dict[str, list[Scenario]]:
    families: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        families.setdefault(scenario.description, []).append(scenario)
    return families


def _row(scenario: Scenario, factors: Sequence[str]) -> tuple[str, ...]:
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
