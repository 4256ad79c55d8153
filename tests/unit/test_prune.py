"""What `prune` removes of an archive and of a checkout, and what stays whatever happens."""

import contextlib
import json
import os
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import START, archive_result, built, example_result

from leaselab.archive.checksums import PRUNED, SUMS
from leaselab.archive.prune import (
    Item,
    alone,
    caches,
    leftovers,
    may_go,
    remove,
    results,
    use,
)
from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.model.errors import LeaselabError
from leaselab.model.journal import Fault
from leaselab.model.record import Experiment
from leaselab.report.site.pages import Pages, sweep_page
from leaselab.report.site.site import NAV, _Site

KEY, OTHER = "0123456789abcdef01234567", "fedcba9876543210fedcba98"
NOW = (START + timedelta(days=30)).timestamp()
DAY_S = 86400


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


def archived(root, token="3f9a", **fields):  # noqa: S107  # part of an id, no secret
    record = replace(example_result(token=token), **fields)
    archive_result(root, record)
    return record


def prune(root, days=7, now=NOW, *, dry_run=False):
    freed, errors = remove(may_go(results(Store(root)), now, days), dry_run=dry_run)
    return {kind: item.items for kind, item in freed.items()}, errors


def old(path, days=100.0):
    """Have it last used so many days before `NOW`."""
    os.utime(path, (NOW - days * DAY_S,) * 2)
    return path


@given(st.booleans(), st.floats(0, 1e4), st.integers(1, 3650))
def test_what_is_needed_or_young_stays_and_nothing_else(needed, age, days):
    item = Item("builds", Path("x"), NOW - age * DAY_S, needed)
    goes = not needed and NOW - item.used_at >= days * DAY_S
    assert may_go([item], NOW, days) == ([item] if goes else [])


class TestRaw:
    def test_every_command_says_the_same_of_a_result_that_was_pruned(self, root, capsys):
        ids = [archived(root, token).id for token in ("3f9a", "0bad")]
        asked = (
            *(["show", ids[0]], ["show", ids[0], "--json"], ["list", "--json"]),
            *(["list", "--table"], ["compare", *ids], ["compare", *ids, "--json"], ["review"]),
            *(["export", "--csv", "-", "--level", level] for level in ("results", "trials")),
        )

        def printed():
            return [(main(words), *capsys.readouterr()) for words in asked]

        before = printed()
        assert prune(root) == ({"raw outputs": 2}, [])
        assert printed() == before
        assert main(["dev", "archive", "verify"]) == 0
        assert "raw outputs of 2 of them were pruned (2" in capsys.readouterr().out
        assert main(["report"]) == 0
        page = (root / "report" / "sweep" / f"{ids[0]}.html").read_text(encoding="utf-8")
        assert "pruned 2" in page
        assert "/raw/" not in page

    def test_a_page_of_an_older_result_stays_until_that_is_pruned(self, root, tmp_path):
        page = sweep_page(archived(root).id)
        site = _Site(Store(root), (), Pages(tmp_path / "site", NAV), tmp_path / "site")
        assert site._still_there(page)
        prune(root)
        assert not site._still_there(page)

    def test_only_raw_outputs_go_and_are_named_with_their_checksums(self, root):
        place = Store(root).place(archived(root).id)

        def contents():
            files = (path for path in place.rglob("*") if path.is_file())
            return {str(path.relative_to(place)): path.read_bytes() for path in files}

        before = contents()
        prune(root)
        raw = {name: content for name, content in before.items() if name.startswith("raw/")}
        assert raw
        after = contents()
        document = json.loads(after.pop(PRUNED))
        assert after == {name: before[name] for name in before.keys() - raw.keys()}
        sums = dict(line.split("  ")[::-1] for line in (place / SUMS).read_text().splitlines())
        assert document["files"] == {
            name: {"bytes": len(content), "sha256": sums[name]} for name, content in raw.items()
        }
        assert not [path for path in (place, *place.rglob("*")) if path.stat().st_mode & 0o222]

    def test_a_lost_file_is_no_pruned_one(self, root):
        lost, pruned = archived(root), archived(root, "0bad")
        raw = Store(root).place(lost.id) / "raw"
        raw.chmod(0o755)
        victim = min(raw.iterdir())
        victim.unlink()
        prune(root)
        assert Store(root).verify(pruned.id).pruned is not None
        with pytest.raises(LeaselabError, match="is missing") as caught:
            Store(root).verify(lost.id)
        assert victim.name in str(caught.value)
        with pytest.raises(LeaselabError, match="was pruned on"):
            Store(root).read(pruned.id, f"raw/{victim.name}")

    @pytest.mark.parametrize(
        "change",
        [
            {"files": {"result.json": {"bytes": 1, "sha256": "0" * 64}}},
            {"files": {"raw/run-1-trial-01.txt.gz": {"bytes": 1, "sha256": "0" * 64}}},
            {"files": {"raw/x": {"bytes": 1, "sha256": "0" * 64}}},
            {"files": []},
            {"at": "\x1b[31m"},
        ],
        ids=["the result", "another checksum", "no file of it", "no list", "no day"],
    )
    def test_a_list_of_pruned_files_hides_nothing_else(self, root, change):
        record = archived(root)
        prune(root)
        path = Store(root).place(record.id) / PRUNED
        path.chmod(0o644)
        document = json.loads(path.read_bytes())
        for key, value in change.items():
            document[key] = document[key] | value if isinstance(value, dict) else value
        path.write_text(json.dumps(document))
        with pytest.raises(LeaselabError, match=r"cannot have been pruned|not a list of"):
            Store(root).verify(record.id)

    def test_young_results_and_those_of_an_experiment_under_way_stay(self, root):
        going = Experiment(
            id="20261121T113005Z-v4-memfile-aaaa", points=("a",), interleaved=True
        )
        archived(root, experiment=going)
        archived(root, "0bad")
        archive_result(root, example_result(token="0123", started=START + timedelta(days=29)))
        with Store(root).create(going.id) as running:
            running.journal.append("point", {"experiment": {"id": going.id}})
        assert prune(root, now=NOW)[0] == {"raw outputs": 1}
        assert prune(root, now=START.timestamp() - DAY_S)[0] == {}  # a clock that was set back

    def test_a_dry_run_says_what_goes_and_removes_nothing(self, root):
        record = archived(root)
        place = Store(root).place(record.id)
        before = sorted(place.rglob("*"))
        size = sum(path.stat().st_size for path in (place / "raw").iterdir())
        items = may_go(results(Store(root)), NOW, 7)
        foreseen = remove(items, dry_run=True)
        assert (foreseen[0]["raw outputs"].bytes, foreseen[1]) == (size, [])
        assert sorted(place.rglob("*")) == before
        assert remove(items, dry_run=False) == foreseen
        assert prune(root) == ({}, [])

    @pytest.mark.parametrize("level", ["raw", "result", "month", "file"])
    def test_links_are_not_followed(self, root, level):
        record = archived(root)
        place = Store(root).place(record.id)
        moved = {"raw": place / "raw", "result": place, "month": place.parent}.get(level)
        moved = moved or min((place / "raw").iterdir())
        elsewhere = root.parent / "elsewhere"
        for folder in (place, place / "raw"):
            folder.chmod(0o755)
        shutil.move(moved, elsewhere)
        moved.symlink_to(elsewhere)
        inside = sorted(elsewhere.rglob("*"))
        prune(root)
        assert elsewhere.exists()
        assert sorted(elsewhere.rglob("*")) == inside

    def test_what_was_added_to_a_result_stays(self, root):
        raw = Store(root).place(archived(root).id) / "raw"
        raw.chmod(0o755)
        (raw / "notes.txt").write_text("mine")
        (root.parent / "link").symlink_to(root)
        assert prune(root.parent / "link") == ({"raw outputs": 1}, [])
        assert [path.name for path in raw.iterdir()] == ["notes.txt"]

    @pytest.mark.parametrize("done", ["listed", "some gone", "all gone"])
    def test_what_a_kill_left_is_finished_by_the_next(self, root, done):
        record = archived(root)
        place = Store(root).place(record.id)
        raw = {path: path.read_bytes() for path in (place / "raw").iterdir()}
        prune(root)
        kept = {"listed": len(raw), "some gone": 1, "all gone": 0}[done]
        place.chmod(0o755)
        if kept:
            (place / "raw").mkdir()
        for path, content in list(raw.items())[:kept]:
            path.write_bytes(content)
        listed = (place / PRUNED).read_bytes()
        Store(root).verify(record.id)
        assert prune(root)[1] == []
        assert not (place / "raw").exists()
        assert (place / PRUNED).read_bytes() == listed
        assert place.stat().st_mode & 0o222 == 0

    def test_of_a_damaged_result_nothing_goes_and_it_keeps_no_other(self, root):
        damaged, unread, _ = (archived(root, token) for token in ("3f9a", "0aaa", "0bad"))
        place, other = (Store(root).place(record.id) for record in (damaged, unread))
        place.chmod(0o755)
        (place / SUMS).unlink()
        (other / "result.json").chmod(0o644)
        (other / "result.json").write_text("{")
        (root / "index.sqlite").unlink()
        freed, errors = prune(root)
        assert freed == {"raw outputs": 1}
        assert [damaged.id in error for error in errors] == [True]
        assert all(list((item / "raw").iterdir()) for item in (place, other))

    def test_a_user_prunes_its_own_results_and_no_others(self):
        with tempfile.TemporaryDirectory() as folder, ordinary_user(Path(folder)) as uid:
            root = Path(folder) / "results"
            mine, other = archived(root), archived(root, "0bad")
            if uid:
                for path in (place := Store(root).place(other.id), place / "raw"):
                    as_root(os.chown, path, 0, 0)
            freed, errors = prune(root)
            assert freed["raw outputs"] == (1 if uid else 2)
            assert [other.id in error for error in errors] == ([True] if uid else [])
            assert Store(root).verify(mine.id).pruned is not None
            assert (Store(root).verify(other.id).pruned is None) == bool(uid)


def test_a_checkout_that_may_not_be_written_is_used_all_the_same():
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / ".leaselab"
        folder.mkdir(mode=0o555)
        with ordinary_user(Path(place)):
            use(folder)
            use(folder / "none")
        assert not list(folder.iterdir())


@contextlib.contextmanager
def ordinary_user(folder):
    """Be nobody where this is root, whom no mode keeps out; the number of that user, or 0."""
    if os.geteuid() != 0:
        yield 0
        return
    folder.chmod(0o777)
    os.seteuid(65534)
    try:
        yield 65534
    finally:
        os.seteuid(0)


def as_root(act, *arguments):
    os.seteuid(0)
    try:
        act(*arguments)
    finally:
        os.seteuid(65534)


class TestCheckout:
    @pytest.fixture
    def kept(self, root):
        folder = root.parent / ".leaselab"
        for name in ("builds", "sources", "logs", "repositories", "deployments"):
            (folder / name).mkdir(parents=True)
        root.mkdir()
        return folder

    @staticmethod
    def build(kept, key, days=100.0):
        place = kept / "builds" / key
        place.mkdir()
        (place / "artifact.tar.gz").write_bytes(b"x" * 100)
        return old(place, days)

    def gone(self, root, days=30):
        items = may_go(caches(Store(root), root.parent), NOW, days)
        freed, errors = remove(items, dry_run=False)
        assert errors == []
        return {kind: (item.items, item.bytes) for kind, item in freed.items()}

    def test_builds_that_no_result_names_go_and_named_ones_stay(self, root, kept):
        record = built(example_result(), "1" * 40)
        server = record.server
        named = replace(server, build=replace(server.build, key=KEY))
        tool = replace(
            record.generator, options={"path": f"/opt/leaselab/builds/{OTHER}/bin/flame"}
        )
        archive_result(root, replace(record, servers={"server": named}, generator=tool))
        keys = [KEY, OTHER, "a" * 24, "c" * 24, "b" * 24]
        for key in keys:
            self.build(kept, key)
        (kept / "deployments" / "rack1.json").write_text(json.dumps({"key": keys[2]}))
        (kept / "benches" / "rack2").mkdir(parents=True)
        (kept / "benches" / "rack2" / "bench.json").write_text(json.dumps({"key": keys[3]}))
        assert self.gone(root) == {"builds": (1, 100)}
        assert sorted(path.name for path in (kept / "builds").iterdir()) == sorted(keys[:4])

    def test_a_build_of_an_unfinished_sweep_stays(self, root, kept):
        self.build(kept, KEY)
        with Store(root).create(example_result().id) as running:
            running.write_text("bench.json", json.dumps({"build": {"key": KEY}}))
            running.record(Fault(text="none"))
        assert self.gone(root) == {}

    def test_what_was_used_lately_stays(self, root, kept):
        for days, name in ((29, "young"), (31, "old")):
            self.build(kept, str(days) * 12, days)
            repository = kept / "repositories" / f"{name}.git"
            (repository / "objects").mkdir(parents=True)
            for place in (
                *(f"builds/{name}.log.gz", f"sources/{name}.tar", f"logs/{name}.log"),
                *(f"repositories/{name}.lock", f"repositories/{name}.git/objects/x"),
            ):
                (kept / place).write_bytes(b"x")
                old(kept / place, days)
            old(repository)
        assert self.gone(root) == {
            "builds": (1, 100),
            "build logs": (1, 1),
            "sources": (1, 1),
            "playbook logs": (1, 1),
            "repositories": (1, 1),
        }
        assert not [path for path in kept.rglob("old*") if path.suffix != ".lock"]

    def test_links_and_other_folders_are_left_alone(self, root, kept):
        elsewhere = root.parent / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "file").write_text("mine")
        for place in ("builds", "sources", "repositories"):
            (kept / place / KEY).symlink_to(elsewhere)
        inside = self.build(kept, OTHER)
        (inside / "link").symlink_to(elsewhere)
        old(inside)
        (kept / "secrets").mkdir()
        (kept / "secrets" / "kea-pair").write_text("secret")
        shutil.rmtree(kept / "logs")
        (kept / "logs").symlink_to(elsewhere)
        old(elsewhere / "file")
        assert self.gone(root)["builds"][0] == 1
        assert (elsewhere / "file").exists()
        assert (kept / "secrets" / "kea-pair").exists()

    def test_what_a_killed_prune_had_moved_away_goes(self, root, kept):
        place = self.build(kept, KEY)
        place.rename(place.with_name(f"{KEY}.gone"))
        assert self.gone(root) == {"leftovers": (1, 100)}

    def test_a_command_waits_for_a_prune_and_not_for_ever(self, kept, monkeypatch):
        """A prune does not wait for a command, which keeps what it may still use."""
        monkeypatch.setattr("leaselab.archive.prune._PATIENCE_S", 0.2)
        with alone(kept) as free:
            assert free
            with pytest.raises(LeaselabError, match="prune") as caught:
                use(kept)
        assert caught.value.outcome.value == 4
        use(kept)
        with alone(kept) as free:
            assert not free

    def test_files_beside_sweeps_go_once_they_are_of_none(self, root, kept):
        assert kept.exists()
        with Store(root).create(example_result().id) as running:
            running.record(Fault(text="none"))
        names = ["build-a.live", *(f"{running.id}{end}" for end in (".live", ".access"))]
        names.append("gone.access")
        for name in names:
            path = root / ".running" / name
            path.write_text("x")
            old(path)
        young = root / ".running" / "young.live"
        young.touch()
        os.utime(young, (NOW, NOW))
        remove(may_go(leftovers(Store(root)), NOW, 30), dry_run=False)
        left = sorted(path.name for path in (root / ".running").iterdir())
        assert left == sorted([running.id, names[2], young.name])
