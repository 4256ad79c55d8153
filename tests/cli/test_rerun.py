"""``leaselab rerun``: what would not be a repetition is refused."""

import shutil

import pytest
from msgspec.structs import replace
from tests.examples import archive_result, built, example_result
from tests.inventories import local_lab
from tests.repositories import commit, make_repository

from leaselab.cli import bench_options
from leaselab.cli.main import main
from leaselab.model.record import Generator

FAILED = {"word": "build-failed", "text": "error: expected ';'"}
TUNED = {"name": "mysql", "version": "11.8.6", "variables": {"flush": "2"}}


@pytest.fixture
def measured(lab):
    """A bench with a result of a tuned database, of a release that is not the default."""
    lab.made_by, lab.server = "docker", {"beside": {"database": TUNED}}
    assert main(["run", "v4-memfile", "--set", "rounds=3", "--distribution", "bookworm"]) == 0
    lab.forget()
    return lab


def test_the_same_is_measured_again(measured):
    """Also by another version, on the release and by the procedure of then."""
    measured.server = {"beside": {"database": {**TUNED, "version": "12.0.1"}}}
    assert main(["rerun", "last"]) == 0
    assert measured.prepared == ["bookworm"]
    again, before = (measured.store.load(ref) for ref in ("last", "last~1"))
    assert (again.scenario, again.procedure) == (before.scenario, before.procedure)
    assert len(again.rounds) == 3


@pytest.mark.parametrize(
    ("variables", "durability", "words"),
    [
        ({"flush": "1"}, "written", "flush (found 1, wanted 2)"),
        ({}, "written", "flush (found None, wanted 2)"),
        ({"flush": "2"}, "synced", "durability (found synced"),
    ],
)
def test_another_setting_is_refused(measured, variables, durability, words, capsys):
    beside = {"database": {**TUNED, "variables": variables}}
    measured.server = {"beside": beside, "durability": durability}
    assert main(["rerun", "last"]) == 2
    assert words in capsys.readouterr().err
    assert measured.rounds == []


@pytest.fixture
def place(tmp_path):
    """A repository of two commits."""
    path = make_repository(tmp_path / "server")
    for number in range(2):
        commit(path, f"Change {number}", {"n": f"{number}"}, minute=number)
    return path


def live(place):
    where = ["--repo", str(place), "--scenario", "v4-memfile"]
    return ["compare", "main~1", "main", "--live", *where]


@pytest.mark.parametrize("kept", [False, True])
def test_a_result_of_a_layout_is_measured_again_in_it(lab, place, kept):
    assert main([*live(place), "--layouts", "2"]) == 0
    before = lab.store.load("last")
    assert before.layout == 2
    lab.forget()
    if not kept:
        shutil.rmtree(lab.checkout / ".leaselab" / "builds")
    assert main(["rerun", before.id]) == 0
    again = [lab.store.load(ref) for ref in ("last~1", "last")]
    assert [record.layout for record in again] == [2, 2]
    sources = [record.source.hash for record in again]
    assert before.source.hash in sources, "a duel is between two"
    assert lab.built == sources * (not kept)
    assert {record.id for record in again} == {*again[0].experiment.points}


def test_a_server_that_is_deployed_in_another_layout_is_refused(lab, place, capsys):
    assert main([*live(place), "--layouts", "2"]) == 0
    shutil.rmtree(lab.checkout / ".leaselab" / "builds")
    lab.forget()
    lab.lays_out = False
    assert main(["rerun", "last"]) == 2
    assert "another way now: layout (found 0, wanted 2)" in capsys.readouterr().err
    assert lab.rounds == []


def test_a_result_is_measured_on_its_own_bench_by_the_inventory_that_is_here(
    measured, monkeypatch, refused
):
    asked = []

    def benches_of(args):
        asked.append(args.bench)
        return (local_lab(),)

    with monkeypatch.context() as patch:
        patch.setattr(bench_options, "benches_of", benches_of)
        assert main(["rerun", "last"]) == 0
    assert asked == [measured.store.load("last").bench.name]
    (measured.checkout / "inventory").unlink()
    wanted = "no inventory/docker in this checkout); name it with -i"
    assert wanted in refused("rerun", "last")


def test_a_commit_that_did_not_build_is_refused_with_the_way_to_build_it(lab, refused):
    record = built(example_result((), outcome="build-failed", reasons=[FAILED]), "4f2a" * 10)
    server = replace(record.server, config_file=None)
    of = {"generator": Generator(name="perfdhcp"), "servers": {"server": server}}
    archive_result(lab.results, replace(record, **of))
    source = record.source
    again = f"leaselab run v4-memfile --repo {source.repository} --commit {source.hash}"
    assert again in refused("rerun", record.id)
    assert lab.prepared == []
