"""A host as the engine's connection shows it, on which commands do what a test says."""

import json
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from leaselab.lab.hosts.transport import Completed


class FakeHost:
    """Answers a command by its first argument or its program; `others` answers the rest.

    An answer is a text, a document that is printed as JSON, a status with the words of an
    error, an error of the connection, or a function of the command that returns one of these.
    """

    def __init__(self, name="sut", *, follower=None, **answers):
        self.access = SimpleNamespace(name=name)
        self.answers, self.follower, self.is_there = answers, follower, True
        self.asked, self.limits_s = [], {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def run(self, argv, *, timeout_s, stdin=b"", as_login=False):  # noqa: ARG002  # the port's
        assert timeout_s > 0
        self.asked.append(list(argv))
        self.limits_s[argv[1]] = timeout_s
        names = (argv[1], Path(argv[0]).name, "others")
        known = [name for name in names if name in self.answers]
        assert known, f"nobody said what {argv} does"
        return _completed(self.answers[known[0]], argv)

    @contextmanager
    def follow(self, argv, _heard=None):
        self.asked.append(list(argv))
        yield self.follower[argv[1]] if isinstance(self.follower, dict) else self.follower

    def lasts(self, seconds):
        assert seconds > 0
        return self.is_there


def _completed(answer, argv):
    if callable(answer):
        answer = answer(argv)
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, tuple):
        return Completed(answer[0], b"", answer[1])
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return Completed(0, text.encode(), "")


class FakeFollower:
    """A command that runs: each request gets the same line, or none once it has ended."""

    def __init__(self, line, status=None, ended=None, begun="{}"):
        self.line = line if line is None or isinstance(line, str) else json.dumps(line)
        self.status, self.ended, self.begun, self.taken = status, ended, begun, 0

    def ask(self, timeout_s):
        assert timeout_s > 0
        return self.line

    conclude = ask

    def say(self, line, timeout_s):
        assert line
        return self.ask(timeout_s)

    def await_line(self, timeout_s):
        assert timeout_s > 0
        return self.begun

    def lines(self):
        self.taken += 1
        return [self.line]
