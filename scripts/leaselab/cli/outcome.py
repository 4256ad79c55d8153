"""How a finished measurement is shown: its results or its verdict, the reason, what is next."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.comparison.verdict import Comparison, compare, duel_of
from leaselab.archive.schema import document_of
from leaselab.archive.store import Store
from leaselab.builds.definitions import definition_of
from leaselab.cli import options
from leaselab.cli.policy import policy_source, repository_of
from leaselab.model.errors import LeaselabError, Outcome, invalid_measurement, regression
from leaselab.model.speech import announce
from leaselab.report.profile import profile_document
from leaselab.report.steps import Step, after_comparison, after_sweep, step_lines
from leaselab.report.text import print_result
from leaselab.report.verdict.document import comparison_document, comparisons_document
from leaselab.report.verdict.sentence import closing
from leaselab.report.verdict.table import print_comparison, print_comparisons
from leaselab.report.width import columns
from leaselab.run.contest import profiles_of, with_budget
from leaselab.run.count import with_counts
from leaselab.run.experiment import Ended
from leaselab.run.policy import PolicySource, ruled


def show_measured(
    store: Store, *sealed: Ended, as_json: bool, source: PolicySource | None = None
) -> Outcome:
    """Show what a command measured: of a duel the verdict, else the results.

    `source` has the policy by which a duel is judged.  Both end with what can be done next, and
    an outcome other than ok with its reason.
    """
    if len(sealed) == 2:
        base, other = (store.load(str(point.place)) for point in sealed)
        if duel_of(base, other):
            comparison, profiles = _whole(store, ruled(source, compare(base, other)))
            if source is None and other.source and comparison.outcome is not Outcome.OK:
                again = f"./leaselab compare {base.id} {other.id} --policy REPO"
                announce(f"judged without rules; by those of a repository: {again}")
            return show_comparison(comparison, profiles, as_json=as_json, steps=True)
    return show_sealed(store, *sealed, as_json=as_json)


def add_documents(parser: argparse.ArgumentParser) -> None:
    """Add the files of a comparison; `write_documents` writes them."""
    options.add_markdown(parser, "write the comment for a merge request")
    parser.add_argument("--junit", metavar="FILE|-", type=Path, help="write a test report")
    parser.add_argument(
        "--code-quality",
        metavar="FILE|-",
        type=Path,
        help="write GitLab's code quality report: the functions that cost more, where --repo "
        "defines them",
    )


def write_documents(
    args: argparse.Namespace,
    judged: Sequence[tuple[Comparison, ProfileDifference | None]],
) -> None:
    """Write the files of `add_documents` that were asked for."""
    comparisons = [comparison for comparison, _ in judged]
    if args.markdown is not None:
        from leaselab.report.export import markdown  # noqa: PLC0415  # on request

        text = markdown.markdown_of_comparisons(comparisons)
        text += "".join(markdown.markdown_of_profiles(one) for _, one in judged if one)
        options.write_output(args.markdown, text.encode())
    if args.junit is not None:
        from leaselab.report.export.junit import junit_of_comparisons  # noqa: PLC0415

        options.write_output(args.junit, junit_of_comparisons(comparisons))
    if args.code_quality is not None:
        from leaselab.report.export.code_quality import code_quality  # noqa: PLC0415

        content = code_quality(judged, _places(args))
        options.write_output(args.code_quality, content)


def _places(args: argparse.Namespace) -> Callable[[Comparison, str], tuple[str, int] | None]:
    """Return what finds the definition of a function, in the repository if one was named."""
    repository = repository_of(args)

    def place(comparison: Comparison, function: str) -> tuple[str, int] | None:
        after = comparison.other.source
        if repository is None or after is None:
            return None
        before = comparison.base.source if comparison.base else None
        likely = repository.changed(before, after) if before else frozenset()
        return definition_of(repository, after, function, likely)

    return place


def show_each(
    args: argparse.Namespace,
    store: Store,
    each: Sequence[argparse.Namespace],
    make: Callable[[argparse.Namespace], Comparison],
) -> Outcome:
    """Make the comparison of each scenario and show all; raise as `show_several`.

    An error of one ends it: those before are shown, and it is raised without a regression.
    """
    made: list[Comparison] = []
    stopped: LeaselabError | None = None
    for one in each:
        try:
            made.append(make(one))
        except LeaselabError as error:
            if not made:
                raise
            left = ", ".join(other.scenario for other in each[len(made) :])
            announce(f"without a verdict: {left}: {error}")
            stopped = error
            break
    outcome = show_compared(args, store, *made, steps=len(each) == 1)
    if stopped is not None:
        raise stopped
    return outcome


def show_compared(
    args: argparse.Namespace, store: Store, *comparisons: Comparison, steps: bool
) -> Outcome:
    """Write the files of comparisons, print them; `steps` and errors as `show_comparison`."""
    source = policy_source(args.policy, repository_of(args))
    whole = [_whole(store, ruled(source, comparison)) for comparison in comparisons]
    if source and source.given and all(one.verdict and not one.ruling for one, _ in whole):
        announce("--policy has no effect: rules are of counts and duels")
    if len(whole) > 1:
        return show_several(args, whole)
    write_documents(args, whole)
    taken = options.stdout_is_taken(args)
    ((comparison, profiles),) = whole
    return show_comparison(comparison, profiles, as_json=args.json, taken=taken, steps=steps)


def show_several(
    args: argparse.Namespace, judged: Sequence[tuple[Comparison, ProfileDifference | None]]
) -> Outcome:
    """Write the files, show a verdict on each scenario; the exit code is that of all."""
    write_documents(args, judged)
    comparisons = [comparison for comparison, _ in judged]
    document = comparisons_document(comparisons)
    options.show(args, document, lambda: print_comparisons(comparisons))
    slower = [
        comparison.other.scenario.name
        for comparison in comparisons
        if comparison.outcome is Outcome.REGRESSION
    ]
    if slower:
        summary = f"{len(slower)} of {len(comparisons)} scenarios: {', '.join(slower)}"
        raise regression(summary)
    for comparison in comparisons:
        if comparison.error is not None:
            raise comparison.error
        if comparison.outcome is Outcome.INVALID:
            raise invalid_measurement(closing(comparison), where=comparison.other.scenario.name)
    return Outcome.OK


def _whole(store: Store, comparison: Comparison) -> tuple[Comparison, ProfileDifference | None]:
    """Return a comparison with all that the archive knows of it, and its profiles."""
    comparison = with_counts(store, with_budget(store, comparison))
    return comparison, profiles_of(store, comparison.base, comparison.other)


def show_comparison(
    comparison: Comparison,
    profiles: ProfileDifference | None = None,
    *,
    as_json: bool,
    taken: bool = False,
    steps: bool,
) -> Outcome:
    """Print a verdict, and what can be done next if `steps`; end by its outcome.

    `taken`: another document is all that stdout gets.  An outcome other than ok is raised as an
    error, as `ended` does.
    """
    if as_json:
        profiled = {"profile": profile_document(profiles)} if profiles else {}
        options.print_json({**comparison_document(comparison), **profiled})
    elif not taken:
        print_comparison(comparison, profiles=profiles)
        if steps:
            print_next(after_comparison(comparison))
    sys.stdout.flush()
    error = comparison.error
    if error is None and comparison.outcome is Outcome.REGRESSION:
        error = regression(closing(comparison), where=comparison.other.scenario.name)
    elif error is None and comparison.outcome is Outcome.INVALID:
        error = invalid_measurement(closing(comparison))
    if error is not None:
        return ended(error, document=taken or as_json)
    if comparison.verdict is None and not sys.stdout.isatty():
        print(f"leaselab: {closing(comparison)}", file=sys.stderr)
    return Outcome.OK


def show_sealed(store: Store, *ended: Ended, as_json: bool) -> Outcome:
    """Show sealed results; return the outcome of the first that is not ok.

    As JSON it is one document: the record, of several a list of them.
    """
    records = [store.load(str(point.place)) for point in ended]
    if as_json:
        documents = [document_of(record) for record in records]
        options.print_json(documents if len(documents) > 1 else documents[0])
    else:
        for record, point in zip(records, ended, strict=True):
            # the error is printed once, below, as the last line
            print_result(record, point.place, why=point.error is None)
    sys.stdout.flush()
    if len(records) == 1 and not as_json:
        print_next(after_sweep(records[0]))
    errors = [point.error for point in ended if point.error is not None]
    for error in errors:
        print(f"leaselab: {error}", file=sys.stderr)
    return errors[0].outcome if errors else Outcome.OK


def ended(error: LeaselabError, *, document: bool) -> Outcome:
    """End by an error whose text was printed; a terminal that has it is not given it again.

    `document`: whether stdout got a document for programs.
    """
    if document or not (sys.stdout.isatty() and sys.stderr.isatty()):
        raise error
    return error.outcome


def print_next(steps: Sequence[Step]) -> None:
    """Say on standard error what can be done next."""
    if steps:
        sys.stdout.flush()
        print(step_lines(steps, columns(sys.stderr)), file=sys.stderr)
