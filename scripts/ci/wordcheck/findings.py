"""What a checkout has of the words and names to avoid."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.wordcheck.code import names, shown
from ci.wordcheck.lists import FOUND, NAMES, ONE, avoided

WORD = "words are those of the field"
NAME = "a name says what it holds"
_ENGINE = "scripts/leaselab"
_ROOMS = ("model", "archive", "catalog", "builds", "lab", "measure", "run")
"""Rooms of the engine where nothing is named `found`, but for what an error reports."""
_REPORTED = {
    *("model/advice.py", "model/errors.py", "model/procedure.py", "model/host.py"),
    *("archive/checksums.py", "builds/artifacts.py", "lab/contract/server.py"),
    *("lab/checks/host.py", "lab/checks/findings.py", "lab/checks/inspection.py"),
    *("measure/generators/printed.py", "measure/search_error.py"),
    "measure/trials.py",
}
"""Modules with a field, parameter or text that is the `found` of an error or a finding."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A word or name to avoid, where it is, by which rule, and a better one."""

    path: str
    line: int
    word: str
    better: str
    rule: str

    def __str__(self) -> str:
        """As a linter prints it."""
        return f'{self.path}:{self.line}: "{self.word}": write {self.better} ({self.rule})'


def findings(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """All of these files, whose paths are below `root`."""
    for path in paths:
        text = (root / path).read_text(encoding="utf-8")
        yield from (_of_page if path.endswith(".md") else _of_module)(path, text)


def files(root: Path) -> list[str]:
    """Documents and Python files of a checkout."""
    argv = ["git", "ls-files", "-z", "*.md", "*.py"]
    done = subprocess.run(argv, cwd=root, capture_output=True, check=True, text=True)
    return [name for name in done.stdout.split("\0") if name and (root / name).exists()]


def _of_page(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        yield from _of_text(path, number, re.sub(r"`[^`]*`", "", line))


def _of_module(path: str, text: str) -> Iterator[Finding]:
    better, is_engine = _names_to_avoid(path), path.startswith(f"{_ENGINE}/")
    if not better and not is_engine:
        return
    module = ast.parse(text)
    for number, words in shown(module) if is_engine else ():
        yield from _of_text(path, number, words)
    for number, name in names(module) if better else ():
        if name in better:
            yield Finding(path, number, name, better[name], NAME)
        if path.startswith("tests/") and name.startswith("test_"):
            yield from _of_text(path, number, name.replace("_", " "))


def _of_text(path: str, line: int, text: str) -> Iterator[Finding]:
    for word, better in avoided(text):
        yield Finding(path, line, word, better, WORD)


def _names_to_avoid(path: str) -> Mapping[str, str]:
    """The names to avoid in a module, with better ones."""
    if path.startswith("tests/"):
        return NAMES | FOUND | ONE
    if re.match(r"roles/[^/]+/files/[^/]+_contract/", path):
        return {name: better for name, better in NAMES.items() if name != "tell"}
    module = path.partition(f"{_ENGINE}/")[2]
    if module.partition("/")[0] not in _ROOMS:
        return {}
    return NAMES if module in _REPORTED else NAMES | FOUND
