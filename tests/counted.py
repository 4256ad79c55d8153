"""Servers that are counted on this machine: their contract and leaseload, line by line."""

import json
import subprocess
from contextlib import contextmanager

import msgspec
from tests.load_programs import load_programs

from leaselab.model.observation import Counts, Held


class Lines:
    """A running command that answers each line with a line of JSON."""

    def __init__(self, argv):
        self.process = subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def say(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, self.process.communicate()[1]
        return json.loads(answer)

    def end(self):
        return self.process.communicate()[1]


class Counter:
    """A server that its contract counts, as `leaselab.measure.ports.Counter`."""

    def __init__(self, lines):
        self._lines = lines

    def settle(self):
        assert self._lines.say("settle") == {}

    def begin(self):
        self._lines.say("begin")

    def zero(self):
        self._lines.say("zero")

    def take(self):
        return msgspec.convert(self._lines.say("take"), Counts)

    def held(self):
        return msgspec.convert(self._lines.say("held"), Held).held


class Server:
    """One that is deployed in a root, as `leaselab.measure.ports.Server`."""

    def __init__(self, root):
        self._root, self.started = root, []

    @contextmanager
    def counting(self, by):
        lines = Lines(self._root.words_of_verb("count"))
        try:
            self.started.append(lines.say(by))
            yield Counter(lines)
        finally:
            said = lines.end()
        assert lines.process.returncode == 0, said


class Loads:
    """leaseload, as `leaselab.measure.ports.Loads`."""

    def __init__(self, lines):
        self._lines = lines

    def offer(self, load, step=None):
        answer = self._lines.say(load if step is None else f"{load} --step")
        while step is not None and "step" in answer:
            step()
            answer = self._lines.say("")
        return answer


class Generator:
    """The host of leaseload, as `leaselab.measure.ports.GeneratorHost`."""

    def __init__(self, network):
        self._network = network

    @contextmanager
    def serving(self, argv, _environment):
        lines = Lines([*self._network, load_programs() / "leaseload", *argv])
        try:
            yield Loads(lines)
        finally:
            lines.end()
