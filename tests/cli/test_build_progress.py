"""How far a build is, on standard error, while a playbook builds."""

import io
import json
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from tests.fake_host import FakeHost

from leaselab.model.bench import HostAccess
from leaselab.model.errors import lab_broken
from leaselab.model.journal import written
from leaselab.run import build_progress
from leaselab.run.build_progress import BUILDING, BuildFollower
from leaselab.run.preparation import Phases

ROOT = Path(__file__).parents[2]
ACCESS = HostAccess("maker", "192.0.2.9", "root", "key", "known", 22)
BEGIN = {"event": "task", "role": BUILDING[0], "task": BUILDING[1]}
NEXT = {"event": "task", "role": "build", "task": "Fetch the log"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Feed(list):
    def write(self, entry):
        self.append(written(entry))


COMMIT = "c" * 40


def reading(phase="make", step=None, steps=None, doing="", commit=COMMIT):
    said = {"phase": phase, "step": step, "steps": steps, "doing": doing, "elapsed_s": 61.0}
    return {"name": "kea", "commit": commit, "described": "Kea-3.1.0", **said}


class Builder(FakeHost):
    """One that is followed: `heard` is a way to have it say something."""

    heard = fault = None

    def __call__(self, access):
        assert access == ACCESS
        if self.fault:
            raise self.fault
        return self

    @contextmanager
    def follow(self, argv, heard):
        self.asked, self.heard = argv, heard
        yield
        self.heard = None


@pytest.fixture
def builder(monkeypatch):
    builder = Builder()
    monkeypatch.setattr(build_progress, "connect", builder)
    return builder


def following(stream, feed):
    """What follows the task that compiles, before that."""
    follower = BuildFollower(ACCESS, "kea", COMMIT, feed, stream)
    follower.event({"event": "task", "role": "build", "task": "Search the cache"})
    return follower


def test_the_task_that_compiles_is_the_one_that_is_followed():
    tasks = yaml.safe_load((ROOT / "roles/build/tasks/make.yml").read_text(encoding="utf-8"))
    assert BUILDING[1] in [task["name"] for task in tasks[0]["block"]]


def test_a_pipe_gets_a_line_for_each_phase_and_each_tenth(builder):
    stream, feed = io.StringIO(), Feed()
    follower = following(stream, feed)
    assert builder.heard is None
    follower.event(BEGIN)
    assert builder.asked == ["/opt/leaselab/build-kea", "progress"]
    lines = [
        reading("configure"),
        *(reading("make", step, 100, "a.cc") for step in range(1, 31)),
    ]
    for line in lines:
        builder.heard(json.dumps(line))
    builder.heard("null")
    builder.heard('{"cut')
    follower.event(NEXT)
    assert builder.heard is None
    assert stream.getvalue().splitlines() == [
        "  configure, 1 min 1 s",
        "  make, 1 of 100, 1 min 1 s: a.cc",
        "  make, 10 of 100, 1 min 1 s: a.cc",
        "  make, 20 of 100, 1 min 1 s: a.cc",
        "  make, 30 of 100, 1 min 1 s: a.cc",
    ]
    assert [data for _, data in feed] == lines
    assert {name for name, _ in feed} == {"build"}


def test_a_build_that_waits_for_another_says_so(builder):
    stream = io.StringIO()
    follower = following(stream, Feed())
    follower.event(BEGIN)
    builder.heard(json.dumps(reading(commit="e" * 40)))
    builder.heard(json.dumps(reading()))
    follower.close()
    assert stream.getvalue().splitlines() == [
        "  waits for the build of kea eeeeeeeeee: make, 1 min 1 s",
        "  make, 1 min 1 s",
    ]


def test_a_builder_that_cannot_be_followed_is_said_and_stops_nothing(builder, capsys):
    builder.fault = lab_broken("cannot be reached", where="maker")
    follower = following(io.StringIO(), Feed())
    follower.event(BEGIN)
    follower.event(NEXT)
    assert "the build is not followed: maker: cannot be reached" in capsys.readouterr().err


def test_a_terminal_has_one_line_that_changes_and_is_cleared(builder):
    stream = Terminal()
    follower = following(stream, Feed())
    follower.event(BEGIN)
    for step in (1, 2):
        builder.heard(json.dumps(reading("make", step, 2)))
    follower.close()
    shown = stream.getvalue()
    assert ("\n" in shown, "make, 2 of 2" in shown) == (False, True)
    assert shown.endswith("\r\x1b[K")


def test_the_playbooks_of_a_call_leave_one_line_on_a_terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    phases = Phases()
    for name in ("deploy", "tune"):
        phases.event({"event": "playbook", "name": name})
        phases.event({"event": "changed"})
    phases.end()
    (left,) = stream.getvalue().rstrip("\n").split("\n")
    titles = "deploying the server, tuning hosts and database"
    assert re.fullmatch(rf"{titles}: \d+ s, 2 changes", left.rpartition("\x1b[K")[2])
