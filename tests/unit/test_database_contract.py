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


ROWS = {"version": "11.8", "flush": "2", "other": "1"}


def settings_of(folder, name, rows):
    """Of a database that answers with these rows while its socket, of that name, is there."""
    socket = folder / "run" / name
    serve = f"trap 'rm -f {socket}; exit' TERM; touch {socket}; while :; do sleep 0.05; done"
    said = "".join(f"{row}\\t{value}\\n" for row, value in rows.items())

    def client(complaint):
        there = f"[ -e {socket} ] && printf '{said}'"
        return ["sh", "-c", f"{there} || {{ echo '{complaint}' >&2; exit 1; }}"]

    return {
        "name": "mysql",
        "node": name,
        "process": {
            "argv": ["sh", "-c", serve],
            "pid_file": f"{socket}_pid",
            "output_file": f"{socket}_output",
            "error_words": ["ERROR"],
            "folders": {str(socket.parent): {"user": ME, "mode": "0755"}},
        },
        "data_folder": str(folder),
        "admin": client("no such socket"),
        "client": client("no such socket"),
        "variables_sql": "SHOW",
        "version_variable": "version",
        "backup": client("cannot connect"),
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


class Contract:
    """A folder with the programs, and a database that answers while its socket is there."""

    def __init__(self, folder):
        self.run_folder = folder / "run"
        for role in ("database", "contract"):
            shutil.copytree(ROLES / role / "files", folder, dirs_exist_ok=True)
        self._program = folder / "database"
        self.settings = settings_of(folder, "socket", ROWS)
        self._place = folder / "variants" / "v4-mysql"
        self._place.mkdir(parents=True)
        self.write("database", self.settings)

    def write(self, name, settings):
        """Write the settings of one of the two programs."""
        (self._place / f"{name}.json").write_text(json.dumps(settings), encoding="utf-8")

    def do(self, verb, *variant, program=None):
        """Its answer to a verb, or the line with which it fails."""
        argv, pipe = [program or self._program, verb, *variant], subprocess.PIPE
        pipes = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe}
        done = subprocess.run([sys.executable, *argv], **pipes, text=True, check=False)
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
    known = {"name": "mysql", "version": "11.8", "variables": {"flush": "2"}}
    assert answer == {**known, "confinement": label_of_this_process()}
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
    (contract.run_folder / "socket").touch()
    said = contract.do("start", "v4-mysql")
    assert "another mysql answers already where the lab's own should" in said


class Support(Contract):
    """Behind the server contract: nodes that report the size of their cluster."""

    def __init__(self, folder, sizes=("2", "2")):
        super().__init__(folder)
        self.server = folder / "server"
        self.nodes = [
            settings_of(folder, f"node{number}", {**ROWS, "size": size})
            for number, size in enumerate(sizes, 1)
        ]
        known = {"kind": "database", "address": "198.18.0.20", "capabilities": [], "files": []}
        asked = {"free_bytes": 0, "settled": {"size": "2"}, "nodes": self.nodes}
        self.write("server", known | asked)

    def there(self):
        """Which of its nodes have a socket."""
        return [(self.run_folder / node["node"]).exists() for node in self.nodes]

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
    assert support.there() == [True, True]
    assert support.ask("reset") == {"held": None, "was": None}
    assert support.ask("stop") == {"was_running": True}
    assert support.there() == [False, False]


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
    for node in support.nodes:
        support.write("database", node)
        support.do("start", "v4-mysql")
    answer = support.ask("reset")
    support.ask("stop")
    assert "the cluster is not whole: node2 has size 1, wanted 2" in answer


def test_what_a_crash_of_all_nodes_left_does_not_keep_one_from_beginning(support, tmp_path):
    left = tmp_path / "grastate.dat"
    left.write_text("seqno:   -1\nsafe_to_bootstrap: 0\n", encoding="ascii")
    support.write("database", {**support.nodes[0], "bootstrap_file": str(left)})
    support.do("start", "v4-mysql")
    assert left.read_text("ascii") == "seqno:   -1\nsafe_to_bootstrap: 1\n"


def test_one_on_another_host_is_asked_with_a_password_and_left_running(contract, tmp_path):
    secret = tmp_path / "admin.json"
    secret.write_text('"open sesame"', encoding="ascii")
    asks = "[ \"$WORD\" = 'open sesame' ] && printf 'version\\t11.8\\nflush\\t2\\n' || exit 1"
    distant = {"process": None, "admin": ["sh", "-c", asks], "password_variable": "WORD"}
    distant["admin_password_file"] = str(secret)
    contract.write("database", contract.settings | distant)
    answer = contract.do("start", "v4-mysql")
    assert (answer["confinement"], answer["variables"]) == (None, {"flush": "2"})
    assert contract.do("stop", "v4-mysql") == {"was_running": False}


def test_passwords_are_made_once_for_root_alone_and_shown_to_nobody(contract, tmp_path):
    files = {"password_file": tmp_path / "one", "made_admin_password_file": tmp_path / "two"}
    changed = {name: str(path) for name, path in files.items()}
    refuses = f"cd {tmp_path}; cat > heard; cat heard >&2; exit 1"
    changed |= {"admin": ["sh", "-c", refuses]}
    changed |= {"credentials_sql": "ALTER '{password}' '{admin_password}'"}
    contract.write("database", contract.settings | changed)
    answer = contract.do("credentials", "v4-mysql")
    assert "ALTER '(password)' '(password)'" in answer
    words = [json.loads(path.read_text("ascii")) for path in files.values()]
    assert len(set(words)) == 2
    assert (tmp_path / "heard").read_text("ascii") == "ALTER '{}' '{}'".format(*words)
    assert [path.stat().st_mode & 0o777 for path in files.values()] == [0o600, 0o600]
