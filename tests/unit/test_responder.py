"""The server contract of the responder, with the real program on addresses of this machine."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from tests.load_programs import load_programs
from tests.plays import ended
from tests.role_modules import ROLES, load
from tests.waiting import until

from leaselab.catalog.family import load_families
from leaselab.catalog.roles import options_of

ROOT = Path(__file__).parents[2]
NET = f"127.{64 + os.getpid() % 64}.{os.getpid() // 64 % 250}"
SERVER, RELAY = f"{NET}.1", f"{NET}.2"
"""Of this process: tests run side by side."""
PORTS = {"dhcp4": 67, "dhcp6": 547, "dns": 53}
DEFAULTS = {
    name: option["default"] for name, option in options_of("responder", "scenario").items()
}
FAMILIES = load_families(ROOT / "scenarios")
FAMILY = FAMILIES["responder"].scenarios | FAMILIES["responder-transport"].scenarios
arguments = load("responder", "responder").responder_arguments


class Contract:
    """The contract in a folder, with one variant."""

    def __init__(self, folder, protocol, **options):
        for part in ("responder/files/responder_contract", "contract/files/leaselab_contract"):
            shutil.copytree(ROLES / part, folder / Path(part).name)
        shutil.copy(ROLES / "contract/files/server", folder / "server")
        (folder / "server").chmod(0o755)
        self.program, self.counts = folder / "server", folder / "run" / "at.1_counts.json"
        transport = options.pop("transport", "udp")
        asked = arguments({**DEFAULTS, **options}, protocol, SERVER, "lo", transport)
        self.arguments = [*asked, "--counts", str(self.counts)]
        self.settings = {
            "kind": "responder",
            "variant": "at.1",
            "address": SERVER,
            "capabilities": ["two-addresses"],
            "build": None,
            "files": [str(folder / "run" / "*")],
            "holds": "" if protocol == "dns" else "leases",
            "process": {
                "argv": [str(load_programs() / "leaserespond"), *self.arguments],
                "pid_file": str(folder / "run" / "pid"),
                "output_file": str(folder / "run" / "out"),
                "error_words": ["leaserespond: "],
            },
            "counts_file": str(self.counts),
            "interface": "lo",
            "udp_port": PORTS[protocol],
            "version": "0.1.0",
        }
        (folder / "variants" / "at.1").mkdir(parents=True)
        self.write()

    def write(self):
        """Write its settings."""
        settings = self.program.parent / "variants/at.1/server.json"
        settings.write_text(json.dumps(self.settings))

    def __call__(self, verb):
        return json.loads(ended([self.program, verb, "at.1"]).stdout.splitlines()[-1])


@pytest.fixture
def contract(tmp_path):
    """A function that installs the contract of a responder; it is stopped afterwards."""
    made = []

    def install(protocol, **options):
        made.append(Contract(tmp_path, protocol, **options))
        return made[-1]

    yield install
    for item in made:
        item("stop")


def offered(*load, late_s=5):
    """What leaseload reports of a load."""
    waits = ("--late", str(late_s), "--grace", "0")
    argv = [load_programs() / "leaseload", *load, "--server", SERVER, *waits]
    return json.loads(ended(argv).stdout)


def of_clients(count, **limits):
    where = ("dhcp4", "--interface", "lo", "--relay", RELAY)
    return offered(*where, "--rate", str(count), "--seconds", "1", **limits)["counts"]


def settled(contract, name, value):
    """A sample in which a counter has come to this: counts are a quarter of a second old."""
    return until(lambda: contract("sample"), lambda taken: taken["counters"][name] == value)


def test_it_serves_counts_and_forgets(contract):
    responder = contract("dhcp4")
    started = responder("start")
    assert started["version"] == "0.1.0"
    assert Path(started["program"]).name == "leaserespond"
    assert of_clients(200)["completed"] == 200
    taken = settled(responder, "answered", 400)
    assert (taken["held"], taken["refused"], taken["udp_drops"]) == (200, None, 0)
    assert responder("reset") == {"held": 0, "was": 200}
    assert responder("reset") == {"held": 0, "was": 0}
    assert responder("sample")["held"] == 0
    assert of_clients(100)["completed"] == 100
    assert responder("stop") == {"was_running": True}


def test_what_it_runs_with_is_its_command_line_whatever_its_seed(contract, tmp_path):
    responder = contract("dhcp4", capacity=2000.0, drop_first=0.5)
    file = tmp_path / "arguments"
    file.write_text("\n".join(responder.arguments) + "\n")
    hashes, lost = set(), set()
    for _ in range(3):
        hashes.add(responder("start")["config_sha256"])
        lost.add(of_clients(400, late_s=0.3)["lost"])
    assert hashes == {hashlib.sha256(file.read_bytes()).hexdigest()}
    assert len(lost) > 1  # three equal numbers of 400 by chance: one in 2000


def test_names_have_no_leases(contract, tmp_path):
    responder = contract("dns", refuse=1.0)
    responder("start")
    queries = tmp_path / "queries"
    queries.write_text("www.example. A\n")
    report = offered("dns", "--queries", str(queries), "--rate", "50", "--seconds", "1")
    assert report["refused"] == {"REFUSED": 50}
    assert responder("reset") == {"held": None, "was": None}
    assert settled(responder, "received", 50)["held"] is None


def test_it_listens_to_the_group_of_dhcpv6_servers(contract):
    responder = contract("dhcp6")
    responder("start")
    index = Path("/sys/class/net/lo/ifindex").read_text().strip()
    rows = [row.split() for row in Path("/proc/net/igmp6").read_text().splitlines()]
    assert [index, "lo", "ff020000000000000000000000010002"] in [row[:3] for row in rows]
    assert responder("reset") == {"held": 0, "was": 0}


def test_a_reset_drops_what_waits(contract):
    """A server that was overloaded is as quick as before: nothing of that is left."""
    responder = contract("dhcp4", capacity=20.0, queue=1000)
    responder("start")
    assert of_clients(500, late_s=0.3)["completed"] < 20
    responder("reset")
    assert of_clients(1)["completed"] == 1


def test_one_that_does_not_start_says_why(contract):
    responder = contract("dhcp4")
    argv = responder.settings["process"]["argv"]
    argv[argv.index("--listen") + 1] = "198.18.255.255"
    responder.write()
    said = ended([responder.program, "start", "at.1"], 1).stderr
    assert "leaserespond: 198.18.255.255:67: Cannot assign requested address" in said


@pytest.mark.parametrize("name", FAMILY)
def test_every_scenario_has_a_command_line_that_the_program_takes(name):
    """An interface that is not there is all that is wrong with it."""
    scenario = FAMILY[name]
    protocol = "dns" if "queries" in scenario.load else f"dhcp{scenario.load['family']}"
    where = ("198.18.255.255", "nosuch0")
    asked = arguments(scenario.server.options, protocol, *where, scenario.transport)
    done = ended([load_programs() / "leaserespond", *asked], 1)  # 2 if it does not take it
    assert "No such device" in done.stderr


def test_options_are_written_as_the_program_has_them():
    stall = {"stall_ms": 20.0, "stall_every_ms": 200.0, "delay_most_ms": 0.5}
    warm_up = {"warm_up_factor": 3.0, "warm_up_ms": 1500.0}
    load = {"capacity": 2000.0, "overload": "collapses", "drop_first": 0.004}
    options = DEFAULTS | stall | warm_up | load
    assert arguments(options, "dhcp6", "198.18.0.10", "eth1") == [
        *("dhcp6", "--interface", "eth1", "--queue", "256", "--capacity", "2000"),
        *("--overload", "collapses", "--drop-first", "0.004", "--delay", "0-0.5"),
        *("--stall", "20@200", "--warm-up", "3@1500"),
    ]
    plain = ["dns", "--listen", "198.18.0.10", "--interface", "eth1", "--queue", "256"]
    assert arguments(DEFAULTS, "dns", "198.18.0.10", "eth1") == plain
