"""Options that several commands share, and what they mean."""

from __future__ import annotations

import errno
import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.archive.prune import use
from leaselab.archive.store import Store
from leaselab.model.errors import usage_error
from leaselab.model.text import escaped_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def checkout_root() -> Path:
    """The checkout: LEASELAB_ROOT, else the directory two above the package."""
    named = os.environ.get("LEASELAB_ROOT")
    return Path(named).absolute() if named else Path(__file__).resolve().parents[3]


def kept_folder(name: str) -> Path:
    """A folder of `.leaselab` with what takes time to make again.

    Until this process ends, no `leaselab prune` removes anything there.
    """
    folder = checkout_root() / ".leaselab"
    use(folder)
    return folder / name


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add ``--results DIR``; `open_store` reads it."""
    parser.add_argument(
        "--results",
        metavar="DIR",
        type=Path,
        help="folder of the results (default: LEASELAB_RESULTS, else results/ of the checkout)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``, read as `args.json`."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document and nothing else on stdout"
    )


def add_id_file(parser: argparse.ArgumentParser) -> None:
    """Add ``--id-file FILE``; `write_ids` writes it."""
    parser.add_argument(
        "--id-file",
        metavar="FILE",
        type=Path,
        help="write the ids of the results that were archived to this file, however they ended",
    )


def write_ids(args: argparse.Namespace, *ids: str) -> None:
    """Say in the file that was asked for which results were archived, a line each."""
    if args.id_file is not None:
        write_output(args.id_file, "".join(f"{one}\n" for one in ids).encode())


def add_recover(parser: argparse.ArgumentParser) -> None:
    """Add ``--recover``, read as `args.recover`."""
    parser.add_argument(
        "--recover",
        action="store_true",
        help="first cycle the power of hosts that do not answer, where the inventory says what "
        "switches them and nobody else has the bench",
    )


def usual_results() -> Path:
    """The results folder of commands without an option for it."""
    named = os.environ.get("LEASELAB_RESULTS")
    return Path(named) if named else checkout_root() / "results"


def open_store(args: argparse.Namespace, *, existing: bool = False) -> Store:
    """The store in that folder.

    `existing`: for commands that only read; a folder that was named and is not
    there is then a usage error, and not an empty archive.
    """
    folder = usual_results() if args.results is None else Path(args.results)
    if existing and args.results is not None and not folder.is_dir():
        raise usage_error("no such folder of results", where=str(folder))
    return Store(folder)


def print_json(value: object) -> None:
    """Print one JSON document on stdout; a list has a line for each element.

    Indenting would take Python's slow encoder: 3 s for an index of 100 000 rows.
    """
    if isinstance(value, list):
        rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value)
        text = ",\n ".join(map(escaped_json, rows))
        sys.stdout.write(f"[{text}]\n")
        return
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(f"{escaped_json(text)}\n")


def print_told(args: argparse.Namespace, document: object, text: object) -> None:
    """Print what came of a command: the document with ``--json``, else the text."""
    if args.json:
        print_json(document)
    else:
        print(text)


def write_output(path: Path, content: bytes) -> None:
    """Write a file that was asked for, whole or not at all: others may read it right now."""
    part = path.with_name(f"{path.name}.part")
    with writing(path):
        part.write_bytes(content)
        part.replace(path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Write to a place that the user named: one that cannot be written to is bad input.

    A full disk stays what it is.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise usage_error(
            f"cannot be written: {error.strerror or error}",
            where=str(path),
            todo="name a file in a folder that exists and that you may write to",
        ) from error
