"""The script that runs a generator on its host: one at a time, and nobody else in its way."""

import gzip
import subprocess
import threading
import time
from pathlib import Path

import pytest
from tests.dns import dns_bench
from tests.here import ConnectionHere
from tests.waiting import HANGS_S

from leaselab.lab.contract.remote import TURN, RemoteGenerator
from leaselab.measure.generators.printed import printed
from leaselab.model.errors import LeaselabError, Outcome


@pytest.fixture
def turn(tmp_path):
    return tmp_path / "turn"


def generate(turn, *argv, timeout_s=HANGS_S):
    host = RemoteGenerator(ConnectionHere(), "lo", ["127.0.0.1"], str(turn))
    return host.generate(argv, {"WORD": "seven"}, timeout_s)


def test_what_it_prints_comes_back_compressed_with_its_status(turn):
    done = generate(turn, "sh", "-c", 'echo "$WORD"; echo why >&2; exit 3')
    assert (done.status, gzip.decompress(done.output_gz), done.error) == (3, b"seven\n", "why")
    assert turn.stat().st_mode & 0o7777 == 0o700


def test_a_second_one_waits_for_the_first(turn, tmp_path):
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    first = threading.Thread(
        target=generate, args=(turn, "sh", "-c", f"touch {begun}; sleep 0.6; touch {ended}")
    )
    first.start()
    while not begun.exists():
        time.sleep(0.01)
    assert generate(turn, "test", "-e", ended).status == 0
    first.join()


def test_one_that_does_not_end_is_named(turn, tmp_path):
    turn.mkdir(mode=0o700)
    holder = subprocess.Popen(
        ["flock", turn, "sh", "-c", f"touch {tmp_path}/held; exec sleep 60"]
    )
    try:
        while not (tmp_path / "held").exists():
            time.sleep(0.01)
        done = generate(turn, "true", timeout_s=0.4)
        assert (done.status, done.error) == (125, "another generator does not end")
    finally:
        holder.kill()
        holder.wait()


def test_a_link_in_its_place_is_refused_and_not_followed(turn, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o700)
    turn.symlink_to(victim)
    done = generate(turn, "touch", str(tmp_path / "generated"))
    assert done.status == 125
    assert "symbolic link" in done.error
    assert not (tmp_path / "generated").exists()


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o1777])
def test_a_folder_that_others_may_use_is_refused(turn, mode):
    turn.mkdir()
    turn.chmod(mode)
    done = generate(turn, "true")
    assert done.status == 125
    assert "wanted a folder of" in done.error


def test_no_name_that_others_can_foretell_is_opened_where_they_may_write():
    """A user who made such a file first could block trials, or have another file emptied."""
    place = Path(TURN).parent.stat()
    assert (place.st_uid, place.st_mode & 0o022) == (0, 0)


def test_one_that_is_not_on_the_test_network_is_not_started_and_says_what_to_do(turn, tmp_path):
    host = RemoteGenerator(ConnectionHere(), "lo", ["127.0.0.1", "198.51.100.1"], str(turn))
    done = host.generate(["touch", str(tmp_path / "generated")], {}, 60)
    assert not (tmp_path / "generated").exists()
    with pytest.raises(LeaselabError) as caught:
        printed(done, dns_bench())
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "leaselab-generator")
    assert caught.value.what == "198.51.100.1 is not on lo with its link up (found it on none)"
    assert caught.value.todo.endswith("./leaselab step deploy delegations-1000")
