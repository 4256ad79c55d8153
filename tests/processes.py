"""Processes that tests start, and their ends."""

import signal
from pathlib import Path

from tests.waiting import until


def hear_interrupts():
    """Run in a child before its program: a test runner in the background ignores Ctrl-C.

    What it starts would inherit that.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def is_running(pid):
    """Whether a process has not ended; it may do so while it is looked at."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def await_end(*pids):
    """Wait until processes have ended."""
    until(lambda: [pid for pid in pids if is_running(pid)], lambda running: not running)
