"""``leaselab advise``: the known costs that a server's configuration has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from leaselab.analysis.basis import ratio_of
from leaselab.cli.options import add_json, add_results, expecting, open_store, print_json, whole
from leaselab.lab.advice import advise
from leaselab.lab.checkout import checkout_root
from leaselab.lab.known_costs import known_costs
from leaselab.model.advice import MeasuredCost
from leaselab.model.errors import LeaselabError, Outcome, regression
from leaselab.model.server import server_name
from leaselab.report.advice import print_advice, summary
from leaselab.run.pair import load_pair

if TYPE_CHECKING:
    import argparse

    from leaselab.archive.store import Store
    from leaselab.model.advice import Advice, Cost


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``advise``."""
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
        type=whole(1, 10**18),
        help="how many clients it is to serve: says whether the pools are nearly full",
    )
    parser.add_argument(
        "--processors",
        metavar="N",
        type=whole(1, 10**18),
        help="how many processors its host has: says whether it has more threads than that",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="end with exit code 1 where a known cost is found, or something is not judged",
    )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print the advice on each file; a regression is raised where `args.strict` asks for it.

    After a file that cannot be judged, the remaining files are still judged.
    """
    store = open_store(args, existing=True)
    judged: list[Advice] = []
    errors: list[LeaselabError] = []
    for file in args.files:
        try:
            advice = _measured(_advice(file, args), store)
        except LeaselabError as refusal:
            errors.append(refusal)
            continue
        judged.append(advice)
        if not args.json:
            print_advice(advice)
    if args.json and judged:
        documents = [msgspec.to_builtins(advice) for advice in judged]
        print_json(documents if len(args.files) > 1 else documents[0])
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
    return advise(
        file,
        checkout_root() / "scenarios",
        root=args.root,
        version=args.server_version,
        clients=args.clients,
        processors=args.processors,
    )


@expecting("a folder that exists")
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
    ratio = ratio_of(pair[1], pair[0], {}) if pair is not None else None
    if pair is None or ratio is None:
        return cost
    record, base = pair
    together = (
        record.experiment and base.experiment and record.experiment.id == base.experiment.id
    )
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
            alternated=bool(together and record.experiment and record.experiment.interleaved),
            result=record.id,
            base=base.id,
        ),
    )
