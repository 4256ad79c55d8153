"""The configuration that a server ran with, as a result keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from leaselab.model.record import Record


def config_text(record: Record, directory: Path, role: str) -> str | None:
    """Return the configuration of a role (``server``, ``partner``); None where there is none.

    `directory` is the result's.  A path that leads out of it is none: a result may come
    from elsewhere, and its pages must show nothing of this machine.
    """
    server = record.servers.get(role)
    place = server.config_file if server else None
    path = (directory / place).resolve() if place else None
    if path is None or not path.is_relative_to(directory.resolve()) or not path.is_file():
        return None
    return path.read_text(encoding="utf-8", errors="replace")
