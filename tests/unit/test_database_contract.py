"""The database's contract: the program that a host has, with a process for a database."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contracts import ROLES

ME = pwd.getpwuid(os.getuid()).pw_name


class Contract:
    """A folder with the programs, and a database that answers while its socket is there."""

    def __init__(self, folder):
        self.run_folder = folder / "run"
        for role in ("database", "contract"):
            shutil.copytree(ROLES / role / "files", folder, dirs_exist_ok=True)
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
            "backup": ["sh", "-c", f"{answer} || {{ echo 'cannot connect' >&2; exit 1; }}"],
            "variables": ["flush"],
            "reset_sql": "DROP",
            "counting": {
                "file": str(folder / "counting.conf"),
                "settings": "",
                "sql": "SELECT 1",
                "counts_sql": "SHOW",
                "queries": ["flush", "other", "unknown"],
                "rows": ["other"],
            },
        }
        self.settings = settings
        self._place = folder / "variants" / "v4-mysql"
        self._place.mkdir(parents=True)
        self.write("database", settings)

    def write(self, name, settings):
        """Write the settings of one of the two programs."""
        (self._place / f"{name}.json").write_text(json.dumps(settings), encoding="utf-8")

    def do(self, verb, *variant, program=None):
        """Its answer to a verb, or the line with which it fails."""
        done = subprocess.run(
            [sys.executable, program or self._program, verb, *variant],
            stdin=subprocess.DEVNULL,
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
    database = Contract(tmp_path)
    yield database
    database.do("stop")


def test_a_database_reports_what_it_runs_with_and_ends(contract):
    answer = contract.do("start", "v4-mysql")
    assert answer == {
        "name": "mysql",
        "version": "11.8",
        "confinement": label_of_this_process(),
        "variables": {"flush": "2"},
    }
    assert contract.do("start", "v4-mysql") == answer  # it is left as it is
    assert contract.do("state", "v4-mysql")["running"]
    assert contract.do("stop") == {"was_running": True}, "that of any variant"
    assert contract.do("stop", "v4-mysql") == {"was_running": False}
    assert "usage: " in contract.do("reset")


def test_what_counts_queries_is_set_up_for_that_start_alone(contract):
    serve = contract.settings["process"]["argv"][-1]
    seen = f"cp {contract.settings['counting']['file']} {contract.run_folder}/seen; {serve}"
    contract.settings["process"]["argv"][-1] = seen
    contract.write("database", contract.settings)
    assert contract.do("start_counting", "v4-mysql")["version"] == "11.8"
    assert (contract.run_folder / "seen").exists()
    assert not Path(contract.settings["counting"]["file"]).exists()
    assert contract.do("counts", "v4-mysql") == {"queries": 3, "rows": 1}


def test_a_backup_is_counted_and_removed_and_its_failure_named(contract):
    assert contract.do("backup", "v4-mysql") == "backup of mysql: cannot connect\n"
    contract.do("start", "v4-mysql")
    before = sorted(Path(contract.settings["data_folder"]).iterdir())
    said = "version\t11.8\nflush\t2\nother\t1\n"
    assert contract.do("backup", "v4-mysql") == {"bytes": len(said)}
    assert sorted(Path(contract.settings["data_folder"]).iterdir()) == before


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


def test_another_one_that_answers_in_its_place_is_refused(contract):
    contract.run_folder.mkdir()
    contract.socket.touch()
    assert "another mysql answers already where the lab's own should" in contract.do(
        "start", "v4-mysql"
    )


class Support(Contract):
    """Behind the server contract: nodes that report the size of their cluster."""

    def __init__(self, folder, sizes=("2", "2")):
        super().__init__(folder)
        self.server = folder / "server"
        self.sockets = [self.run_folder / f"node{number}" for number in (1, 2)]
        self.nodes = [self._node(*item) for item in zip(self.sockets, sizes, strict=True)]
        self.write(
            "server",
            {
                "kind": "database",
                "address": "198.18.0.20",
                "capabilities": [],
                "files": [],
                "free_bytes": 0,
                "settled": {"size": "2"},
                "nodes": self.nodes,
            },
        )

    def _node(self, socket, size):
        serve = (
            f"trap 'rm -f {socket}; exit' TERM; touch {socket}; while :; do sleep 0.05; done"
        )
        answer = f"printf 'version\\t11.8\\nflush\\t2\\nsize\\t{size}\\n'"
        script = f"[ -e {socket} ] && {answer} || {{ echo 'no such socket' >&2; exit 1; }}"
        pid_file, output = (f"{socket}_{name}" for name in ("pid", "output"))
        process = {
            **self.settings["process"],
            "argv": ["sh", "-c", serve],
            "pid_file": pid_file,
            "output_file": output,
            "log_files": [output],
        }
        return {
            **self.settings,
            "node": socket.name,
            "process": process,
            "admin": ["sh", "-c", script],
            "bootstrap_file": None,
        }

    def ask(self, verb):
        """Its answer to a verb of the server contract, or the line with which it fails."""
        return self.do(verb, "v4-mysql", program=self.server)


@pytest.fixture
def support(tmp_path):
    companion = Support(tmp_path)
    yield companion
    companion.ask("stop")


def test_a_cluster_that_supports_is_whole_when_it_has_started(support):
    answer = support.ask("start")
    assert answer["nodes"] == [{"flush": "2"}] * 2
    assert (answer["version"], answer["commit"], answer["beside"]) == ("11.8", None, {})
    assert len(answer["config_sha256"]) == 64
    assert Path(answer["program"]).exists()
    assert [socket.exists() for socket in support.sockets] == [True, True]
    assert support.ask("reset") == {"held": None, "was": None}
    assert support.ask("stop") == {"was_running": True}
    assert [socket.exists() for socket in support.sockets] == [False, False]


def test_a_sample_distinguishes_the_nodes_and_a_node_that_has_gone_is_named(support):
    support.ask("start")
    sample = support.ask("sample")
    assert sample["beside_cpu_s"].keys() == {"node2"}
    assert sample["cpu_s"] >= 0
    assert sample["rss_bytes"] > 100_000
    assert (sample["held"], sample["udp_drops"]) == (None, None)
    pid = int(Path(support.nodes[1]["process"]["pid_file"]).read_text(encoding="ascii"))
    os.kill(pid, signal.SIGKILL)
    assert "sh is gone: " in support.ask("sample")


def test_a_cluster_that_lost_a_node_is_refused_after_a_trial(tmp_path):
    support = Support(tmp_path, ("2", "1"))
    try:
        for node in support.nodes:
            support.write("database", node)
            support.do("start", "v4-mysql")
        answer = support.ask("reset")
        assert "the cluster is not whole: node2 has size 1, wanted 2" in answer
    finally:
        support.ask("stop")


def test_what_a_crash_of_all_nodes_left_does_not_keep_the_first_from_beginning(
    support, tmp_path
):
    left = tmp_path / "grastate.dat"
    left.write_text("seqno:   -1\nsafe_to_bootstrap: 0\n", encoding="ascii")
    support.write("database", {**support.nodes[0], "bootstrap_file": str(left)})
    support.do("start", "v4-mysql")
    assert left.read_text("ascii") == "seqno:   -1\nsafe_to_bootstrap: 1\n"


def test_one_on_another_host_is_asked_with_a_password_and_left_running(contract, tmp_path):
    secret = tmp_path / "admin.json"
    secret.write_text('"open sesame"', encoding="ascii")
    asks = "[ \"$WORD\" = 'open sesame' ] && printf 'version\\t11.8\\nflush\\t2\\n' || exit 1"
    distant = {
        **contract.settings,
        "process": None,
        "admin": ["sh", "-c", asks],
        "password_variable": "WORD",
        "admin_password_file": str(secret),
    }
    contract.write("database", distant)
    assert contract.do("start", "v4-mysql") == {
        "name": "mysql",
        "version": "11.8",
        "confinement": None,
        "variables": {"flush": "2"},
    }
    assert contract.do("stop", "v4-mysql") == {"was_running": False}


def test_passwords_are_made_once_for_root_alone_and_shown_to_nobody(contract, tmp_path):
    files = {"password_file": tmp_path / "one", "made_admin_password_file": tmp_path / "two"}
    refuses = "cat > heard; cat heard >&2; exit 1"
    contract.write(
        "database",
        {
            **contract.settings,
            **{name: str(path) for name, path in files.items()},
            "admin": ["sh", "-c", f"cd {tmp_path}; {refuses}"],
            "credentials_sql": "ALTER '{password}' '{admin_password}'",
        },
    )
    answer = contract.do("credentials", "v4-mysql")
    assert "ALTER '(password)' '(password)'" in answer
    words = [json.loads(path.read_text("ascii")) for path in files.values()]
    assert len(set(words)) == 2
    assert (tmp_path / "heard").read_text("ascii") == "ALTER '{}' '{}'".format(*words)
    assert [path.stat().st_mode & 0o777 for path in files.values()] == [0o600, 0o600]
