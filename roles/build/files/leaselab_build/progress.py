"""How far a build is: read from its output, and kept in a file for other processes."""

import json
import re
import time
from pathlib import Path

FILE = "progress.json"
_COUNTED = re.compile(r"^(?:-- )?\[(\d{1,9})/(\d{1,9})\] ?(.*)")
"""``[12/545] Compiling …``, as ninja counts; ``-- [2/9] src/lib``, as a recipe does."""
_EVERY_S = 1.0
_WIDTH = 120


class Progress:
    """Reads the output of one build line by line; the file is written once a second."""

    def __init__(self, config, job):
        """Begin with the job's name and commit; no phase has begun."""
        self._path = _path(config)
        self._began = time.monotonic()
        self._state = {"name": config["name"], "commit": job.commit, "described": job.described}

    def begin(self, phase):
        """Begin a phase."""
        self._state.update(phase=phase, step=None, steps=None, doing="")
        self._write()

    def read_line(self, line):
        """Take a line of the recipe's output."""
        text = line.strip()
        if not text:
            return
        counted = _COUNTED.match(text)
        if counted:
            step, steps, doing = counted.groups()
            self._state.update(step=int(step), steps=int(steps), doing=doing[:_WIDTH])
        else:
            self._state["doing"] = text[:_WIDTH]
        if time.monotonic() - self._written >= _EVERY_S:
            self._write()

    def _write(self):
        self._written = time.monotonic()
        elapsed_s = round(self._written - self._began, 1)
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps({**self._state, "elapsed_s": elapsed_s}), encoding="utf-8")
        draft.rename(self._path)


def read(config):
    """Return how far the build under way is, None when there is none."""
    try:
        return json.loads(_path(config).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def end(config):
    """Remove the file: no build runs any more."""
    _path(config).unlink(missing_ok=True)


def _path(config):
    return Path(config["cache"]) / FILE
