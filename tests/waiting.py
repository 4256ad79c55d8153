"""Waiting for a condition: no test depends on how fast its machine is."""

import time

HANGS_S = 1800
"""What takes longer hangs, on a busy machine as well (s)."""


def until(act, done):
    """What an act returns once it is done."""
    deadline = time.monotonic() + HANGS_S
    while not done(result := act()):
        assert time.monotonic() < deadline, result
        time.sleep(0.01)
    return result
