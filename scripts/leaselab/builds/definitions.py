"""Where the source of a commit defines a function, by the text of its files.

Servers are built without debug information, which would double the time of a build.  Text is
enough: C and C++ define a function on a line that is not indented, and end its head with a
brace; a declaration ends with a semicolon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from leaselab.builds.repository import Repository
from leaselab.model.source import Commit

_SOURCES = ("*.c", "*.cc", "*.cpp", "*.cxx", "*.h", "*.hh", "*.hpp")
_HEAD = 40
"""Lines that the head of a function may have."""
_NAME = re.compile(r"~?\w+")


def definition_of(
    repository: Repository, commit: Commit, function: str, likely: frozenset[str]
) -> tuple[str, int] | None:
    """Return file and line (from 1 on) of a function's definition; None where it is not known.

    `function` is its name as a program's symbols have it, with scopes and parameters.  Of
    several files that define one of this name, that in `likely` is meant.
    """
    scopes, _, name = _bare(function).rpartition("::")
    if name.startswith("operator") or not _NAME.fullmatch(name := name.rpartition(" ")[2]):
        return None
    scope = scopes.rpartition("::")[2].rpartition(" ")[2]
    files: dict[str, Sequence[str]] = {}
    places = []
    for path, line in repository.lines_with(commit, name.lstrip("~"), *_SOURCES):
        if path not in files:
            files[path] = (repository.file(commit, path) or "").split("\n")
        if _defines(files[path][line - 1 : line - 1 + _HEAD], name, scope):
            places.append((path, line))
    changed = [place for place in places if place[0] in likely]
    best = changed or places
    return best[0] if len(best) == 1 else None


def _bare(function: str) -> str:
    """A symbol without parameters and template arguments: ``isc::dhcp::Pool::size``."""
    name, depth = "", 0
    for letter in function.removeprefix("non-virtual thunk to "):
        if letter in "(<" and name:
            depth += 1
        if not depth:
            name += letter
        if letter in ")>" and depth:
            depth -= 1
    return name.removesuffix(" const").strip()


def _defines(lines: Sequence[str], name: str, scope: str) -> bool:
    """Whether lines begin with the definition of a function of this name."""
    first = lines[0] if lines else ""
    called = f"{scope}(?:<[^>]*>)?::{re.escape(name)}" if scope else re.escape(name)
    head = re.match(rf"(?![\s#/*}}])(?:[^=;(]*[\s*&:])?{called}\s*\(", first)
    if head is None and scope:  # a function of a namespace, whose lines do not name that
        return _defines(lines, name, "") and f"::{name}" not in first
    if head is None:
        return False
    end = re.search(r"[{;]", "\n".join([first[head.end() :], *lines[1:]]))
    return end is not None and end[0] == "{"
