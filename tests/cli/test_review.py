"""``leaselab review``: what changed, as printed, as written, and measured again."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.made_up import RATE, Lab
from tests.past import copied, fought, past
from tests.repositories import commit, make_repository

from leaselab.analysis.history.series import State
from leaselab.archive.store import Store
from leaselab.cli import bench_options
from leaselab.cli.main import main
from leaselab.model.errors import Outcome, lab_broken, server_broken
from leaselab.report.review import review_of
from leaselab.run.confirmation import Confirmation

STEP = [1.02] * 14 + [0.97] * 8


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of an archive whose 15th build is slower, and the builds of it."""
    root = tmp_path_factory.mktemp("results")
    return root, past(root, STEP)


@pytest.fixture
def archived(made, monkeypatch):
    """The archive of all tests, for one that only reads."""
    root, records = made
    monkeypatch.setenv("LEASELAB_RESULTS", str(root))
    return records


@pytest.fixture
def own(made, tmp_path, monkeypatch):
    """A copy of it, for a test that adds a duel."""
    root, records = made
    copied(root, tmp_path)
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    return records


def test_it_reports_what_moved_and_between_which_commits(archived, capsys):
    assert main(["review"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("the whole archive: 1 suspected, 0 confirmed, 0 refuted")
    assert "Suspected, not measured again yet" in out
    assert f"{archived[13].server.commit[:10]} Change number 13" in out
    assert f"{archived[14].server.commit[:10]} Change number 14" in out


def test_its_document_has_ranges_intervals_and_what_found_them(archived, capsys):
    assert main(["review", "v4-*", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (change,) = document["changes"]
    assert change["before"]["commit"] == archived[13].server.commit
    assert change["detected"]["commit"] in [record.server.commit for record in archived[14:19]]
    assert change["ci95"][0] < change["ratio"] < change["ci95"][1]
    assert document["series"][0]["builds"] == len(STEP)
    assert main(["review", "v6-*", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"] == []


def test_a_month_is_written_as_markdown_and_as_a_page(own, tmp_path, capsys):
    fought(tmp_path, own[13], own[14], 0.95)
    page, text = tmp_path / "page", tmp_path / "month.md"
    options = ["--month", "2027-01", "--markdown", str(text), "-o", str(page)]
    assert main(["review", *options]) == 1
    assert "## What moved: 2027" in text.read_text("utf-8")
    written = (page / "review.html").read_text("utf-8")
    assert "confirmed by a duel" in written
    assert "<svg" in written
    assert str(page) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--month", "2026-13"], "not a month"),
        (["--since", "yesterday"], "not a date"),
        (["--since", "2026-01-01", "--month", "last"], "not allowed with"),
    ],
)
@pytest.mark.usefixtures("archived")
def test_what_is_no_time_is_refused(capsys, arguments, words):
    assert main(["review", *arguments]) == 2
    assert words in capsys.readouterr().err


class Duels:
    """Stands where builds and hosts are; what a duel leaves in the archive is left."""

    def __init__(self, folder, ratio, records):
        self.folder, self.ratio, self.records = folder, ratio, records
        self.asked, self.benches = [], []
        self.error = None

    def duel(self, bench, series, change):
        self.benches.append(bench)
        self.asked.append((series.scenario, change.before.commit, change.after.commit))
        if self.error is not None:
            raise self.error
        fought(self.folder, self.records[13], self.records[14], self.ratio)
        return "slower"


@pytest.fixture
def duels(own, tmp_path, monkeypatch):
    result = Duels(tmp_path, 0.95, own)

    def duel(confirmation, series, change):
        return result.duel(confirmation.benches[series.bench], series, change)

    monkeypatch.setattr(Confirmation, "duel", duel)
    return result


def test_what_is_suspected_is_measured_again_once_and_known_from_the_archive(
    duels, own, capsys
):
    assert main(["review", "--confirm"]) == 1
    assert "0 suspected, 1 confirmed" in capsys.readouterr().out
    pair = (own[13].server.commit, own[14].server.commit)
    assert duels.asked == [("v4-memfile", *pair)]
    assert main(["review", "--confirm"]) == 1
    assert len(duels.asked) == 1
    assert "0 suspected, 1 confirmed" in capsys.readouterr().out


def test_a_change_is_measured_again_on_its_bench_and_on_no_other_that_is_free(
    duels, monkeypatch
):
    benches = {name: SimpleNamespace(bench=name) for name in ("rack2", "docker")}
    monkeypatch.setattr(bench_options, "read_benches", lambda *_: tuple(benches.values()))
    monkeypatch.setattr(bench_options, "free_bench", lambda _: benches["rack2"])
    assert main(["review", "--confirm"]) == 1
    assert duels.benches == [benches["docker"]]


def test_of_several_benches_that_a_checkout_holds_the_first_is_used(monkeypatch):
    racks = [SimpleNamespace(bench=name) for name in ("rack1", "rack2", "rack3")]
    monkeypatch.setattr(bench_options, "benches_of", lambda _: racks)
    monkeypatch.setattr(bench_options, "read_hold", lambda _, bench: bench != "rack1")
    assert bench_options.inventory_of(SimpleNamespace()) is racks[1]


def test_a_bench_that_is_taken_ends_it_without_a_duel_on_another(duels, monkeypatch, capsys):
    benches = {name: SimpleNamespace(bench=name) for name in ("rack2", "docker")}
    monkeypatch.setattr(bench_options, "read_benches", lambda *_: tuple(benches.values()))
    duels.error = lab_broken("bench docker is in use")
    assert main(["review", "--confirm"]) == Outcome.LAB.value
    assert duels.benches == [benches["docker"]]
    assert "bench docker is in use" in capsys.readouterr().err


def test_a_commit_that_does_not_build_any_more_leaves_it_suspected_and_is_said(duels, capsys):
    duels.error = server_broken("it does not build")
    assert main(["review", "--confirm"]) == Outcome.BUILD.value
    out, err = capsys.readouterr()
    assert "1 suspected, 0 confirmed" in out
    assert "it does not build" in err


def test_what_cannot_be_measured_again_here_is_said(own, tmp_path):
    (series,) = review_of(Store(tmp_path)).series
    (change,) = series.changes

    def cannot(series, change, *benches):
        known = dict.fromkeys(benches)
        return Confirmation(None, None, known, None).obstacle(series, change)

    assert cannot(series, change, "docker", "rack1") == ""
    assert "it is of bench docker" in cannot(series, change, "rack1")
    package = replace(change, before=replace(change.before, commit=None))
    assert "only what is built from a commit" in cannot(series, package, "docker")
    fought(tmp_path, own[13], own[14], 0.99, noise=0.1)
    (series,) = review_of(Store(tmp_path)).series
    assert series.changes[0].state is State.SUSPECTED
    assert "could not tell" in cannot(series, series.changes[0], "docker")


def test_the_duel_is_of_the_commits_around_the_change_by_its_scenario(
    tmp_path, monkeypatch, capsys
):
    lab = Lab(tmp_path, monkeypatch)
    place = make_repository(tmp_path / "server")
    hashes = [commit(place, f"Change {n}", {"n": str(n)}, minute=n) for n in range(len(STEP))]
    past(lab.results, STEP, commits=hashes)
    lab.rates[hashes[14]] = 0.95 * RATE
    main(["review", "--confirm", "--no-profile", "--repo", str(place)])
    assert lab.built == lab.measured == [hashes[13], hashes[14]]
    assert {procedure.name for procedure in lab.procedures} == {"duel"}
    (scenario,) = {row["scenario"] for row in lab.store.index.every("*")}
    assert scenario == "v4-memfile"
    assert capsys.readouterr().err.endswith(": slower\n")
