"""SHA256SUMS: the digests of a result's files, in the format of coreutils' sha256sum.

They are never rewritten.  Files that `leaselab lab prune` removes later are listed in
pruned.json beside them, so that a pruned file differs from a lost one.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from leaselab.archive.disk import content_of, ordinary, write_whole
from leaselab.model.errors import invalid_measurement
from leaselab.model.moment import Moment

SUMS = "SHA256SUMS"
PRUNED = "pruned.json"
_LISTS = (SUMS, PRUNED, f"{PRUNED}*.part")
"""Patterns of files of a result that have no checksum; a killed prune may leave the last."""
RAW = "raw"
"""Folder of the generators' output: the only part of a result that no command reads."""
MEND = "restore its folder from a copy, or remove it"
"""Advice for a result that cannot be read."""


class PrunedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A removed file of a result."""

    bytes: int
    sha256: str
    """As in SHA256SUMS."""


class Pruned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The list of a result's removed files; pruned.json."""

    at: Moment
    """When (UTC)."""
    by: str
    """The program and its version."""
    files: dict[str, PrunedFile]
    """By path within the result."""


class Checked(msgspec.Struct, frozen=True):
    """Outcome of the check of a whole result."""

    files: int
    """Number of existing files that match."""
    pruned: Pruned | None = None
    """Its removed files; None without any."""


def write_sums(directory: Path) -> None:
    """Write SHA256SUMS over every file below the directory."""
    lines = [f"{_digest(directory / name)}  {name}\n" for name in files_of(directory)]
    write_whole(directory / SUMS, "".join(lines).encode())


def check_file(directory: Path, name: str) -> bytes:
    """The content of one file of a result, after a check of its checksum.

    Raises invalid_measurement when the file or its checksum cannot be read or the two disagree;
    the error of a pruned file reports that.
    """
    wanted = read_sums(directory).get(name)
    if wanted is None:
        raise invalid_measurement(
            f"{SUMS} has no checksum of {name}", where=str(directory), todo=MEND
        )
    with _explained(directory / name):
        try:
            content = content_of(directory / name)
        except FileNotFoundError:
            pruned = read_pruned(directory)
            if pruned is None or name not in pruned.files:
                raise
            raise invalid_measurement(
                f"this file was pruned on {pruned.at[:10]}",
                where=str(directory / name),
                todo=f"{SUMS} has its checksum; measure again for another",
            ) from None
    _compare(directory / name, hashlib.sha256(content).hexdigest(), wanted)
    return content


def check_all(directory: Path, needed: Iterable[str]) -> Checked:
    """Check every file of a result.

    Raises invalid_measurement at the first file that is missing and was not pruned, among
    them those `needed`, that has changed, or was added after the result was sealed.
    """
    sums = read_sums(directory)
    pruned = read_pruned(directory)
    present = files_of(directory)
    gone = pruned.files if pruned else {}
    for name in (*needed, *sums):
        if name not in present and name not in gone:
            raise _missing(directory / name)
    for name in present:
        if name not in sums:
            raise invalid_measurement(
                "a file was added after the result was sealed",
                where=str(directory / name),
                todo="remove it",
            )
        with _explained(directory / name):
            _compare(directory / name, _digest(directory / name), sums[name])
    return Checked(len(present), pruned)


def read_pruned(directory: Path) -> Pruned | None:
    """The removed files of a result; None without any.

    Raises invalid_measurement where the file is not such a list, or lists a file that is never
    pruned or has another checksum: it must not hide a loss.
    """
    path = directory / PRUNED
    if not path.exists():
        return None
    with _explained(path):
        content = content_of(path)
    try:
        pruned = msgspec.json.decode(content, type=Pruned)
    except (msgspec.DecodeError, RecursionError) as error:
        what = f"not a list of pruned files: {error}"
        raise invalid_measurement(what, where=str(path), todo=MEND) from None
    sums = read_sums(directory)
    for name, file in pruned.files.items():
        if not name.startswith(f"{RAW}/") or sums.get(name) != file.sha256:
            raise invalid_measurement(
                "this file cannot have been pruned",
                where=str(path),
                found=repr(name[:200]),
                wanted=f"files below {RAW}/ with their checksums in {SUMS}",
                todo=MEND,
            )
    return pruned


def files_of(directory: Path) -> list[str]:
    """Every file below the directory but the lists, by its path relative to it, sorted."""
    paths = (path for path in directory.rglob("*") if not path.is_dir())
    names = (path.relative_to(directory).as_posix() for path in paths)
    return sorted(name for name in names if not any(fnmatchcase(name, one) for one in _LISTS))


def _digest(path: Path) -> str:
    with ordinary(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_sums(directory: Path) -> dict[str, str]:
    """The digests of a result's files, by path; raises invalid_measurement if invalid."""
    path = directory / SUMS
    with _explained(path):
        text = content_of(path).decode(errors="backslashreplace")
    sums: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        digest, gap, name = line.partition("  ")
        if len(digest) != 64 or not gap or not name:
            raise invalid_measurement(
                "not a checksum line",
                where=f"{path}:{number}",
                found=repr(line[:90]),
                todo=MEND,
            )
        sums[name] = digest
    return sums


def _compare(path: Path, found: str, wanted: str) -> None:
    if found != wanted:
        raise invalid_measurement(
            "does not match its checksum",
            where=str(path),
            found=found,
            wanted=wanted,
            todo=MEND,
        )


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn a read error of a file into the error of a changed result."""
    try:
        yield
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as error:
        raise invalid_measurement(
            "a file of this result cannot be read",
            where=str(path),
            found=error.strerror or str(error),
            wanted="an ordinary file that you may read",
            todo=MEND,
        ) from error


def _missing(path: Path) -> Exception:
    return invalid_measurement("a file of this result is missing", where=str(path), todo=MEND)
