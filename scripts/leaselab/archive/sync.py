"""Copies results of another archive: missing ids alone, each verified before it is in place.

rsync copies, from a folder of this machine or over the user's SSH.  What it has copied is kept
in `.incoming` of the archive until it is verified, so an interrupted copy goes on there.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from leaselab.archive.checksums import check_all, check_file
from leaselab.archive.disk import explain_full_disk, writing
from leaselab.archive.ident import is_id, month_of
from leaselab.archive.running import RESULT, put_in_place
from leaselab.archive.schema import decode
from leaselab.archive.store import Store, needed
from leaselab.model.errors import (
    LeaselabError,
    invalid_measurement,
    lab_broken,
    usage_error,
)

INCOMING = ".incoming"
_YEAR, _MONTH = "[0-9]" * 4, "[0-9]" * 2
_LIST = (
    "--list-only",
    *(f"--include=/{path}/" for path in (_YEAR, f"{_YEAR}/{_MONTH}", f"{_YEAR}/{_MONTH}/*")),
    "--exclude=*",
)
_COPY = ("--times", "--files-from=-", "--chmod=D0755,F0644")
"""A folder without permission to write could not be moved."""
_VANISHED = 24
"""Exit code of rsync: something was pruned meanwhile, which the list of pruned files says."""


@dataclass
class Synced:
    """What a copy came to."""

    copied: list[str] = field(default_factory=list)
    """Ids, oldest first."""
    refused: dict[str, str] = field(default_factory=dict)
    """Ids of results that do not match their checksums, each with the error."""
    present: int = 0
    """Number of results of the source that the archive has already."""


def sync(store: Store, source: str) -> Synced:
    """Copy the results that an archive lacks.

    `source` is a folder of results, or such a one on another machine as rsync names it
    (``HOST:FOLDER``).  Raises a usage error for an archive that cannot be written, lab_broken
    where rsync fails or the disk is full.
    """
    done, incoming = Synced(), store.root / INCOMING
    there = sorted(_ids(source))
    missing = [one for one in there if not store.place(one).exists()]
    done.present = len(there) - len(missing)
    with writing(store.root), explain_full_disk(store.root), _alone(incoming):
        if missing:
            names = "".join(f"{_below(one)}\n" for one in missing)
            _rsync(_COPY, source, str(incoming), stdin=names, todo="repeat it: it goes on")
        for one in missing:
            place = incoming / _below(one)
            try:
                record = decode(check_file(place, RESULT), str(place / RESULT))
                check_all(place, needed(record))
                if record.id != one:
                    raise invalid_measurement(
                        "another result's", where=str(place), found=record.id
                    )
            except LeaselabError as error:
                done.refused[one] = str(error)
            else:
                put_in_place(place, store.place(one))
                done.copied.append(one)
        # Also what is refused: the next copy begins with nothing of it.
        shutil.rmtree(incoming, ignore_errors=True)
    store.index.refresh()
    return done


@contextmanager
def _alone(incoming: Path) -> Iterator[None]:
    """Make the folder, and keep other copies out of it; raises lab_broken for another."""
    incoming.mkdir(parents=True, exist_ok=True)
    folder = os.open(incoming, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise lab_broken(
            "another `leaselab sync` copies into this archive", where=str(incoming), todo="wait"
        ) from error
    finally:
        os.close(folder)


def _ids(source: str) -> Iterator[str]:
    """The ids of the results of a source."""
    todo = "name a folder of results, HOST:FOLDER of another machine"
    for line in _rsync(_LIST, source, todo=todo).splitlines():
        path = Path("".join(line.split(maxsplit=4)[4:]))  # after mode, size, date and time
        if is_id(path.name) and path == _below(path.name):
            yield path.name


def _below(one: str) -> Path:
    return Path(*month_of(one), one)


def _rsync(options: Sequence[str], *places: str, stdin: str = "", todo: str) -> str:
    """What rsync prints.  It copies no links and no devices."""
    argv = ["rsync", "--recursive", *options, "--", *(f"{place}/" for place in places)]
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise usage_error("rsync is missing", todo="run: apt-get install rsync") from error
    if done.returncode not in (0, _VANISHED):
        why = " ".join(done.stderr.split())[:300]
        raise lab_broken(
            f"rsync: {why}", where=places[0], found=f"exit {done.returncode}", todo=todo
        )
    return done.stdout
