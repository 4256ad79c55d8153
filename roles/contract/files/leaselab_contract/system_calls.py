"""System calls of a running server by name, counted by strace."""

import signal
import subprocess
from pathlib import Path

from leaselab_contract.errors import LabError
from leaselab_contract.process import ENVIRONMENT

STRACE = "/usr/bin/strace"
END_S = 30.0
RESUMED = "restart_syscall"
"""The rest of the wait in which a process was as strace attached to it."""


class Strace:
    """strace, attached to a server while it counts."""

    def __init__(self, folder):
        self._summary = Path(folder) / "system-calls"
        self._running = None

    def attach(self, pids):
        """Count the calls of processes from now on."""
        argv = [STRACE, "-c", "-f", "-U", "calls,name", "-o", str(self._summary)]
        self._running = subprocess.Popen(
            [*argv, *(word for one in pids for word in ("-p", str(one)))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            text=True,
        )
        # It says so of each process, once all of its threads are traced.
        for _ in pids:
            line = self._running.stderr.readline()
            if "attached" not in line:
                raise LabError(
                    f"strace may not count here: {line.strip() or 'it says nothing'}"
                )

    def detach(self):
        """Count nothing further; return the calls by name."""
        strace, self._running = self._running, None
        if strace is None:
            return {}
        strace.send_signal(signal.SIGINT)
        try:
            strace.communicate(timeout=END_S)
        finally:
            strace.kill()
            strace.wait()
            strace.stderr.close()
        return read(self._summary.read_text(encoding="ascii"))


def read(summary):
    """Return how many calls a summary has by name."""
    rows = [line.split() for line in summary.splitlines()]
    found = {row[1]: int(row[0]) for row in rows if len(row) == 2 and row[0].isdecimal()}
    found.pop("total", None)
    found.pop(RESUMED, None)
    return found
