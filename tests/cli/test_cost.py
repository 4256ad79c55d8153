"""``leaselab compare A B --cost``, and before a duel; builder and bench left out."""

import json
import re

import pytest
from tests.made_up import BROKEN, RATE

from leaselab.cli.main import main
from leaselab.model.errors import invalid_measurement


def words_of(place):
    where = ("--repo", str(place), "--scenario", "v4-memfile")
    return ["compare", "main~1", "main", *where]


def compare(place, *arguments):
    return main([*words_of(place), *arguments])


pytestmark = pytest.mark.usefixtures("hashes")


@pytest.mark.parametrize(("rounds", "reply"), [(2, 13), (3, 0), (4, -13)])
def test_b_is_judged_whichever_of_the_two_is_finished_first(
    lab, place, hashes, document, *, rounds, reply
):
    lab.counts[hashes[-1]] = {"reply": reply}
    made = document(*words_of(place), "--cost", "--set", f"rounds={rounds}", code=reply > 0)
    assert made["word"] == {13: "more", 0: "equal", -13: "less"}[reply]
    assert made["a"]["commit"] == hashes[-2]
    assert made["cost"]["parts"][0]["b"] == 1110 + reply


def counted(lab):
    """The names of the points that were counted, a name for each deployment."""
    made = zip(lab.procedures, lab.deployed, strict=True)
    return [name for procedure, name in made if procedure.name == "cost"]


MORE = {"reply": 33}
"""3.0 % more instructions."""


RATES = {0.95: r"rate -\d\.\d % \(-.*? to -.*? %\)", 1.05: r"rate \+\d\.\d % \(.*? %\)"}
EQUAL = r"no change of rate bigger than \d\.\d %"


@pytest.mark.parametrize(
    ("counts", "rate", "said"),
    [
        (MORE, 0.95, rf"Cost \+3\.0 %, {RATES[0.95]}\."),
        (MORE, 1.0, rf"Cost \+3\.0 %, {EQUAL}\."),
        ({}, 0.95, rf"Cost equal, {RATES[0.95]}: look at the kernel, waiting, .* layout\."),
        ({}, 1.0, rf"Cost equal, {EQUAL}\."),
        ({"calls": 4}, 1.0, rf"Cost \+1\.00 system calls, {EQUAL}\."),
        ({"reply": -33}, 1.05, rf"Cost -3\.0 %, {RATES[1.05]}\."),
    ],
)
def test_a_live_comparison_ends_with_both_answers(
    lab, place, hashes, document, *, counts, rate, said
):
    lab.counts[hashes[-1]] = counts
    lab.rates[hashes[-1]] = rate * RATE
    comment = lab.checkout / "comment.md"
    words = (*words_of(place), "--live", "--no-profile", "--markdown", comment)
    made = document(*words, code=rate < 1)
    assert re.fullmatch(said, made["text"][made["text"].index("Cost ") :])
    changed = [part["name"] for part in made["cost"]["parts"] if part["changed"]]
    named = ["system_calls"] if "calls" in counts else ["instructions"]
    assert changed == named[: len(counts)]
    assert made["duel"]["rounds"] > 4
    assert "Cost" in comment.read_text(encoding="utf-8")


def test_what_the_code_costs_is_said_before_the_duel_and_known_after_it(
    lab, place, hashes, capsys
):
    lab.counts[hashes[-1]] = MORE
    ids = lab.checkout / "ids"
    assert compare(place, "--live", "--id-file", str(ids)) == 0
    out, err = capsys.readouterr()
    costs = err.index("costs 3 % more instructions per exchange (+33.00, of which +33.00 in ")
    assert 0 < costs < err.index("A, v4-memfile at")
    assert "counted apart: instructions stand for about 30 %" in " ".join(out.split())
    assert counted(lab) == [hashes[-2], hashes[-1]]
    lab.forget()
    assert compare(place, "--live") == 0
    assert counted(lab) == [], "the archive has the counts"
    assert "costs 3 % more instructions" in capsys.readouterr().err
    assert main(["compare", *ids.read_text().split()]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == out.splitlines()[-1]


def test_a_duel_can_be_made_without_a_count(lab, place, capsys):
    assert compare(place, "--live", "--no-cost") == 0
    assert counted(lab) == []
    assert "Cost" not in capsys.readouterr().out
    assert compare(place, "--live", "--metric", "start_s") == 0
    assert counted(lab) == [], "counts are of transactions"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--generator", "perfdhcp"], "perfdhcp cannot offer exchanges in that way"),
        ([], "valgrind does not run it"),
    ],
)
def test_what_cannot_be_counted_is_timed_all_the_same(lab, place, capsys, options, said):
    lab.uncountable = invalid_measurement("valgrind does not run it", where="sut")
    assert compare(place, "--live", "--json", *options) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["cost"] is None
    (line,) = (line for line in err.splitlines() if "not counted" in line)
    assert said in line


@pytest.mark.parametrize(("broken", "code"), [(-1, 5), (-2, 3)])
def test_what_does_not_build_is_neither_counted_nor_timed(
    lab, place, hashes, said, *, broken, code
):
    lab.broken.add(hashes[broken])
    assert BROKEN in said(*words_of(place), "--live", code=code).err
    assert len(lab.store.index.rows()) == 1
    assert lab.rounds == []
    assert lab.built.count(hashes[broken]) == 1


@pytest.mark.parametrize("stop", [1, 6])
def test_interrupted_in_either_part_it_goes_on_with_that(lab, place, stop):
    lab.interrupted_at = stop
    assert compare(place, "--live") == 130
    lab.interrupted_at = None
    made = [*lab.rounds]
    lab.forget()
    assert compare(place, "--live") == 0
    assert lab.store.running() == []
    assert len(lab.store.index.rows()) == 4
    assert lab.rounds[0] != made[0]
