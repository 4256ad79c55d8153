"""A profile of two tasks, made for another command; hosts left out."""

import argparse

import pytest

from leaselab.catalog.catalogue import Catalogue
from leaselab.cli.bench_options import inventory_of
from leaselab.cli.progress import progress
from leaselab.model.errors import invalid_measurement, lab_broken
from leaselab.run.contest import profile, profiles_of
from leaselab.run.session import Session
from leaselab.run.task import Task

WHY = "there is no profile: perf may not sample here"


@pytest.fixture
def session(lab):
    inventory = inventory_of(argparse.Namespace(inventory=None, bench=None, lab="docker"))
    catalogue, asked = Catalogue(lab.checkout), {"name": "fixed-load", "rate": 300}
    session = Session(lab.store, inventory, catalogue, asked, show=progress)
    with session.leased("a test"):
        yield session


@pytest.fixture
def two(lab):
    catalogue = Catalogue(lab.checkout)
    return [Task(catalogue.find(name)) for name in ("v4-memfile", "v4-memfile-mt")]


def made(lab):
    """The results of the archive, in the order of the points."""
    records = {row["id"]: lab.store.load(row["id"]) for row in lab.store.index.rows()}
    (points,) = {record.experiment.points for record in records.values()}
    return [records[point] for point in points]


def test_two_tasks_are_profiled_in_turns_at_one_load(lab, session, two):
    profile(session, *two, rate=700, rounds=2)
    records = made(lab)
    assert [record.scenario.name for record in records] == ["v4-memfile", "v4-memfile-mt"]
    assert {(made.name, made.rate) for made in lab.procedures} == {("profile", 700)}
    assert records[0].experiment == records[1].experiment
    names = [name for name, _ in lab.rounds]
    assert names == ["v4-memfile", "v4-memfile-mt", "v4-memfile-mt", "v4-memfile"]


def test_the_session_goes_on_with_its_own_procedure(lab, session, two):
    profile(session, *two, rate=700, rounds=1)
    first, second = made(lab)
    assert profiles_of(lab.store, first, second) is None, "they have no stacks"
    assert profiles_of(lab.store, None, second) is None
    session.measure(two[:1], lambda *_: None)
    assert lab.procedures[-1].name == "fixed-load"
    assert session.lab.environment == lab.environment
    assert lab.prepared == [""], "a bench is prepared once for all that a command does"


def test_one_that_was_interrupted_is_finished_and_one_of_another_pair_left_as_it_is(
    lab, session, two
):
    """Without its last round."""
    session.prepare("")
    lab.interrupted_at = 3
    with pytest.raises(KeyboardInterrupt):
        profile(session, *two, rate=700, rounds=2)
    lab.interrupted_at = None
    lab.forget()
    profile(session, *two[::-1], rate=700, rounds=2)
    assert (len(lab.rounds), len(lab.store.running())) == (4, 1)
    lab.forget()
    profile(session, *two, rate=700, rounds=2)
    assert lab.rounds == [("v4-memfile", 2)]
    assert lab.store.running() == []


@pytest.mark.parametrize("error", [invalid_measurement, lab_broken])
def test_where_there_is_none_one_line_says_why_and_nothing_fails(
    lab, session, two, capsys, error
):
    lab.faults["v4-memfile-mt", 1] = error(WHY)
    profile(session, *two, rate=700, rounds=1)
    printed = capsys.readouterr().err.splitlines()[-1]
    assert printed.startswith(f"no profile: {WHY}")
