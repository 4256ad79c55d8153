"""``leaselab compare``: the verdict on two archived results, or on those of two commits."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from leaselab.analysis.comparison.verdict import (
    THRESHOLD_PERCENT,
    Comparison,
    check_threshold,
    compare,
)
from leaselab.analysis.duels.layouts import Cause, OverLayouts
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.cli import options
from leaselab.cli.cost import count_each
from leaselab.cli.duel import OPTIONS, add_live, add_metric, live
from leaselab.cli.outcome import (
    add_documents,
    ended,
    show_compared,
    show_each,
    show_several,
    write_documents,
)
from leaselab.cli.own import (
    add_clients,
    add_config,
    add_queries,
    scenario_of,
)
from leaselab.cli.policy import add_policy, asked, policy_source, repository_of
from leaselab.cli.source import LISTING, add_listing, list_commits
from leaselab.model.errors import (
    LeaselabError,
    Outcome,
    invalid_measurement,
    regression,
    usage_error,
)
from leaselab.model.procedures.duel import DUEL
from leaselab.report.verdict.document import comparisons_document, layouts_document
from leaselab.report.verdict.sentence import layouts_words
from leaselab.report.width import write_lines
from leaselab.run import pair
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
    names = pair.commit_names(repository_of(args), args.scenario)
    scenarios = _meant(store, catalogue, names)
    if names is not None and scenarios:
        source = policy_source(args.policy, repository_of(args))
        judged = [ruled(source, one) for one in _each(args, store, names, scenarios)]
        return show_several(args, [(one, None) for one in judged])
    comparison = _compared(args, store, names)
    return show_compared(args, store, comparison, steps=sys.stderr.isatty())


def _live(args: argparse.Namespace, store: Store, catalogue: Catalogue) -> Outcome:
    """Make the duels, and show their verdicts."""
    ids: list[str] = []
    if args.layouts:
        layouts, comparisons = live(args, store, catalogue, ids)
        if layouts is not None:
            return _print_layouts(args, layouts, comparisons)
    each = asked(args, DUEL)
    return show_each(args, store, each, lambda one: live(one, store, catalogue, ids)[1][0])


def _print_layouts(
    args: argparse.Namespace, layouts: OverLayouts, comparisons: Sequence[Comparison]
) -> Outcome:
    """Print the combined result of duels in several layouts; slower code ends with 1."""
    write_documents(args, [(comparison, None) for comparison in comparisons])
    lines = [*layouts_words(layouts)]
    document = {**comparisons_document(comparisons), "over": layouts_document(layouts)}
    options.show(args, document, lambda: write_lines(sys.stdout, lines))
    raised = {Cause.CODE: regression, Cause.UNKNOWN: invalid_measurement}.get(layouts.cause)
    if raised is None:
        return Outcome.OK
    error = raised(lines[-1], where=comparisons[-1].other.scenario.name)
    return ended(error, document=args.json or options.stdout_is_taken(args))


def _meant(store: Store, catalogue: Catalogue, names: pair.CommitNames | None) -> list[str]:
    """The scenarios that a pattern or a family means; none where one is named by its name."""
    if names is None:
        return []
    if any(row["scenario"] == names.scenario for row in store.index.every(names.scenario)):
        return []
    scenarios = catalogue.match([names.scenario])
    return [scenario.name for scenario in scenarios if scenario.name != names.scenario]


def _each(
    args: argparse.Namespace, store: Store, names: pair.CommitNames, scenarios: Sequence[str]
) -> list[Comparison]:
    """The comparison by each scenario that B has a result of; the others are said.

    Raises a usage error where it has none at all.
    """
    names.repository.resolve(args.b)  # an unknown commit is reported once
    comparisons: list[Comparison] = []
    left_out: list[str] = []
    for scenario in scenarios:
        try:
            comparisons.append(_compared(args, store, replace(names, scenario=scenario)))
        except LeaselabError as error:
            if error.outcome is not Outcome.USAGE:
                raise
            left_out.append(scenario)
    if not comparisons:
        raise usage_error(
            f"no result of any scenario for {args.b}",
            where=str(store.root),
            wanted=f"one of {', '.join(left_out)}",
        )
    if left_out:
        print(f"without a result of B: {', '.join(left_out)}", file=sys.stderr)
    return comparisons


def _compared(
    args: argparse.Namespace, store: Store, names: pair.CommitNames | None
) -> Comparison:
    named = args.a != pair.PREVIOUS and not args.a.startswith(pair.VERSION)
    if names is not None:  # an unknown commit comes before a missing result
        for ref in (args.a, args.b)[not named :]:
            names.repository.resolve(ref)
    try:
        other = pair.load_named(store, args.b, names, against=args.a if named else None)
    except LeaselabError:
        if named:
            pair.load_named(store, args.a, names)  # where both are wrong, the first is reported
        raise
    try:
        base = (
            pair.load_previous(store, other)
            if args.a == pair.PREVIOUS
            else pair.load_version(store, other, args.a.removeprefix(pair.VERSION))
            if args.a.startswith(pair.VERSION)
            else pair.load_named(store, args.a, names, other)
        )
    except LeaselabError as error:
        # B's own failure takes precedence: it does not depend on A
        alone = compare(None, other, args.threshold)
        return replace(alone, error=alone.error or error)
    anchors = store.anchors_of(*(record for record in (base, other) if record is not None))
    anchors = {ident: record.by(args.metric) for ident, record in anchors.items()}
    base = None if base is None else base.by(args.metric)
    return compare(base, other.by(args.metric), args.threshold, anchors)
