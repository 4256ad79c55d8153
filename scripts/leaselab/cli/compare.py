"""``leaselab compare``: the verdict on two archived results, or on those of two commits."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from leaselab.analysis.comparison.verdict import (
    THRESHOLD_PERCENT,
    Comparison,
    check_threshold,
)
from leaselab.analysis.duels.layouts import Cause, OverLayouts
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.cli import options
from leaselab.cli.cost import count_each
from leaselab.cli.duel import OPTIONS, add_live, add_metric, live
from leaselab.cli.outcome import (
    Showing,
    add_documents,
    ended,
    show_compared,
    show_each,
    show_several,
)
from leaselab.cli.own import (
    add_clients,
    add_config,
    add_queries,
    scenario_of,
)
from leaselab.cli.policy import add_policy, asked
from leaselab.cli.source import LISTING, add_listing, list_commits
from leaselab.model.errors import (
    Outcome,
    invalid_measurement,
    regression,
    usage_error,
)
from leaselab.model.procedures.duel import DUEL
from leaselab.report.verdict.document import comparisons_document, layouts_document
from leaselab.report.verdict.sentence import layouts_words
from leaselab.report.width import write_lines
from leaselab.run.named_pair import NamedPair
from leaselab.run.pair import CommitNames, commit_names
from leaselab.run.policy import ruled


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "a",
        metavar="A",
        nargs="?",
        help="baseline: a result as `leaselab show` names it, or `previous`, the newest one "
        "before B that compares with it and is of another server; or version:V, the newest one "
        "that compares with it of a server that reports this version",
    )
    parser.add_argument("b", metavar="B", nargs="?", help="result or commit under test")
    parser.add_argument(
        "--threshold",
        metavar="PERCENT",
        type=options.number(0, 1000),
        default=THRESHOLD_PERCENT,
        help=f"change of the figure that counts, %% (default: {THRESHOLD_PERCENT:g})",
    )
    parser.add_argument(
        "--repo",
        metavar="URL|PATH",
        help="A and B are branches, tags or hashes of this git repository, and stand for the "
        "newest results of these commits",
    )
    parser.add_argument(
        "--scenario",
        metavar="NAME|PATTERN",
        help="with --repo: results of what; a pattern, or a family such as threads, compares "
        "those of each scenario.  With --live: the scenario to measure",
    )
    add_config(parser)
    add_clients(parser)
    add_queries(parser)
    add_metric(
        parser, "; of archived results any that both have, and by default the procedure's"
    )
    add_live(parser)
    add_listing(parser)
    add_policy(parser)
    add_documents(parser)
    options.add_results(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Compare, write the files, print; raise an error for an exit code other than 0.

    The files are always written if B can be read.
    """
    if args.list:
        return list_commits(args)
    measures = args.repo is not None and (args.live or args.cost) and not args.layouts
    if measures and args.a is None:
        args.b = "HEAD"
    elif args.a is None or args.b is None:
        raise usage_error(
            "compare needs two results or servers, A and B",
            found=str(args.a or "none"),
            wanted="leaselab compare A B",
            todo="such as: leaselab compare "
            + (
                "package HEAD --live --repo DIR --scenario v4-dnsmasq"
                if args.live
                else "previous last"
            ),
        )
    options.only_with(args, "--list", *LISTING)
    profile = ("--profile", "--no-profile")
    counts_alone = bool(args.cost) and not args.live
    if counts_alone:
        of_time = (*profile, "--layouts", "--find", "--budget", "--metric", "--threshold")
        options.without_effect(args, "what is timed", *of_time)
    else:
        of_live = (*profile, "--no-cost", "--layouts", "--id-file", "--clients", "--queries")
        options.only_with(args, "--live", *of_live, *OPTIONS)
    if args.layouts:
        options.without_effect(args, "a single layout", *profile, "--cost", "--policy")
    options.stdout_is_taken(args)
    if args.live:
        options.without_effect(args, "results that are archived", "--threshold")
    check_threshold(args.threshold)
    store = options.open_store(args, existing=not (args.live or counts_alone))
    catalogue = Catalogue.here()
    made = scenario_of(args, catalogue)
    if made is not None:
        args.scenario = made.name
    if counts_alone:
        return count_each(args, store, catalogue)
    if args.live:
        return _live(args, store, catalogue)
    showing = Showing.of(args, store)
    names = commit_names(showing.repository, args.scenario)
    pair = NamedPair(store, str(args.a), args.b, names, args.threshold, args.metric)
    if scenarios := _meant(store, catalogue, names):
        comparisons, left_out = pair.of_scenarios(scenarios)
        if left_out:
            print(f"without a result of B: {', '.join(left_out)}", file=sys.stderr)
        judged = [(ruled(showing.source, one), None) for one in comparisons]
        return show_several(showing, judged)
    return show_compared(showing, pair.comparison(), steps=sys.stderr.isatty())


def _live(args: argparse.Namespace, store: Store, catalogue: Catalogue) -> Outcome:
    """Make the duels, and show their verdicts."""
    ids: list[str] = []
    showing = Showing.of(args, store)
    if args.layouts:
        layouts, comparisons = live(args, store, catalogue, ids)
        if layouts is not None:
            return _print_layouts(showing, layouts, comparisons)
    each = asked(args, DUEL)
    return show_each(showing, each, lambda one: live(one, store, catalogue, ids)[1][0])


def _print_layouts(
    showing: Showing, layouts: OverLayouts, comparisons: Sequence[Comparison]
) -> Outcome:
    """Print the combined result of duels in several layouts; slower code ends with 1."""
    showing.write([(comparison, None) for comparison in comparisons])
    lines = [*layouts_words(layouts)]
    document = {**comparisons_document(comparisons), "over": layouts_document(layouts)}
    showing.print(document, lambda: write_lines(sys.stdout, lines))
    raised = {Cause.CODE: regression, Cause.UNKNOWN: invalid_measurement}.get(layouts.cause)
    if raised is None:
        return Outcome.OK
    error = raised(lines[-1], where=comparisons[-1].other.scenario.name)
    return ended(error, document=showing.as_json or showing.taken)


def _meant(store: Store, catalogue: Catalogue, names: CommitNames | None) -> list[str]:
    """The scenarios that a pattern or a family means; none where one is named by its name."""
    if names is None:
        return []
    if any(row["scenario"] == names.scenario for row in store.index.every(names.scenario)):
        return []
    scenarios = catalogue.match([names.scenario])
    return [scenario.name for scenario in scenarios if scenario.name != names.scenario]
