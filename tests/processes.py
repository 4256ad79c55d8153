"""Starting processes from tests."""

import signal


def hear_interrupts():
    """Run in a child before its program: a test runner in the background ignores Ctrl-C.

    What it starts would inherit that.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
