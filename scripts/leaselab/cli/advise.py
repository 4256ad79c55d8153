"""``leaselab advise``: the known costs that a server's configuration has."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec
from msgspec.structs import replace

from leaselab.analysis.comparison.basis import ratio_of
from leaselab.analysis.comparison.ratio import Basis
from leaselab.analysis.comparison.verdict import ratio_word
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue, measured_by
from leaselab.cli import options
from leaselab.cli.bench_options import inventory_of
from leaselab.cli.duel import OPTIONS, add_duel, parameters_of
from leaselab.cli.own import add_and_print, add_parts
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.inputs.advice import Given, advise
from leaselab.inputs.known_costs import kinds_of_objects, known_costs
from leaselab.inputs.reader import Served
from leaselab.inputs.user_configuration import read_served
from leaselab.model.advice import Advice, Cost, MeasuredCost
from leaselab.model.errors import LeaselabError, Outcome, regression, usage_error
from leaselab.model.server import server_name
from leaselab.report.advice import print_advice, summary
from leaselab.run.own_costs import duels_of, measure_costs, plan_costs
from leaselab.run.pair import load_pair
from leaselab.run.session import Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    versions = ", ".join(f"{kind} {costs.version}" for kind, costs in known_costs().items())
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="configuration, such as kea-dhcp4.conf, or a server's answer to config-get; "
        "- is standard input",
    )
    parser.add_argument(
        "--root",
        metavar="DIR",
        type=_folder,
        help="where absolute names of included files are looked for, such as a copy of the "
        "server's files (default: /)",
    )
    parser.add_argument(
        "--server-version",
        metavar="VERSION",
        help="release of the server, whose defaults hold for what the file leaves out "
        f"(default: {versions})",
    )
    parser.add_argument(
        "--clients",
        metavar="N",
        type=options.whole(1, 10**18),
        help="how many clients it is to serve: says whether the pools are nearly full",
    )
    parser.add_argument(
        "--processors",
        metavar="N",
        type=options.whole(1, 10**18),
        help="how many processors it may use: says whether it has more threads than that",
    )
    parser.add_argument(
        "--host-processors",
        metavar="N",
        type=options.whole(1, 10**18),
        help="with --processors: how many its host has, of which a quota gives it fewer",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="end with exit code 1 where a known cost is found, or something is not judged",
    )
    _add_measure(parser)
    options.add_results(parser)
    options.add_json(parser)


def _add_measure(parser: argparse.ArgumentParser) -> None:
    """Add ``--measure`` and how its duels are made."""
    group = parser.add_argument_group("measure")
    group.add_argument(
        "--measure",
        action="store_true",
        help="measure each known cost in this file, by a duel with the file without it",
    )
    add_parts(group)
    add_duel(parser, of="the rounds of each duel")


def run(args: argparse.Namespace) -> Outcome:
    """Print the advice on each file; a regression is raised where `args.strict` asks for it.

    After a file that cannot be judged, the remaining files are still judged.
    """
    options.only_with(args, "--measure", "--without", "--also", *OPTIONS)
    store = options.open_store(args, existing=not args.measure)
    if args.measure and (len(args.files) > 1 or str(args.files[0]) == "-"):
        raise usage_error(
            "the costs of one file are measured",
            where="--measure",
            found=", ".join(map(str, args.files)),
            wanted="one FILE, which is not standard input",
        )
    judged: list[Advice] = []
    errors: list[LeaselabError] = []
    for file in args.files:
        try:
            own = _own(file, args) if args.measure else None
            advice = _measured(_advice(file, args), store)
            if own is not None:
                advice = _measured_here(advice, own, args, store)
        except LeaselabError as refusal:
            errors.append(refusal)
            continue
        judged.append(advice)
        if not args.json:
            print_advice(advice)
    if args.json and judged:
        documents = [msgspec.to_builtins(advice) for advice in judged]
        options.print_json(documents if len(args.files) > 1 else documents[0])
    sys.stdout.flush()
    if args.strict:
        costly = [advice for advice in judged if advice.findings or advice.not_judged]
        errors[:0] = [regression(summary(advice), where=advice.file) for advice in costly]
    for error in errors[:-1]:
        sys.stderr.write(f"leaselab: {error}\n")
    if errors:
        raise errors[-1]
    return Outcome.OK


def _advice(file: Path, args: argparse.Namespace) -> Advice:
    return advise(file, Catalogue.here(), _given(args), root=args.root)


def _given(args: argparse.Namespace) -> Given:
    options.only_with(args, "--processors", "--host-processors")
    return Given(args.server_version, args.clients, args.processors, args.host_processors)


def _own(file: Path, args: argparse.Namespace) -> Served:
    """What the lab makes of the file; refused where its language has no known costs."""
    own = read_served(file, args.without, root=args.root, also=args.also)
    if not own.holder:
        raise usage_error(
            "no costs of such configurations are known",
            where=str(file),
            found=f"one of {own.kind}",
            wanted=f"one with {' or '.join(kinds_of_objects())}",
            todo=f"measure it as a whole: leaselab run --config {file}",
        )
    return own


def _measured_here(
    advice: Advice, own: Served, args: argparse.Namespace, store: Store
) -> Advice:
    """The advice with a duel of each cost that the file can be without."""
    [file] = args.files
    inventory = inventory_of(args)
    catalogue = Catalogue.here()
    scenario = add_and_print(own, file, catalogue)
    parameters = parameters_of(args, measured_by(scenario, args.generator), catalogue)
    session = Session(store, inventory, catalogue, parameters, full=args.full, show=progress)
    advice = plan_costs(advice, own, file, _given(args), catalogue=catalogue, whole=scenario)
    duels = duels_of(advice, catalogue, args.generator)
    if not duels:
        return advice
    session.check_tasks(*(task for tasks in duels.values() for task in tasks))
    try:
        with session.leased(f"advise {file.name} --measure"):
            return measure_costs(advice, session, duels)
    finally:
        report_after(store)


@options.expecting("a folder that exists")
def _folder(text: str) -> Path:
    """The argparse type of an existing folder."""
    if not Path(text).is_dir():
        raise ValueError(text)
    return Path(text)


def _measured(advice: Advice, store: Store) -> Advice:
    """The advice with the archive's measurements of each cost."""
    return replace(
        advice,
        findings=tuple(
            replace(finding, costs=tuple(_with_figures(cost, store) for cost in finding.costs))
            for finding in advice.findings
        ),
    )


def _with_figures(cost: Cost, store: Store) -> Cost:
    pair = load_pair(store, cost.point, cost.base)
    # They are points by their names, whichever settings differ.
    ratio = ratio_of(pair[1], pair[0], {}) if pair is not None else None
    if pair is None or ratio is None:
        return cost
    record, base = pair
    return replace(
        cost,
        measured=MeasuredCost(
            ratio=ratio.value,
            ci95=ratio.ci95,
            metric=record.figure.title,
            better=record.figure.better,
            measured_on=max(record.finished_at, base.finished_at)[:10],
            bench=record.bench.name,
            server=server_name(record.server),
            word=ratio_word(ratio, record.figure.name, record.figure.better),
            alternated=ratio.basis is Basis.TURNS,
            result=record.id,
            base=base.id,
        ),
    )
