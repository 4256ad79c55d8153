"""What `prune` removes of an archive and of a checkout, and what stays whatever happens."""

import contextlib
import json
import os
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.examples import START, archive_result, built, example_result

from leaselab.archive.checksums import PRUNED, SUMS
from leaselab.archive.prune import alone, caches, leftovers, may_go, remove, results, use
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


@pytest.fixture
def place(root):
    """Where an old result lies."""
    return Store(root).place(archived(root).id)


def archived(root, token="3f9a", **fields):  # noqa: S107  # part of an id, no secret
    record = replace(example_result(token=token), **fields)
    archive_result(root, record)
    return record


def prune(root, now=NOW):
    freed, errors = remove(may_go(results(Store(root)), now, 7), dry_run=False)
    return {kind: item.items for kind, item in freed.items()}, errors


def old(path, days=100.0):
    """Have it last used so many days before `NOW`."""
    os.utime(path, (NOW - days * DAY_S,) * 2)
    return path


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

    def test_only_raw_outputs_go_and_are_named_with_their_checksums(self, root, place):

        def contents():
            files = (path for path in place.rglob("*") if path.is_file())
            return {str(path.relative_to(place)): path.read_bytes() for path in files}

        before = contents()
        raw = {name: content for name, content in before.items() if name.startswith("raw/")}
        assert raw
        items = may_go(results(Store(root)), NOW, 7)
        foreseen = remove(items, dry_run=True)
        assert foreseen[0]["raw outputs"].bytes == sum(map(len, raw.values()))
        assert contents() == before
        assert remove(items, dry_run=False) == foreseen
        after = contents()
        document = json.loads(after.pop(PRUNED))
        assert after == {name: before[name] for name in before.keys() - raw.keys()}
        sums = dict(line.split("  ")[::-1] for line in (place / SUMS).read_text().splitlines())
        assert document["files"] == {
            name: {"bytes": len(content), "sha256": sums[name]} for name, content in raw.items()
        }
        assert not [path for path in (place, *place.rglob("*")) if path.stat().st_mode & 0o222]

    def test_a_lost_file_is_no_pruned_one(self, root, place):
        pruned, raw = archived(root, "0bad"), place / "raw"
        raw.chmod(0o755)
        victim = min(raw.iterdir())
        victim.unlink()
        prune(root)
        assert Store(root).verify(pruned.id).pruned is not None
        with pytest.raises(LeaselabError, match="is missing") as caught:
            Store(root).verify(place.name)
        assert victim.name in str(caught.value)
        with pytest.raises(LeaselabError, match="was pruned on"):
            Store(root).read(pruned.id, f"raw/{victim.name}")

    @pytest.mark.parametrize(
        "change",
        [
            *(  # of them the result, another checksum, no file of it
                {"files": {name: {"bytes": 1, "sha256": "0" * 64}}}
                for name in ("result.json", "raw/run-1-trial-01.txt.gz", "raw/x")
            ),
            {"files": []},
            {"at": "\x1b[31m"},
        ],
    )
    def test_a_list_of_pruned_files_hides_nothing_else(self, root, place, change):
        prune(root)
        path = place / PRUNED
        path.chmod(0o644)
        document = json.loads(path.read_bytes())
        for key, value in change.items():
            document[key] = document[key] | value if isinstance(value, dict) else value
        path.write_text(json.dumps(document))
        with pytest.raises(LeaselabError, match=r"cannot have been pruned|not a list of"):
            Store(root).verify(place.name)

    def test_young_results_and_those_of_an_experiment_under_way_stay(self, root):
        ident = "20261121T113005Z-v4-memfile-aaaa"
        going = Experiment(id=ident, points=("a",), interleaved=True)
        archived(root, experiment=going)
        archived(root, "0bad")
        archive_result(root, example_result(token="0123", started=START + timedelta(days=29)))
        with Store(root).create(going.id) as running:
            running.journal.append("point", {"experiment": {"id": going.id}})
        assert prune(root, now=NOW)[0] == {"raw outputs": 1}
        assert prune(root, now=START.timestamp() - DAY_S)[0] == {}  # a clock that was set back

    @pytest.mark.parametrize("level", ["raw", "result", "month", "file"])
    def test_links_are_not_followed(self, root, place, level):
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

    def test_what_was_added_to_a_result_stays(self, root, place):
        raw = place / "raw"
        raw.chmod(0o755)
        (raw / "notes.txt").write_text("mine")
        (root.parent / "link").symlink_to(root)
        assert prune(root.parent / "link") == ({"raw outputs": 1}, [])
        assert [path.name for path in raw.iterdir()] == ["notes.txt"]

    @pytest.mark.parametrize("kept", [None, 1, 0], ids=["listed", "some gone", "all gone"])
    def test_what_a_kill_left_is_finished_by_the_next(self, root, place, kept):
        raw = {path: path.read_bytes() for path in (place / "raw").iterdir()}
        prune(root)
        place.chmod(0o755)
        for path, content in [*raw.items()][:kept]:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        listed = (place / PRUNED).read_bytes()
        Store(root).verify(place.name)
        assert prune(root)[1] == []
        assert not (place / "raw").exists()
        assert (place / PRUNED).read_bytes() == listed
        assert place.stat().st_mode & 0o222 == 0

    def test_of_a_damaged_result_nothing_goes_and_it_keeps_no_other(self, root, place):
        other, _ = (Store(root).place(archived(root, token).id) for token in ("0aaa", "0bad"))
        place.chmod(0o755)
        (place / SUMS).unlink()
        (other / "result.json").chmod(0o644)
        (other / "result.json").write_text("{")
        (root / "index.sqlite").unlink()
        freed, errors = prune(root)
        assert freed == {"raw outputs": 1}
        assert [place.name in error for error in errors] == [True]
        assert all(list((item / "raw").iterdir()) for item in (place, other))

    def test_a_user_prunes_its_own_results_and_no_others(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "results"
            with ordinary_user(Path(folder)) as uid:
                mine = archived(root)
            other = archived(root, "0bad")
            with ordinary_user(Path(folder)):
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
        keys = [KEY, OTHER, *(24 * letter for letter in "acdb")]
        for key in keys:
            self.build(kept, key)
        gone = self.build(kept, "e" * 24)
        gone.rename(gone.with_suffix(".gone"))  # by a prune that was killed
        (kept / "deployments" / "rack1.json").write_text(json.dumps({"key": keys[2]}))
        (kept / "benches" / "rack2").mkdir(parents=True)
        (kept / "benches" / "rack2" / "bench.json").write_text(json.dumps({"key": keys[3]}))
        with Store(root).create(example_result(token="0bad").id) as running:
            running.write_text("bench.json", json.dumps({"build": {"key": keys[4]}}))
            running.record(Fault(text="none"))
        assert self.gone(root) == {"builds": (1, 100), "leftovers": (1, 100)}
        assert sorted(path.name for path in (kept / "builds").iterdir()) == sorted(keys[:5])

    def test_what_was_used_lately_stays(self, root, kept):
        for days, name in ((29, "young"), (30, "old")):
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
        files = root.parent / "elsewhere" / "file", kept / "secrets" / "kea-pair"
        for file in files:
            file.parent.mkdir()
            file.write_text("mine")
            old(file)
        inside = self.build(kept, OTHER)
        shutil.rmtree(kept / "logs")
        links = (kept / place / KEY for place in ("builds", "sources", "repositories"))
        for link in (*links, inside / "link", kept / "logs"):
            link.symlink_to(files[0].parent)
        old(inside)
        assert self.gone(root)["builds"][0] == 1
        assert all(file.exists() for file in files)

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
        kept = {f"{running.id}.access": 100, "young.live": 0}
        goes = dict.fromkeys(("build-a.live", f"{running.id}.live", "gone.access"), 100)
        for name, days in (kept | goes).items():
            path = root / ".running" / name
            path.write_text("x")
            old(path, days)
        remove(may_go(leftovers(Store(root)), NOW, 30), dry_run=False)
        assert {path.name for path in (root / ".running").iterdir()} == {running.id, *kept}
