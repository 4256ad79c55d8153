"""What a result calls the server that it measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leaselab.model.source import SHORT

_NONE = "-"


def server_name(server: Mapping[str, Any]) -> str:
    """Server, version and, where it was built from one, the commit: ``kea 2.6.3 (1a2b3c4d5e)``.

    Takes an index row or the `server` of a result (with `name` for `server`).
    """
    name = server.get("server") or server.get("name")
    parts = [name or _NONE, server["version"] or ""]
    if server["commit"]:
        parts.append(f"({server['commit'][:SHORT]})")
    return " ".join(part for part in parts if part)
