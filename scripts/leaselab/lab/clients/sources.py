"""Which source a file is: a capture, Kea's lease file, or its forensic log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.lab.clients.capture import read_capture

if TYPE_CHECKING:
    from pathlib import Path

    from leaselab.lab.clients.capture import Reader


def read_source(reader: Reader, path: Path) -> None:
    """Read a file into a reader, by what it begins with; a usage error for what is none."""
    read_capture(reader, path)
