"""The lock of one command: taken before anything is touched, kept, freed; the lock is real."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Barrier

import pytest
from tests.here import Here, request

from leaselab.lab.bench import lease
from leaselab.lab.bench.lease import COMMAND_S, leased, read_hold, write_hold
from leaselab.lab.bench.lock import BenchInUseError, NoLockError, ask, new_hold
from leaselab.lab.bench.lock import status as status_of
from leaselab.model.bench import HostAccess
from leaselab.model.errors import LeaselabError, Outcome

KEEPER = HostAccess("gen", "192.0.2.1", "root", "/key", "/known")
OTHER = request("ana@laptop")
SWEEP = "20261123T113005Z-v4-memfile-3f9a"


@pytest.fixture
def bench(tmp_path, monkeypatch):
    return Here(tmp_path / "host", monkeypatch, lease)


def holder(bench):
    with bench(KEEPER) as keeper:
        return status_of(keeper).holder


def expires_at(bench):
    """When the lock expires, by the clock of the host (s)."""
    return json.loads((bench.folder / "run" / "lock.json").read_text("utf-8"))["expires_at"]


def have(root, purpose="deploy v4-memfile", **how):
    return leased(root, "rack1", KEEPER, purpose, **how)


def test_of_many_checkouts_that_begin_at_once_one_has_the_bench(bench, tmp_path):
    began, all_asked = Barrier(6), Barrier(6)

    def begin(number):
        began.wait()
        try:
            with have(tmp_path / str(number)) as mine:
                all_asked.wait()
                return mine.name
        except BenchInUseError as error:
            all_asked.wait()
            return error.found

    with ThreadPoolExecutor(6) as pool:
        names = list(pool.map(begin, range(6)))
    (name,) = {item.partition(",")[0] for item in names}
    assert name.endswith(f"pid {os.getpid()}")
    assert names.count(name) == 1
    assert holder(bench) is None


@pytest.mark.parametrize("fault", [None, LeaselabError, KeyboardInterrupt, ValueError])
def test_it_is_freed_however_the_command_ends(bench, tmp_path, fault):
    with suppress(LeaselabError, KeyboardInterrupt, ValueError), have(tmp_path) as mine:
        assert COMMAND_S - 60 < holder(bench)["expires_in_s"] <= COMMAND_S
        assert mine.killed is None
        if fault is not None:
            raise fault(*[4, "broken"][: 2 * (fault is LeaselabError)])
    assert holder(bench) is None
    assert mine.file.read_text(encoding="utf-8") == ""


def test_a_second_command_of_the_checkout_is_refused_and_named(bench, tmp_path):
    with have(tmp_path), pytest.raises(BenchInUseError) as caught, have(tmp_path):
        pass
    assert bench.connections == 2  # the second one asked nobody
    assert "deploy v4-memfile" in caught.value.found


@pytest.mark.parametrize(
    "printed",
    [
        *('Welcome!\n{"owner": null}', "{}", '{"owner": {"name": "ana@laptop"}}'),
        '{"owner": null, "maintenance": {"by": "ana@laptop"}}',
    ],
)
def test_what_no_lock_of_this_release_prints_is_a_broken_lab(bench, printed):
    """The program is of another release, or the login prints a greeting."""
    (bench.folder / "bench-lock").write_text(f"#!/bin/sh\necho '{printed}'\n")
    with bench(KEEPER) as keeper, pytest.raises(LeaselabError, match="is no answer") as caught:
        ask(keeper, "renew", OTHER)
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "gen")


def killed(root, bench):
    """Begin a command that is killed in a sweep."""
    child = os.fork()
    if not child:
        with have(root) as mine, bench(KEEPER) as keeper, mine.during(keeper, SWEEP, 900):
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_what_a_killed_command_left_locked_is_its_checkouts_next_command_alone(bench, tmp_path):
    killed(tmp_path / "mine", bench)
    assert holder(bench)["purpose"] == SWEEP
    message = r"expires in (900|8\d\d) s"
    with pytest.raises(BenchInUseError, match=message), have(tmp_path / "theirs"):
        raise AssertionError
    with have(tmp_path / "mine") as mine:
        assert mine.killed.purpose == SWEEP
        assert holder(bench)["age_s"] < 60
    assert holder(bench) is None
    with have(tmp_path / "mine") as mine:
        assert mine.killed is None


@pytest.mark.parametrize("why", ["in maintenance", "in use"])
def test_a_killed_command_opens_no_bench_in_maintenance_or_by_a_cut_file(bench, tmp_path, why):
    """What it left in a cut file waits for the lock to expire."""
    killed(tmp_path, bench)
    if why == "in use":
        (file,) = (tmp_path / ".leaselab" / "holds").iterdir()
        file.write_text('{"name": "an', encoding="utf-8")
    else:
        with bench(KEEPER) as keeper:
            ask(keeper, "close", {"name": "ana@laptop", "reason": "new card"})
    with pytest.raises(BenchInUseError, match=why), have(tmp_path):
        raise AssertionError


def test_it_is_renewed_while_a_playbook_runs_and_a_loss_ends_that(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(lease, "_RENEW_S", 0.0)
    with have(tmp_path) as mine:
        first = expires_at(bench)
        mine.keep()
        assert expires_at(bench) > first
        bench.dead.add("gen")
        mine.keep()  # one look that is lost is no loss
        monkeypatch.setattr(mine, "_renewed", -COMMAND_S - 1.0)
        with pytest.raises(LeaselabError, match="cannot be reached"):
            mine.keep()
        bench.dead.clear()
        for path in (bench.folder / "run").iterdir():
            path.unlink()  # as a reboot does
        with bench(KEEPER) as keeper:
            ask(keeper, "acquire", OTHER)
        with pytest.raises(BenchInUseError):
            mine.keep()
    assert holder(bench)["name"] == "ana@laptop"


def test_a_sweep_is_reported_while_it_lasts_and_its_command_afterwards(bench, tmp_path):
    with have(tmp_path) as mine, bench(KEEPER) as keeper:
        with mine.during(keeper, "a sweep", 60) as lock:
            lock.renew()
            assert holder(bench)["purpose"] == "a sweep"
            assert holder(bench)["expires_in_s"] <= 60
            lock.renew(240.0)
            assert holder(bench)["expires_in_s"] > 240
            lock.renew()
            assert holder(bench)["expires_in_s"] <= 60
            assert json.loads(mine.file.read_text(encoding="utf-8"))["purpose"] == "a sweep"
        assert holder(bench)["purpose"] == "deploy v4-memfile"
        assert holder(bench)["expires_in_s"] > 60


def test_under_a_hold_it_is_taken_from_that_and_returned_to_it(bench, tmp_path):
    hold = new_hold("a build", 600)
    write_hold(tmp_path, "rack1", hold)
    with bench(KEEPER) as keeper:
        ask(keeper, "acquire", hold)
    with have(tmp_path):
        assert holder(bench)["purpose"] == "deploy v4-memfile"
        with pytest.raises(BenchInUseError), bench(KEEPER) as keeper:
            ask(keeper, "acquire", hold)  # a playbook by hand
    assert holder(bench)["purpose"] == "a build"


def test_a_command_may_leave_the_bench_held_for_those_after_it(bench, tmp_path):
    with have(tmp_path, "a build") as mine:
        hold = mine.stay(7200)
    write_hold(tmp_path, "rack1", hold)
    assert holder(bench)["expires_in_s"] > 7000
    assert str(os.getpid()) not in holder(bench)["name"]
    with have(tmp_path):
        pass
    assert holder(bench)["purpose"] == "a build"
    assert read_hold(tmp_path, "rack1") == replace(hold, under="")


def test_a_bench_that_cannot_be_released_is_reported_and_freed_by_the_next_command(
    bench, tmp_path, caplog
):
    with have(tmp_path):
        bench.dead.add("gen")
    assert "rack1 was not released: gen: cannot be reached" in caplog.text
    bench.dead.clear()
    assert holder(bench) is not None
    with have(tmp_path):
        pass
    assert holder(bench) is None


def test_a_host_without_the_locks_program_is_distinguished_from_a_lock_that_fails(
    bench, tmp_path
):
    program = bench.folder / "bench-lock"
    program.rename(bench.folder / "away")
    with pytest.raises(NoLockError, match="provision the bench first"), have(tmp_path):
        raise AssertionError
    (bench.folder / "away").rename(program)
    (bench.folder / "run").write_text("no folder", encoding="utf-8")
    with pytest.raises(LeaselabError, match="bench lock: ") as caught, have(tmp_path):
        raise AssertionError
    assert not isinstance(caught.value, NoLockError)
