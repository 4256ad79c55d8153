"""SHA256SUMS: the digests of a result's files, in the format of coreutils' sha256sum."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from leaselab.archive.disk import content_of, ordinary, write_whole
from leaselab.model.errors import invalid_measurement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SUMS = "SHA256SUMS"
TODO = "restore its folder from a copy, or remove it"
"""What to do about a result that cannot be read."""


def write_sums(directory: Path) -> None:
    """Write SHA256SUMS over every file below the directory."""
    lines = [f"{_digest(directory / name)}  {name}\n" for name in files_of(directory)]
    write_whole(directory / SUMS, "".join(lines).encode())


def check_file(directory: Path, name: str) -> bytes:
    """The content of one file of a result, once it matches its checksum.

    Raises invalid_measurement when the file or its checksum cannot be read or the two disagree.
    """
    wanted = _read_sums(directory).get(name)
    if wanted is None:
        raise invalid_measurement(f"{SUMS} has no checksum of {name}", where=str(directory))
    with _explained(directory / name):
        content = content_of(directory / name)
    _compare(directory / name, hashlib.sha256(content).hexdigest(), wanted)
    return content


def check_all(directory: Path, needed: Iterable[str]) -> int:
    """Check every file of a result; returns how many there are.

    Raises invalid_measurement at the first file that is missing, among them those `needed`,
    that has changed, or was added after the result was sealed.
    """
    sums = _read_sums(directory)
    present = files_of(directory)
    for name in (*needed, *sums):
        if name not in present:
            raise _missing(directory / name)
    for name in present:
        if name not in sums:
            raise invalid_measurement(
                "a file was added after the result was sealed", where=str(directory / name)
            )
        with _explained(directory / name):
            _compare(directory / name, _digest(directory / name), sums[name])
    return len(sums)


def files_of(directory: Path) -> list[str]:
    """Every file below the directory but the sums, by its path relative to it, sorted."""
    found = (path for path in directory.rglob("*") if not path.is_dir())
    return sorted({path.relative_to(directory).as_posix() for path in found} - {SUMS})


def _digest(path: Path) -> str:
    with ordinary(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_sums(directory: Path) -> dict[str, str]:
    path = directory / SUMS
    with _explained(path):
        text = content_of(path).decode(errors="backslashreplace")
    sums: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        digest, gap, name = line.partition("  ")
        if len(digest) != 64 or not gap or not name:
            raise invalid_measurement(
                "not a checksum line", where=f"{path}:{number}", found=repr(line[:90])
            )
        sums[name] = digest
    return sums


def _compare(path: Path, found: str, wanted: str) -> None:
    if found != wanted:
        raise invalid_measurement(
            "does not match its checksum", where=str(path), found=found, wanted=wanted
        )


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say of a file that cannot be read that the result is not as it was sealed."""
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
            todo=TODO,
        ) from error


def _missing(path: Path) -> Exception:
    return invalid_measurement("a file of this result is missing", where=str(path), todo=TODO)
