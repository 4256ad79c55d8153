"""``leaselab run --anchor``: the reference build in turn with the others, in every session."""

import pytest
from tests.repositories import commit, git, make_repository

from leaselab.cli.main import main
from leaselab.report.review.reading import review_of


@pytest.fixture
def place(tmp_path):
    return make_repository(tmp_path / "server")


@pytest.fixture
def hashes(place):
    made = [commit(place, f"Change {n}", {"n": str(n)}, minute=n) for n in range(4)]
    git(place, "tag", "v1", made[0])
    return made


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


def test_each_scenario_has_an_experiment_and_an_anchor_of_its_own(lab, place, hashes, capsys):
    scenarios = ["v4-memfile", "v6-memfile"]
    result = measure(place, "--commit", "main", "--anchor", "v1", "--json", scenarios=scenarios)
    assert result == 0
    sessions = {
        record.experiment.id: record.scenario.name for record in of_commit(lab, hashes[3])
    }
    assert sorted(sessions.values()) == scenarios
    assert capsys.readouterr().out.count('"commit"') == 2
    lab.forget()
    measure(place, "--commits", f"{hashes[0]},{hashes[1]}", "--anchor", "v1")
    assert lab.measured == [hashes[0], hashes[1]], "the anchor among them is measured once"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--commit", "v1", "--anchor", "v1"], "are the same build"),
        (["--commit", "main", "--anchor", "v1", "--sequential"], "must be measured in turn"),
        (["--commit", "main", "--anchor", "v9"], "v9"),
    ],
)
@pytest.mark.usefixtures("hashes")
def test_an_anchor_that_cannot_be_one_is_refused(lab, place, capsys, arguments, words):
    assert measure(place, *arguments) == 2
    assert words in capsys.readouterr().err
    assert lab.prepared == []


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


def test_ratios_to_the_anchor_are_what_a_history_is_made_of(lab, place, hashes):
    lab.rates = {hashes[0]: 5000.0, hashes[3]: 5500.0}
    measure(place, "--commits", "main", "--anchor", "v1")
    (series,) = review_of(lab.store).series
    assert series.anchor.endswith(f"({hashes[0][:10]})")
    (point,) = series.points
    assert point.reading.value == pytest.approx(0.09531, abs=1e-4)
