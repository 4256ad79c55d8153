"""Interrupts, held back where they would break something in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command in good order: Ctrl-C, a CI server, a closed terminal."""


@contextmanager
def held_back() -> Iterator[None]:
    """Let an interrupt wait until the end of the block.

    A handler that raises does so between any two steps of whatever runs, and a
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

    heard = {
        number: handler
        for number in INTERRUPTS
        if callable(handler := signal.getsignal(number))
    }
    for number in heard:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
    if came:
        first, frame = came[0]
        heard[signal.Signals(first)](first, frame)
