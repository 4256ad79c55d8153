"""Texts and names of Python code, by line."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_HELPS = ("help", "description", "epilog")
_ERRORS = (
    *("usage_error", "lab_broken", "invalid_measurement", "server_broken", "regression"),
    *("internal_fault", "LeaselabError"),
)


def shown(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Help texts and errors of a module; inserted values do not count."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        texts = [key.value for key in node.keywords if key.arg in _HELPS]
        if name in _ERRORS:
            texts = [*node.args, *(key.value for key in node.keywords)]
        for item in (item for text in texts for item in ast.walk(text)):
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                yield node.lineno, item.value


def names(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Names that a module gives to functions, classes, parameters and values."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name.lstrip("_")
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
