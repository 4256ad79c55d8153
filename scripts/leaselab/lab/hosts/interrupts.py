"""Delays interrupts during steps that must not be cut short."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command in good order: Ctrl-C, a CI server, a closed terminal."""
SAME_S = 1.0
"""Signals that come within this time are one interrupt (s)."""


def interrupter() -> Callable[[int, FrameType | None], None]:
    """Return a signal handler that raises KeyboardInterrupt, once for signals close together.

    Who ends a command may signal both it and its process group, as `timeout` and systemd do.
    A second exception would break what cleans up after the first; one that comes later is
    from a user who does not want to wait for that.
    """
    raised: list[float] = []

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if raised and time.monotonic() - raised[-1] < SAME_S:
            return
        raised.append(time.monotonic())
        raise KeyboardInterrupt

    return interrupt


@contextmanager
def held_back() -> Iterator[None]:
    """Let an interrupt wait until the end of the block.

    A handler that raises does so between any two steps of the running code, and a
    library that is left in the middle of a change stays so.  An error of the block
    comes before the interrupt, as the caller is leaving then as well.  In other threads
    than the main one nothing is to be done: Python interrupts only that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    handlers = {
        number: handler
        for number in INTERRUPTS
        if callable(handler := signal.getsignal(number))
    }
    for number in handlers:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if came:
        first, frame = came[0]
        handlers[signal.Signals(first)](first, frame)
