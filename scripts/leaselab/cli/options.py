"""Options that several commands share, and what they mean."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from leaselab.archive.disk import write_whole, writing
from leaselab.archive.store import Store
from leaselab.catalog.checkout import usual_results
from leaselab.catalog.documents import parse_json
from leaselab.catalog.plain_file import content_of, not_read, stdin_of
from leaselab.model.errors import usage_error
from leaselab.model.text import escaped_json

N = TypeVar("N", int, float)
T = TypeVar("T")
_INPUT_BYTES = 64 << 20
STDOUT = Path("-")
MOST_LAYOUTS = 50


def stdout_is_taken(args: argparse.Namespace) -> bool:
    """Whether a file of `outcome.add_documents` is all that stdout gets.

    Raises a usage error for more than one document, that of ``--json`` among them.
    """
    files = [
        f"--{name} -"
        for name in ("markdown", "junit", "code-quality")
        if getattr(args, name.replace("-", "_"), None) == STDOUT
    ]
    documents = [*files, *(["--json"] if args.json else [])]
    if len(documents) > 1:
        raise usage_error(
            "only one document can be written to stdout",
            where=documents[0].partition(" ")[0],
            found=" and ".join(documents),
            wanted="one of them",
            todo="name a file in place of -",
        )
    return bool(files)


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return the `type` of an option that is a whole number within bounds."""
    return _within(int, least, most, "a whole number")


def number(least: float, most: float) -> Callable[[str], float]:
    """Return the `type` of an option that is a number within bounds."""
    return _within(float, least, most, "a number")


def _within(kind: Callable[[str], N], least: N, most: N, what: str) -> Callable[[str], N]:
    @expecting(f"{what} from {least} to {most}")
    def read(text: str) -> N:
        with suppress(OverflowError):
            value = kind(digits(text))
            if least <= value <= most:  # a text that is not a number is not in bounds
                return value
        raise ValueError(text)

    return read


def digits(text: str) -> str:
    """Return a text that may be a number; Python reads the digits of all scripts, and 1_000."""
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return text


def expecting(words: str) -> Callable[[T], T]:
    """Mark the `type` of an option with what it takes; errors name that."""

    def mark(read: T) -> T:
        read.wanted = words  # type: ignore[attr-defined]
        return read

    return mark


def only_with(args: argparse.Namespace, option: str, *others: str) -> None:
    """Raise a usage error for an option that has no effect, as `option` was not given."""
    if option not in args.given:
        without_effect(args, option, *others)


def without_effect(args: argparse.Namespace, wanted: str, *options: str) -> None:
    """Raise a usage error for the first given option of some that have no effect.

    `wanted` says what it has an effect with.
    """
    for name in options:
        if name in args.given:
            sentence = f"{name} works only with {wanted}"
            raise usage_error(sentence)


def add_markdown(parser: argparse._ActionsContainer, text: str) -> None:
    """Add ``--markdown FILE|-``; `write_output` writes it."""
    parser.add_argument("--markdown", metavar="FILE|-", type=Path, help=f"{text}; - is stdout")


def add_result(parser: argparse.ArgumentParser) -> None:
    """Add the name of one result: its id, its path, or its place from the newest on."""
    parser.add_argument(
        "ref",
        metavar="ID|PATH|SCENARIO|last",
        nargs="?",
        default="last",
        help="id or its unique start or end, path of a result, a scenario for its newest, "
        "last, last~1 ... (default: last)",
    )


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add ``--results DIR``; `open_store` reads it."""
    parser.add_argument(
        "--results",
        metavar="DIR",
        type=Path,
        help="folder of the results (default: LEASELAB_RESULTS, else results/ of the checkout)",
    )


def add_json(parser: argparse._ActionsContainer) -> None:
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


def write_ids(path: Path | None, *ids: str) -> None:
    """Write the ids of the archived results to the requested file, a line each."""
    if path is not None:
        write_output(path, "".join(f"{ident}\n" for ident in ids).encode())


def add_recover(parser: argparse.ArgumentParser) -> None:
    """Add ``--recover``, read as `args.recover`."""
    parser.add_argument(
        "--recover",
        action="store_true",
        help="first power-cycle the hosts that do not answer, if the inventory has their "
        "power switches and no other user holds the bench",
    )


def open_store(args: argparse.Namespace, *, existing: bool = False) -> Store:
    """The store in that folder.

    `existing`: for commands that only read; a folder that was named and is not
    there, and what is no folder, is then a usage error, and not an empty archive.
    """
    folder = usual_results() if args.results is None else Path(args.results)
    if existing and not folder.is_dir():
        there = os.path.lexists(folder)
        if there or args.results is not None:
            raise usage_error(
                f"{'not a' if there else 'no such'} folder of results",
                where=str(folder),
                todo="name that of --results, or of LEASELAB_RESULTS",
            )
    return Store(folder)


def check_patterns(store: Store, patterns: Iterable[str]) -> None:
    """Raise a usage error for a name or pattern of scenarios that archive and checkout lack.

    A scenario that was not measured yet is none.
    """
    measured = set(store.index.scenarios())
    for pattern in patterns:
        if fnmatch.filter(measured, pattern):
            continue
        from leaselab.catalog import catalogue  # noqa: PLC0415  # slow, and rarely needed

        families = catalogue.Catalogue.here().families
        known = measured.union(*(family.scenarios for family in families.values()))
        if not fnmatch.filter(known, pattern):
            raise catalogue.unknown_scenario(pattern, families, measured)


def print_json(value: object) -> None:
    """Print one JSON document on stdout; a list has a line for each element.

    Indenting would take Python's slow encoder: 3 s for an index of 100 000 rows.
    """
    escaped = str(sys.stdout.encoding).lower() not in ("utf-8", "utf8")
    if isinstance(value, list):
        rows = (json.dumps(row, ensure_ascii=escaped, allow_nan=False) for row in value)
        text = ",\n ".join(map(escaped_json, rows))
        sys.stdout.write(f"[{text}]\n")
        return
    text = json.dumps(value, indent=1, ensure_ascii=escaped, allow_nan=False)
    sys.stdout.write(f"{escaped_json(text)}\n")


def print_answer(args: argparse.Namespace, document: object, text: object) -> None:
    """Print the result of a command: the document with ``--json``, else the text."""
    show(args, document, lambda: print(text))


def show(args: argparse.Namespace, document: object, text: Callable[[], object]) -> None:
    """Print the document with ``--json``, else the text, unless another is all of stdout."""
    if args.json:
        print_json(document)
    elif not stdout_is_taken(args):
        text()
    sys.stdout.flush()


def read_json(place: str, todo: str = "") -> Any:  # noqa: ANN401  (parsed JSON)
    """Parse a JSON file that the user named, - for stdin; `todo` is for one that is not there.

    Raises a usage error for what is no plain file of at most 64 MiB, or no JSON.
    """
    try:
        content = (
            stdin_of(_INPUT_BYTES) if place == "-" else content_of(Path(place), _INPUT_BYTES)
        )
    except FileNotFoundError as error:
        raise usage_error("no such file", where=place, todo=todo) from error
    except OSError as error:
        raise not_read(Path(place), error) from error
    return parse_json(content, place)


def write_output(path: Path, content: bytes) -> None:
    """Write a requested file atomically, as other processes may read it.

    A device or a pipe is written to: it is not replaced by a file; - is stdout.
    """
    if path == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with writing(path):
        if path.exists() and not path.is_file():
            # A pipe without a reader is an error and does not block.
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            path.write_bytes(content)
            return
        write_whole(path, content)


def add_layouts(parser: argparse._ActionsContainer, what: str) -> None:
    """Add ``--layouts``, read as `args.layouts`; `what` is measured in each."""
    parser.add_argument(
        "--layouts",
        metavar="N",
        type=whole(2, MOST_LAYOUTS),
        help=f"{what} in so many layouts: builds whose functions are linked in another order, "
        "by lld, with seeds 1 to N; says whether the code is slower, or only its place",
    )
