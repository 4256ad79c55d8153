"""Notes beside the results on the last seen state of each bench, for tables and pages.

Several control machines share one folder of results, and so these notes.  Notes are neither
authoritative nor a lock: they may be lost, and a read-only folder has none.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leaselab.archive.disk import write_whole

FOLDER = ".benches"
STATUS, CHECK, RECOVERY = "status", "check", "recovery"
"""The notes of a bench: its state at the last status command, the findings of its last check,
and the host whose power was last cycled as it did not answer."""


def write_note(root: Path, bench: str, kind: str, note: Mapping[str, Any]) -> None:
    """Store a note, its `kind` one of the above.  A failure to store it is ignored."""
    folder = root / FOLDER
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{bench}.{kind}.json", json.dumps(note, indent=1).encode())


def read_note(root: Path, bench: str, kind: str) -> dict[str, Any] | None:
    """A note of a bench; None without a readable one."""
    try:
        text = (root / FOLDER / f"{bench}.{kind}.json").read_text(encoding="utf-8")
        note = json.loads(text)
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) else None


def noted_benches(root: Path) -> list[str]:
    """The benches of which there is a status, by name."""
    end = f".{STATUS}.json"
    return sorted(path.name.removesuffix(end) for path in (root / FOLDER).glob(f"*{end}"))
