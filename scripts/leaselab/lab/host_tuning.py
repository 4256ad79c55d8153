"""Whether a host is still tuned as a sweep began: nothing that was set survives a reboot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.model.errors import lab_broken

if TYPE_CHECKING:
    from leaselab.lab.transport import Connection
    from leaselab.model.bench import BenchHost

NOTE = "/run/leaselab-host-tuning/before.json"
"""What role host_tuning writes before its first change in a boot, and removes with its last."""
_TIMEOUT_S = 20.0


def check_tuned(host: BenchHost, connection: Connection) -> None:
    """Raise a broken-lab error where a host that was tuned for this sweep no longer is.

    Its first runs would be of one machine, the rest of another.
    """
    if not host.facts.get("tuning"):
        return
    if connection.run(["test", "-e", NOTE], timeout_s=_TIMEOUT_S).status != 0:
        raise lab_broken(
            "the host is no longer tuned as it was for this sweep",
            where=host.access.name,
            found=f"no {NOTE}: it was rebooted, or its settings were given back",
            wanted="the settings that the result will name",
            todo="tune it again: leaselab tune SCENARIO, or ansible/tune.yml",
        )
