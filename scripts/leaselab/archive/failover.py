"""Failovers: measurements beside the sweeps, kept in a folder of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leaselab.archive.disk import sync_directory, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FOLDER = "failover"
"""Below the results folder, where the index of sweeps does not look."""


def keep(results: Path, document: Mapping[str, Any], raws_gz: Sequence[bytes]) -> Path:
    """Write failovers and what the generator printed in each; return their directory.

    ``failover.json`` comes last: a directory without one was cut short.
    """
    place = results / FOLDER / str(document["id"])
    place.mkdir(parents=True)
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    raws = [(f"raw-{number}.txt.gz", raw) for number, raw in enumerate(raws_gz, start=1)]
    for name, content in (*raws, ("failover.json", text.encode())):
        write_whole(place / name, content)
        (place / name).chmod(0o444)
    sync_directory(place.parent)
    return place
