"""Files that a user names: read only where they are plain files."""

from __future__ import annotations

import errno
import os
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from leaselab.model.errors import LeaselabError, usage_error

LONGEST_LINE = 1 << 16
"""Characters of a line that are read as one."""


def check_plain(path: Path) -> None:
    """Raise OSError for anything but a plain file.

    A named pipe without a writer would hold the command, and a device may act as it is opened.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "not a plain file")


def check_inside(path: Path, folders: Iterable[Path]) -> None:
    """Raise PermissionError for a file that is in none of some folders, by links either.

    What a file of others names may be secret.  A folder may also be the file itself.
    """
    real = path.resolve()
    if not any(real.is_relative_to(folder.resolve()) for folder in folders):
        where = "outside the folder of what names it"
        raise PermissionError(
            errno.EPERM,
            f"{where}; to allow that, add --also {shlex.quote(str(path.absolute()))}",
        )


_PACKED = {
    b"\x1f\x8b": "gunzip", b"\x28\xb5\x2f\xfd": "unzstd", b"\xfd7zXZ": "unxz",
    b"BZh": "bunzip2", b"\x04\x22\x4d\x18": "unlz4", b"PK\3\4": "unzip",
}  # fmt: skip
"""How files begin that a program has packed, and the program that unpacks them."""


def unpacking(path: Path) -> str:
    """What to do with a file that is packed; empty for another."""
    with path.open("rb") as file:
        begin = file.read(8)
    programs = (program for mark, program in _PACKED.items() if begin.startswith(mark))
    return next((f"unpack it: {program} {path.name}" for program in programs), "")


def content_of(path: Path, limit: int, too_large: str) -> bytes:
    """Return the bytes of a plain file.

    Raises OSError for anything else, and with the text `too_large` for more than `limit` bytes.
    """
    check_plain(path)
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123
        size = os.fstat(file.fileno()).st_size
        content = file.read(limit + 1) if size <= limit else None
        if content is None or len(content) > limit:
            raise OSError(errno.EFBIG, too_large)
    return content


def stdin_of(limit: int, too_large: str) -> bytes:
    """Return what standard input has; raises OSError as `content_of`."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed")
    content = sys.stdin.buffer.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, too_large)
    return content


def not_read(path: Path, error: OSError) -> LeaselabError:
    """Return the usage error of a file that cannot be read."""
    return usage_error(
        f"cannot be read: {error.strerror}",
        where=str(path),
        todo="name a file that you may read",
    )


@contextmanager
def text_of(path: Path) -> Iterator[IO[str]]:
    """The lines of a text; bytes that are no text stay one character each."""
    with path.open(encoding="latin-1", newline="") as file:
        yield file


def lines_of(file: IO[str]) -> Iterator[str]:
    """Lines of a bounded length."""
    while line := file.readline(LONGEST_LINE):
        yield line.replace("\0", "")
