"""The write-once store of results."""

import itertools
import os
import signal
import socket
import stat
import subprocess
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, PROCEDURE, START, archive_result, begun, example_result

from leaselab.archive.checksums import PRUNED, write_sums
from leaselab.archive.disk import PRIVATE, content_of, drafted, write_whole
from leaselab.archive.ident import is_id, month_of, new_id
from leaselab.archive.schema import decode
from leaselab.archive.store import Store
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.journal import Fault


@pytest.fixture
def root(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def store(root):
    return Store(root)


def refusal(call, *args):
    with pytest.raises(LeaselabError) as caught:
        call(*args)
    return caught.value


def tamper(path, content):
    """Change a sealed file as a user with the rights for it would."""
    path.parent.chmod(0o755)
    path.chmod(0o644)
    path.write_bytes(content)


ID, LATER, OTHER = (
    f"20261121T11300{second}Z-v4-memfile-{token}"
    for second, token in ((5, "3f9a"), (6, "3f9a"), (5, "0000"))
)


class TestIdent:
    def test_an_id_reports_time_and_scenario_in_utc(self):
        now = datetime(2026, 11, 21, 12, 30, 5, tzinfo=timezone(timedelta(hours=1)))
        assert new_id(now, "v4-memfile", "3f9a") == ID

    def test_an_id_that_is_taken_is_not_given_again(self, store, monkeypatch):
        """Both servers of a duel have a scenario and a second in common."""
        tokens = iter(["00aa", "00aa", "00bb", "00bb", "00cc"])
        monkeypatch.setattr("secrets.token_hex", lambda _: next(tokens))
        monkeypatch.setattr(
            "leaselab.archive.ident.datetime", SimpleNamespace(now=lambda _: START)
        )
        first, second = store.fresh_ids("v4-memfile", "v4-memfile")
        assert (first[-4:], second[-4:]) == ("00aa", "00bb")
        store.create(second).close()
        assert store.fresh_ids("v4-memfile")[0][-4:] == "00cc"

    @pytest.mark.parametrize("name", ["../up", "a/b", "", "V4", "-v4", "v4 x"])
    def test_a_scenario_that_is_no_file_name_is_refused(self, name):
        assert refusal(new_id, datetime.now(UTC), name, "3f9a").outcome is Outcome.USAGE

    @pytest.mark.parametrize("text", ["last", "20261121T113005Z-v4-memfile", "2026", "../x"])
    def test_other_text_is_no_id(self, text):
        assert not is_id(text)
        assert refusal(month_of, text).outcome is Outcome.USAGE


class TestSeal:
    def test_a_result_lies_by_month_and_is_read_only(self, root):
        record = archive_result(root)
        place = root / "2026" / "11" / record.id
        assert decode((place / "result.json").read_bytes(), "") == record
        writable = [path for path in (place, *place.rglob("*")) if path.stat().st_mode & 0o222]
        assert writable == []
        assert stat.S_IMODE(place.stat().st_mode) == 0o555
        assert list((root / ".running").iterdir()) == []

    def test_the_checksums_are_those_of_sha256sum(self, root):
        record = archive_result(root)
        place = root / "2026" / "11" / record.id
        subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=place, check=True)
        lines = (place / "SHA256SUMS").read_text().splitlines()
        present = {str(p.relative_to(place)) for p in place.rglob("*") if p.is_file()}
        assert {line.split("  ")[1] for line in lines} == present - {"SHA256SUMS"}

    def test_nothing_is_ever_overwritten(self, root, store):
        record = archive_result(root)
        assert "exists" in refusal(store.create, record.id).what
        other = begun(store, replace(record, id=OTHER))
        other.close()
        other.path.rename(root / ".running" / record.id)
        with store.open_running(record.id) as running:
            assert "exists" in refusal(store.seal, running, record).what
        assert store.load(record.id) == record

    @pytest.mark.parametrize("field", [{"outcome": "fine"}, {"id": OTHER}])
    def test_a_record_that_is_none_or_of_another_sweep_stays_running(self, store, field):
        record = example_result()
        (wanted,) = field.values() if "id" in field else field
        with store.create(record.id) as running, pytest.raises(ValueError, match=wanted):
            store.seal(running, replace(record, **field))
        assert [sweep.id for sweep in store.running()] == [record.id]

    def test_a_kill_at_any_write_loses_nothing(self, store):
        """The sealing process dies at its 1st, 2nd ... fsync; then it is sealed again."""
        for fatal in range(1, 1000):
            started = START + timedelta(minutes=fatal)
            short = replace(PROCEDURE, rounds=3, trim=0)
            record = example_result(MAX_RATES[:3], started=started, procedure=short)
            begun(store, record).close()
            finished = seal_in_child(store, record, fatal)
            if store.running():
                with store.open_running(record.id) as running:
                    running.write_bytes("raw/run-1-trial-01.txt.gz", b"text")
                    store.seal(running, record)
            assert store.load(record.id) == record
            assert store.verify(record.id).files == 4 + 3 * 3
            if finished:
                break
        assert fatal > 10

    def test_leftovers_of_a_killed_write_are_not_archived(self, store):
        record = example_result()
        with begun(store, record) as running:
            (running.path / "raw" / "b.txt.7.part").write_text("half")
            place = store.seal(running, record)
        assert list(place.rglob("*.part")) == []


@pytest.mark.parametrize("mode", [0o644, PRIVATE])
def test_two_processes_write_a_file_at_once(tmp_path, mode):
    path = tmp_path / "bench.json"
    with drafted(path) as draft:
        draft.write_bytes(b"ours")
        if not (pid := os.fork()):
            write_whole(path, b"that of the child", mode)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert (path.read_bytes(), draft.read_bytes()) == (b"that of the child", b"ours")
        assert stat.S_IMODE(path.stat().st_mode) == mode
        draft.replace(path)
    assert [(file, file.read_bytes()) for file in tmp_path.iterdir()] == [(path, b"ours")]


def seal_in_child(store, record, fatal):
    """Seal in a child that is killed at its fsync number `fatal`; True when it got through."""
    child = os.fork()
    if child == 0:
        count, real = itertools.count(1), os.fsync

        def fsync(handle):
            if next(count) == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            real(handle)

        os.fsync = fsync
        code = 1
        try:
            store.seal(store.open_running(record.id), record)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert not (os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0)
    return os.WIFEXITED(status)


class TestRunning:
    @pytest.mark.parametrize(
        "name", ["/etc/passwd", "../up.txt", "raw/../../up.txt", "", "result.json"]
    )
    def test_files_stay_inside_the_sweep(self, store, name):
        match = "file of its own inside the result"
        with store.create(ID) as running, pytest.raises(ValueError, match=match):
            running.write_text(name, "x")

    def test_unfinished_sweeps_are_listed_and_opened_again(self, store):
        assert store.running() == []
        ids = [OTHER, ID, LATER]
        for name in ids:
            with store.create(name) as running:
                running.record(Fault(text="created"))
        held = store.open_running(ids[1])
        assert [(sweep.id, sweep.active, sweep.events) for sweep in store.running()] == [
            (ids[0], False, 1),
            (ids[1], True, 1),
            (ids[2], False, 1),
        ]
        assert "another process" in refusal(store.open_running, ids[1]).what
        held.close()
        with store.open_running() as newest:
            assert newest.id == ids[2]
        with store.open_running("20261121T113005Z-v4-memfile-0") as first:
            assert first.entries() == [Fault(text="created")]

    def test_an_unknown_unfinished_sweep_names_the_nearest(self, root, store):
        assert "`leaselab run` starts one" in refusal(store.open_running, "last").todo
        store.create(ID).close()
        archive_result(root, example_result(token="0000"))
        for name, todo in (
            (ID.replace("3f9a", "3f9b"), f"did you mean {ID}?"),
            ("zz", f"there are {ID}"),
            (OTHER, f"it is finished: `leaselab show {OTHER}`"),
        ):
            error = refusal(store.open_running, name)
            assert (error.outcome, error.todo) == (Outcome.USAGE, todo)

    def test_one_damaged_journal_does_not_hide_the_other_sweeps(self, store, caplog):
        for name in (ID, LATER):
            with store.create(name) as running:
                running.record(Fault(text="created"))
        path = running.journal.path
        path.write_bytes(b"rubbish\n" + path.read_bytes())
        assert [sweep.events for sweep in store.running()] == [1, 0]
        assert f"{path}:1" in caplog.text


class TestFind:
    @pytest.fixture
    def records(self, root):
        tokens = enumerate(("aaaa", "bbbb", "cccc"))
        made = [(token, START + timedelta(hours=number)) for number, token in tokens]
        records = [example_result(token=token, started=started) for token, started in made]
        return [archive_result(root, record) for record in records]

    def test_every_kind_of_reference_finds_the_result(self, store, records):
        wanted = records[1].id
        place = store.place(wanted)
        paths = (str(place), str(place / "result.json"))
        for ref in (wanted, wanted[:11], "bbbb", "last~1", *paths):
            assert store.find(ref) == place
            assert store.load(ref).id == wanted
        assert store.find(records[0].scenario.name).name == records[2].id, "its newest"

    def test_last_is_the_one_that_finished_last(self, root, store, records):
        long = example_result(token="dddd", started=START - timedelta(days=1))
        long = replace(long, finished_at="2026-11-22T00:00:00Z")
        archive_result(root, long)
        assert store.find("last").name == long.id
        assert store.find("last~1").name == records[2].id

    def test_a_start_that_several_share_lists_the_newest(self, root, store, records):
        error = refusal(store.find, "20261121T1")
        assert error.outcome is Outcome.USAGE
        assert error.todo == f"one of: {', '.join(record.id for record in records[::-1])}"
        more = [
            archive_result(root, example_result(started=START + timedelta(1 + n)))
            for n in range(4)
        ]
        ids = ", ".join(record.id for record in (*more[::-1], records[2]))
        assert refusal(store.find, "2026112").todo == f"one of: {ids}, …"

    def test_an_unknown_one_names_the_nearest(self, store, records):
        error = refusal(store.find, records[0].id.replace("memfile", "memfil"))
        assert error.outcome is Outcome.USAGE
        assert error.todo == f"did you mean {records[0].id}?"
        assert refusal(store.find, "zzz").todo == "see `leaselab list`"
        assert refusal(store.find, "").outcome is Outcome.USAGE

    def test_without_results_it_says_how_to_make_one(self, store, root):
        assert refusal(store.find, "last").todo == "`leaselab run` makes one"
        assert not root.exists()
        archive_result(root)
        assert "no result 3 before the last" in refusal(store.find, "last~3").what

    def test_an_unfinished_one_says_how_to_go_on(self, store):
        running = store.create(ID)
        assert "is still running" in refusal(store.find, running.id).todo
        running.close()
        assert f"leaselab resume {running.id}" in refusal(store.find, running.id).todo


class TestChecksums:
    @pytest.mark.parametrize(
        "name",
        ["journal.jsonl", "bench.json", "config/kea-dhcp4.conf", "raw/run-1-trial-02.txt.gz"],
    )
    def test_a_file_that_record_or_format_name_is_missed_whatever_the_sums_say(
        self, root, store, name
    ):
        place = store.place(archive_result(root).id)
        for path in (place, *place.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        (place / name).unlink()
        write_sums(place)
        error = refusal(store.verify, "last")
        assert (error.outcome, error.where) == (Outcome.INVALID, str(place / name))

    def test_an_added_file_is_noticed_and_the_draft_of_a_killed_prune_is_none(
        self, root, store
    ):
        archive_result(root)
        place = store.find("last")
        place.chmod(0o755)
        (place / f"{PRUNED}.7.part").write_text("{")
        assert store.verify("last").pruned is None
        (place / "notes.txt").write_text("mine")
        assert "added" in refusal(store.verify, "last").what

    def test_without_its_checksums_a_result_is_not_believed(self, root, store):
        archive_result(root)
        sums = store.find("last") / "SHA256SUMS"
        for spoil in (
            lambda: tamper(sums, b""),
            lambda: tamper(sums, b"rubbish\n"),
            sums.unlink,
        ):
            spoil()
            assert refusal(store.load, "last").outcome is Outcome.INVALID


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "link", "socket"])
def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path, kind):
    path, other = tmp_path / "result.json", tmp_path / "other.json"
    other.write_text("{}", encoding="utf-8")
    with socket.socket(socket.AF_UNIX) as listening:
        {
            "folder": path.mkdir,
            "pipe": lambda: os.mkfifo(path),
            "device": lambda: path.symlink_to("/dev/zero"),
            "link": lambda: path.symlink_to(other),
            "socket": lambda: listening.bind(str(path)),
        }[kind]()
        with pytest.raises(
            OSError, match=r"not an ordinary file|symbolic links|No such device"
        ):
            content_of(path)
    assert content_of(other) == b"{}"
