"""Files that a user names: read only where they are plain files."""

from __future__ import annotations

import errno
import io
import os
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

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
    real, *inside = (Path(os.path.realpath(each)) for each in (path, *folders))
    if not any(real.is_relative_to(folder) for folder in inside):
        where = "outside the folder of what names it"
        raise PermissionError(
            errno.EPERM,
            f"{where}; to allow that, add --also {shlex.quote(str(path.absolute()))}",
        )


class _Plain(io.FileIO):
    """A plain file, up to the size that it had as it was opened.

    So one that grows has an end, and a file of the kernel, whose size is 0, has no content:
    some of those wait for more.
    """

    def __init__(self, path: Path, most: int) -> None:
        """Open it; raises OSError for another kind of file, and for more than `most` bytes."""
        check_plain(path)
        super().__init__(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        about = os.fstat(self.fileno())
        if not stat.S_ISREG(about.st_mode):  # replaced since
            self.close()
            raise OSError(errno.EINVAL, "not a plain file")
        self.size = about.st_size
        if self.size > most:
            self.close()
            raise OSError(errno.EFBIG, f"more than {most >> 20} MiB")

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  # as of FileIO
        """Read no further than to the size."""
        left = max(0, self.size - self.tell())
        return (super().readinto(memoryview(buffer)[:left]) or 0) if left else 0


_PACKED = {
    b"\x1f\x8b": "gunzip", b"\x28\xb5\x2f\xfd": "unzstd", b"\xfd7zXZ": "unxz",
    b"BZh": "bunzip2", b"\x04\x22\x4d\x18": "unlz4", b"PK\3\4": "unzip",
}  # fmt: skip
"""How files begin that a program has packed, and the program that unpacks them."""


def unpacking(path: Path) -> str:
    """What to do with a file that is packed; empty for another."""
    try:
        begin = first_of(path, 8)
    except OSError:
        return ""
    programs = (program for mark, program in _PACKED.items() if begin.startswith(mark))
    return next((f"unpack it: {program} {path.name}" for program in programs), "")


def first_of(path: Path, most: int) -> bytes:
    """Return the first bytes of a plain file, whatever its size; raises OSError."""
    with io.BufferedReader(_Plain(path, sys.maxsize)) as file:
        return file.read(most)


def content_of(path: Path, most: int) -> bytes:
    """Return the bytes of a plain file; raises OSError for another, or over `most` bytes."""
    with io.BufferedReader(raw := _Plain(path, most)) as file:
        return file.read(raw.size)


def given_content(path: Path, most: int) -> bytes:
    """As `content_of` of a file that a user names: raises a usage error."""
    try:
        return content_of(path, most)
    except OSError as error:
        raise not_read(path, error) from error


def stdin_of(most: int) -> bytes:
    """Return what standard input has; raises OSError as `content_of`."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed")
    content = sys.stdin.buffer.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most >> 20} MiB")
    return content


def not_read(path: Path, error: OSError) -> LeaselabError:
    """Return the usage error of a file that cannot be read."""
    return usage_error(
        f"cannot be read: {error.strerror}",
        where=str(path),
        todo="name a file that you may read",
    )


def text_of(path: Path, most: int) -> IO[str]:
    """Open a text of at most so many bytes, those that are no text being one character each.

    Raises OSError as `content_of`.
    """
    return io.TextIOWrapper(io.BufferedReader(_Plain(path, most)), "latin-1", newline="")


def lines_of(file: IO[str]) -> Iterator[str]:
    """Lines of a bounded length."""
    while line := file.readline(LONGEST_LINE):
        yield line.replace("\0", "")
