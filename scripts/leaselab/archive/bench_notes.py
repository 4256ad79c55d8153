"""What was last seen of each bench, for tables and pages: notes beside the results.

Several control machines share one folder of results, so each sees there what any
of them saw.  Notes are no truth and no lock: they may be lost, and a folder that cannot
be written to has none.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from leaselab.archive.disk import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FOLDER = ".benches"
STATUS, CHECK, RECOVERY = "status", "check", "recovery"
"""The notes of a bench: how it was when somebody asked, what its last check found, and which
host's power was last cycled as it did not answer."""


def write_note(root: Path, bench: str, kind: str, note: Mapping[str, Any]) -> None:
    """Keep a note, its `kind` one of the above.  One that cannot be kept is not missed."""
    folder = root / FOLDER
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{bench}.{kind}.json", json.dumps(note, indent=1).encode())


def read_note(root: Path, bench: str, kind: str) -> dict[str, Any] | None:
    """A note of a bench; None where there is none that can be read."""
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
