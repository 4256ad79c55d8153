"""``leaselab review``: changes by scenario, and the commits between which they are."""

from __future__ import annotations

import argparse
import getpass
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from leaselab.analysis.history.changes import since
from leaselab.analysis.history.series import Change, State
from leaselab.archive.changes import accept, withdraw
from leaselab.archive.disk import writing
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.cli import options
from leaselab.cli.bench_options import add_full, add_inventory, benches_of
from leaselab.cli.progress import progress
from leaselab.model import moment
from leaselab.model.changes import Acceptance
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.source import SHORT
from leaselab.report.review.document import review_document
from leaselab.report.review.reading import review_of
from leaselab.report.review.review import Period, Review, failing, month
from leaselab.report.review.table import markdown_of_review, print_review
from leaselab.report.review.words import range_words
from leaselab.run.confirmation import Confirmation

NAME = "review"
LAST = "last"
CONFIRMING = ("--no-profile", "--repo", "--inventory", "--bench", "--full")
"""Options that have no effect where nothing is measured."""
_DIGITS = 4
"""Least digits of a hash that name a commit."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?Z?)?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pattern",
        nargs="*",
        metavar="SCENARIO|PATTERN",
        help="such as v4-memfile or 'v4-*' (default: all)",
    )
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        "--month",
        metavar=f"YYYY-MM|{LAST}",
        help=f"changes of that month (UTC), {LAST}: of the one before this; what is suspected "
        "is listed until it is settled",
    )
    when.add_argument("--since", metavar="YYYY-MM-DD", help="changes from that day on (UTC)")
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="the figure to look at, such as start_s, memory_mib or p99_s (default: the main "
        "one of each procedure)",
    )
    options.add_markdown(parser, "also write it as Markdown")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        help="also write it as a page in this folder",
    )
    decide = parser.add_argument_group(
        "accepting",
        "an accepted change is in no title and fails no command; it is listed with its reason",
    )
    decide.add_argument(
        "--accept",
        nargs=2,
        metavar=("COMMIT", "REASON"),
        help="accept what changed since a commit, for a reason",
    )
    decide.add_argument("--unaccept", metavar="COMMIT", help="take that back")
    live = parser.add_argument_group(
        "measuring again",
        "a change is suspected until a duel of the commit before it with the one after it says "
        "the same; what a duel said is in the archive",
    )
    live.add_argument(
        "--confirm",
        action="store_true",
        help="make the duels that are missing, each on the bench that its change was seen on",
    )
    live.add_argument(
        "--no-profile",
        action="store_true",
        help="do not profile both where the later one is slower, to say which functions cost "
        "more",
    )
    live.add_argument(
        "--repo",
        metavar="URL|PATH",
        help="the server's repository (default: where each commit was built from)",
    )
    add_inventory(parser)
    add_full(parser)
    options.add_results(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print the changes; with ``--confirm``, first measure suspected ones again.

    It is a regression where a change for the worse is confirmed and not accepted.
    """
    options.only_with(args, "--confirm", *CONFIRMING)
    options.stdout_is_taken(args)  # several documents are refused
    period = _period(args)
    patterns = args.pattern or ["*"]
    store = options.open_store(args, existing=True)
    options.check_patterns(store, patterns)
    review = review_of(store, patterns, period, args.metric)
    outcome = Outcome.OK
    if args.accept or args.unaccept:
        _decide(store, replace(review, period=Period()), args.accept, args.unaccept)
    if args.confirm:
        benches = {bench.bench: bench for bench in benches_of(args)}
        profiles = not args.no_profile
        confirmation = Confirmation(
            store, Catalogue.here(), benches, progress, args.repo, args.full, profiles
        )
        outcome = confirmation.of(review.of(State.SUSPECTED))
    if args.confirm or args.accept or args.unaccept:
        review = review_of(store, patterns, period, args.metric)
    if args.markdown is not None:
        options.write_output(args.markdown, markdown_of_review(review).encode())
    if args.output is not None:
        from leaselab.report.site.review import write_review  # noqa: PLC0415  # draws; slow to import

        with writing(args.output):
            page = write_review(args.output, review)
        print(f"page: {page}", file=sys.stderr)
    options.show(args, review_document(review), lambda: print_review(review))
    if outcome is Outcome.OK and failing(review):
        return Outcome.REGRESSION
    return outcome


def _decide(
    store: Store, review: Review, accepted: tuple[str, str] | None, withdrawn: str
) -> None:
    """Accept the changes since a commit, or take that back; a usage error for no change.

    `accepted` are the commit and the reason.
    """
    ref, reason = accepted or (withdrawn, "")
    option = "--accept" if accepted else "--unaccept"
    states = (State.SUSPECTED, State.CONFIRMED) if accepted else (State.ACCEPTED,)
    if accepted and not reason.strip():
        raise usage_error("no reason", where=option, todo="say why the change is accepted")
    known = review.of(*states)
    found = [entry for entry in known if len(ref) >= _DIGITS and _is_since(entry[1], ref)]
    if not found:
        others = dict.fromkeys(since(change)[0][:SHORT] for _, change in known)
        raise usage_error(
            "no open change since this commit" if accepted else "it was not accepted",
            where=option,
            found=ref,
            wanted=" or ".join(filter(None, others)) or "there is none",
        )
    for series, change in found:
        print(f"{option[2:]}ed: {series.scenario} {range_words(change)}", file=sys.stderr)
    if not accepted:
        withdraw(store.root, [change.accepted for _, change in found if change.accepted])
        return
    by, at = _who(), moment.now()
    accept(
        store.root,
        [
            Acceptance(
                scenario=series.scenario,
                metric=series.metric,
                commit=since(change)[0],
                date=since(change)[1],
                reason=reason.strip(),
                by=by,
                at=at,
            )
            for series, change in found
        ],
    )


def _is_since(change: Change, ref: str) -> bool:
    """Whether a change is known by the beginning of a commit's hash."""
    taken = change.accepted.commit if change.accepted else ""
    return any(name.startswith(ref) for name in (*since(change)[:1], taken))


def _who() -> str:
    """Who this is: the user's name in git, else the login name."""
    try:
        done = subprocess.run(
            ["git", "config", "user.name"], capture_output=True, text=True, check=False
        )
    except OSError:
        return getpass.getuser()
    return done.stdout.strip() or getpass.getuser()


def _period(args: argparse.Namespace) -> Period:
    """The time that was asked for; a usage error for what is none."""
    if args.month is not None:
        text = _last_month() if args.month == LAST else args.month
        try:
            return month(text)
        except ValueError:
            raise usage_error(
                "not a month",
                where="--month",
                found=args.month,
                wanted=f"YYYY-MM, or {LAST}",
                todo="name one such as 2026-11",
            ) from None
    if args.since is not None:
        if not _DAY.fullmatch(args.since):
            raise usage_error(
                "not a date",
                where="--since",
                found=args.since,
                wanted="YYYY-MM-DD",
                todo="name one such as 2026-11-26",
            )
        return Period(since=args.since, words=f"since {args.since}")
    return Period()


def _last_month() -> str:
    year, number = (int(part) for part in moment.now()[:7].split("-"))
    return f"{year - 1}-12" if number == 1 else f"{year}-{number - 1:02}"
