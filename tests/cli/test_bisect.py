"""``leaselab bisect``, on a real repository; builder and bench left out."""

import json
import re
import shutil

import pytest
from tests.made_up import BROKEN, RATE
from tests.repositories import commit, git

from leaselab.cli.main import main
from leaselab.model.errors import invalid_measurement, lab_broken

CULPRIT, UNBUILT = 8, 6
"""Places of a range of twelve commits; the good end is place 0."""


@pytest.fixture
def copy(place, hashes, tmp_path):
    assert hashes
    return shutil.copytree(place, tmp_path / "server")


@pytest.fixture
def lab(lab, hashes):
    """A lab on which commits are slower from the culprit on, and one does not build."""
    lab.rates = dict.fromkeys(hashes[CULPRIT:], 0.95 * RATE)
    lab.broken.add(hashes[UNBUILT])
    return lab


def words_of(place, good, bad):
    return ["bisect", "v4-memfile", "--repo", str(place), "--good", good, "--bad", bad]


@pytest.fixture
def words(place, hashes):
    """Those of a search in all of the branch."""
    return words_of(place, hashes[0], "main")


@pytest.fixture
def searched(words, document):
    """Search; return the JSON document."""
    return lambda *more, code=1: document(*words, *more, code=code)


def test_the_culprit_is_named_by_a_duel_with_its_parent(lab, words, hashes, capsys):
    comment, ids = lab.checkout / "comment.md", lab.checkout / "ids"
    files = ["--markdown", str(comment), "--id-file", str(ids)]
    assert main([*words, *files]) == 1
    out, err = capsys.readouterr()
    short = [digest[:10] for digest in hashes]
    assert f"Slower since {short[CULPRIT]} (Change <8>): -" in err.splitlines()[-1]
    assert f"against {short[CULPRIT - 1]}, its parent" in err.splitlines()[-1]
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert [name for name in lines if name in short] == short
    assert "CULPRIT" in lines[short[CULPRIT]]
    assert sum("CULPRIT" in line for line in lines.values()) == 1
    assert "good end" in lines[short[0]]
    assert re.search(r" 0\.9[45]\d? ", lines[short[12]])
    assert lab.store.running() == []
    head, _, reported, *_ = comment.read_text(encoding="utf-8").splitlines()
    assert head == "## Leaselab bisect: found"
    assert reported.startswith(f"Slower since {short[CULPRIT]} (Change \\<8\\>)")
    named = set(ids.read_text(encoding="utf-8").split())
    assert named == {row["id"] for row in lab.store.index.rows()}
    assert main(["review"]) == 1
    assert f"since {short[CULPRIT]}: confirmed: bisect named" in capsys.readouterr().out


def test_a_culprit_is_measured_in_several_layouts_once(lab, words, searched, said):
    out, err = said(*words, "--layouts", "2", "--no-profile", code=1)
    assert "Slower in every layout: it is the code. Over 2 layouts -" in out
    assert "2 layouts: 4 builds" in err
    lab.forget()
    (culprit,) = searched("--layouts", "2", "--no-profile")["culprits"]
    assert culprit["layouts"]["cause"] == "code"
    assert lab.rounds == []


def test_where_the_ends_do_not_differ_it_says_how_to_look_inside(lab, words, hashes, capsys):
    lab.rates = {}
    assert main([*words, "--dry-run"]) == 0
    assert (lab.prepared, lab.built, lab.rounds) == ([], [], [])
    err = capsys.readouterr().err
    assert "expected: " in err
    assert "do the ends differ?" in err
    assert main(words) == 0
    assert set(lab.measured) == {hashes[0], hashes[12]}
    printed = capsys.readouterr().out.splitlines()[-1]
    assert "The ends do not differ" in printed
    good, bad = hashes[0][:10], hashes[-1][:10]
    assert f"--commits {good}..{bad} --first-parent --anchor {good}; then leaselab" in printed


def test_all_of_it_is_one_json_document(lab, searched, hashes):
    document = searched()
    assert (document["outcome"], document["ending"]) == ("regression", "found")
    (culprit,) = document["culprits"]
    assert (culprit["hash"], culprit["after"]) == (hashes[CULPRIT], hashes[CULPRIT - 1])
    assert culprit["ci95"][0] < 0.95 < culprit["ci95"][1]
    assert [commit["hash"] for commit in document["commits"]] == hashes
    named = [commit["hash"] for commit in document["commits"] if commit["culprit"]]
    assert named == [hashes[CULPRIT]]
    (unbuilt,) = (commit for commit in document["commits"] if commit["broken"])
    assert unbuilt["hash"] == hashes[UNBUILT], "the middle of the range, which comes next"
    assert BROKEN in unbuilt["broken"]
    assert lab.built.count(hashes[UNBUILT]) == 1
    first = document["duels"][0]
    assert (first["older"], first["newer"]) == (hashes[0], hashes[12])
    assert document["left"] is None
    for duel in document["duels"]:
        assert lab.store.load(duel["experiment"]).experiment.id == duel["experiment"]


def test_interrupted_again_and_again_it_goes_on_to_the_same_end(lab, words, searched, capsys):
    """Nothing is measured twice, and a duel that was in its rounds is finished."""
    uninterrupted, rounds = searched(), [*lab.rounds]
    lab.forget()
    assert searched() == uninterrupted
    assert (lab.rounds, lab.built) == ([], []), "the archive has all of it"
    for result in lab.results.iterdir():
        result.rename(lab.checkout / f"{result.name}-before")
    lab.forget()
    for stop in (0, 1, 10, 21, len(rounds) - 1):
        lab.interrupted_at = stop
        assert main([*words, "--json"]) == 130
        out, err = capsys.readouterr()
        assert (out, len(lab.rounds)) == ("", stop)
        assert "the search goes on with the same command: " in err.splitlines()[-1]
    # In its profile: the answer is known.
    assert main(words) == 130
    assert "Slower since " in capsys.readouterr().out
    lab.interrupted_at = None
    document = searched()
    assert lab.rounds == rounds
    assert lab.store.running() == []
    for row in (document, uninterrupted):
        for duel in row["duels"]:
            del duel["experiment"], duel["minutes"]
        del row["minutes"]
    assert document == uninterrupted


def test_an_end_that_cannot_be_measured_ends_the_search(lab, place, hashes, said):
    lab.broken.add(hashes[12])
    ends = place, hashes[0]
    assert "The bad end cannot be measured" in said(*words_of(*ends, "main"), code=5).err
    assert lab.rounds == []
    lab.broken.clear()
    lab.faults[hashes[0], 1] = invalid_measurement("the generator is too slow", where="gen")
    assert "gave no verdict" in said(*words_of(*ends, "main~1"), code=3).err


@pytest.mark.usefixtures("lab")
def test_with_too_little_budget_it_says_between_which_commits(hashes, searched):
    document = searched("--budget", "9")
    assert document["ending"] == "not decided within this budget"
    assert document["culprits"] == []
    assert "not decided within this budget" in document["text"]
    left = [hashes.index(document["left"][end]) for end in ("after", "to")]
    assert left[0] < CULPRIT <= left[1]
    assert document["minutes"] <= 9
    assert searched()["culprits"][0]["hash"] == hashes[CULPRIT]


def test_a_commit_whose_duels_come_to_no_verdict_is_left_out(lab, words, hashes, capsys):
    """As of one that breaks after it has started; it is the middle of the range."""
    lab.broken.clear()
    lab.faults[hashes[UNBUILT], 1] = invalid_measurement("it answers nobody", where="sut")
    assert main([*words, "--json"]) == 1
    out, err = capsys.readouterr()
    assert [culprit["hash"] for culprit in json.loads(out)["culprits"]] == [hashes[CULPRIT]]
    assert "no verdict, so it is measured again: " in err
    assert f"{hashes[UNBUILT][:10]} (Change <6>) is left out: " in err
    assert lab.rounds.count((hashes[UNBUILT], 1)) == 2


def test_a_broken_lab_ends_the_search_and_says_how_it_goes_on(
    lab, words, hashes, capsys, monkeypatch
):
    """Also which repository it was, where results have its name alone."""
    monkeypatch.setattr("sys.argv", ["leaselab", "bisect", "--repo", "../dns masq"])
    lab.faults[hashes[0], 3] = lab_broken("cannot be reached", where="sut")
    assert main(words) == 4
    given = "./leaselab bisect --repo '../dns masq'"
    assert f"the search goes on with the same command: {given}" in capsys.readouterr().err
    lab.faults.clear()
    assert main(words) == 1
    assert lab.rounds.count((hashes[0], 2)) == lab.measured.count(hashes[0])


def test_a_merge_is_one_step_and_says_where_to_search_on(lab, copy, hashes, document):
    git(copy, "checkout", "-q", "-b", "side", hashes[12])
    side = [commit(copy, f"Side {n}", {"side": str(n)}, minute=20 + n) for n in range(3)]
    git(copy, "checkout", "-q", "main")
    later = commit(copy, "Later", {"later": "1"}, minute=30)
    git(copy, "merge", "-q", "--no-ff", "-m", "Merge side", "side", minute=31)
    merge = git(copy, "rev-parse", "HEAD")
    lab.rates = {merge: 0.9 * RATE}
    made = document(*words_of(copy, hashes[10], merge), code=1)
    assert [row["hash"] for row in made["commits"]] == [*hashes[10:], later, merge]
    assert made["culprits"][0]["merged"] == [hashes[12], side[2]]
    assert f"--good {hashes[12][:10]} --bad {side[2][:10]}" in made["text"]


@pytest.mark.usefixtures("lab")
def test_a_good_end_beside_the_line_of_the_bad_one_is_refused(copy, hashes, refused):
    git(copy, "checkout", "-q", "-b", "side", hashes[3])
    aside = commit(copy, "Aside", {"aside": "1"}, minute=40)
    said = refused(*words_of(copy, aside, hashes[12]))
    assert "not among the first parents" in said
    assert f"name {hashes[3][:10]} as the good end" in said
