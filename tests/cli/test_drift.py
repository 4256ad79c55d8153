"""Equal builds on a machine that drifts, each measured in turn with one anchor."""

import json
import re
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import START, archive_result, built, example_result
from tests.made_up import Lab
from tests.past import RATE, SWEEP, copied, name_of, past
from tests.repositories import commit, make_repository

from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.report.site import site
from leaselab.report.site.vega import BETTER, DOUBT, WORSE

BUILDS = 40
CALLED = re.compile(r"\b(regression|improvement|slower|faster|worse|better)\b", re.IGNORECASE)
"""Words by which a build is called faster or slower."""


@pytest.fixture
def undrawn():
    """No word of a drawing may say it either."""


@pytest.fixture(scope="module")
def equal(tmp_path_factory):
    """The folder of an archive of equal builds, and their results in the order of commits."""
    root = tmp_path_factory.mktemp("results")
    return root, past(root, [1.0] * BUILDS, drift=0.05, days=0.1)


@pytest.fixture
def archived(equal, monkeypatch):
    root, records = equal
    monkeypatch.setenv("LEASELAB_RESULTS", str(root))
    return records


@pytest.fixture
def comparison(tmp_path, capsys):
    """Compare two results; returns the JSON document, what is printed, and the Markdown."""

    def call(a, b):
        assert main(["compare", a, b, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        comment = tmp_path / "comment.md"
        assert main(["compare", a, b, "--markdown", str(comment)]) == 0
        return document, capsys.readouterr().out, comment.read_text("utf-8")

    return call


def test_the_figures_themselves_drift_by_more_than_is_allowed(archived):
    figures = [record.figure.value for record in archived]
    assert max(figures) / min(figures) > 1.1


@pytest.mark.parametrize("place", range(0, BUILDS - 1, 9))
def test_compare_sets_two_sessions_against_each_other_by_their_anchor(
    archived, comparison, place
):
    base, other = archived[place], archived[place + 1]
    for a in (base.id, "previous"):
        document, printed, comment = comparison(a, other.id)
        assert document["a"]["id"] == base.id
        assert document["word"] == "equal"
        assert document["basis"] == "by the common anchor"
        assert document["anchor"] == "kea 2.6.3 (aaaaaaaaaa)"
        assert document["ratio"] == pytest.approx(1.0, abs=0.03)
        closing = printed.splitlines()[-1]
        assert closing.startswith("Equal")
        assert "by the common anchor kea 2.6.3 (aaaaaaaaaa)" in closing
        assert closing in comment.replace("\\", "")
        assert "across sessions" not in printed + comment


def test_a_result_is_compared_with_the_anchor_of_another_session_by_its_own(
    archived, comparison
):
    document, *_ = comparison(archived[0].anchor, archived[20].id)
    assert document["basis"] == "by the common anchor"
    assert document["ratio"] == pytest.approx(1.0, abs=0.03)
    document, *_ = comparison("version:2.6.3", archived[20].id)
    assert document["basis"] in ("by the common anchor", "measured in turn")


def test_commits_are_compared_by_their_anchor_though_a_newer_result_has_none(
    tmp_path, monkeypatch, capsys
):
    place = make_repository(tmp_path / "server")
    hashes = [commit(place, f"Change {n}", {"n": str(n)}, minute=n) for n in range(2)]
    results = tmp_path / "results"
    base, other = past(results, [1.0, 1.0], commits=hashes, days=0.1)
    alone = replace(
        example_result([0.9 * RATE] * 5, started=START + timedelta(days=1), procedure=SWEEP),
        bench=other.bench,
    )
    archive_result(results, built(alone, hashes[1]))
    monkeypatch.setenv("LEASELAB_RESULTS", str(results))
    names = ["--repo", str(place), "--scenario", "v4-memfile", "--json"]
    assert main(["compare", *hashes, *names]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["a"]["id"], document["b"]["id"]) == (base.id, other.id)
    assert document["basis"] == "by the common anchor"


def test_bisect_knows_nothing_of_a_range_that_has_no_duel(tmp_path, monkeypatch, capsys):
    lab = Lab(tmp_path, monkeypatch)
    place = make_repository(tmp_path / "server")
    hashes = [commit(place, f"Change {n}", {"n": str(n)}, minute=n) for n in range(4)]
    past(lab.results, [1.0] * 4, commits=hashes, days=0.1)
    ends = ["--good", hashes[0], "--bad", hashes[3]]
    assert main(["bisect", "v4-memfile", "--repo", str(place), *ends, "--dry-run"]) == 0
    printed = "".join(capsys.readouterr())
    assert not CALLED.search(printed), printed


def test_no_other_command_calls_a_build_faster_or_slower(archived, capsys):
    assert main(["compare", archived[0].anchor, archived[5].anchor]) == 2
    assert "what differs between them is the machine" in capsys.readouterr().err
    for command in ("list --table", "list", "show last", "review"):
        assert main(command.split()) == 0
        out = capsys.readouterr().out
        assert not CALLED.search(out)
    assert "0 suspected, 0 confirmed, 0 refuted" in out


def test_no_page_calls_a_build_faster_or_slower(equal, tmp_path, monkeypatch):
    monkeypatch.setattr(site, "EXPERIMENTS", 1)
    copied(equal[0], tmp_path / "results")
    folder = site.write_site(Store(tmp_path / "results"), tmp_path / "report", sweeps=0).parent
    pages = {page.stem: page.read_text("utf-8") for page in folder.glob("*.html")}
    pages["history"] = (folder / "history" / "v4-memfile.html").read_text("utf-8")
    compared = pages["compare"]
    opened = compared.partition("<details")[0]
    assert ">measured in turn</td>" in opened
    assert ">by the common anchor kea 2.6.3 (aaaaaaaaaa)</td>" in compared
    assert ">across sessions</td>" not in compared
    for name in ("index", "compare", "review"):
        body = re.sub(r"(?s)<details.*?</details>", " ", pages[name].partition("<h1>")[2])
        body = re.sub(r"<[^>]+>", " ", body)
        assert not CALLED.search(body), (name, CALLED.search(body))
    ratios = re.findall(r">([01]\.\d{3}) \([01]\.\d{3} to [01]\.\d{3}\)<", pages["index"])
    assert pages["index"].count(">the anchor<") == len(ratios) == 25
    assert [float(ratio) for ratio in ratios] == pytest.approx([1.0] * 25, abs=0.03)
    history = pages["history"]
    assert not {WORSE, DOUBT, BETTER} & set(re.findall(r"#[0-9a-f]{6}", history))
    by_commit = history.split('data-chart="commits"')[1].split("</figure>")[0]
    assert "ratio to kea 2.6.3 (aaaaaaaaaa)" in by_commit
    points = "".join(path.read_text("utf-8") for path in folder.rglob("*.js*"))
    assert all(name_of(number)[:10] in points + by_commit for number in range(BUILDS))
