"""Errors of the check, with the nearest valid value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from leaselab.model.errors import LeaselabError, usage_error


def place_of(pos: Any) -> str:  # noqa: ANN401 - the builder's positions have no type
    """A position of the builder as `jobs/commit.yaml:12`, or nothing."""
    if pos is None or not getattr(pos, "path", None):
        return ""
    path = Path(pos.path)
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return f"{path}:{pos.line + 1}"


def unknown(
    what: str,
    key: str,
    known: Iterable[str],
    pos: Any,  # noqa: ANN401 - see above
    todo: str = "remove it, or spell it as its reader does",
) -> LeaselabError:
    """An error for an unknown `key`; it suggests the nearest of `known`."""
    near = difflib.get_close_matches(key, sorted(set(known) - {key}), n=1, cutoff=0.6)
    wanted = f"perhaps {near[0]}" if near else ""
    return usage_error(what, where=place_of(pos), found=key, wanted=wanted, todo=todo)
