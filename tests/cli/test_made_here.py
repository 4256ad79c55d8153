"""A lab of this machine is made or removed by one command at a time; playbooks left out."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from tests.here import LISTING
from tests.inventories import parsed

from leaselab.cli import lab
from leaselab.cli.main import main
from leaselab.lab.bench import benches, made_here
from leaselab.lab.deploy.playbook import PlaybookStats
from leaselab.run import preparation

HOSTS = {
    "sut": {"ansible_host": "127.0.0.2", "ansible_port": 1, "leaselab_lab": "docker"},
    "gen": {"ansible_host": "127.0.0.3", "ansible_port": 1},
}
HOLDER = """
import sys
from pathlib import Path
from leaselab.lab.bench import made_here
made_here.LOCKS = (Path(sys.argv[1]),)
with made_here.making("docker_lab", "lab up", Path("/other")):
    print(flush=True)
    sys.stdin.read()
"""
WORDS = "found ben@desk pid {}, lab up, in /other, wanted its end within {} s); wait"


@pytest.fixture
def played(tmp_path, monkeypatch):
    """The playbooks that were played, of a checkout with a lab that is down."""
    names = []
    (tmp_path / "locks").mkdir()

    def play(name, *_, **__):
        names.append(name)
        return PlaybookStats(0, tmp_path)

    listing = {**LISTING, "_meta": {"hostvars": HOSTS}}
    monkeypatch.setenv("LEASELAB_ROOT", str(tmp_path))
    monkeypatch.setattr(made_here, "LOCKS", (tmp_path / "locks",))
    monkeypatch.setattr(made_here, "PATIENCE_S", 0.5)
    monkeypatch.setattr(benches, "read_inventory", lambda path: parsed(path, listing))
    monkeypatch.setattr(preparation, "run_playbook", play)
    monkeypatch.setattr(lab, "run_playbook", play)
    return names


@pytest.fixture
def other(tmp_path, played):
    """A command of another checkout that brings the lab up."""
    assert played == []
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "locks"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "LEASELAB_OWNER": "ben@desk"},
    ) as holder:
        assert holder.stdout.readline() == b"\n"
        yield holder
        holder.kill()


@pytest.mark.parametrize("verb", ["up", "down"])
def test_a_second_command_says_who_makes_the_lab_and_plays_nothing(verb, played, other, capsys):
    assert main(["lab", verb]) == 4
    printed = capsys.readouterr().err
    assert "another command makes or removes the lab of this machine (" in printed
    assert WORDS.format(other.pid, 0) in printed
    assert played == []


@pytest.mark.parametrize("end", ["stdin", "kill"])
def test_it_goes_on_when_the_first_has_ended_however_that_was(
    end, played, other, monkeypatch, caplog
):
    monkeypatch.setattr(made_here, "PATIENCE_S", 60.0)

    def ended(_seconds):
        assert played == []
        other.kill() if end == "kill" else other.stdin.close()
        other.wait()

    # The module's own clock alone: threads of other tests sleep, too.
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=ended)
    monkeypatch.setattr(made_here, "time", clock)
    assert main(["lab", "up"]) == 0
    assert f"waiting for ben@desk pid {other.pid}, lab up, in /other" in caplog.text
    assert played == ["lab_up"]


def test_any_user_of_the_machine_may_have_the_lock_and_a_link_is_none(played, tmp_path, capsys):
    """A link would have us write a file that another user chose."""
    lock = tmp_path / "locks" / "leaselab-docker_lab"
    assert main(["lab", "up"]) == main(["lab", "down"]) == 0
    assert played == ["lab_up", "lab_down"]
    assert lock.stat().st_mode & 0o777 == 0o666
    lock.unlink()
    lock.symlink_to("/etc/passwd")
    assert main(["lab", "up"]) == 4
    assert "the lock of this machine's lab cannot be opened" in capsys.readouterr().err
    assert len(played) == 2
