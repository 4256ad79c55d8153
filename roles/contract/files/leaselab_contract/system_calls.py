"""System calls of a running server by strace, which counts, shows or delays them.

While strace is attached, each system call of the server takes longer, whichever it looks at.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import tempfile
import time

from leaselab_contract.errors import LabError
from leaselab_contract.process import ENVIRONMENT, LEAST_POLL_S

STRACE = ["/usr/bin/strace", "-f"]
END_S = 30.0
RESUMED = "restart_syscall"
"""The rest of the wait in which a process was as strace attached to it."""
_PARENT_DEATH = 1
"""PR_SET_PDEATHSIG"""


class Strace:
    """strace, attached to a server and to all that this starts."""

    def __init__(self):
        self._running = self._said = None

    def attach(self, pids, *words):
        """Attach it to processes, with words of what it does."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # until `detach`
        self._running = subprocess.Popen(
            [*STRACE, *words, *(word for one in pids for word in ("-p", str(one)))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            env=ENVIRONMENT,
            preexec_fn=_end_with_parent,  # noqa: PLW1509  # a contract has one thread
        )
        # It says so of each process, once all of its threads are traced.
        while (said := self.said()).count(" attached") < len(pids):
            if self._running.poll() is not None:
                raise LabError(f"strace may not trace here: {said.strip()}")
            time.sleep(LEAST_POLL_S)

    def said(self):
        """Return what it has said."""
        size = os.fstat(self._said.fileno()).st_size
        return os.pread(self._said.fileno(), size, 0).decode("ascii", "replace")

    def detach(self):
        """End it; return what it has said, nothing where it was not attached."""
        strace, self._running = self._running, None
        if strace is None:
            return ""
        strace.send_signal(signal.SIGINT)
        try:
            strace.wait(END_S)
        finally:
            strace.kill()
            strace.wait()
        with self._said:
            return self.said()


def _end_with_parent():
    """Have the kernel end this process with its parent: strace then lets go of a server."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGTERM)


@contextlib.contextmanager
def traced(pids, *words):
    """Have strace attached for the context; yields what returns what it has said."""
    strace = Strace()
    try:
        strace.attach(pids, "-s", "0", *words)
        yield strace.said
    finally:
        strace.detach()


def read(summary):
    """Return how many calls a summary has by name."""
    rows = [line.split() for line in summary.splitlines()]
    found = {row[1]: int(row[0]) for row in rows if len(row) == 2 and row[0].isdecimal()}
    found.pop("total", None)
    found.pop(RESUMED, None)
    return found
