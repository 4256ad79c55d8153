"""The database's contract: the program that a host has, with a process for a database."""

import json
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROLES = Path(__file__).parents[2] / "roles"
ME = pwd.getpwuid(os.getuid()).pw_name


class Contract:
    """A folder with the program, and a database that answers while its socket is there."""

    def __init__(self, folder):
        self.run_folder = folder / "run"
        shutil.copy(ROLES / "database/files/database", folder)
        shutil.copytree(
            ROLES / "contract/files/leaselab_contract", folder / "leaselab_contract"
        )
        self._program = folder / "database"
        self.socket = self.run_folder / "socket"
        leave = f"rm -f {self.socket}; exit"
        serve = f"trap '{leave}' TERM; touch {self.socket}; while :; do sleep 0.05; done"
        answer = f"[ -e {self.socket} ] && printf 'version\\t11.8\\nflush\\t2\\nother\\t1\\n'"
        client = ["sh", "-c", f"{answer} || {{ echo 'no such socket' >&2; exit 1; }}"]
        settings = {
            "name": "mysql",
            "process": {
                "argv": ["sh", "-c", serve],
                "user": None,
                "pid_file": str(self.run_folder / "pid"),
                "output_file": str(folder / "log"),
                "log_files": [str(folder / "log")],
                "error_words": ["ERROR"],
                "noise_words": [],
                "stop_signal": "SIGTERM",
                "folders": {str(self.run_folder): {"user": ME, "mode": "0755"}},
            },
            "data_folder": str(folder),
            "admin": client,
            "client": client,
            "variables_sql": "SHOW",
            "version_variable": "version",
            "variables": ["flush"],
            "reset_sql": "DROP",
        }
        place = folder / "variants" / "v4-mysql"
        place.mkdir(parents=True)
        (place / "database.json").write_text(json.dumps(settings), encoding="utf-8")

    def do(self, verb, *variant):
        """Its answer to a verb, or the line with which it fails."""
        done = subprocess.run(
            [sys.executable, self._program, verb, *variant],
            capture_output=True,
            text=True,
            check=False,
        )
        return json.loads(done.stdout or "{}") if done.returncode == 0 else done.stderr


def label_of_this_process():
    """What confines tests, and so what they start: None where the kernel has no AppArmor."""
    try:
        label = Path("/proc/self/attr/apparmor/current").read_text(encoding="utf-8")
    except OSError:
        return None
    return label.strip("\n\0 ") or None


@pytest.fixture
def contract(tmp_path):
    one = Contract(tmp_path)
    yield one
    one.do("stop")


def test_a_database_tells_what_it_runs_with_and_ends(contract):
    told = contract.do("start", "v4-mysql")
    assert told == {
        "name": "mysql",
        "version": "11.8",
        "confinement": label_of_this_process(),
        "variables": {"flush": "2"},
    }
    assert contract.do("start", "v4-mysql") == told  # it is left as it is
    assert contract.do("state", "v4-mysql")["running"]
    assert contract.do("stop", "v4-mysql") == {"was_running": True}
    assert contract.do("stop", "v4-mysql") == {"was_running": False}


def test_after_a_boot_every_verb_finds_what_it_needs(contract):
    """A boot ends the process and empties /run, in whatever moment."""
    contract.do("start", "v4-mysql")
    contract.do("stop", "v4-mysql")
    shutil.rmtree(contract.run_folder)
    assert contract.do("stop", "v4-mysql") == {"was_running": False}
    assert "no such socket" in contract.do("reset", "v4-mysql")
    assert contract.do("start", "v4-mysql")["version"] == "11.8"
    assert contract.do("reset", "v4-mysql") == {}
    assert contract.run_folder.stat().st_mode & 0o777 == 0o755


def test_that_of_any_variant_is_stopped_without_its_name(contract):
    contract.do("start", "v4-mysql")
    assert contract.do("stop") == {"was_running": True}
    assert contract.do("stop", "v4-mysql") == {"was_running": False}
    assert "usage: " in contract.do("reset")


def test_another_one_that_answers_in_its_place_is_refused(contract):
    contract.run_folder.mkdir()
    contract.socket.touch()
    assert "another mysql answers already where the lab's own should" in contract.do(
        "start", "v4-mysql"
    )
