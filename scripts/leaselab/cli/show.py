"""``leaselab show``: one result or scenario, for people or as its JSON document."""

from __future__ import annotations

import argparse
from functools import partial

from leaselab.analysis.comparison.cost import rounds_of
from leaselab.archive.schema import document_of
from leaselab.cli import options
from leaselab.cli.procedure_options import add_generator
from leaselab.model.errors import LeaselabError, Outcome, usage_error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_result(parser)
    parser.set_defaults(ref=None)
    parser.add_argument(
        "--all",
        action="store_true",
        help="show latency, provenance, and what was spent by function, too",
    )
    group = parser.add_argument_group("scenario")
    group.add_argument(
        "--scenario",
        metavar="NAME",
        help="show this scenario with all its settings, instead of a result",
    )
    group.add_argument(
        "--parameters",
        metavar="JSON",
        default="{}",
        help="parameters of its procedure that differ from what its file says, such as "
        '{"rounds": 3}',
    )
    add_generator(group)
    options.add_results(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print the result, or the scenario.

    The outcome is that of showing it: an invalid sweep that is shown well
    ends with 0.
    """
    options.only_with(args, "--scenario", "--parameters", "--generator")
    if args.scenario is not None:
        options.without_effect(args, "a result", "--all", "--results")
        if args.ref is not None:
            raise usage_error(
                "--scenario shows settings, and no result",
                found=f"{args.ref} as well",
                todo=f"its newest result: `leaselab show {args.scenario}`",
            )
        from leaselab.cli.scenarios import print_scenario  # noqa: PLC0415  # when asked for

        print_scenario(args.scenario, args.parameters, args.generator, as_json=args.json)
        return Outcome.OK
    store = options.open_store(args, existing=True)
    ref = "last" if args.ref is None else args.ref
    try:
        record = store.load(ref)
    except LeaselabError as error:
        from leaselab.catalog.catalogue import Catalogue  # noqa: PLC0415  # slow, rarely needed

        if ref in Catalogue.here().scenarios:
            error.what, made = f"no result of {ref} yet", f"`leaselab run {ref}` makes one"
            error.todo = f"{made}; `leaselab show --scenario {ref}` has its settings"
        raise
    if args.json:
        options.print_json(document_of(record))
    else:
        from leaselab.report.text import print_result  # noqa: PLC0415  # rich; --json needs none

        spent = rounds_of(record, partial(store.read, record.id)) if args.all else ()
        print_result(record, store.find(ref), whole=args.all, spent=spent)
    return Outcome.OK
