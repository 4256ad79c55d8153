"""Options that several commands share, and what they mean."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from leaselab.archive.store import Store
from leaselab.model.errors import usage_error

if TYPE_CHECKING:
    import argparse


def checkout_root() -> Path:
    """The checkout: LEASELAB_ROOT, else the directory two above the package."""
    named = os.environ.get("LEASELAB_ROOT")
    return Path(named).absolute() if named else Path(__file__).resolve().parents[3]


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
        args.id_file.write_text("".join(f"{one}\n" for one in ids), encoding="utf-8")


def results_dir(args: argparse.Namespace) -> Path:
    """The results folder that the options and the environment name."""
    if args.results is not None:
        return Path(args.results)
    named = os.environ.get("LEASELAB_RESULTS")
    return Path(named) if named else checkout_root() / "results"


def open_store(args: argparse.Namespace, *, existing: bool = False) -> Store:
    """The store in that folder.

    `existing`: for commands that only read; a folder that was named and is not
    there is then a usage error, and not an empty archive.
    """
    folder = results_dir(args)
    if existing and args.results is not None and not folder.is_dir():
        raise usage_error("no such folder of results", where=str(folder))
    return Store(folder)


def print_json(value: object) -> None:
    """Print one JSON document on stdout; a list has a line for each element.

    Indenting would take Python's slow encoder: 3 s for an index of 100 000 rows.
    """
    if isinstance(value, list):
        rows = ",\n ".join(
            json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value
        )
        sys.stdout.write(f"[{rows}]\n")
        return
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def write_output(path: Path, content: bytes) -> None:
    """Write a file that was asked for, whole or not at all: others may read it right now."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.replace(path)
