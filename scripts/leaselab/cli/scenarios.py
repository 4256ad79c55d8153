"""``leaselab scenarios``: what can be measured."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec
from rich.table import Table

from leaselab.cli.options import add_json, checkout_root, parse_json, print_json
from leaselab.cli.procedure_options import add_generator
from leaselab.lab.catalog import find_procedure, match_scenarios
from leaselab.lab.roles import options_of
from leaselab.measure.generators import check_fits
from leaselab.model.errors import Outcome, usage_error
from leaselab.report.console import Console

if TYPE_CHECKING:
    import argparse

    from leaselab.model.record import Scenario

NAME = "scenarios"
HELP = "list the scenarios, or show one as it would be run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "scenario",
        nargs="?",
        metavar="SCENARIO|PATTERN",
        help="show this one as it would be run, or list those of a pattern such as 'v4-*'",
    )
    parser.add_argument(
        "--procedure",
        metavar="JSON",
        default="{}",
        help="with one scenario: parameters of its procedure that differ from what its file "
        'says, such as {"rounds": 3}',
    )
    add_generator(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print them."""
    folder = checkout_root() / "scenarios"
    scenario, *others = found = match_scenarios(folder, [args.scenario or "*"], args.generator)
    if others or scenario.name != args.scenario:
        _show_all(found, as_json=args.json)
        return Outcome.OK
    procedure = find_procedure(folder, scenario.name, _parameters(args.procedure))
    check_fits(scenario, procedure)
    document = msgspec.to_builtins({"scenario": scenario, "procedure": procedure})
    if args.json:
        print_json(document)
    else:
        document["scenario"]["server"].pop("untold")  # its values are among the options
        for title, values in document.items():
            print(f"{title}:")
            _show_values(values, "  ")
    return Outcome.OK


def _parameters(text: str) -> dict[str, Any]:
    """Read the parameters that were asked for."""
    found = parse_json(text, "--procedure")
    if not isinstance(found, dict):
        raise usage_error("not an object", where="--procedure", found=text)
    return found


def _show_all(scenarios: list[Scenario], *, as_json: bool) -> None:
    if as_json:
        print_json(msgspec.to_builtins(scenarios))
        return
    # Families differ in their factors: columns are those that all have, or most would be empty.
    named = dict.fromkeys(name for one in scenarios for name in one.factors)
    factors = [name for name in named if all(name in one.factors for one in scenarios)]
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
            print(f"{indent}{name}: {value}")
