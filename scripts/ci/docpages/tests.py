"""Pages of faults and threats, from the tests that try them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import yaml

from ci.docpages.table import table

_FOLDERS = ("tests/lab", "tests/lab/night", "tests/ssh", "tests/vm")


def faults(root: Path) -> str:
    """The statements of the faults' tests, by module."""
    sections = (
        _section(root, path)
        for folder in _FOLDERS
        for path in sorted((root / folder).glob("test_*.py"))
        if path.name.startswith("test_faults_") or folder in ("tests/ssh", "tests/vm")
    )
    return "\n".join(
        [
            "# Faults\n",
            "Faults that are made to happen on a lab, and what holds then. Each line is a "
            "test; those below `tests/lab/night` and `tests/vm` run each night.\n",
            *sections,
        ]
    )


def _section(root: Path, path: Path) -> str:
    tree = ast.parse(path.read_text("utf-8"))
    title = (ast.get_docstring(tree) or path.stem).partition("\n")[0].rstrip(".")
    lines = "".join(f"- {_sentence(name)}\n" for name in _tests(tree))
    rows = _rows(tree)
    shown = f"\n{table(('host', 'fault', 'when', 'exit code', 'said'), rows)}" if rows else ""
    return f"## {title}\n\n`{path.relative_to(root)}`\n\n{lines}{shown}"


def _rows(tree: ast.Module) -> list[tuple[str, ...]]:
    """The rows that a module's tests try: its `TABLE`."""
    return [
        tuple(map(str, row))
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TABLE"
        for row in ast.literal_eval(node.value)
    ]


def _tests(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name.removeprefix("test_")


def _sentence(name: str) -> str:
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def threats(root: Path) -> str:
    """Every threat with what prevents it and the tests that try it."""
    sections = yaml.safe_load((root / "tests/threats.yml").read_text("utf-8"))
    headings = ("who", "could", "prevented by", "tests")
    return "\n".join(
        [
            "# Threats\n",
            "[The threat model](../explanation/threats.md) says who is trusted, and which "
            "risks remain.\n",
            *(
                f"## {title}\n\n{table(headings, map(_threat, rows))}"
                for title, rows in sections.items()
            ),
        ]
    )


def _threat(row: dict[str, object]) -> tuple[str, ...]:
    tests = row["tests"]
    if not isinstance(tests, list):
        raise TypeError(f"{row}: tests is no list")
    named = ", ".join(f"`{name}`" for name in tests)
    return str(row["who"]), str(row["could"]), str(row["stops"]), named
