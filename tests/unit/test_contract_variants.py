"""The server contract's program: variants side by side, of a kind of server that only waits."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.contracts import ROLES, contract_module

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
        self.root = folder / "leaselab"
        self.files = folder / "files"
        self.files.mkdir()
        shutil.copytree(ROLES / "contract/files", self.root)
        for kind in ("waiting", "sleeping"):
            folder = self.root / f"{kind}_contract"
            folder.mkdir()
            (folder / "__init__.py").touch()
            (folder / "server.py").write_text(KIND, encoding="utf-8")

    def deploy(self, variant, address="198.18.0.10", **changes):
        """Lay a variant there that has a file and a pid file of its own elsewhere."""
        own = self.files / f"leaselab-{variant}_"
        settings = {
            "kind": "waiting",
            "address": address,
            "capabilities": ["two-addresses"],
            "files": [f"{own}*"],
            "process": {
                "argv": ["sleep", str(1000 + len(list(self.root.glob("variants/*"))))],
                "pid_file": f"{own}pid",
                "output_file": f"{own}out",
                "log_files": [],
                "user": None,
                "stop_signal": "SIGTERM",
            },
            **changes,
        }
        folder = self.root / "variants" / variant
        folder.mkdir(parents=True)
        (folder / "server.json").write_text(json.dumps(settings), encoding="utf-8")
        Path(f"{own}leases").touch()

    def change(self, variant, **process):
        """Change the settings of a variant's process."""
        path = self.root / "variants" / variant / "server.json"
        settings = json.loads(path.read_text("utf-8"))
        settings["process"] |= process
        path.write_text(json.dumps(settings), encoding="utf-8")

    def do(self, *arguments):
        """Status, and the answer or the line of a failure."""
        done = subprocess.run(
            [sys.executable, self.root / "server", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
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
    assert host.do("stop") == (0, {"was_running": True})
    assert host.do("stop") == (0, {"was_running": False})


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
    for verb in ("start", "count"):
        assert host.do(verb, "v4-other") == (
            4,
            f"v4-memfile runs already, {why}; stop it: server stop v4-memfile",
        )
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
def test_a_variant_that_is_not_deployed_is_refused_in_one_line(host, name):
    host.deploy("v4-memfile")
    for verb in ("start", "stop"):
        status, words = host.do(verb, name)
        assert (status, words) == (
            4,
            f"no such variant is deployed (found v4-memfile; wanted {name})",
        )


def test_a_verb_that_a_kind_has_not_is_refused_by_name(host):
    host.deploy("v4-memfile")
    assert host.do("crash", "v4-memfile") == (
        1,
        "waiting has no verb crash, it has start, reset, sample, stop, brake, profile, count, "
        "operations, operate",
    )


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
    full, empty = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with full, empty, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        full.bind(("127.0.0.1", 0))
        port = full.getsockname()[1]
        empty.bind(("127.0.0.2", port))
        processes = []
        for name, item in (("full", full), ("empty", empty)):
            argv = ["sleep", "60" if name == "full" else "61"]
            child = subprocess.Popen(argv, pass_fds=[item.fileno()])
            (tmp_path / name).write_text(str(child.pid), encoding="ascii")
            processes.append((child, {"argv": argv, "pid_file": str(tmp_path / name)}))
        for _ in range(100):
            sender.sendto(bytes(1000), ("127.0.0.1", port))
        time.sleep(0.1)
        try:
            with contract_module("contract", "leaselab_contract.sampling") as sampling:
                drops = [sampling.udp_drops(process, port) for _, process in processes]
                assert sampling.udp_drops(processes[0][1], None) is None
        finally:
            for child, _ in processes:
                child.kill()
                child.wait()
    assert drops[0] > 50
    assert drops[1] == 0


def test_a_disk_without_room_for_the_files_of_a_variant_is_full(tmp_path, monkeypatch):
    """Also where a folder of theirs is yet to be made."""
    files = [str(tmp_path / "new" / "leases*"), "/proc/none*"]
    message = rf"full \(found \d+ KiB free in {tmp_path}, "
    with contract_module("contract", "leaselab_contract.sampling") as sampling:
        sampling.refuse_full_disk(files)
        monkeypatch.setattr(sampling, "ROOM", 1 << 62)
        with pytest.raises(sampling.LabError, match=message):
            sampling.refuse_full_disk(files[:1])
