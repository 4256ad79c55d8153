"""``leaselab step tune``: tune the hosts of a deployed scenario, and write its bench.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.archive.disk import writing
from leaselab.cli.bench_options import add_inventory, asked
from leaselab.cli.options import add_json, add_results, open_store, print_answer, write_output
from leaselab.cli.procedure_options import add_generator, add_procedure, procedure_overrides
from leaselab.lab.checkout import checkout_root
from leaselab.model.errors import Outcome
from leaselab.run.task import Task
from leaselab.run.variants import tune
from leaselab.run.workplace import Workplace

if TYPE_CHECKING:
    import argparse

NAME = "step tune"
HELP = "Tune hosts and database of a deployed scenario, read back, write bench.json."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``step tune``."""
    parser.add_argument("scenario", metavar="SCENARIO")
    add_inventory(parser)
    parser.add_argument(
        "--build",
        metavar="KEY",
        default="",
        help="what it was deployed with (default: the distribution's packages)",
    )
    add_procedure(parser)
    add_generator(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="BENCH.json",
        type=Path,
        help="what `leaselab step sweep` is given (default: .leaselab/bench.json of the "
        "checkout)",
    )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Tune; write what a sweep needs to know."""
    scenario, procedure, inventory = asked(args)
    workplace = Workplace(
        open_store(args),
        inventory,
        procedure_overrides(args),
    )
    procedure = workplace.max_rates.ready(Task(scenario), procedure)
    path: Path = args.output or checkout_root() / ".leaselab" / "bench.json"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # of a bench as it was; nothing is to measure by it now
    with workplace.leased(f"{NAME} {scenario.name}"):
        document = tune(scenario, workplace.bench, procedure, args.build).document()
    write_output(path, f"{json.dumps(document, indent=1, sort_keys=True)}\n".encode())
    print_answer(args, document, path)
    return Outcome.OK
