"""The derived index of results."""

import contextlib
import errno
import json
import os
import shutil
import sqlite3
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, PROCEDURE, archive_result, example_result, invalid_result

from leaselab.archive import index_file
from leaselab.archive.index import Index
from leaselab.archive.index_file import INDEX
from leaselab.archive.row import COLUMNS, UNREADABLE
from leaselab.archive.schema import encode
from leaselab.archive.store import Store
from leaselab.model.errors import LeaselabError
from leaselab.model.record import Experiment


@pytest.fixture
def root(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def index(root):
    return Index(root)


SHORT = example_result(MAX_RATES[:1], procedure=replace(PROCEDURE, rounds=1, trim=0))
FIRST, SECOND = (f"2026110{day}T000000Z-v4-memfile-000{day}" for day in (1, 2))
OTHER_MONTH = "20261201T000000Z-v4-memfile-0003"


def place_result(root, sweep_id):
    """Put a bare result.json where a result lies, as a copy from elsewhere does."""
    place = Store(root).place(sweep_id)
    place.mkdir(parents=True)
    (place / "result.json").write_bytes(encode(replace(SHORT, id=sweep_id)))
    return place


def ids(rows):
    return [row["id"] for row in rows]


def settle(root):
    """Make the month folders look unchanged for a while, as they are a moment later."""
    for month in root.glob("????/??"):
        os.utime(month, (time.time() - 60,) * 2)


def test_a_row_has_what_lists_and_histories_show(root, index):
    """All of it, so that no result.json has to be read."""
    record = archive_result(root, example_result(commit="1a2b3c4d5e6f7a8b"))
    (row,) = index.every()
    (listed,) = index.rows()
    assert listed.items() < row.items()
    assert set(row) == set(COLUMNS)
    known = {"finished_at": record.finished_at, "wall_s": record.wall_s, "dirty": 0}
    known |= {"procedure": "max-rate", "metric": "max_rate", "better": "higher"}
    known |= {"version": "2.6.3", "durability": "written", "path": f"2026/11/{record.id}"}
    known |= {"bench": "docker", "environment": "1", "reasons": "", "experiment": None}
    known |= {"standard_error": record.figure.standard_error}
    known |= {"release": "Debian GNU/Linux 13 (trixie)"}
    assert row.items() >= known.items()
    assert (row["ci_low"], row["ci_high"]) == record.figure.ci95
    rounds = [[rate, place in (2, 4)] for place, rate in enumerate(MAX_RATES)]
    assert json.loads(row["rounds"]) == rounds
    metrics = json.loads(row["metrics"])
    assert list(metrics) == ["max_rate", "completed_rate", "cpu_us"]
    assert metrics["max_rate"] == [6006.0, *record.figure.ci95, "exchanges/s"]
    assert metrics["cpu_us"] == [record.metric("cpu_us").value, None, None, "µs per exchange"]
    assert json.loads(row["ruler"]) == record.procedure.ruler()


def test_a_row_names_the_experiment_and_its_reasons(root, index):
    of = Experiment(id="sizes", points=("a", "b"), interleaved=True)
    archive_result(root, replace(invalid_result(), experiment=of))
    (row,) = index.every()
    assert (row["experiment"], row["reasons"]) == ("sizes", "generator-limited")
    assert index.without_figure(5) == [row]
    assert json.loads(row["rounds"])[-1] == [None, False]


def test_the_anchor_of_a_session_is_not_the_newest_of_its_scenario(root, index):
    anchor, other = (example_result(token=token) for token in ("ffff", "0001"))
    points = (anchor.id, other.id)
    of = Experiment(id=anchor.id, points=points, interleaved=True, anchor=anchor.id)
    for record in (anchor, other):
        archive_result(root, replace(record, experiment=of))
    assert ids(index.newest_places("*")) == [other.id]


@pytest.mark.parametrize("age", ["settled", "just changed"])
def test_results_that_come_and_go_behind_its_back_are_noticed(root, index, age):
    for name in (FIRST, SECOND, OTHER_MONTH):
        place_result(root, name)
        if age == "settled":
            settle(root)
        assert name in ids(index.rows())
    shutil.rmtree(Store(root).place(FIRST))
    assert ids(index.rows()) == [OTHER_MONTH, SECOND]
    shutil.rmtree(root / "2026" / "12")
    assert ids(index.rows()) == [SECOND]


def test_a_change_within_the_clock_tick_of_the_last_look_is_noticed(root, index):
    """The folder's time is the same before and after, as on a coarse file system."""
    now = time.time()
    for count, name in enumerate((FIRST, SECOND), 1):
        place_result(root, name)
        os.utime(root / "2026" / "11", (now, now))
        assert len(index.rows()) == count


def test_an_unchanged_month_is_not_read_again(root, index, monkeypatch):
    place_result(root, FIRST)
    settle(root)
    index.refresh()

    monkeypatch.setattr(index_file, "_ids", None)
    assert len(index.rows()) == 1


def executing(script):
    def spoil(path):
        with sqlite3.connect(path) as database:
            database.executescript(script)

    return spoil


def with_a_bad_page(path):
    """Spoil a page deep inside the file."""
    with sqlite3.connect(path) as database:
        asked = "SELECT rootpage FROM sqlite_master WHERE name = 'result_by_start'"
        ((page,),) = database.execute(asked)
        ((size,),) = database.execute("PRAGMA page_size")
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"rubbish"),
        lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000),
        with_a_bad_page,
        executing("DROP TABLE result; PRAGMA user_version = 7"),
        executing("DROP TABLE month"),
        lambda path: path.unlink() or os.mkfifo(path),
        lambda path: path.unlink() or path.symlink_to(path),
    ],
    ids=["no database", "damaged", "a page", "another version", "no table", "pipe", "loop"],
)
def test_an_index_that_cannot_be_used_is_made_again_with_a_message(root, index, caplog, spoil):
    archive_result(root)
    settle(root)
    before = index.rows()
    spoil(root / INDEX)
    assert index.rows() == before
    assert "making it again from the results" in caplog.text


def test_where_the_index_cannot_be_written_the_results_are_read(root, index, caplog):
    place_result(root, FIRST)
    (root / INDEX).mkdir()
    assert len(index.rows()) == 1
    assert "cannot be written" in caplog.text


def test_a_read_only_index_is_brought_up_to_date_in_memory(root, index, monkeypatch):
    place_result(root, FIRST)
    index.refresh()
    place_result(root, SECOND)
    writable = index_file._connect

    def read_only(path):
        if path == ":memory:":
            return writable(path)
        return sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)

    before = (root / INDEX).read_bytes()
    monkeypatch.setattr(index_file, "_connect", read_only)
    assert len(index.rows()) == 2
    assert (root / INDEX).read_bytes() == before


def test_a_corrupt_index_that_cannot_be_removed_is_left_alone(root, index, monkeypatch, caplog):
    place_result(root, FIRST)
    (root / INDEX).write_bytes(b"rubbish")

    def read_only(path, **_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "unlink", read_only)
    assert len(index.rows()) == 1
    assert "reading every result" in caplog.text
    assert (root / INDEX).read_bytes() == b"rubbish"


@pytest.mark.parametrize("lock", ["EXCLUSIVE", "IMMEDIATE"])
def test_a_busy_index_is_kept_and_answers_with_what_it_has(
    root, index, monkeypatch, caplog, lock
):
    place_result(root, FIRST)
    index.refresh()
    place_result(root, SECOND)
    monkeypatch.setattr(index_file, "_PATIENCE_S", 0.05)
    with contextlib.closing(sqlite3.connect(root / INDEX, isolation_level=None)) as writer:
        writer.execute(f"BEGIN {lock}")
        if lock == "EXCLUSIVE":
            with pytest.raises(LeaselabError, match="busy"):
                index.rows()
        else:
            assert len(index.rows()) == 1
            assert "being brought up to date" in caplog.text
        writer.execute("ROLLBACK")
    assert len(index.rows()) == 2


def test_a_result_that_cannot_be_read_is_named_until_it_is_mended(root, index, caplog):
    bad, good = archive_result(root), archive_result(root, invalid_result(token="0000"))
    path = Store(root).place(bad.id) / "result.json"
    content = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(b"{}")
    (root / INDEX).unlink()
    settle(root)
    for _ in range(2):
        caplog.clear()
        rows = {row["outcome"]: row for row in Index(root).rows()}
        assert rows.keys() == {UNREADABLE, "invalid"}
        assert rows[UNREADABLE]["started_at"] == "2026-11-21T11:30:05Z"
        assert caplog.text.count(f"{bad.id} is left out: {path}: not a result (found ") == 1
    path.write_bytes(content)
    caplog.clear()
    assert {row["outcome"] for row in index.rows()} == {"ok", "invalid"}
    assert caplog.text == ""
    both = [bad.id, good.id]
    assert [record.id for record in Store(root).load_readable(both)] == both


def test_other_folders_are_no_results(root, index):
    archive_result(root)
    for name in ("2026/11/notes", "2026/xx", "lost+found", ".running/20261121T113005Z-a-0000"):
        (root / name).mkdir(parents=True)
    assert len(index.rows()) == 1


def test_an_index_of_some_results_answers_of_no_other(root, index):
    kept = archive_result(root)
    other = archive_result(root, invalid_result(scenario="v6-memfile"))
    some = Index(root, [kept.id])
    assert ids(some.rows()) == ids(some.every()) == [kept.id]
    assert (some.scenarios(), some.outcomes()) == ([kept.scenario.name], {"ok": 1})
    assert some.without_figure(5) == []
    assert ids(some.newest_places("*")) == [kept.id]
    assert ids(Index(root, [other.id]).without_figure(5)) == [other.id]
    assert len(index.rows()) == 2
