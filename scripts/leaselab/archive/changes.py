"""changes.json beside the results: what searches named, and what was accepted."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from leaselab.archive.disk import content_of, explain_full_disk, write_whole, writing
from leaselab.model.bounds import misfit
from leaselab.model.changes import Acceptance, Changes, Search
from leaselab.model.errors import LeaselabError, usage_error

CHANGES = "changes.json"
_LOCK = ".changes.lock"


def read_changes(root: Path) -> Changes:
    """Read the document of a results folder; an empty one where there is none.

    Raises usage_error for one that cannot be read or does not fit its schema.
    """
    path = root / CHANGES
    try:
        return msgspec.json.decode(content_of(path), type=Changes)
    except FileNotFoundError:
        return Changes()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, LeaselabError) as error:
        raise usage_error(
            "the list of searches and accepted changes cannot be read",
            where=str(path),
            found=misfit(error),
            wanted="results/changes.schema.json",
            todo="restore it from a copy, or remove it",
        ) from error


def note_search(root: Path, search: Search) -> None:
    """Store how a search ended, in place of an earlier one of the same range."""

    def noted(known: Changes) -> Changes:
        others = (one for one in known.searches if _range(one) != _range(search))
        return msgspec.structs.replace(known, searches=(*others, search))

    _change(root, noted)


def accept(root: Path, accepted: Sequence[Acceptance]) -> None:
    """Store what was accepted."""
    _change(
        root,
        lambda known: msgspec.structs.replace(known, accepted=(*known.accepted, *accepted)),
    )


def withdraw(root: Path, accepted: Sequence[Acceptance]) -> None:
    """Take back what was accepted."""
    _change(
        root,
        lambda known: msgspec.structs.replace(
            known, accepted=tuple(one for one in known.accepted if one not in accepted)
        ),
    )


def _range(search: Search) -> tuple[str, ...]:
    return search.scenario, search.bench, search.metric, search.good, search.bad


def _change(root: Path, changed: Callable[[Changes], Changes]) -> None:
    """Replace the document; other commands that do so wait."""
    with writing(root / CHANGES), explain_full_disk(root), (root / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        document = msgspec.to_builtins(changed(read_changes(root)))
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        write_whole(root / CHANGES, text.encode() + b"\n")
