"""``leaselab bisect --cost``, on a real repository; builder and bench left out."""

import json

import pytest
from tests.made_up import BROKEN

from leaselab.archive.changes import read_changes
from leaselab.cli.main import main
from leaselab.model.errors import invalid_measurement

LAST, UNBUILT = 12, 6
"""Places of a range of twelve commits; the good end is place 0."""


@pytest.fixture
def costs(lab, hashes):
    """Have commits do more since these places: instructions of a function."""

    def since(**steps):
        more = 0
        for at, name in enumerate(hashes):
            more += steps.get(f"at_{at}", 0)
            lab.counts[name] = {"reply": more}

    return since


@pytest.fixture
def words(place, hashes):
    """Those of a search."""
    ends = ["--good", hashes[0], "--bad", "main"]
    return ["bisect", "v4-memfile", "--cost", "--repo", str(place), *ends]


@pytest.fixture
def searched(words, document):
    """Search; return the JSON document."""
    return lambda *more, code=1: document(*words, *more, code=code)


def counted(lab, hashes):
    """The places that were counted, in that order."""
    return [hashes.index(name) for name in lab.measured]


def test_the_culprit_is_named_with_its_parent_size_and_function(
    lab, words, hashes, costs, *, document, capsys
):
    costs(at_8=13)
    comment, ids = lab.checkout / "comment.md", lab.checkout / "ids"
    assert main([*words, "--markdown", str(comment), "--id-file", str(ids)]) == 1
    out, err = capsys.readouterr()
    assert counted(lab, hashes) == [0, 12, 6, 9, 7, 8]
    short = [digest[:10] for digest in hashes]
    closing = " ".join(out.split("share of")[-1].split())
    said = (
        f"More: {short[8]} (Change <8>) costs 1.2 % more instructions per exchange (+13.00, of "
        f"which +13.00 in dhcp_reply) than {short[7]}, its parent."
    )
    assert said in closing
    assert "say that the code does more, not how much slower it is" in " ".join(out.split())
    assert f"./leaselab compare {short[7]} {short[8]} --scenario v4-memfile --live" in err
    head, _, reported, *_ = comment.read_text(encoding="utf-8").splitlines()
    assert head == "## Leaselab bisect: found"
    assert reported.startswith(f"More: {short[8]} (Change \\<8\\>) costs 1.2 %")
    named = ids.read_text(encoding="utf-8").split()
    assert len(named) == 6
    assert set(named) == {row["id"] for row in lab.store.index.rows()}
    (change,) = document("review", code=1)["changes"]
    assert (change["culprit"], change["state"]) == (hashes[8], "confirmed")
    assert change["ratio"] == pytest.approx(1 + 13 / 1110)


def test_a_search_of_all_commits_names_changes_that_halving_cannot_see(
    lab, words, hashes, costs, *, searched, capsys
):
    costs(at_3=50, at_10=-50)
    assert main(words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert counted(lab, hashes) == [0, 12]
    assert "Equal: " in out
    assert "--every 1 counts all" in out
    document = searched("--every", "1")
    culprits = [(each["hash"], each["after"], each["more"]) for each in document["culprits"]]
    assert culprits == [(hashes[3], hashes[2], True), (hashes[10], hashes[9], False)]
    assert "4.5 % more" in document["text"]
    assert "4.3 % fewer" in document["text"]
    assert "(-50.00, of which -50.00 in dhcp_reply)" in document["text"]
    assert "--every" not in document["text"]
    assert sorted(counted(lab, hashes)) == [*range(LAST + 1)], "none is counted twice"
    (noted,) = read_changes(lab.results).searches
    faults = [culprit.commit for culprit in noted.culprits]
    assert faults == [hashes[3]], "the other one is no fault"


def test_every_nth_commit_is_counted_and_then_what_is_between(lab, hashes, costs, searched):
    costs(at_3=50, at_10=-50)
    culprits = searched("--every", "4")["culprits"]
    assert [culprit["hash"] for culprit in culprits] == [hashes[3], hashes[10]]
    assert counted(lab, hashes)[:4] == [0, 4, 8, 12]
    assert len(lab.measured) == 8


@pytest.mark.usefixtures("lab")
def test_what_costs_less_is_no_regression(hashes, costs, searched):
    costs(at_8=-13)
    document = searched(code=0)
    assert document["outcome"] == "ok"
    assert [culprit["hash"] for culprit in document["culprits"]] == [hashes[8]]
    assert document["text"].startswith(f"Less: {hashes[8][:10]}")


def test_one_more_system_call_is_a_change_of_its_own(lab, hashes, searched, said):
    lab.counts = {name: {"calls": 4} for name in hashes[5:]}
    document = searched()
    assert [culprit["hash"] for culprit in document["culprits"]] == [hashes[5]]
    assert "costs 1.00 more system calls (+1.00 recvmsg) than" in document["text"]
    searches = {noted.metric: noted for noted in read_changes(lab.results).searches}
    assert searches["instructions"].culprits == ()
    (culprit,) = searches["system_calls"].culprits
    assert culprit.commit == hashes[5]
    out = said("review", "--metric", "system_calls", code=1).out
    assert f"--accept {hashes[5][:10]}" in out


def test_commits_that_do_not_build_are_stepped_over_and_named_with_the_culprit(
    lab, words, hashes, costs, capsys
):
    costs(at_7=13)
    lab.broken |= {hashes[UNBUILT], hashes[UNBUILT - 1]}
    lab.faults[hashes[4], 1] = invalid_measurement("it answers nobody", where="sut")
    assert main([*words, "--json"]) == 1
    out, err = capsys.readouterr()
    document = json.loads(out)
    (culprit,) = document["culprits"]
    assert (culprit["after"], culprit["to"]) == (hashes[3], hashes[7])
    between = ", ".join(hashes[at][:10] for at in (4, 5, 6))
    assert f"cannot be measured: {between}" in document["text"]
    assert f"{hashes[UNBUILT][:10]} (Change <6>) is left out: " in err
    assert "it has no count, so it is counted again: sut: it answers nobody" in err
    assert BROKEN in next(row["broken"] for row in document["commits"][UNBUILT:])
    assert lab.built.count(hashes[UNBUILT]) == 1
    assert lab.rounds.count((hashes[4], 1)) == 2


@pytest.mark.parametrize(("broken", "which"), [(LAST, "bad"), (0, "good")])
def test_an_end_that_does_not_build_ends_the_search(lab, words, hashes, said, *, broken, which):
    lab.broken.add(hashes[broken])
    assert f"The {which} end cannot be measured" in said(*words, code=5).err


def test_interrupted_again_and_again_it_goes_on_and_counts_nothing_twice(
    lab, words, costs, searched, capsys
):
    costs(at_8=13)
    uninterrupted, rounds = searched(), [*lab.rounds]
    lab.forget()
    assert searched() == uninterrupted
    assert (lab.rounds, lab.built) == ([], []), "the archive has all of it"
    for result in lab.results.iterdir():
        result.rename(lab.checkout / f"{result.name}-before")
    lab.forget()
    for stop in (0, 1, 6, len(rounds) - 1):
        lab.interrupted_at = stop
        assert main([*words, "--json"]) == 130
        assert len(lab.rounds) == stop
        assert "the search goes on with the same command: " in capsys.readouterr().err
    lab.interrupted_at = None
    document = searched()
    assert lab.rounds == rounds
    assert lab.store.running() == []
    for row in (*document["commits"], *uninterrupted["commits"]):
        del row["result"]
    assert document == uninterrupted


def test_counts_of_other_commands_are_used(lab, place, hashes, words, costs, *, capsys):
    costs(at_8=13)
    several = f"{hashes[6]},{hashes[12]}"
    where = ["--repo", str(place)]
    run = ["run", "v4-memfile", "--procedure", "cost", "--commits", several]
    assert main([*run, *where]) == 0
    compare = ["compare", hashes[0], hashes[9], "--cost", "--scenario", "v4-memfile"]
    assert main([*compare, *where]) == 1
    lab.forget()
    capsys.readouterr()
    assert main([*words, "--dry-run"]) == 0
    err = capsys.readouterr().err
    assert "the archive has counts of 4" in err
    assert "expected: 0 counts, and up to 4 more, with as many builds" in err
    assert f"counting {hashes[7][:10]} (Change <7>)" in err
    assert lab.rounds == []
    assert main(words) == 1
    assert counted(lab, hashes) == [7, 8]


def test_many_small_changes_name_no_commit(lab, costs, searched):
    costs(**{f"at_{at}": 1 for at in range(1, LAST + 1)})
    for every in ((), ("--every", "1")):
        document = searched(*every)
        assert document["ending"] == "no single commit explains the difference of the ends"
        assert "1.1 % more instructions per exchange (+12.00)" in document["text"]
        assert "there may be many small changes" in document["text"]
        assert document["culprits"] == []
    assert len(lab.measured) == LAST + 1
