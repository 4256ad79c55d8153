"""The traffic generator's host: bounded commands, output compressed on the spot."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from leaselab.lab.transport import Connection
from leaselab.model.observation import Generated

GRACE_S = 15.0
"""Time beyond its own bound after which a command counts as hanging (s)."""


class RemoteGenerator:
    """Runs a generator's command line on its host."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def generate(
        self, argv: Sequence[str], environment: Mapping[str, str], timeout_s: float
    ) -> Generated:
        """Run `argv`, killed after `timeout_s` (s), and return what it printed.

        The output of a 5 s trial is several megabytes of times.  It is
        compressed on the host, after the traffic, so that it crosses the wire
        once and is archived as it is.
        """
        settings = [f"{name}={value}" for name, value in environment.items()]
        bounded = ["timeout", "--kill-after=2", f"{timeout_s:.0f}", *argv]
        pipeline = f"{shlex.join(['env', *settings, *bounded])} | gzip -1"
        done = self._connection.run(
            ["bash", "-o", "pipefail", "-c", pipeline], timeout_s=timeout_s + GRACE_S
        )
        return Generated(done.status, done.stdout, done.stderr.strip())
