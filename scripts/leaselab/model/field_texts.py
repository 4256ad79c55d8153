"""The texts below the fields of a class, which say what each is."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Sequence


def field_texts(kind: type) -> dict[str, str]:
    """Return the text below each field and property of a class, its bases' too, in one line."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("leaselab."):
            (node,) = ast.parse(inspect.getsource(base)).body
            texts |= _texts(node.body if isinstance(node, ast.ClassDef) else [])
    return texts


def in_line(text: str) -> str:
    """Return a text of several lines as one."""
    return " ".join(text.split())


def _texts(body: Sequence[ast.stmt]) -> dict[str, str]:
    """Return the texts below fields and properties in the body of a class, by name."""
    texts = {}
    for node, below in itertools.zip_longest(body, body[1:]):
        match node, below:
            case ast.FunctionDef(name=name), _:
                texts[name] = in_line(ast.get_docstring(node) or "")
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(text))):
                texts[name] = in_line(text)
    return texts
