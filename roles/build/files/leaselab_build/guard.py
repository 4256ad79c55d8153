"""Ends a build, with all processes that it started, when its caller goes.

It has two processes.  One builds.  The other waits for that one to end or for the connection to
close, and removes the remains.  If one of them is killed, the other clears up.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys

from leaselab_contract.errors import LabError

_ENDS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_PARENT_DEATH = 1
"""PR_SET_PDEATHSIG"""
_END_S = 20.0


def owned(build, clear):
    """Call `build` in a process of its own, which prints and exits; exit with its status.

    `clear` ends and removes what a build that was cut short has left.  It is called when a
    signal ends this process or its output has no reader any more: the state in which ssh
    leaves a program whose connection has closed.
    """
    wake, woken = os.pipe()
    for number in _ENDS:
        signal.signal(number, lambda number, _: os.write(woken, bytes([number])))
    guard = os.getpid()
    builder = os.fork()
    if builder == 0:
        _build(guard, build, clear)
    os.set_blocking(woken, False)
    ended = os.pidfd_open(builder)
    poll = select.poll()
    for descriptor, events in ((ended, select.POLLIN), (wake, select.POLLIN), (1, 0)):
        poll.register(descriptor, events)
    reason = {descriptor for descriptor, _ in poll.poll()}
    if ended not in reason:
        os.kill(builder, signal.SIGTERM)
        if not select.select([ended], [], [], _END_S)[0]:
            os.kill(builder, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(builder, 0)[1])
    if status >= 0 and ended in reason:
        os._exit(status)
    clear()
    if ended in reason:
        raise LabError(f"the program that builds was ended by signal {-status}")
    raise LabError("the build was ended: its connection is closed")


def _build(guard, build, clear):
    """Build, and clear up where the other process asks for it or is gone."""

    def cut_short(*_):
        for number in _ENDS:
            signal.signal(number, signal.SIG_IGN)
        with contextlib.suppress(Exception):
            clear()
        os._exit(LabError.status)

    for number in _ENDS:
        signal.signal(number, cut_short)
    ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGTERM, 0, 0, 0)
    os.setsid()  # what the terminal says goes to the other process
    if os.getppid() != guard:
        cut_short()
    status = 0
    try:
        build()
    except SystemExit as end:
        status = end.code
    finally:
        sys.stdout.flush()
        os._exit(status)
