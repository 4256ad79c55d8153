"""The page of roles, from their argument specs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from ci.docpages.table import table

_MARKUP = re.compile(r"\b[BCIV]\(([^()]*)\)")
"""What Ansible's documentation marks a name with."""


def roles(root: Path) -> str:
    """Each role: its entry points and its variables."""
    paths = sorted((root / "roles").glob("*/meta/argument_specs.yml"))
    return "\n".join(
        [
            "# Roles\n",
            "Entry points and variables of each role. `defaults/main.yml` of the role has the "
            "reason for each default.\n",
            *(_section(path.parents[1].name, path) for path in paths),
        ]
    )


def _section(name: str, path: Path) -> str:
    entries = yaml.safe_load(path.read_text("utf-8"))["argument_specs"]
    points = (
        (f"`{point}`", spec.get("short_description", "")) for point, spec in entries.items()
    )
    variables = dict(_variables(entries))
    parts = [f"## {name}\n", table(("entry point", "does"), points)]
    if variables:
        defaults = _defaults(path.parents[1] / "defaults/main.yml")
        rows = [
            (f"`{key}`", *_row(option, defaults.get(key)))
            for key, option in sorted(variables.items())
        ]
        parts.append(table(("variable", "type", "default", "is"), rows))
    return "\n".join(parts)


def _variables(entries: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for spec in entries.values():
        yield from (spec.get("options") or {}).items()


def _defaults(path: Path) -> Mapping[str, Any]:
    return (yaml.safe_load(path.read_text("utf-8")) or {}) if path.exists() else {}


def _row(option: Mapping[str, Any], value: object) -> tuple[str, str, str]:
    kind = str(option.get("type", "str"))
    if "choices" in option:
        kind = " or ".join(f"`{choice}`" for choice in option["choices"])
    default = f"`{value}`" if value not in ("", None) else ""
    words = option.get("description", "")
    text = words if isinstance(words, str) else " ".join(words)
    return kind, "required" if option.get("required") else default, _MARKUP.sub(r"`\1`", text)
