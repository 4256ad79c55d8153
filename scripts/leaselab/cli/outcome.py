"""How a finished measurement is shown: its results or its verdict, the reason, what is next."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from leaselab.analysis.comparison.profile import ProfileDifference
from leaselab.analysis.comparison.verdict import Comparison, compare, duel_of
from leaselab.archive.schema import document_of
from leaselab.archive.store import Store
from leaselab.builds.definitions import definition_of
from leaselab.builds.repository import Repository
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

Judged = tuple[Comparison, ProfileDifference | None]
_FILES = ("markdown", "junit", "code_quality")


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
    """Add the files of a comparison; `Showing` writes them."""
    options.add_markdown(parser, "write the comment for a merge request")
    parser.add_argument("--junit", metavar="FILE|-", type=Path, help="write a test report")
    parser.add_argument(
        "--code-quality",
        metavar="FILE|-",
        type=Path,
        help="write GitLab's code quality report: the functions that cost more, where --repo "
        "defines them",
    )


@dataclass(frozen=True, slots=True)
class Showing:
    """How a command shows verdicts: by which policy, in which files, and on stdout."""

    store: Store
    source: PolicySource | None
    repository: Repository | None
    files: Mapping[str, Path]
    """Those of `add_documents` that were asked for, by their options' names."""
    as_json: bool
    taken: bool
    """Whether one of the files is all that stdout gets."""

    @classmethod
    def of(cls, args: argparse.Namespace, store: Store) -> Showing:
        """Read what was asked for; raises as `policy_source` and `stdout_is_taken`."""
        repository = repository_of(args)
        return cls(
            store,
            policy_source(args.policy, repository),
            repository,
            {name: place for name in _FILES if (place := getattr(args, name)) is not None},
            as_json=args.json,
            taken=options.stdout_is_taken(args),
        )

    def write(self, judged: Sequence[Judged]) -> None:
        """Write the files."""
        comparisons = [comparison for comparison, _ in judged]
        contents: dict[str, bytes] = {}
        if "markdown" in self.files:
            from leaselab.report.export import markdown  # noqa: PLC0415  # on request

            text = markdown.markdown_of_comparisons(comparisons)
            text += "".join(markdown.markdown_of_profiles(one) for _, one in judged if one)
            contents["markdown"] = text.encode()
        if "junit" in self.files:
            from leaselab.report.export.junit import junit_of_comparisons  # noqa: PLC0415

            contents["junit"] = junit_of_comparisons(comparisons)
        if "code_quality" in self.files:
            from leaselab.report.export.code_quality import code_quality  # noqa: PLC0415

            contents["code_quality"] = code_quality(judged, self._place)
        for name, content in contents.items():
            options.write_output(self.files[name], content)

    def _place(self, comparison: Comparison, function: str) -> tuple[str, int] | None:
        """Where a function is defined, in the repository if one was named."""
        after = comparison.other.source
        if self.repository is None or after is None:
            return None
        before = comparison.base.source if comparison.base else None
        likely = self.repository.changed(before, after) if before else frozenset()
        return definition_of(self.repository, after, function, likely)

    def print(self, document: object, text: Callable[[], object]) -> None:
        """Print the document or the text, unless a file is all of stdout."""
        if self.as_json:
            options.print_json(document)
        elif not self.taken:
            text()
        sys.stdout.flush()


def show_each(
    showing: Showing,
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
    outcome = show_compared(showing, *made, steps=len(each) == 1)
    if stopped is not None:
        raise stopped
    return outcome


def show_compared(showing: Showing, *comparisons: Comparison, steps: bool) -> Outcome:
    """Write the files of comparisons, print them; `steps` and errors as `show_comparison`."""
    source, store = showing.source, showing.store
    whole = [_whole(store, ruled(source, comparison)) for comparison in comparisons]
    if source and source.given and all(one.verdict and not one.ruling for one, _ in whole):
        announce("--policy has no effect: rules are of counts and duels")
    if len(whole) > 1:
        return show_several(showing, whole)
    showing.write(whole)
    ((comparison, profiles),) = whole
    as_json, taken = showing.as_json, showing.taken
    return show_comparison(comparison, profiles, as_json=as_json, taken=taken, steps=steps)


def show_several(showing: Showing, judged: Sequence[Judged]) -> Outcome:
    """Write the files, show a verdict on each scenario; the exit code is that of all."""
    showing.write(judged)
    comparisons = [comparison for comparison, _ in judged]
    showing.print(comparisons_document(comparisons), lambda: print_comparisons(comparisons))
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


def _whole(store: Store, comparison: Comparison) -> Judged:
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
