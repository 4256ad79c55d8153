"""Every place that compares two results gives one ratio, one interval and one word.

`python -m tests.answers FOLDER` proves the same of a folder of results.
"""

import json

import pytest
from tests.answers import Said, differing, run
from tests.made_up import RATE
from tests.past import fought, past
from tests.repositories import commit, make_repository

COMMANDS = {"compare", "compare --markdown", "compare --junit", "compare.html"}


@pytest.fixture
def hashes(tmp_path):
    place = make_repository(tmp_path / "server")
    return place, [commit(place, f"Change {n}", {"n": str(n)}, minute=n) for n in range(4)]


def test_what_the_engine_archives_has_one_answer_each(lab, hashes, tmp_path):
    """A slower build and an equal one, by duels, by a bisection and in turn with an anchor."""
    place, names = hashes
    lab.rates = {names[2]: 0.95 * RATE, names[3]: 0.95 * RATE, names[1]: 0.99 * RATE}
    lab.costs[names[1]] = 1.0
    words = ("--repo", str(place))
    run("compare", names[0], names[1], "--live", *words, "--scenario", "v4-memfile")
    run(
        *("run", "v4-memfile", *words, "--set", "rounds=5"),
        *("--commits", f"{names[0]}..{names[3]}", "--anchor", names[0]),
    )
    document = json.loads(
        run(*("bisect", "v4-memfile", *words, "--good", names[0], "--bad", names[3], "--json"))
    )
    assert document["ending"] == "found"
    more = []
    for duel in document["duels"]:
        points = lab.store.load(duel["experiment"]).experiment.points
        more.append(Said("bisect", points, (duel["ratio"], *duel["ci95"]), duel["word"]))
    wrong, places = differing(lab.results, tmp_path, *more)
    assert wrong == []
    assert places >= COMMANDS | {"bisect", "experiment.html", "index.html", "--csv"}
    (culprit,) = document["culprits"]
    own = [
        duel
        for duel in document["duels"]
        if (duel["older"], duel["newer"]) == (culprit["after"], culprit["hash"])
    ]
    assert culprit["pooled_of"] == len(own)
    if len(own) == 1:
        assert (culprit["ratio"], culprit["ci95"]) == (own[0]["ratio"], own[0]["ci95"])


def test_a_history_has_one_answer_each(tmp_path):
    """Builds in turn with an anchor, whose rounds resemble the ones before in some."""
    results = tmp_path / "results"
    made = past(results, [1.0] * 9 + [0.93] * 6, noise=0.01)
    fought(results, made[8], made[9], 0.93)
    fought(results, made[2], made[3], 0.99, noise=0.002, days=70.0)
    wrong, places = differing(results, tmp_path)
    assert wrong == []
    assert places >= COMMANDS | {
        *("review.js", "v4-memfile.js", "v4-memfile.html", "review --json", "experiment.html"),
        *("--openmetrics", "--csv"),
    }
