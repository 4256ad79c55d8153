"""Encoding and decoding of result.json."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from leaselab.archive.checksums import MEND
from leaselab.model import (
    changes,
    host,
    policy,
    procedures,
    record,
    scenario,
    server,
    source,
    trial,
)
from leaselab.model.bounds import misfit
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.field_texts import field_texts, in_line
from leaselab.model.record import SCHEMA_VERSION, Record

_RESULTS = Path(__file__).resolve().parents[3] / "results"
SCHEMA_PATH = _RESULTS / "schema.json"
CHANGES_PATH = _RESULTS / "changes.schema.json"
POLICY_PATH = _RESULTS / "policy.schema.json"
"""The schemas for other programs: what the functions below make of the types."""
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_ID = "https://leaselab.invalid/schema/{}.json"
_RULES = """
result.json of Leaselab.  Units stand in the names of fields or in their descriptions; what
cannot be known is null.  A field with a default may be absent: Leaselab writes every field, but
results may be older.  More fields are welcome where things are described, and a reader ignores
those it does not know; where numbers stand (additionalProperties: false) an
unknown field is an error, so that a misspelt one is noticed.
"""


class _Version(msgspec.Struct):
    """Part of a result that identifies its format."""

    schema_version: Any


def decode(content: bytes, where: str) -> Record:
    """Read the record of a result.json, of this schema version.

    Raises usage_error for a document that is not a result, has another version, or does not fit
    its schema; all errors have `where`.  Every page can show a decoded record.
    """
    try:
        version = msgspec.json.decode(content, type=_Version).schema_version
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _refused("not a result", where, error) from error
    if version != SCHEMA_VERSION:
        raise usage_error(
            "this result needs another version of leaselab",
            where=where,
            found=f"schema version {version}",
            wanted=str(SCHEMA_VERSION),
            todo=MEND,
        )
    try:
        return msgspec.json.decode(content, type=Record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, LeaselabError) as error:
        raise _refused("the result does not fit its schema", where, error) from error


def encode(record: Record) -> bytes:
    """Write a record as result.json has it; `decode` reads back the same.

    Raises ValueError for a record with a value that its type does not allow, or with a number
    that JSON lacks: that is a fault of the engine, and no result is written.
    """
    try:
        msgspec.convert(document_of(record), Record)
    except msgspec.ValidationError as error:
        raise ValueError(f"{record.id}: {error}") from error
    text = json.dumps(document_of(record), indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def document_of(record: msgspec.Struct) -> Any:  # noqa: ANN401  # JSON
    """Return a record, or a part of one, as JSON values, in the order of its fields."""
    return msgspec.to_builtins(record)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a result, with the types' docstring of each field."""
    schema = _described(Record, source, procedures, trial, scenario, server, host, record)
    about = {
        "$schema": _DRAFT,
        "$id": _ID.format(f"result-{SCHEMA_VERSION}"),
        "title": "Result of one point",
        "description": _RULES,
    }
    return {**about, **schema}


def changes_schema() -> dict[str, Any]:
    """Return the same of changes.json."""
    about = {
        "$schema": _DRAFT,
        "$id": _ID.format(f"changes-{changes.VERSION}"),
        "title": "Searches for changes, and what was accepted",
        "description": in_line(changes.__doc__ or ""),
    }
    return {**about, **_described(changes.Changes, changes)}


def policy_schema() -> dict[str, Any]:
    """Return the same of leaselab.yml."""
    about = {"$schema": _DRAFT, "$id": _ID.format("policy"), "title": policy.FILE}
    return {**about, **_described(policy.PolicyFile, policy)}


def _described(root: type, *modules: ModuleType) -> dict[str, Any]:
    """The schema of a type, with the words of the modules that define its parts."""
    schema = msgspec.json.schema(root)
    kinds = {
        name: kind
        for module in modules
        for name, kind in vars(module).items()
        if inspect.isclass(kind)
    }
    for name, definition in schema["$defs"].items():
        definition["description"] = in_line(definition["description"])
        words = _words(kinds[name])
        for field, described in definition["properties"].items():
            if field in words:
                described["description"] = words[field]
    own = schema["$defs"][root.__name__]
    if "schema_version" in own["properties"]:  # identifies the format
        own["required"] = ["schema_version", *own.get("required", ())]
    return schema


def _words(kind: type) -> dict[str, str]:
    """Return the text below each field of a class by the field's JSON name."""
    texts = field_texts(kind)
    fields = msgspec.structs.fields(kind) if issubclass(kind, msgspec.Struct) else ()
    named = {field.encode_name: texts.get(field.name) for field in fields}
    return texts | {name: text for name, text in named.items() if text}


def _refused(what: str, where: str, error: Exception) -> LeaselabError:
    return usage_error(
        what, where=where, found=misfit(error), wanted="results/schema.json", todo=MEND
    )


if __name__ == "__main__":
    for path, made in (
        (SCHEMA_PATH, json_schema()),
        (CHANGES_PATH, changes_schema()),
        (POLICY_PATH, policy_schema()),
    ):
        text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")
