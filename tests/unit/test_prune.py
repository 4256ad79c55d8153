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
        first = archived(root)
        second = archived(root, "0bad")
        ids = [first.id, second.id]
        asked = [
            ["show", ids[0]],
            ["show", ids[0], "--json"],
            ["list", "--json"],
        ]
        asked += [
            ["list", "--table"],
            ["compare", *ids],
            ["compare", *ids, "--json"],
            ["review"],
        ]
        asked += [["export", "--csv", "-"], ["export", "--csv", "-", "--level", "trials"]]

        def printed():
            text = []
            for words in asked:
                code = main(words)
                text.append((code, *capsys.readouterr()))
            return text

        before = printed()
        assert prune(root) == ({"raw outputs": 2}, [])
        assert printed() == before
        assert main(["dev", "archive", "verify"]) == 0
        out = capsys.readouterr().out
        assert "2 of 2 results match" in out
        assert "raw outputs of 2 of them were pruned (2" in out
        assert main(["report"]) == 0
        page = root / "report" / "sweep" / f"{ids[0]}.html"
        assert "pruned 2" in page.read_text(encoding="utf-8")
        assert "/raw/" not in page.read_text(encoding="utf-8")

    def test_a_page_of_an_older_result_stays_until_that_is_pruned(self, root, tmp_path):
        page = sweep_page(archived(root).id)
        site = _Site(Store(root), (), Pages(tmp_path / "site", NAV), tmp_path / "site")
        assert site._still_there(page)
        prune(root)
        assert not site._still_there(page)

    def test_only_raw_outputs_go_and_are_named_with_their_checksums(self, root):
        record = archived(root)
        place = Store(root).place(record.id)
        before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        prune(root)
        raw = {
            f"raw/{path.name}": content
            for path, content in before.items()
            if path.parent.name == "raw"
        }
        assert raw
        kept = {path: content for path, content in before.items() if path.parent.name != "raw"}
        assert {path: path.read_bytes() for path in kept} == kept
        document = json.loads((place / PRUNED).read_bytes())
        sums = dict(line.split("  ")[::-1] for line in (place / SUMS).read_text().splitlines())
        assert document["files"] == {
            name: {"bytes": len(content), "sha256": sums[name]} for name, content in raw.items()
        }
        assert {
            str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()
        } == {
            *(str(path.relative_to(place)) for path in kept),
            PRUNED,
        }
        assert [
            path for path in (place, *place.rglob("*")) if path.stat().st_mode & 0o222
        ] == []

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
        "edit",
        [
            lambda reported: reported["files"].update(
                {"result.json": {"bytes": 1, "sha256": "0" * 64}}
            ),
            lambda reported: next(iter(reported["files"].values())).update(sha256="0" * 64),
            lambda reported: reported["files"].update(
                {"raw/x": {"bytes": 1, "sha256": "0" * 64}}
            ),
            lambda reported: reported.update(files=[]),
            lambda reported: reported.update(at="\x1b[31m"),
        ],
        ids=["the result", "another checksum", "no file of it", "no list", "no day"],
    )
    def test_a_list_of_pruned_files_hides_nothing_else(self, root, edit):
        record = archived(root)
        prune(root)
        path = Store(root).place(record.id) / PRUNED
        document = json.loads(path.read_bytes())
        edit(document)
        path.chmod(0o644)
        path.write_text(json.dumps(document))
        with pytest.raises(LeaselabError, match="pruned"):
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

    def test_an_archive_may_lie_behind_a_link(self, root):
        archived(root)
        (root.parent / "link").symlink_to(root)
        assert prune(root.parent / "link") == ({"raw outputs": 1}, [])

    def test_what_was_added_to_a_result_stays(self, root):
        record = archived(root)
        raw = Store(root).place(record.id) / "raw"
        raw.chmod(0o755)
        (raw / "notes.txt").write_text("mine")
        prune(root)
        assert [path.name for path in raw.iterdir()] == ["notes.txt"]
        with pytest.raises(LeaselabError, match="added"):
            Store(root).verify(record.id)

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

    def test_one_damaged_result_does_not_keep_others(self, root):
        damaged, _ = archived(root), archived(root, "0bad")
        place = Store(root).place(damaged.id)
        place.chmod(0o755)
        (place / SUMS).unlink()
        freed, errors = prune(root)
        assert freed == {"raw outputs": 1}
        assert [damaged.id in error for error in errors] == [True]
        assert list((place / "raw").iterdir())

    def test_of_a_result_that_cannot_be_read_nothing_goes(self, root):
        place = Store(root).place(archived(root).id)
        (place / "result.json").chmod(0o644)
        (place / "result.json").write_text("{")
        (root / "index.sqlite").unlink()
        assert prune(root) == ({}, [])
        assert list((place / "raw").iterdir())

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
            for folder, ending in (
                ("builds", ".log.gz"),
                ("sources", ".tar"),
                ("logs", ".log"),
            ):
                path = kept / folder / f"{name}{ending}"
                path.write_bytes(b"x")
                old(path, days)
            (kept / "repositories" / f"{name}.git" / "objects").mkdir(parents=True)
            (kept / "repositories" / f"{name}.git" / "objects" / "x").write_bytes(b"xx")
            lock = kept / "repositories" / f"{name}.lock"
            lock.touch()
            old(lock, days)
            old(kept / "repositories" / f"{name}.git")
        assert self.gone(root) == {
            "builds": (1, 100),
            "build logs": (1, 1),
            "sources": (1, 1),
            "playbook logs": (1, 1),
            "repositories": (1, 2),
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

    def test_a_running_command_keeps_what_it_may_still_use(self, root, kept):
        assert root.parent  # where the folders lie
        use(kept)
        with alone(kept) as free:
            assert not free

    def test_a_command_waits_for_a_prune_and_not_for_ever(self, kept, monkeypatch):
        monkeypatch.setattr("leaselab.archive.prune._PATIENCE_S", 0.2)
        with alone(kept) as free:
            assert free
            with pytest.raises(LeaselabError, match="prune") as caught:
                use(kept)
        assert caught.value.outcome.value == 4
        use(kept)

    def test_files_beside_sweeps_go_once_they_are_of_none(self, root, kept):
        assert kept.exists()
        with Store(root).create(example_result().id) as running:
            running.record(Fault(text="none"))
        names = [
            "build-a.live",
            f"{running.id}.live",
            f"{running.id}.access",
            "gone.access",
        ]
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
