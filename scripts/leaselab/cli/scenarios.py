"""``leaselab scenarios``: what can be measured."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from leaselab.cli.options import add_json, checkout_root, print_json
from leaselab.lab.build import build
from leaselab.lab.catalog import match_scenarios
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.plan import Plan

if TYPE_CHECKING:
    import argparse

    from leaselab.model.scenario import Scenario

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
        "--plan",
        metavar="JSON",
        default="{}",
        help="with one scenario: parameters of the sweep that differ from their defaults, "
        'such as {"runs": 3}',
    )
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print them."""
    folder = checkout_root() / "scenarios"
    scenario, *others = found = match_scenarios(folder, [args.scenario or "*"])
    if others or scenario.name != args.scenario:
        _show_all(found, as_json=args.json)
        return Outcome.OK
    plan = parse_plan(args.plan)
    plan.check_fits(scenario)
    document = {"scenario": asdict(scenario), "plan": asdict(plan)}
    if args.json:
        print_json(document)
    else:
        for title, values in _that_apply(document).items():
            print(f"{title}:")
            _show_values(values, "  ")
    return Outcome.OK


def parse_plan(text: str) -> Plan:
    """Build a plan from JSON with the parameters that differ from their defaults."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise usage_error(f"not JSON: {error}", where="--plan", found=text) from error
    return build(Plan, data, "sweep parameters")


def _show_all(scenarios: list[Scenario], *, as_json: bool) -> None:
    if as_json:
        print_json([asdict(scenario) for scenario in scenarios])
        return
    rows = [_row(scenario) for scenario in scenarios]
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(row))
        return
    table = Table(box=None, pad_edge=False)
    for title in ("scenario", "clients", "backend", "threading", "servers", "tuned"):
        table.add_column(title, no_wrap=title == "scenario")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _row(scenario: Scenario) -> tuple[str, ...]:
    threading, pair = scenario.multi_threading, scenario.high_availability
    return (
        scenario.name,
        f"DHCPv{scenario.family}",
        scenario.backend,
        f"{threading.threads} threads" if threading.enabled else "single-threaded",
        pair.mode if pair.pair else "one",
        " ".join(f"{name}={value}" for name, value in scenario.tuning.items()) or "-",
    )


def _that_apply(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out what means nothing for this scenario."""
    scenario = dict(document["scenario"])
    if scenario["backend"] != "memfile":
        del scenario["memfile_persist"]
    if scenario["high_availability"]["mode"] == "none":
        scenario["high_availability"] = {"mode": "none"}
    if not scenario["tuning"]:
        del scenario["tuning"]
    return {**document, "scenario": scenario}


def _show_values(values: dict[str, Any], indent: str) -> None:
    for name, value in values.items():
        if isinstance(value, dict):
            print(f"{indent}{name}:")
            _show_values(value, indent + "  ")
        else:
            print(f"{indent}{name}: {value}")
