"""The schema of a result: results/schema.json, and how a document is held against it."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from leaselab.model.errors import LeaselabError, Outcome, lab_broken

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1
"""Raised when a field changes its meaning or goes away; a new field does not raise it."""

SCHEMA_PATH = Path(__file__).resolve().parents[3] / "results" / "schema.json"
"""It belongs to the code that reads it, so it lies in the same checkout,
wherever the results themselves are."""


@functools.cache
def load_schema() -> Mapping[str, Any]:
    """The schema (JSON Schema 2020-12).  Raises lab_broken when it cannot be read."""
    try:
        return cast("Mapping[str, Any]", json.loads(SCHEMA_PATH.read_text()))
    except (OSError, ValueError) as error:
        raise lab_broken(
            "the schema of results cannot be read",
            where=str(SCHEMA_PATH),
            found=str(error),
            todo="run leaselab from a whole checkout",
        ) from error


def check_document(document: Mapping[str, Any], where: str = "") -> None:
    """Hold a result against the schema.

    Raises LeaselabError (lab-broken: whoever wrote the document is wrong, not
    the server or the user) that names the first field that does not fit.
    """
    from jsonschema import Draft202012Validator  # noqa: PLC0415  # 0.1 s that `list` need not pay

    checker = Draft202012Validator(load_schema())
    errors = sorted(checker.iter_errors(document), key=lambda error: list(map(str, error.path)))
    if not errors:
        return
    first = errors[0]
    field = first.json_path.removeprefix("$").removeprefix(".") or "the document"
    message = first.message if len(first.message) <= 200 else first.message[:197] + "..."
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    raise LeaselabError(
        Outcome.LAB,
        f"the result does not fit the schema at {field}: {message}{more}",
        where=where,
    )
