"""``leaselab bisect``, on a real repository; builder and bench left out."""

import json
import re
import shutil

import pytest
from tests.made_up import BROKEN, RATE, Lab
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
def lab(tmp_path, monkeypatch, hashes):
    """A lab on which commits are slower from the culprit on, and one does not build."""
    made = Lab(tmp_path, monkeypatch)
    made.rates = dict.fromkeys(hashes[CULPRIT:], 0.95 * RATE)
    made.broken.add(hashes[UNBUILT])
    return made


def bisect(place, good, bad, *arguments):
    words = ["bisect", "v4-memfile", "--repo", str(place), "--good", good, "--bad", bad]
    return main([*words, *arguments])


def search(place, hashes, *arguments):
    return bisect(place, hashes[0], "main", *arguments)


def test_the_culprit_is_named_by_a_duel_with_its_parent(lab, place, hashes, capsys):
    comment, ids = lab.checkout / "comment.md", lab.checkout / "ids"
    files = ["--markdown", str(comment), "--id-file", str(ids)]
    assert search(place, hashes, *files) == 1
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


def test_a_culprit_is_measured_in_several_layouts_once(lab, place, hashes, capsys):
    assert search(place, hashes, "--layouts", "2", "--no-profile") == 1
    out, err = capsys.readouterr()
    assert "Slower in every layout: it is the code. Over 2 layouts -" in out
    assert "2 layouts: 4 builds" in err
    lab.forget()
    assert search(place, hashes, "--layouts", "2", "--no-profile", "--json") == 1
    assert lab.rounds == []
    (culprit,) = json.loads(capsys.readouterr().out)["culprits"]
    assert culprit["layouts"]["cause"] == "code"


def test_where_the_ends_do_not_differ_it_says_how_to_look_inside(lab, place, hashes, capsys):
    lab.rates = {}
    assert search(place, hashes, "--dry-run") == 0
    assert (lab.prepared, lab.built, lab.rounds) == ([], [], [])
    err = capsys.readouterr().err
    assert "expected: " in err
    assert "do the ends differ?" in err
    assert search(place, hashes) == 0
    assert set(lab.measured) == {hashes[0], hashes[12]}
    printed = capsys.readouterr().out.splitlines()[-1]
    assert "The ends do not differ" in printed
    good, bad = hashes[0][:10], hashes[-1][:10]
    assert f"--commits {good}..{bad} --first-parent --anchor {good}; then leaselab" in printed


def test_all_of_it_is_one_json_document(lab, place, hashes, capsys):
    lab.broken.add(hashes[9])
    assert search(place, hashes, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["outcome"], document["ending"]) == ("regression", "found")
    (culprit,) = document["culprits"]
    assert (culprit["hash"], culprit["after"]) == (hashes[CULPRIT], hashes[CULPRIT - 1])
    assert culprit["ci95"][0] < 0.95 < culprit["ci95"][1]
    assert [commit["hash"] for commit in document["commits"]] == hashes
    assert [commit["hash"] for commit in document["commits"] if commit["culprit"]] == [
        hashes[CULPRIT]
    ]
    first = document["duels"][0]
    assert (first["older"], first["newer"]) == (hashes[0], hashes[12])
    assert document["left"] is None
    for duel in document["duels"]:
        assert lab.store.load(duel["experiment"]).experiment.id == duel["experiment"]


def test_a_commit_that_does_not_build_is_left_out_and_said_so(lab, place, hashes, capsys):
    """It is the middle of the range, which would be measured next."""
    assert search(place, hashes, "--json") == 1
    out, err = capsys.readouterr()
    assert f"{hashes[UNBUILT][:10]} (Change <6>) is left out: " in err
    assert lab.built.count(hashes[UNBUILT]) == 1
    (unbuilt,) = (load for load in json.loads(out)["commits"] if load["broken"])
    assert unbuilt["hash"] == hashes[UNBUILT]
    assert BROKEN in unbuilt["broken"]


def test_what_does_not_build_before_the_culprit_is_named_with_it(lab, place, hashes, capsys):
    lab.broken.add(hashes[CULPRIT - 1])
    assert search(place, hashes, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    (culprit,) = document["culprits"]
    assert (culprit["after"], culprit["to"]) == (hashes[5], hashes[CULPRIT])
    assert f"cannot be measured: {hashes[6][:10]}, {hashes[7][:10]}" in document["text"]


def test_interrupted_again_and_again_it_goes_on_to_the_same_end(lab, place, hashes, capsys):
    """Nothing is measured twice, and a duel that was in its rounds is finished."""
    search(place, hashes, "--json")
    uninterrupted, rounds = json.loads(capsys.readouterr().out), [*lab.rounds]
    lab.forget()
    assert search(place, hashes, "--json") == 1
    assert (lab.rounds, lab.built) == ([], []), "the archive has all of it"
    assert json.loads(capsys.readouterr().out) == uninterrupted
    for result in lab.results.iterdir():
        result.rename(lab.checkout / f"{result.name}-before")
    lab.forget()
    for stop in (0, 1, 10, 21, len(rounds) - 1):
        lab.interrupted_at = stop
        assert search(place, hashes, "--json") == 130
        out, err = capsys.readouterr()
        assert (out, len(lab.rounds)) == ("", stop)
        assert "the search goes on with the same command: " in err.splitlines()[-1]
    # In its profile: the answer is known.
    assert search(place, hashes) == 130
    assert "Slower since " in capsys.readouterr().out
    lab.interrupted_at = None
    assert search(place, hashes, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert lab.rounds == rounds
    assert lab.store.running() == []
    for row in (document, uninterrupted):
        for duel in row["duels"]:
            del duel["experiment"], duel["minutes"]
        del row["minutes"]
    assert document == uninterrupted


def test_an_end_that_cannot_be_measured_ends_the_search(lab, place, hashes, capsys):
    lab.broken.add(hashes[12])
    assert search(place, hashes) == 5
    assert "The bad end cannot be measured" in capsys.readouterr().err
    assert lab.rounds == []
    lab.broken.clear()
    lab.faults[hashes[0], 1] = invalid_measurement("the generator is too slow", where="gen")
    assert bisect(place, hashes[0], "main~1") == 3
    assert "gave no verdict" in capsys.readouterr().err


@pytest.mark.usefixtures("lab")
def test_with_too_little_budget_it_says_between_which_commits(place, hashes, capsys):
    assert search(place, hashes, "--json", "--budget", "9") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["ending"] == "not decided within this budget"
    assert document["culprits"] == []
    assert "not decided within this budget" in document["text"]
    left = [hashes.index(document["left"][end]) for end in ("after", "to")]
    assert left[0] < CULPRIT <= left[1]
    assert document["minutes"] <= 9
    assert search(place, hashes, "--json") == 1
    assert json.loads(capsys.readouterr().out)["culprits"][0]["hash"] == hashes[CULPRIT]


def test_a_commit_whose_duels_come_to_no_verdict_is_left_out(lab, place, hashes, capsys):
    """As of one that breaks after it has started; it is the middle of the range."""
    lab.broken.clear()
    lab.faults[hashes[UNBUILT], 1] = invalid_measurement("it answers nobody", where="sut")
    assert search(place, hashes, "--json") == 1
    out, err = capsys.readouterr()
    assert [culprit["hash"] for culprit in json.loads(out)["culprits"]] == [hashes[CULPRIT]]
    assert "no verdict, so it is measured again: " in err
    assert f"{hashes[UNBUILT][:10]} (Change <6>) is left out: " in err
    assert lab.rounds.count((hashes[UNBUILT], 1)) == 2


def test_a_broken_lab_ends_the_search_and_says_how_it_goes_on(
    lab, place, hashes, capsys, monkeypatch
):
    """Also which repository it was, where results have its name alone."""
    monkeypatch.setattr("sys.argv", ["leaselab", "bisect", "--repo", "../dns masq"])
    lab.faults[hashes[0], 3] = lab_broken("cannot be reached", where="sut")
    assert search(place, hashes) == 4
    given = "./leaselab bisect --repo '../dns masq'"
    assert f"the search goes on with the same command: {given}" in capsys.readouterr().err
    lab.faults.clear()
    assert search(place, hashes) == 1
    assert lab.rounds.count((hashes[0], 2)) == lab.measured.count(hashes[0])


def test_a_merge_is_one_step_and_says_where_to_search_on(lab, copy, hashes, capsys):
    git(copy, "checkout", "-q", "-b", "side", hashes[12])
    side = [commit(copy, f"Side {n}", {"side": str(n)}, minute=20 + n) for n in range(3)]
    git(copy, "checkout", "-q", "main")
    later = commit(copy, "Later", {"later": "1"}, minute=30)
    git(copy, "merge", "-q", "--no-ff", "-m", "Merge side", "side", minute=31)
    merge = git(copy, "rev-parse", "HEAD")
    lab.rates = {merge: 0.9 * RATE}
    assert bisect(copy, hashes[10], merge, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert [row["hash"] for row in document["commits"]] == [*hashes[10:], later, merge]
    assert document["culprits"][0]["merged"] == [hashes[12], side[2]]
    assert f"--good {hashes[12][:10]} --bad {side[2][:10]}" in document["text"]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--good", "main", "--bad", "main~12"], "no commit lies in this range"),
        (["--budget", "0.7"], "too little time for a duel"),
        (["--find", "0"], "--find"),
        (["--set", "rounds=2"], "rounds"),
    ],
)
def test_what_cannot_be_is_refused(place, hashes, capsys, options, said):
    assert search(place, hashes, *options) == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("lab")
def test_a_good_end_beside_the_line_of_the_bad_one_is_refused(copy, hashes, capsys):
    git(copy, "checkout", "-q", "-b", "side", hashes[3])
    aside = commit(copy, "Aside", {"aside": "1"}, minute=40)
    assert bisect(copy, aside, hashes[12]) == 2
    said = capsys.readouterr().err
    assert "not among the first parents" in said
    assert f"name {hashes[3][:10]} as the good end" in said
