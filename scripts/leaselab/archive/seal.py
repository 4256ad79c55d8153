"""How a running sweep becomes a result: whole, on the disk, read-only, or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from leaselab.archive.checksums import write_sums
from leaselab.archive.disk import explain_full_disk, sync_directory, write_whole
from leaselab.archive.running import RESULT
from leaselab.model.errors import usage_error

if TYPE_CHECKING:
    from pathlib import Path

    from leaselab.archive.running import RunningSweep


def seal_into(running: RunningSweep, content: bytes, place: Path) -> Path:
    """Write result.json beside the sweep's files, and rename all of it to `place`.

    Until the rename everything can be repeated, so a crash before it leaves a
    sweep that resumes; a crash just after it may leave write permissions.
    """
    source = running.path
    with explain_full_disk(source, running.id):
        _drop_parts(source)
        write_whole(source / RESULT, content)
        write_sums(source)
        _sync_tree(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            raise usage_error("a result of this id exists", where=str(place))
        source.rename(place)
        for folder in (source.parent, *list(place.parents)[:3]):
            sync_directory(folder)
    _make_read_only(place)
    running.close()
    return place


def _drop_parts(source: Path) -> None:
    """Remove what a kill in the middle of a write left behind."""
    for part in source.rglob("*.part"):
        part.unlink()


def _sync_tree(source: Path) -> None:
    """Bring all that is inside to the disk, whoever wrote it."""
    for path in source.rglob("*"):
        if path.is_dir():
            sync_directory(path)
        else:
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
    sync_directory(source)


def _make_read_only(place: Path) -> None:
    """Take the write permissions; only now, because renaming a folder writes its ``..``."""
    for path in place.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    place.chmod(0o555)
