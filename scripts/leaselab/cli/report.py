"""``leaselab report``: results as pages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from leaselab.analysis.history.releases import Release
from leaselab.archive.disk import writing
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.family import load_families
from leaselab.cli import options
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.run.pair import PREVIOUS, load_previous
from leaselab.run.task import open_source

FOLDER = "report"
RELEASES = "releases"
"""Of the results, in which reports of releases lie unless another place is named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "refs",
        metavar="ID",
        nargs="*",
        help="results, as `leaselab show` names them; two or more are compared with the first "
        "(default: the whole archive)",
    )
    parser.add_argument(
        "--against",
        metavar="ID|previous|RELEASE",
        help="the named results beside this one, with which they are compared; previous: the "
        "last one before them that compares, as `leaselab compare` finds it, if there is any; "
        "with --release: the earlier release",
    )
    parser.add_argument(
        "--release",
        metavar="RELEASE",
        help="one page of a release, such as Kea-3.0.4, compared with that of --against: the "
        "tag of its commit, or the version of its package",
    )
    parser.add_argument(
        "--repo",
        metavar="URL|PATH",
        help="with --release: both are branches, tags or hashes of this git repository",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR|FILE",
        type=Path,
        help="folder of the pages (default: report/ of the results; where results are named, "
        "report-ID/, after the first); with --release: the file (default: in releases/ of the "
        "results, with a name that no report of other results has)",
    )
    parser.add_argument(
        "--sweeps",
        metavar="N",
        type=options.whole(0, 1_000_000),
        help="newest results of each scenario that have a page of their own (default: 3); "
        "pages of older ones stay until they are pruned",
    )
    options.add_results(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Write the pages; say where they are."""
    store = options.open_store(args, existing=True)
    options.only_with(args, "--release", "--repo")
    if args.release is not None:
        return _release(args, store)
    from leaselab.report.site.site import SWEEPS, write_site  # noqa: PLC0415  # draws; slow to import

    named = f"{FOLDER}-{store.find(args.refs[0]).name}" if args.refs else FOLDER
    folder = args.output or store.root / named
    sweeps = SWEEPS if args.sweeps is None else args.sweeps
    if not args.refs:
        options.without_effect(args, "ids of results, or --release", "--against")
    refs = [*_baseline(store, args.against, args.refs), *args.refs]
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)  # before minutes of drawing
        first = write_site(store, folder, refs, sweeps=sweeps, files=_files()).absolute()
    options.print_answer(args, {"path": str(first)}, first)
    return Outcome.OK


def _release(args: argparse.Namespace, store: Store) -> Outcome:
    """Write the page of a release; say where it is."""
    from leaselab.report.site.release import release_report  # noqa: PLC0415  # draws; slow to import

    options.without_effect(args, "a report of results", "--sweeps")
    if args.refs or args.against is None:
        raise usage_error(
            "needs --against with an earlier release, and no results",
            where="--release",
            found=", ".join(args.refs) or "no --against",
            wanted="two releases, and no results",
            todo="such as: leaselab report --release Kea-3.0.4 --against Kea-2.6.3",
        )
    repository = open_source(args.repo) if args.repo is not None else None
    release, against = (
        Release(name, repository.resolve(name).hash if repository else None)
        for name in (args.release, args.against)
    )
    families = {
        name: [*family.scenarios.values()]
        for name, family in load_families(Catalogue.here().folder).items()
    }
    name, page = release_report(store, release, against, families)
    path = (args.output or store.root / RELEASES / f"{name}.html").absolute()
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    options.write_output(path, page.encode("utf-8"))
    options.print_answer(args, {"path": str(path)}, path)
    return Outcome.OK


def _baseline(store: Store, against: str | None, refs: Sequence[str]) -> list[str]:
    """The result that the named ones are compared with, none where none was asked for."""
    if against != PREVIOUS:
        return [against] if against else []
    previous = load_previous(store, store.load(refs[-1]))
    return [previous.id] if previous else []


def _files() -> dict[str, str]:
    """The name of the file of each scenario that can be measured now, in the catalogue's order.

    None where the catalogue cannot be read: the results can be shown all the same.
    """
    try:
        families = Catalogue.here().families
    except LeaselabError:
        return {}
    return {name: family.name for family in families.values() for name in family.scenarios}


def report_after(store: Store) -> None:
    """Bring the archive's report up to date once something was measured.

    The measurement stays valid, so a report that cannot be written or is interrupted is only
    reported and is not an error.  An archive without a result, as after an interrupted first
    measurement, gets no report.
    """
    try:
        if not store.index.rows(limit=1):
            return
        from leaselab.report.site.site import write_site  # noqa: PLC0415  # draws; slow to import

        first = write_site(store, store.root / FOLDER, files=_files())
    except KeyboardInterrupt:
        print("leaselab: the report was not written: interrupted", file=sys.stderr)
    except Exception as error:  # noqa: BLE001  # after any error, the measurement stays valid
        reason = error if isinstance(error, LeaselabError | OSError) else repr(error)
        complete = not isinstance(error, LeaselabError) or error.outcome is not Outcome.FAULT
        said = "the report was not written: " if complete else ""
        print(f"leaselab: {said}{reason}", file=sys.stderr)
    else:
        print(f"report: {first}", file=sys.stderr)
