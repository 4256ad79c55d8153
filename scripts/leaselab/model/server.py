"""What a result calls the server that it measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leaselab.model.record import Server
from leaselab.model.source import SHORT
from leaselab.model.text import printable

_NONE = "-"


def settings_of(config: str, variant: str | None, prefix: str | None) -> str:
    """Return a server's configuration without what names its variant, and where its build is.

    Both are in paths, such as that of its log, and differ between any two builds.
    """
    for name, stands_for in ((variant, "VARIANT"), (prefix, "PREFIX")):
        if name:
            config = config.replace(name, stands_for)
    return config


def server_name(server: Server | Mapping[str, Any]) -> str:
    """Server, version and, where it was built from one, the commit: ``kea 2.6.3 (1a2b3c4d5e)``.

    Takes the server of a record, or an index row.
    """
    if isinstance(server, Server):
        name, version, commit = server.name, server.version, server.commit
    else:
        name, version, commit = server["server"], server["version"], server["commit"]
    parts = [name or _NONE, version or "", f"({commit[:SHORT]})" if commit else ""]
    return printable(" ".join(part for part in parts if part))
