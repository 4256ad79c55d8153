"""The server contract's program: variants side by side, of a kind that only waits."""

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.contracts import ROLES, contract_module
from tests.waiting import until

KIND = """
from leaselab_contract import server
from leaselab_contract.errors import ContractError


class Server(server.Server):
    def start(self):
        child, _ = self.launch()
        return {"pid": child.pid}

    def ready(self):
        pass

    def stop(self):
        if self.config.get("hangs"):
            raise ContractError("it hangs")
        return super().stop()
"""


class Host:
    """A host with the contract's program."""

    def __init__(self, folder):
        self.root, self.files = folder / "leaselab", folder / "files"
        self.files.mkdir()
        shutil.copytree(ROLES / "contract/files", self.root)
        for kind in ("waiting", "sleeping"):
            folder = self.root / f"{kind}_contract"
            folder.mkdir()
            (folder / "__init__.py").touch()
            (folder / "server.py").write_text(KIND, encoding="utf-8")

    def deploy(self, variant, address="198.18.0.10", **changes):
        """Lay a variant there that has a file and a pid file of its own elsewhere."""
        own, number = (
            self.files / f"leaselab-{variant}_",
            len(list(self.root.glob("variants/*"))),
        )
        process = {"argv": ["sleep", str(1000 + number)], "log_files": []}
        process |= {"pid_file": f"{own}pid", "output_file": f"{own}out"}
        known = {"kind": "waiting", "address": address, "capabilities": ["two-addresses"]}
        settings = {**known, "files": [f"{own}*"], "process": process, **changes}
        (self.root / "variants" / variant).mkdir(parents=True)
        self._write(variant, settings)
        Path(f"{own}leases").touch()

    def _write(self, variant, settings):
        path = self.root / "variants" / variant / "server.json"
        path.write_text(json.dumps(settings), encoding="utf-8")

    def change(self, variant, **process):
        """Change the settings of a variant's process."""
        path = self.root / "variants" / variant / "server.json"
        settings = json.loads(path.read_text("utf-8"))
        settings["process"] |= process
        self._write(variant, settings)

    def do(self, *arguments):
        """Status, and the answer or the line of a failure."""
        argv = [sys.executable, self.root / "server", *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert len((done.stdout or done.stderr).splitlines()) == 1
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr.strip()


@pytest.fixture
def host(tmp_path):
    machine = Host(tmp_path)
    yield machine
    machine.do("stop")


def test_two_variants_run_at_two_addresses(host):
    host.deploy("v4-memfile")
    host.deploy("v4-memfile-at2", "198.18.0.11")
    first, second = (host.do("start", name) for name in ("v4-memfile", "v4-memfile-at2"))
    assert (first[0], second[0]) == (0, 0)
    assert first[1]["pid"] != second[1]["pid"]
    assert host.do("stop", "v4-memfile") == (0, {"was_running": True})
    os.kill(second[1]["pid"], 0)
    assert [host.do("stop") for _ in range(2)] == [
        (0, {"was_running": was}) for was in (True, False)
    ]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "at 198.18.0.10"),
        (
            {"address": "198.18.0.11", "capabilities": []},
            "and v4-other cannot run beside another (waiting, as it is configured)",
        ),
        (
            {"address": "198.18.0.11", "kind": "sleeping"},
            "and sleeping cannot run beside waiting",
        ),
    ],
)
def test_a_variant_that_cannot_run_beside_another_is_refused(host, changes, why):
    host.deploy("v4-memfile")
    host.deploy("v4-other", **changes)
    host.do("start", "v4-memfile")
    said = f"v4-memfile runs already, {why}; stop it: server stop v4-memfile"
    assert [host.do(verb, "v4-other") for verb in ("start", "count")] == [(4, said)] * 2
    host.do("stop", "v4-memfile")
    assert host.do("start", "v4-other")[0] == 0


def test_a_count_has_its_server_for_as_long_as_it_is_given_commands(host):
    """What counts is named first; a command that it lacks ends it, and its server."""
    host.deploy("v4-memfile")
    counting = [sys.executable, host.root / "server", "count", "v4-memfile"]
    for lines, status, answers in (
        ("instructions\nsettle\nbegin\nzero\ntake\n", 0, 5),
        ("system-calls\nbegin\nzero\nsettle\ntake\n", 0, 5),
        ("system-calls\nbegin\nzero\n", 0, 3),
        ("instructions\nguess\n", 1, 1),
        ("seconds\n", 1, 0),
    ):
        done = subprocess.run(
            counting, input=lines, capture_output=True, text=True, check=False
        )
        said = [json.loads(line) for line in done.stdout.splitlines()]
        assert (done.returncode, len(said)) == (status, answers), done.stderr
        assert host.do("stop") == (0, {"was_running": False})


@pytest.mark.parametrize("name", ["v6-memfile", "../variants/v4-memfile", "", "V4", "v" * 64])
def test_a_variant_that_is_not_deployed_or_a_verb_that_it_has_not_is_refused(host, name):
    host.deploy("v4-memfile")
    said = f"no such variant is deployed (found v4-memfile; wanted {name})"
    assert [host.do(verb, name) for verb in ("start", "stop")] == [(4, said)] * 2
    status, said = host.do("crash", "v4-memfile")
    assert (status, said.partition(", ")[0]) == (1, "waiting has no verb crash")


def test_one_that_cannot_be_stopped_keeps_none_running(host):
    host.deploy("a", hangs=True)
    host.deploy("b")
    host.do("start", "b")
    assert host.do("stop") == (4, "a cannot be stopped: it hangs")
    assert host.do("stop", "b") == (0, {"was_running": False})


def test_what_was_used_last_or_is_named_stays(host):
    for age, name in enumerate(["v4", "v4-b", "v4.0a1b2c3d4e", "v6", "v4-c"]):
        host.deploy(name, f"198.18.0.{age}")
        os.utime(host.root / "variants" / name, (age, age))
    host.do("start", "v4-b")
    host.do("start", "v6")
    assert host.do("prune", "1", "v4.0a1b2c3d4e") == (0, {"removed": ["v4", "v4-c", "v4-b"]})
    assert {path.name for path in host.files.iterdir()} == {
        *(f"leaselab-v6_{part}" for part in ("leases", "pid", "out")),
        "leaselab-v4.0a1b2c3d4e_leases",
    }
    assert {path.name for path in (host.root / "variants").iterdir()} == {"v6", "v4.0a1b2c3d4e"}
    assert host.do("start", "v4-b")[0] == 4
    assert host.do("stop") == (0, {"was_running": True})


def test_drops_at_another_variants_sockets_are_not_its_own(tmp_path):
    """Both have a socket of one port, at two addresses; one of them never reads."""
    with ExitStack() as stack:
        full, empty, sender = (
            stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            for _ in range(3)
        )
        full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        full.bind(("127.0.0.1", 0))
        port = full.getsockname()[1]
        empty.bind(("127.0.0.2", port))
        processes = []
        for seconds, item in (("60", full), ("61", empty)):
            argv, pid_file = ["sleep", seconds], tmp_path / seconds
            child = stack.enter_context(subprocess.Popen(argv, pass_fds=[item.fileno()]))
            stack.callback(child.kill)
            pid_file.write_text(str(child.pid), encoding="ascii")
            processes.append({"argv": argv, "pid_file": str(pid_file)})
        for _ in range(100):
            sender.sendto(bytes(1000), ("127.0.0.1", port))
        sampling = stack.enter_context(
            contract_module("contract", "leaselab_contract.sampling")
        )
        drops = until(
            lambda: [sampling.udp_drops(process, port) for process in processes],
            lambda drops: drops[0] > 50,
        )
        assert drops[1] == 0
        assert sampling.udp_drops(processes[0], None) is None


def test_a_disk_without_room_for_the_files_of_a_variant_is_full(tmp_path, monkeypatch):
    """Also where a folder of theirs is yet to be made."""
    files = [str(tmp_path / "new" / "leases*"), "/proc/none*"]
    message = rf"full \(found \d+ KiB free in {tmp_path}, "
    with contract_module("contract", "leaselab_contract.sampling") as sampling:
        sampling.refuse_full_disk(files)
        monkeypatch.setattr(sampling, "ROOM", 1 << 62)
        with pytest.raises(sampling.LabError, match=message):
            sampling.refuse_full_disk(files[:1])


# --- its brake ---------------------------------------------------------------------------

BUSY = [sys.executable, "-c", "while True: pass"]


@pytest.fixture
def busy(host):
    """A host with a variant that is always busy."""
    host.deploy("busy")
    host.change("busy", argv=BUSY)
    return host


def braking(busy):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    argv = [sys.executable, busy.root / "server", "brake", "busy"]
    return subprocess.Popen(argv, **pipes, text=True)


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_braked_server_stands_still_for_the_share_and_goes_on_afterwards(busy):
    pid = busy.do("start", "busy")[1]["pid"]
    with braking(busy) as brake:
        brake.stdin.write("0.2\n")
        brake.stdin.flush()
        assert json.loads(brake.stdout.readline()) == {"braking": True}
        states = set()
        for _ in range(800):  # one stop that took too long is then a small part
            states.add(state(pid))
            time.sleep(0.005)
        brake.stdin.close()
        document = json.loads(brake.stdout.readline())
    assert brake.returncode == 0
    assert document["stood"] == pytest.approx(0.2, abs=0.03)
    assert "T" in states
    assert state(pid) != "T"


@pytest.mark.parametrize(
    ("share", "running", "words"),
    [
        *((share, True, "no share of the time") for share in ("0", "1", "-0.1")),
        ("0.1", False, "the server is not running\n"),
    ],
)
def test_what_is_no_share_or_does_not_run_is_refused(busy, share, running, words):
    if running:
        busy.do("start", "busy")
    with braking(busy) as brake:
        _, output = brake.communicate(f"{share}\n")
    assert brake.returncode == 1
    assert words in output


# --- samples of a server that a reset restarts, and verbs that a killed engine has left ---

RESTARTED = """
from leaselab_contract import restarted


class Server(restarted.Server):
    def counted(self):
        return {}, 0
"""
SLEEP = ["sleep", "4711"]


class Restarted(Host):
    """A host with a variant that is not running, and its lock."""

    def __init__(self, folder):
        super().__init__(folder)
        (self.root / "waiting_contract/server.py").write_text(RESTARTED, encoding="utf-8")
        self.lock = self.files / "leaselab-v4_pid.lock"
        self.variant = self.root / "variants/v4"
        self.deploy("v4", files=[])
        self.change("v4", argv=SLEEP, error_words=[])
        self.children = []

    def begin(self, *argv):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.children.append(subprocess.Popen(argv, text=True, **pipes))
        return self.children[-1]

    def verb(self, name):
        return self.begin(sys.executable, self.root / "server", name, "v4")

    def serve(self):
        """Have its process run, as the launch of a reset does."""
        child = self.begin(*SLEEP)
        (self.files / "leaselab-v4_pid").write_text(str(child.pid), encoding="ascii")
        until(Path(f"/proc/{child.pid}/cmdline").read_bytes, bool)
        return child


@pytest.fixture
def restarted(tmp_path):
    made = Restarted(tmp_path)
    yield made
    for child in made.children:
        child.kill()
        child.communicate()


def waits(child, file):
    """Whether a process waits for a file's lock; as soon as it does, or has ended."""
    wanted = (str(child.pid), str(file.stat().st_ino))

    def is_waiting():
        rows = [row.split() for row in Path("/proc/locks").read_text("ascii").splitlines()]
        # "1: -> FLOCK  ADVISORY  WRITE PID MAJOR:MINOR:INODE START END"
        return any(row[1] == "->" and (row[5], row[6].split(":")[2]) == wanted for row in rows)

    return until(is_waiting, lambda waiting: waiting or child.poll() is not None)


def test_the_first_sample_waits_for_the_restart_of_a_reset(restarted):
    """It does not run then, and has not died."""
    with restarted.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sampler = restarted.verb("sample")
        assert waits(sampler, restarted.lock), sampler.communicate()
        restarted.serve()
    assert json.loads(sampler.stdout.readline())["held"] == 0


def test_a_stop_waits_for_what_a_killed_engine_has_left_and_ends_it(restarted):
    """As a start: it would go on, and later end a server that was started since."""
    left = os.open(restarted.variant, os.O_RDONLY)
    try:
        fcntl.flock(left, fcntl.LOCK_EX)
        stop = restarted.verb("stop")
        assert waits(stop, restarted.variant), stop.communicate()
        server = restarted.serve()
    finally:
        os.close(left)
    assert stop.communicate()[1] == ""
    assert server.wait() != 0
