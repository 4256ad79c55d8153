"""How a finished measurement is shown: its results or its verdict, the reason, what is next."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.comparison.verdict import Comparison, compare, duel_of
from leaselab.archive.schema import document_of
from leaselab.archive.store import Store
from leaselab.cli.options import print_json, stdout_is_taken, write_ids
from leaselab.model.errors import LeaselabError, Outcome, invalid_measurement, regression
from leaselab.model.record import Record
from leaselab.report.closing import closing
from leaselab.report.profile import profile_document
from leaselab.report.steps import Step, after_comparison, after_sweep, step_lines
from leaselab.report.text import print_result
from leaselab.report.verdict import comparison_document, print_comparison
from leaselab.report.width import columns
from leaselab.run.contest import profiles_of, with_budget
from leaselab.run.experiment import Ended


def show_measured(args: argparse.Namespace, store: Store, *sealed: Ended) -> Outcome:
    """Show what a command measured: of a duel the verdict, else the results.

    Both end with what can be done next, and an outcome other than ok with its reason.
    """
    if len(sealed) == 2:
        base, other = (store.load(str(point.place)) for point in sealed)
        if duel_of(base, other):
            comparison = with_budget(store, compare(base, other))
            profiles = profiles_of(store, base, other)
            return show_comparison(args, comparison, profiles, steps=True)
    return show_sealed(store, *sealed, as_json=args.json)


def show_comparison(
    args: argparse.Namespace,
    comparison: Comparison,
    profiles: ProfileDifference | None = None,
    *,
    steps: bool,
) -> Outcome:
    """Print a verdict, and what can be done next if `steps`; end by its outcome.

    One other than ok is raised as an error, as `ended` does.
    """
    if args.json:
        profiled = {"profile": profile_document(profiles)} if profiles else {}
        print_json({**comparison_document(comparison), **profiled})
    elif not stdout_is_taken(args):
        print_comparison(comparison, profiles=profiles)
        if steps:
            print_next(after_comparison(comparison))
    sys.stdout.flush()
    if comparison.error is not None:
        return ended(args, comparison.error)
    if comparison.outcome is Outcome.REGRESSION:
        where = comparison.other.scenario.name
        return ended(args, regression(closing(comparison), where=where))
    if comparison.outcome is Outcome.INVALID:
        return ended(args, invalid_measurement(closing(comparison)))
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
        print_json(documents if len(documents) > 1 else documents[0])
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


def ended(args: argparse.Namespace, error: LeaselabError) -> Outcome:
    """End by an error whose text was printed; a terminal that has it is not given it again."""
    if stdout_is_taken(args) or args.json or not (sys.stdout.isatty() and sys.stderr.isatty()):
        raise error
    return error.outcome


def print_next(steps: Sequence[Step]) -> None:
    """Say on standard error what can be done next."""
    if steps:
        sys.stdout.flush()
        print(step_lines(steps, columns(sys.stderr)), file=sys.stderr)


def next_words(record: Record, most: int | None = None) -> str:
    """Possible next commands for a result, in lines of at most so many columns."""
    return step_lines(after_sweep(record), most)


def show_failure(
    store: Store, error: LeaselabError, place: Path, args: argparse.Namespace
) -> Outcome:
    """As `show_sealed`, of a commit without a sweep; its result's id goes to ``--id-file``."""
    write_ids(args, place.name)
    return show_sealed(store, Ended(error, place), as_json=args.json)
