"""Whether a host is still tuned as a sweep began: a reboot and another scenario change it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from leaselab.lab.transport import Connection
from leaselab.model.bench import BenchHost
from leaselab.model.errors import lab_broken

NOTE = "/run/leaselab-host-tuning/tuned.json"
"""What role host_tuning read back when it tuned the host last; removed when it restores it."""
_TIMEOUT_S = 20.0


def check_tuned(host: BenchHost, connection: Connection) -> None:
    """Raise a broken-lab error where a host that was tuned for this sweep no longer is.

    Its first runs would be of one machine, the rest of another.
    """
    wanted = host.facts.get("tuning")
    if not wanted:
        return
    note = connection.run(["cat", NOTE], timeout_s=_TIMEOUT_S)
    gone = note.status != 0
    state: Mapping[str, Any] = {} if gone else json.loads(note.stdout)
    other = [name for name in wanted if gone or state.get(name) != wanted[name]]
    if not other and state.keys() == wanted.keys():
        return
    raise lab_broken(
        "the host is no longer tuned as it was for this sweep",
        where=host.access.name,
        found=f"no {NOTE}: it was rebooted, or its settings were restored"
        if gone
        else _words(state, other),
        wanted=_words(wanted, other),
        todo="tune it again: leaselab step tune SCENARIO, or ansible/tune.yml",
    )


def _words(tuning: Mapping[str, Any], names: Iterable[str]) -> str:
    """Settings as they were read back, by name."""
    return ", ".join(f"{name} {(tuning.get(name) or {}).get('found')}" for name in names)
