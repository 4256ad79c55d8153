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
from leaselab.report.review.reading import review_of
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


def test_it_has_what_moved_between_which_commits(archived, capsys):
    assert main(["review"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("the whole archive: 1 suspected, 0 confirmed, 0 refuted")
    commits = [record.server.commit for record in archived]
    assert all(f"{commits[n][:10]} Change number {n}" in out for n in (13, 14))
    assert main(["review", "v4-*", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (change,) = document["changes"]
    assert change["before"]["commit"] == commits[13]
    assert change["detected"]["commit"] in commits[14:19]
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

    def __init__(self, folder, records):
        self.folder, self.records = folder, records
        self.asked, self.error = [], None

    def duel(self, bench, change):
        self.asked.append((bench, change.before.commit, change.after.commit))
        if self.error is not None:
            raise self.error
        fought(self.folder, self.records[13], self.records[14], 0.95)
        return "slower"


@pytest.fixture
def duels(own, tmp_path, monkeypatch):
    """What makes duels, on the second of two benches, of which the first is free."""
    result = Duels(tmp_path, own)
    benches = tuple(SimpleNamespace(bench=name) for name in ("rack2", "docker"))
    monkeypatch.setattr(bench_options, "read_benches", lambda *_: benches)

    def duel(confirmation, series, change):
        return result.duel(confirmation.benches[series.bench], change)

    monkeypatch.setattr(Confirmation, "duel", duel)
    return result


def test_what_is_suspected_is_measured_again_once_on_its_bench_and_no_other(duels, own, capsys):
    for _ in range(2):
        assert main(["review", "--confirm"]) == 1
        assert "0 suspected, 1 confirmed" in capsys.readouterr().out
    ((bench, *pair),) = duels.asked
    assert bench.bench == "docker"
    assert pair == [own[13].server.commit, own[14].server.commit]


@pytest.mark.parametrize(
    "error", [lab_broken("bench docker is in use"), server_broken("it does not build")], ids=str
)
def test_a_duel_that_cannot_be_made_leaves_it_suspected_and_is_said(duels, capsys, error):
    """A bench that is taken ends all of it; a commit that does not build does not."""
    duels.error = error
    assert main(["review", "--confirm"]) == error.code
    assert [bench.bench for bench, *_ in duels.asked] == ["docker"]
    out, err = capsys.readouterr()
    assert ("1 suspected, 0 confirmed" in out) == (error.outcome is Outcome.BUILD)
    assert error.what in err


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
