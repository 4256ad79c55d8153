"""``leaselab run --anchor``: the reference build in turn with the others, in every session."""

import pytest
from tests.repositories import git

from leaselab.cli.main import main


@pytest.fixture(scope="module")
def hashes(place, hashes):
    """The last four, of which the first is a release."""
    git(place, "tag", "v1", hashes[-4])
    return hashes[-4:]


def measure(place, *arguments, scenarios=("v4-memfile",)):
    return main(["run", *scenarios, "--repo", str(place), "--set", "rounds=3", *arguments])


def of_commit(lab, name):
    rows = lab.store.index.every("*")
    return [lab.store.load(row["id"]) for row in rows if row["commit"] == name]


def test_the_anchor_takes_turns_with_the_commits_and_they_name_it(lab, place, hashes):
    assert measure(place, "--commits", f"{hashes[1]}..main", "--anchor", "v1") == 0
    points = [name for name, _ in lab.rounds]
    assert points == [
        *(hashes[0], hashes[2], hashes[3]),
        *(hashes[3], hashes[2], hashes[0]),
        *(hashes[0], hashes[2], hashes[3]),
    ]
    (anchor,) = of_commit(lab, hashes[0])
    for name in hashes[2:]:
        (record,) = of_commit(lab, name)
        assert record.experiment.anchor == anchor.id
        assert record.experiment.interleaved


def test_the_anchor_is_measured_in_every_session_and_what_stands_beside_it_is_not(
    lab, place, hashes, capsys
):
    measure(place, "--commits", hashes[1], "--anchor", "v1")
    lab.forget()
    measure(place, "--commits", f"{hashes[0]}..{hashes[2]}", "--anchor", "v1")
    assert lab.measured == [hashes[0], hashes[2]]
    lab.forget()
    assert measure(place, "--commits", f"{hashes[0]}..{hashes[2]}", "--anchor", "v1") == 0
    assert lab.measured == []
    assert capsys.readouterr().err.count("measured before: ") == 3


def test_a_result_without_this_anchor_is_measured_again_beside_it(lab, place, hashes):
    measure(place, "--commits", hashes[2])
    lab.forget()
    measure(place, "--commits", hashes[2], "--anchor", "package")
    assert lab.measured == ["v4-memfile", hashes[2]]
    record = of_commit(lab, hashes[2])[-1]
    assert lab.store.load(record.experiment.anchor).server.commit is None
    lab.forget()
    measure(place, "--commits", hashes[2], "--anchor", "v1")
    assert lab.measured == [hashes[0], hashes[2]]


def test_each_scenario_has_an_experiment_and_an_anchor_of_its_own(lab, place, hashes):
    scenarios = ["v4-memfile", "v6-memfile"]
    assert measure(place, "--commit", "main", "--anchor", "v1", scenarios=scenarios) == 0
    records = of_commit(lab, hashes[3])
    sessions = {record.experiment.id: record.scenario.name for record in records}
    assert sorted(sessions.values()) == scenarios
    lab.forget()
    measure(place, "--commits", f"{hashes[0]},{hashes[1]}", "--anchor", "v1")
    assert lab.measured == [hashes[0], hashes[1]], "the anchor among them is measured once"


@pytest.mark.parametrize("earlier", [["--anchor", "v1"], [], ["--anchor", "main"]])
def test_what_is_unfinished_goes_on_unless_it_is_beside_another_anchor_or_none(
    lab, place, hashes, earlier
):
    lab.faults[hashes[1], 2] = KeyboardInterrupt()
    assert measure(place, "--commits", hashes[1], *earlier) == 130
    left = {item.id for item in lab.store.running()}
    lab.faults.clear()
    lab.forget()
    assert measure(place, "--commits", hashes[1], "--anchor", "v1") == 0
    goes_on = "v1" in earlier
    assert ((hashes[1], 1) in lab.rounds) != goes_on
    (record,) = of_commit(lab, hashes[1])
    assert lab.store.load(record.experiment.anchor).source.hash == hashes[0]
    assert {item.id for item in lab.store.running()} == (set() if goes_on else left)
