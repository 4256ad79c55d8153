"""Progress of a build, as its builder prints it, shown while a playbook builds."""

from __future__ import annotations

import json
import shutil
import sys
import time
from contextlib import ExitStack
from typing import TextIO

import msgspec

from leaselab.archive.live import LiveFeed
from leaselab.lab.deploy.playbook import Event
from leaselab.lab.hosts.transport import connect
from leaselab.model.bench import HostAccess
from leaselab.model.errors import LeaselabError
from leaselab.model.journal import BuildStep, live_entry_of
from leaselab.model.source import SHORT
from leaselab.model.speech import announce
from leaselab.model.text import CLEAR
from leaselab.report.live import build_words
from leaselab.report.width import is_screen

BUILDING = ("build", "Build the commit")
"""Role and name of the task that compiles; the builder has its contract by then."""
_SHARES = 10
_EVERY_S = 60.0


class BuildFollower:
    """Follows the builder while the compiling task runs.

    A failure to follow it is reported once, and the build continues.
    """

    def __init__(
        self,
        access: HostAccess,
        server: str,
        commit: str,
        feed: LiveFeed,
        stream: TextIO | None = None,
    ) -> None:
        """`server` names the build contract; `feed` and `stream` get the progress.

        A builder builds one commit at a time: while it builds another, `commit` (a hash) waits.
        """
        self._access = access
        self._argv = [f"/opt/leaselab/build-{server}", "progress"]
        self._commit = commit
        self._feed = feed
        self._lines = _Lines(stream or sys.stderr)
        self._following: ExitStack | None = None

    def event(self, event: Event) -> None:
        """Process a playbook event: begin with the building task, end with the next."""
        self._lines.clear()
        if event["event"] == "task":
            self.close()
            if (event["role"], event["task"]) == BUILDING:
                self._begin()

    def close(self) -> None:
        """End following, if it was begun."""
        if self._following is not None:
            self._following.close()
            self._following = None
        self._lines.clear()

    def _begin(self) -> None:
        stack = ExitStack()
        try:
            host = stack.enter_context(connect(self._access))
            stack.enter_context(host.follow(self._argv, self._on_line))
        except LeaselabError as error:
            stack.close()
            announce(f"the build is not followed: {error}")
        else:
            self._following = stack

    def _on_line(self, line: str) -> None:
        try:
            step = live_entry_of("build", json.loads(line) or {})
        except (msgspec.MsgspecError, ValueError):
            return  # nothing is built, or the end of the connection has cut the line
        if isinstance(step, BuildStep):
            if step.commit != self._commit:
                other = f"{step.name} {step.commit[:SHORT]}"
                phase = f"waits for the build of {other}: {step.phase}"
                step = msgspec.structs.replace(step, phase=phase)
            self._lines.show(step)
            self._feed.write(step)


class _Lines:
    """Prints progress: a line that is updated on a terminal, occasional lines in a pipe.

    A pipe gets a line for each phase, for each tenth of a phase that counts its steps, and at
    least one line a minute.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown: tuple[object, ...] = ()
        self._at = 0.0

    def show(self, step: BuildStep) -> None:
        if is_screen(self._stream):
            # a line that wraps cannot be cleared as one
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(CLEAR)
            self._stream.write(f"  {build_words(step)}"[:width])
            self._stream.flush()
            return
        share = _SHARES * (step.step or 0) // step.steps if step.steps else None
        shown, now = (step.phase, share), time.monotonic()
        if shown != self._shown or now - self._at >= _EVERY_S:
            print(f"  {build_words(step)}", file=self._stream, flush=True)
            self._shown, self._at = shown, now

    def clear(self) -> None:
        """End the updated line before another line is printed."""
        if is_screen(self._stream):
            self._stream.write(CLEAR)
            self._stream.flush()
