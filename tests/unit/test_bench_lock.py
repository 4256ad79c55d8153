"""The bench lock's program, run as on the generator's host."""

import json

import pytest
from tests.here import LockProgram

DONE, FAILED, HELD_BY_OTHER = 0, 1, 3


class Bench(LockProgram):
    """One host's lock, and who has it."""

    def owner(self):
        return json.loads(self.call("status").stdout)["owner"]


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path / "run")


def test_the_holder_is_named_without_the_token_which_its_owner_alone_can_read(bench):
    assert bench.call("acquire", "secret-token").returncode == DONE
    assert (bench.folder / "lock.json").stat().st_mode & 0o077 == 0
    owner = bench.owner()
    assert owner.keys() == {"name", "purpose", "age_s", "expires_in_s"}
    assert (owner["name"], owner["purpose"]) == ("owner of secret-token", "a test")
    assert 0 < owner["expires_in_s"] <= 60


@pytest.mark.parametrize("verb", ["acquire", "renew", "release"])
def test_another_users_lock_is_left_alone(bench, verb):
    bench.call("acquire", "theirs")
    done = bench.call(verb, "mine")
    assert done.returncode == HELD_BY_OTHER
    owners = [json.loads(done.stdout)["owner"], bench.owner()]
    assert [owner["name"] for owner in owners] == ["owner of theirs"] * 2


def test_an_owner_takes_over_its_own_lock_and_keeps_its_age(bench):
    bench.call("acquire", lease_s=60)
    bench.pass_time(20)
    assert bench.call("acquire", lease_s=600).returncode == DONE
    owner = bench.owner()
    assert owner["age_s"] >= 20
    assert owner["expires_in_s"] > 60


def test_an_expired_lock_cannot_be_renewed_and_is_free(bench):
    """Another user may have had the bench meanwhile: its owner must learn that."""
    bench.call("acquire", lease_s=60)
    bench.pass_time(61)
    assert bench.owner() is None
    done = bench.call("renew")
    assert done.returncode == FAILED
    assert done.stderr == "the lock has expired and has no owner\n"
    assert bench.call("acquire", "alive").returncode == DONE


def test_a_lock_from_before_a_reboot_is_nobodys(bench):
    bench.call("acquire", "theirs")
    state = bench.folder / "lock.json"
    held = json.loads(state.read_text(encoding="utf-8"))
    state.write_text(json.dumps({**held, "boot_id": "another"}), encoding="utf-8")
    assert bench.owner() is None
    assert bench.call("acquire").returncode == DONE


@pytest.mark.parametrize(
    ("verb", "text"), [("acquire", ""), ("acquire", "{}"), ("acquire", "[]"), ("steal", None)]
)
def test_a_bad_call_fails_in_one_line_and_changes_nothing(bench, verb, text):
    bench.call("acquire", "theirs")
    before = (bench.folder / "lock.json").read_bytes()
    done = bench.call(verb, text=text)
    assert (done.returncode, len(done.stderr.splitlines())) == (FAILED, 1)
    assert (bench.folder / "lock.json").read_bytes() == before
