"""The log of a build, and what it says went wrong."""

import gzip
import re

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
    re.compile(r"\*\*\* .{0,200}(Error|Stop)|\bFAILED: "),
)


def first_error(path):
    """Return the first error that a log tells, or its last line, or nothing."""
    found = [""] * len(_ERRORS)
    last = ""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            text = line.strip()
            if not text:
                continue
            last = text
            for number, kind in enumerate(_ERRORS):
                if not found[number] and kind.search(text):
                    found[number] = text
    return next(filter(None, found), last)
