"""``leaselab run`` of commits, on a real repository; builder and bench left out."""

import gzip
import shutil

import pytest
from tests.made_up import BROKEN, ENVIRONMENT
from tests.repositories import commit

from leaselab.cli.main import main
from leaselab.model.errors import lab_broken


@pytest.fixture(scope="module")
def hashes(hashes):
    """The last four."""
    return hashes[-4:]


def measure(place, *arguments):
    return main(["run", "v4-memfile", "--repo", str(place), "--set", "rounds=3", *arguments])


def test_a_range_is_measured_oldest_first_and_shown_so(lab, place, hashes, capsys):
    assert measure(place, "--commits", f"{hashes[0]}..main") == 0
    assert lab.measured == hashes[1:]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["commit", "date", "subject", "v4-memfile"]
    assert [line.split()[0] for line in lines[1:4]] == [digest[:10] for digest in hashes[1:]]


def test_what_the_archive_has_is_not_measured_again(lab, place, hashes, capsys):
    measure(place, "--commits", f"{hashes[1]}..main")
    lab.forget()
    assert measure(place, "--commits", f"{hashes[0]}..main") == 0
    assert lab.measured == [hashes[1]]
    assert capsys.readouterr().err.count("measured before: ") == 2


@pytest.mark.parametrize(
    ("setting", "environment", "queue", "times"),
    [
        ("rounds=5", ENVIRONMENT, 64, 2),
        ("rounds=3", "2-another", 64, 2),
        ("rounds=3", ENVIRONMENT, 32, 2),
        ("start_rate=9", ENVIRONMENT, 64, 1),
    ],
)
def test_another_measurement_is_one_of_its_own(
    lab, place, hashes, *, setting, environment, queue, times
):
    """Also of the scenario with another option; where a search begins is no part of it."""
    lab.set_option("v4-memfile", "queue_size", 64)
    measure(place, "--commits", f"{hashes[2]}..main")
    lab.environment = environment
    lab.set_option("v4-memfile", "queue_size", queue)
    measure(place, "--commits", f"{hashes[2]}..main", "--set", setting)
    assert lab.measured == [hashes[3]] * times


def test_a_commit_that_does_not_build_is_a_result_and_the_others_are_measured(
    lab, place, hashes, capsys
):
    lab.broken.add(hashes[2])
    for _ in range(2):
        assert measure(place, "--commits", f"{hashes[0]}..main") == 5
    assert lab.built == hashes[1:], "it is not built again in vain"
    assert lab.measured == [hashes[1], hashes[3]]
    out, err = capsys.readouterr()
    assert f"leaselab: v4-memfile at {hashes[2][:10]}: " in err
    assert "build-failed" in out
    store = lab.store
    (row,) = store.index.rows(outcome="build-failed")
    assert row["commit"] == hashes[2]
    record = store.load(row["id"])
    (reason,) = record.reasons
    assert reason.text.endswith(f"{BROKEN}; its whole log: build.log.gz of the result")
    assert "sut" not in reason.text
    assert record.server.durability is None
    assert record.source.subject == "Change <11>"
    kept = store.find(row["id"]) / "build.log.gz"
    assert gzip.decompress(kept.read_bytes()) == b"the whole log"
    assert store.verify(row["id"])


def test_a_commit_with_the_files_of_another_is_another(lab, place, hashes, tmp_path, capsys):
    """It says its own name, and a change that was reverted is measured again."""
    copy = shutil.copytree(place, tmp_path / "server")
    back = commit(copy, "Take it back", {"n": "11"}, minute=50)
    assert measure(copy, "--commits", f"{hashes[1]}..main") == 0
    assert lab.measured == [hashes[2], hashes[3], back]
    shown = [line[:10] for line in capsys.readouterr().out.splitlines()[1:4]]
    assert shown == [name[:10] for name in lab.measured]


def test_one_commit_that_is_archived_is_not_measured_again(lab, place, hashes):
    """As by a job that asks every week for the newest commit; --commit measures it again."""
    for _ in range(2):
        assert measure(place, "--commits", "main") == 0
    assert lab.measured == [hashes[3]]
    assert measure(place, "--commit", "main") == 0
    assert lab.measured == [hashes[3], hashes[3]]


def test_a_broken_lab_ends_a_range_and_says_so(lab, place, hashes, capsys):
    lab.build_fault = lab_broken("the builder's disk is full", where="leaselab-builder")
    assert measure(place, "--commits", f"{hashes[0]}..main") == 4
    assert lab.store.index.rows() == []
    assert "measure the rest by the same command" in capsys.readouterr().err


def test_an_interrupted_range_goes_on_with_the_rounds_it_was_in(lab, place, hashes, capsys):
    """All of its points do, each with what it has; and each stands in the table once."""
    lab.faults[hashes[2], 2] = KeyboardInterrupt()
    assert measure(place, "--commits", f"{hashes[0]}..main") == 130
    said = capsys.readouterr().err.splitlines()[-1]
    left = [sweep.id for sweep in lab.store.running()]
    assert len(left) == 3
    assert said.startswith("leaselab: interrupted; go on with: ./leaselab resume ")
    assert said.rpartition(" ")[2] in left
    assert [name for name, _ in lab.rounds] == [*hashes[1:], hashes[3], hashes[2]]
    lab.faults.clear()
    lab.forget()
    ids = lab.checkout / "ids"
    assert measure(place, "--commits", f"{hashes[0]}..main", "--id-file", str(ids)) == 0
    two, three = [(hashes[2], 2), (hashes[1], 2)], [(digest, 3) for digest in hashes[1:]]
    assert lab.rounds == [*two, *three]
    assert sorted(lab.deployed) == sorted(hashes[1:])
    # More than a host keeps by itself.
    assert [len(kept) for kept in lab.kept[-3:]] == [0, 1, 2]
    assert lab.store.running() == []
    assert sorted(ids.read_text(encoding="utf-8").split()) == sorted(left)
    assert {lab.store.load(item).server.commit for item in left} == set(hashes[1:])


def test_an_unfinished_one_is_finished_before_new_ones_begin(lab, place, hashes):
    lab.faults[hashes[1], 2] = KeyboardInterrupt()
    assert measure(place, "--commits", f"{hashes[1]},{hashes[2]}") == 130
    lab.faults.clear()
    lab.forget()
    assert measure(place, "--commits", f"{hashes[0]}..main") == 0
    assert lab.rounds[-3:] == [(hashes[3], index) for index in (1, 2, 3)]
    assert {name for name, _ in lab.rounds[:-3]} == {hashes[1], hashes[2]}
    (alone,) = lab.store.index.rows(commit=hashes[3])
    assert lab.store.load(alone["id"]).experiment is None


def test_what_is_unfinished_on_another_bench_is_not_gone_on_with(lab, place, hashes):
    """Racks of one kind may have the same environment; what is held is this bench."""
    lab.faults[hashes[3], 2] = KeyboardInterrupt()
    assert measure(place, "--commits", f"{hashes[2]}..main") == 130
    (left,) = lab.store.running()
    lab.faults.clear()
    lab.forget()
    lab.bench = "rack2"
    assert measure(place, "--commits", f"{hashes[2]}..main") == 0
    assert lab.rounds == [(hashes[3], index) for index in (1, 2, 3)]
    assert [sweep.id for sweep in lab.store.running()] == [left.id]
    assert {row["bench"] for row in lab.store.index.rows()} == {"rack2"}
