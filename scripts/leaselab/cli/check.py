"""``leaselab lab check``: inspect a lab before anything touches it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from leaselab.archive.bench_notes import CHECK, write_note
from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.checkout import usual_results
from leaselab.cli.bench_options import add_inventory, inventory_of
from leaselab.cli.options import add_json, add_recover, print_json, read_json
from leaselab.lab.checks.contact import contact_all
from leaselab.lab.checks.inspection import document, judge, judge_networks
from leaselab.lab.checks.status import role_of
from leaselab.lab.deploy.playbook import run_playbook
from leaselab.lab.hosts.inventory import GENERATOR_GROUP, SERVER_GROUP, Inventory
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.moment import now
from leaselab.model.scenario import Scenario
from leaselab.report.benches import print_findings
from leaselab.run.recovery import recover_alone

_READ_AGAIN = "have the role read again: leaselab lab check"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_inventory(parser)
    parser.add_argument(
        "--scenario",
        metavar="NAME",
        default="",
        help="judge the pool of this scenario only (default: those of all scenarios)",
    )
    add_recover(parser)
    parser.add_argument(
        "--judge",
        metavar="FILE",
        help="only judge what role lab_check read (JSON, - for stdin); ansible/check.yml does",
    )
    parser.add_argument(
        "--networks",
        metavar="FILE",
        help="only judge the test interfaces that role lab_check read (JSON, - for stdin), "
        "without asking any host; ansible/provision.yml and ansible/deploy.yml do",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Inspect, print the findings; 4 when one is an error.

    Errors of the inventory itself are raised before any host is contacted.
    """
    if args.recover and (args.networks, args.judge) != (None, None):
        raise usage_error(
            "it cannot be combined with --judge or --networks",
            where="--recover",
            found="both",
            wanted="one of them",
        )
    if args.networks is not None:
        result = _judge_networks(args.networks)
    else:
        inventory = inventory_of(args)
        for part in (SERVER_GROUP, GENERATOR_GROUP):
            inventory.only(part)
        if args.judge is not None:
            reading = _reading(args.judge, {"scenario", "wanted", "hosts", "controller"})
            result = _judge(inventory, reading)
        else:
            if args.recover:
                _recover(inventory)
            result = inspect(inventory, args.scenario)
    if args.json:
        print_json(result)
    else:
        print_findings(result)
    return Outcome.OK if result["ok"] else Outcome.LAB


def _recover(inventory: Inventory) -> None:
    """Recover dead hosts; an error of the recovery does not prevent the inspection."""
    try:
        recover_alone(inventory)
    except LeaselabError as error:
        print(f"leaselab: of the recovery: {error}", file=sys.stderr, flush=True)


def inspect(inventory: Inventory, scenario: str = "") -> dict[str, Any]:
    """Query every host of a bench and judge the answers; return the findings document.

    `scenario` limits the pools that are judged; a usage error for one that is not there.
    """
    _scenarios(scenario)
    print("asking the hosts", file=sys.stderr, flush=True)
    stats = run_playbook(
        "check", inventory.path, {"lab_check_fail": False, "lab_check_scenario": scenario}
    )
    result: dict[str, Any] = stats.custom["check"]
    if not scenario:
        _note(inventory, result["findings"])
    return result


def _note(inventory: Inventory, findings: Sequence[Mapping[str, Any]]) -> None:
    """Store the findings of a full check beside the results, for `leaselab lab status`."""
    roles = {host.access.name: role_of(host.parts) for host in inventory.hosts}
    errors = [
        f"{roles.get(finding['host'], finding['host'])}: {finding['check']}"
        for finding in findings
        if finding["level"] == "error"
    ]
    note = {"at": now(), "ok": not errors, "errors": len(errors), "first": "".join(errors[:1])}
    write_note(usual_results(), inventory.bench, CHECK, note)


def _judge(inventory: Inventory, reading: Mapping[str, Any]) -> dict[str, Any]:
    scenarios = _scenarios(reading["scenario"])
    findings = judge(inventory, reading, contact_all(inventory.hosts), scenarios)
    return document(inventory.bench, findings)


def _judge_networks(place: str) -> dict[str, Any]:
    reading = _reading(place, {"bench", "hosts", "subnets"})
    try:
        findings = judge_networks(reading["hosts"], reading["subnets"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise usage_error(
            f"not what role lab_check writes: {error!r}", where=place, todo=_READ_AGAIN
        ) from error
    return document(reading["bench"], findings)


def _scenarios(name: str) -> dict[str, Scenario]:
    """Return the named scenario, or all of them for an empty name."""
    catalogue = Catalogue.here()
    return {name: catalogue.find(name)} if name else catalogue.scenarios


def _reading(place: str, wanted: AbstractSet[str]) -> dict[str, Any]:
    reading = read_json(place)
    if not isinstance(reading, dict) or wanted - reading.keys():
        raise usage_error(
            "not what role lab_check writes",
            where=place,
            wanted=", ".join(sorted(wanted)),
            todo=_READ_AGAIN,
        )
    return reading
