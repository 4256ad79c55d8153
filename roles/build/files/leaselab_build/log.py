"""The log of a build, and the first error in it."""

import gzip
import os
import re
import signal

_LINE_BYTES = 4096
_ROW_BYTES = 64
"""What each line counts more than it holds: lines without end are more work than bytes."""
_CHUNK_BYTES = 1 << 16
_SHOWN = 300

# What compilers, linkers and build systems call an error, most telling first: the first
# line of the first kind that is there is where a person would begin to read.
_ERRORS = (
    re.compile(r"^\S+:\d+(:\d+)?: (fatal )?error: "),
    re.compile(r"^\S+:\d+:\d+: ERROR: "),
    re.compile(r"^configure: error: |^CMake Error|^ERROR: "),
    re.compile(r"undefined reference to |cannot find -l"),
    re.compile(
        r"^configure\.ac:\d+: error: |^autoreconf: error: |error: possibly undefined macro"
    ),
    re.compile(r"File size limit exceeded|File too large|Cannot fork"),
    re.compile(r"\*\*\* .{0,200}(Error|Stop)|\bFAILED: "),
)


class Log:
    """A log that is being written: so much of what a build prints, and what it says is wrong.

    A line is kept up to a length, so that memory does not grow with what is printed.
    """

    def __init__(self, path, most_bytes):
        """Begin an empty one; `most_bytes` is for all that is read."""
        self._path, self._left = path, most_bytes
        self._errors = [""] * len(_ERRORS)
        self._last = ""

    def __enter__(self):
        self._file = gzip.open(self._path, "wt", encoding="utf-8")
        return self

    def __exit__(self, *_):
        self._file.close()

    @property
    def full(self):
        """Whether more was printed than may be."""
        return self._left < 0

    def lines(self, title, descriptor):
        """Keep a title, and what is read of a descriptor to its end; give each line of it.

        It ends where the log is full; the process that prints may still run then.
        """
        self._file.write(f"{title}\n")
        for raw, cut in self._read(descriptor):
            line = raw.decode(errors="replace")
            self._file.write(f"{line} [… {cut} bytes]\n" if cut else f"{line}\n")
            self._heard(line.strip())
            yield line

    def first_error(self):
        """Return the first error that was printed, or the last line, or nothing."""
        found = next(filter(None, self._errors), self._last)
        return line(found) if found else ""

    def _heard(self, text):
        if not text:
            return
        self._last = text
        for number, kind in enumerate(_ERRORS):
            if not self._errors[number] and kind.search(text):
                self._errors[number] = text

    def _read(self, descriptor):
        """Give lines as bytes, and how many bytes of each were cut off."""
        begun, cut = b"", 0
        while not self.full and (chunk := os.read(descriptor, _CHUNK_BYTES)):
            *whole, rest = chunk.split(b"\n")
            self._left -= len(chunk) + _ROW_BYTES * len(whole)
            for part in whole:
                text = begun + part
                yield text[:_LINE_BYTES], cut + max(0, len(text) - _LINE_BYTES)
                begun, cut = b"", 0
            cut += max(0, len(begun) + len(rest) - _LINE_BYTES)
            begun = (begun + rest)[:_LINE_BYTES]
        if begun:
            yield begun, cut


def reason(status, errors):
    """Return why a program failed: the last line of `errors`, or how it ended."""
    if errors.strip():
        return line(errors)
    return signal.strsignal(-status) if status < 0 else f"status {status}"


def line(text):
    """Return the last line of a text, as one that can be shown: printable, and not long."""
    rows = text.strip().splitlines() or [""]
    shown = "".join(sign if sign.isprintable() else " " for sign in rows[-1])
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} …"
