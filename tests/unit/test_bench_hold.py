"""A bench held over several commands: the lock's program, and what a checkout keeps of it."""

import json

import pytest
from tests.here import LockProgram

from leaselab.lab.bench.lease import forget_hold, read_hold, write_hold
from leaselab.lab.bench.lock import new_hold
from leaselab.model.errors import LeaselabError

DONE, HELD_BY_OTHER = 0, 3
HOLD, SWEEP, OTHER = "the hold", "a sweep", "another user"


class Bench(LockProgram):
    """One host's lock: the exit codes of its program, and whose token has it."""

    def call(self, verb, token="", **asked):
        return super().call(verb, token, **asked).returncode

    def close(self):
        return self.call("close", text=json.dumps({"name": "a keeper", "reason": "a new card"}))

    def holder(self):
        held = json.loads((self.folder / "lock.json").read_text(encoding="utf-8"))
        return held["token"]


@pytest.fixture
def bench(tmp_path):
    """A bench that is held."""
    bench = Bench(tmp_path / "run")
    assert bench.call("acquire", HOLD, lease_s=600) == DONE
    return bench


def test_a_sweep_takes_a_bench_under_the_hold_and_releases_it(bench):
    assert bench.call("acquire", SWEEP, under=HOLD) == DONE
    assert bench.holder() == SWEEP
    assert bench.call("acquire", "another sweep", under=HOLD) == HELD_BY_OTHER
    assert bench.call("acquire", HOLD) == HELD_BY_OTHER, "a playbook changes nothing meanwhile"
    assert bench.call("renew", SWEEP, under=HOLD) == DONE
    assert bench.call("release", SWEEP) == DONE
    assert bench.holder() == HOLD
    assert bench.call("acquire", OTHER) == HELD_BY_OTHER


def test_the_hold_starts_again_when_it_has_the_bench_back(bench):
    bench.call("acquire", SWEEP, under=HOLD, lease_s=700)
    bench.pass_time(610)
    bench.call("release", SWEEP)
    assert bench.call("acquire", OTHER) == HELD_BY_OTHER


def test_a_hold_outlives_a_sweep_that_died_under_it(bench):
    bench.call("acquire", SWEEP, under=HOLD, lease_s=60)
    bench.pass_time(61)
    assert bench.call("acquire", OTHER) == HELD_BY_OTHER
    assert bench.call("acquire", "the next sweep", under=HOLD) == DONE


def test_a_sweep_that_goes_on_prolongs_the_hold_it_is_under(bench):
    bench.call("acquire", SWEEP, under=HOLD, lease_s=400)
    for _ in range(4):
        bench.pass_time(250)
        assert bench.call("renew", SWEEP, under=HOLD, lease_s=400) == DONE
    bench.pass_time(500)  # the sweep's lease is over, the hold's is not
    assert bench.call("acquire", OTHER) == HELD_BY_OTHER


def test_what_a_killed_sweep_left_is_reclaimed_by_the_hold_alone(bench):
    bench.call("acquire", SWEEP, under=HOLD)
    assert bench.call("reclaim", OTHER) == HELD_BY_OTHER
    assert bench.call("reclaim", HOLD) == DONE
    assert bench.call("release", HOLD) == DONE
    assert bench.call("acquire", OTHER) == DONE


def test_a_hold_that_expired_and_was_taken_by_others_reclaims_nothing(bench):
    bench.pass_time(601)
    bench.call("acquire", OTHER)
    assert bench.call("reclaim", HOLD) == HELD_BY_OTHER
    assert bench.call("acquire", SWEEP, under=HOLD) == HELD_BY_OTHER


def test_a_hold_reclaims_a_bench_in_maintenance_only_while_it_is_in_force(bench):
    bench.call("acquire", SWEEP, under=HOLD)
    assert bench.close() == DONE
    assert bench.call("reclaim", HOLD) == DONE
    assert bench.call("release", HOLD) == DONE
    assert bench.call("reclaim", HOLD) == HELD_BY_OTHER
    assert not (bench.folder / "lock.json").exists()


def test_a_sweep_whose_hold_has_expired_takes_the_free_bench_for_itself(bench):
    bench.pass_time(601)
    assert bench.call("acquire", SWEEP, under=HOLD) == DONE
    bench.call("release", SWEEP)
    assert not (bench.folder / "lock.json").exists()


def test_a_checkout_keeps_its_hold_for_itself(tmp_path):
    assert read_hold(tmp_path, "rack1") is None
    hold = new_hold("a pipeline", 600)
    write_hold(tmp_path, "rack1", hold)
    assert read_hold(tmp_path, "rack1") == hold
    assert read_hold(tmp_path, "rack2") is None
    (file,) = (tmp_path / ".leaselab" / "holds").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("{", encoding="utf-8")
    with pytest.raises(LeaselabError, match=r"the hold on bench rack1 cannot be read .*remove"):
        read_hold(tmp_path, "rack1")
    forget_hold(tmp_path, "rack1")
    forget_hold(tmp_path, "rack1")
    assert read_hold(tmp_path, "rack1") is None


def test_a_hold_says_who_has_it_as_the_pipeline_names_itself(monkeypatch):
    monkeypatch.setenv("LEASELAB_OWNER", "jenkins-leaselab-commit-17")
    assert new_hold("a build", 60).name == "jenkins-leaselab-commit-17"
