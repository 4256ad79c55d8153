"""``leaselab compare A B --cost``; builder and bench left out."""

import json

import pytest
from tests.repositories import commit, git, make_repository

from leaselab.cli.main import main


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A repository whose last commit is `main`, after `main~1`."""
    path = make_repository(tmp_path_factory.mktemp("source") / "server")
    for number in range(2):
        commit(path, f"Change {number}", {"a": str(number)}, minute=number)
    return path


def of(place, ref):
    return git(place, "rev-parse", ref)


def compare(place, *arguments):
    words = ["--repo", str(place), "--scenario", "v4-memfile"]
    return main(["compare", "main~1", "main", *words, *arguments])


@pytest.mark.parametrize(
    ("rounds", "reply"), [(2, 13), (3, 0), (4, -13)], ids=["more", "equal", "less"]
)
def test_b_is_judged_whichever_of_the_two_is_finished_first(lab, place, capsys, rounds, reply):
    lab.counts[of(place, "main")] = {"reply": reply}
    count = ("--cost", "--set", f"rounds={rounds}", "--json")
    assert compare(place, *count) == (reply > 0)
    document = json.loads(capsys.readouterr().out)
    assert document["word"] == {13: "more", 0: "equal", -13: "less"}[reply]
    assert document["a"]["commit"] == of(place, "main~1")
    assert document["cost"]["parts"][0]["b"] == 1110 + reply
