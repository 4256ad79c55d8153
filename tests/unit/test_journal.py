"""The journal of a running sweep."""

import errno
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselab.archive.journal import Journal, is_being_written, read_journal
from leaselab.archive.running import RunningSweep
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.journal import Fault

EVENTS = [("created", {"scenario": "v4-memfile"}), ("trial", {"rate": 6000}), ("run", {})]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def written(path, events=EVENTS):
    journal = Journal(path)
    for name, data in events:
        journal.append(name, data)
    journal.close()
    return path.read_bytes()


def fields_of(events):
    return [(event.seq, event.name, event.data) for event in events]


def test_events_are_read_back_in_order(path):
    lines = written(path).decode().splitlines()
    assert all(json.loads(line)["at"].endswith("Z") for line in lines)
    path.write_bytes(path.read_bytes() + b"\0\0\0\0\n")  # torn all the same
    reopened = Journal(path)
    reopened.append("sealed", {"text": "a\rb\n\u2028c"})
    reopened.close()
    every = [*EVENTS, ("sealed", {"text": "a\rb\n\u2028c"})]
    assert fields_of(read_journal(path)) == [(n, *event) for n, event in enumerate(every, 1)]


@given(st.data())
def test_a_crash_inside_a_line_costs_that_line_only(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    content = written(path)
    cut = data.draw(st.integers(0, len(content)))
    rubbish = data.draw(st.binary(max_size=40)).replace(b"\n", b"")
    path.write_bytes(content[:cut] + rubbish)
    whole = content[:cut].count(b"\n")

    journal = Journal(path)
    kept = fields_of(journal.events)
    journal.append("after", {})
    journal.close()

    assert kept == [(n + 1, *event) for n, event in enumerate(EVENTS[:whole])]
    assert [event.name for event in read_journal(path)][-1] == "after"
    assert len(read_journal(path)) == whole + 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[0], lines[1][:9] + b"\xff" + lines[1][10:], lines[2]],
        lambda lines: [lines[0], lines[2], lines[2]],
        lambda lines: [lines[0], b'{"seq": 2}\n', lines[2]],
        lambda lines: [lines[0], b"[]\n", lines[2]],
    ],
    ids=["flipped byte", "line gone", "fields gone", "not an object"],
)
def test_damage_before_the_last_line_names_file_and_line(path, damage):
    lines = written(path).splitlines(keepends=True)
    path.write_bytes(b"".join(damage(lines)))
    with pytest.raises(LeaselabError) as caught:
        Journal(path)
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, f"{path}:2")


def test_a_journal_has_one_writer(path):
    first = Journal(path)
    assert is_being_written(path)
    with pytest.raises(LeaselabError, match="another process") as caught:
        Journal(path)
    assert caught.value.outcome is Outcome.USAGE
    first.close()
    assert not is_being_written(path)
    Journal(path).close()


def test_what_json_cannot_hold_is_refused_and_writes_nothing(path):
    journal = Journal(path)
    with pytest.raises(ValueError, match="JSON compliant"):
        journal.append("trial", {"loss": float("nan")})
    journal.close()
    assert path.read_bytes() == b""


def test_a_full_disk_keeps_the_journal_and_says_how_to_go_on(tmp_path, monkeypatch):
    directory = tmp_path / "20261121T113005Z-v4-memfile-3f9a"
    directory.mkdir()
    sweep = RunningSweep(directory)
    sweep.record(Fault(text="created"))
    before = (directory / "journal.jsonl").read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LeaselabError, match="no space left on the disk") as caught:
            sweep.record(Fault(text="full"))
        with pytest.raises(LeaselabError, match="no space left on the disk"):
            sweep.write_bytes("raw/run-1-trial-01.txt.gz", b"text")
    assert caught.value.outcome is Outcome.LAB
    assert caught.value.where == str(directory / "journal.jsonl")
    assert caught.value.found.endswith("MiB free")
    assert f"leaselab resume {sweep.id}" in caught.value.todo
    assert (directory / "journal.jsonl").read_bytes() == before
    assert not list(directory.glob("raw/*"))
    assert sweep.record(Fault(text="full")).seq == 2
    sweep.close()
