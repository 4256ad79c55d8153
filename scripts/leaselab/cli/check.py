"""``leaselab check``: inspect a lab before anything touches it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaselab.cli.bench_setup import add_inventory, inventory_of
from leaselab.cli.options import add_json, checkout_root, print_json
from leaselab.cli.playbook import run_playbook
from leaselab.lab.catalog import find_scenario, load_scenarios
from leaselab.lab.contact import contact_all
from leaselab.lab.inspection import document, judge
from leaselab.lab.inventory import GENERATOR_GROUP, SERVER_GROUP
from leaselab.model.errors import Outcome, usage_error
from leaselab.report.findings import print_findings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from leaselab.lab.inventory import Inventory
    from leaselab.model.scenario import Scenario

NAME = "check"
HELP = "Inspect a lab before anything touches it; changes nothing."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_inventory(parser)
    parser.add_argument(
        "--scenario",
        metavar="NAME",
        default="",
        help="judge the pool of this scenario only (default: those of all scenarios)",
    )
    parser.add_argument(
        "--judge",
        metavar="FILE",
        help="only judge what role lab_check read (JSON, - for stdin); ansible/check.yml does",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Inspect, show the findings; 4 when one is an error, whatever the warnings.

    What is wrong with the inventory itself is refused before any host is asked.
    """
    inventory = inventory_of(args)
    for part in (SERVER_GROUP, GENERATOR_GROUP):
        inventory.only(part)
    if args.judge is not None:
        result = _judge(inventory, _reading(args.judge))
    else:
        result = inspect(inventory, args.scenario)
    if args.json:
        print_json(result)
    else:
        print_findings(result)
    return Outcome.OK if result["ok"] else Outcome.LAB


def inspect(inventory: Inventory, scenario: str = "") -> dict[str, Any]:
    """Ask every host of a bench and judge what they say; the document of the findings.

    `scenario` limits the pools that are judged; a usage error for one that is not there.
    """
    _scenarios(scenario)
    print("asking the hosts", file=sys.stderr, flush=True)
    stats = run_playbook(
        "check", inventory.path, {"lab_check_fail": False, "lab_check_scenario": scenario}
    )
    result: dict[str, Any] = stats.custom["check"]
    return result


def _judge(inventory: Inventory, reading: Mapping[str, Any]) -> dict[str, Any]:
    scenarios = _scenarios(reading["scenario"])
    findings = judge(inventory, reading, contact_all(inventory.hosts), scenarios)
    return document(inventory.bench, findings)


def _scenarios(name: str) -> dict[str, Scenario]:
    """Return the named scenario, or all of them for an empty name."""
    folder = checkout_root() / "scenarios"
    return {name: find_scenario(folder, name)} if name else load_scenarios(folder)


def _reading(place: str) -> dict[str, Any]:
    text = sys.stdin.read() if place == "-" else Path(place).read_text(encoding="utf-8")
    try:
        reading = json.loads(text)
        missing = {"scenario", "wanted", "hosts", "controller"} - set(reading)
    except (ValueError, TypeError) as error:
        raise usage_error(f"not what role lab_check writes: {error}", where=place) from error
    if missing:
        raise usage_error(
            "not what role lab_check writes", where=place, wanted=", ".join(sorted(missing))
        )
    return dict(reading)
