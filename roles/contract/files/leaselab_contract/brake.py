"""A brake: slows a server by a known share, to check what a comparison finds.

Its processes are stopped and continued, many times a second, so that over any longer time they
stand still for the share that was asked for.  So any server can be braked, as it was deployed.
"""

import contextlib
import os
import select
import signal
import sys
import time

from leaselab_contract.errors import ContractError
from leaselab_contract.process import running_pid
from leaselab_contract.verbs import emit

PERIOD_S = 0.02
"""How often it is stopped: much less than a client waits, much more than a stop costs."""


def brake(config):
    """Brake until standard input is closed; its first line is the share (0..1).

    Prints once that it brakes, and at the end the share of the time for which the server
    stood still.  A server that is restarted meanwhile is braked as well.
    """
    share = float(sys.stdin.readline())
    if not 0 < share < 1:
        raise ContractError(f"no share of the time (found {share:g}, wanted above 0, below 1)")
    emit({"braking": True})
    began, stood_s = time.monotonic(), 0.0
    while not _closed(PERIOD_S):
        # By what is due so far: a stop that took longer makes the next one shorter.
        due_s = share * (time.monotonic() - began) - stood_s
        if due_s > 0:
            stood_s += _stand(config, due_s)
    emit({"stood": stood_s / (time.monotonic() - began)})


def _closed(seconds):
    """Wait; return whether standard input was closed meanwhile."""
    readable, _, _ = select.select([0], [], [], seconds)
    return bool(readable) and not os.read(0, 4096)


def _stand(config, seconds):
    """Stop the server's processes for a time; return how long they were stopped (s)."""
    pid = running_pid(config["process"])
    if pid is None:
        return 0.0  # it is being restarted
    began = time.monotonic()
    with stopped(pid):
        time.sleep(seconds)
    return time.monotonic() - began


@contextlib.contextmanager
def stopped(pid):
    """Stop a process and its children for the context."""
    try:
        _send(pid, signal.SIGSTOP)
        yield
    finally:
        _send(pid, signal.SIGCONT)


def _send(pid, number):
    """Signal a process and its children: it leads a process group of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)
