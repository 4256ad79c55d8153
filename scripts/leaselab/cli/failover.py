"""``leaselab failover``: kill the server of a pair under load; see what clients notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.cli.bench_setup import add_inventory, check, inventory_of
from leaselab.cli.options import add_json, add_results, checkout_root, open_store
from leaselab.cli.procedure_options import add_parameters, procedure_overrides
from leaselab.cli.run import measure_one
from leaselab.cli.session import Session
from leaselab.cli.task import Task
from leaselab.lab.catalog import find_scenario
from leaselab.model.errors import usage_error
from leaselab.model.procedures.event import Event

if TYPE_CHECKING:
    import argparse

    from leaselab.model.errors import Outcome

NAME = "failover"
HELP = "Kill the server of a pair under a steady load; say how long nobody was served."
DEFAULT_SCENARIO = "v4-memfile-hs"
AFTER_SLACK_S = 20
"""Traffic after the crash beyond the delay that the scenario sets (s)."""
_DELAY = "pair_max_response_delay_s"
"""Option of a server: the silence after which its partner counts as unreachable (s)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``failover``."""
    parser.add_argument(
        "scenario",
        nargs="?",
        default=DEFAULT_SCENARIO,
        help=f"a scenario with a pair (default: {DEFAULT_SCENARIO})",
    )
    add_parameters(parser, "rate", "share", "before_s", "after_s", "rounds")
    add_inventory(parser)
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Deploy the pair, offer the load, kill, show and keep what came of it.

    It is ``leaselab run --procedure event`` with a pair's own time after the event.
    """
    scenario = find_scenario(checkout_root() / "scenarios", args.scenario, args.generator)
    if not scenario.partner:
        raise usage_error(
            "a failover needs a pair",
            where=f"scenario {args.scenario}",
            todo="choose one whose name ends in -hs or -lb",
        )
    delay_s = float(scenario.server.options.get(_DELAY, 0.0))
    given = {"after_s": round(delay_s) + AFTER_SLACK_S, **procedure_overrides(args)}
    if given["after_s"] <= delay_s:
        raise usage_error(
            "--after-s is shorter than the pair's response delay",
            where="--after-s",
            found=str(given["after_s"]),
            wanted=f"more than the scenario's {_DELAY}, {delay_s:g}",
        )
    overrides = {"name": Event.__struct_config__.tag, **given}
    session = Session(open_store(args), inventory_of(args), overrides, full=False)
    task = Task(scenario)
    check(scenario, session.procedure(task), session.inventory)
    return measure_one(session, task, NAME, as_json=args.json)
