"""VM lab: the same commands on machines with systemd, AppArmor and reboots."""

import json
import subprocess
import sys
import time

import pytest
from tests.lab.commands import ENVIRONMENT, ROOT, leaselab
from tests.sources import SourceLists, repository_of
from tests.waiting import HANGS_S

from leaselab.lab.hosts.inventory import GENERATOR_GROUP, SERVER_GROUP, read_inventory
from leaselab.lab.hosts.transport import connect
from leaselab.model.errors import LeaselabError

INVENTORY = ROOT / "inventory" / "vm"
POWER = ROOT / "roles" / "guest_lab" / "files" / "guest_lab"
SMALL = (
    *("--procedure", "fixed-load", "--set", "rate=10", "--set", "duration_s=5"),
    *("--set", "rounds=1", "--set", "late_s=2", "--set", "wait_s=4"),
)
"""That a server serves is shown by a load that the slowest of these machines carries."""
SLOW_S = 4 * HANGS_S
"""User-mode Linux builds many times slower than this machine (s)."""
pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def machines():
    """The lab, up; down again at the end."""
    done = leaselab("lab", "up", "-i", INVENTORY, timeout_s=SLOW_S)
    assert done.returncode == 0, done.stderr
    yield read_inventory(INVENTORY)
    done = leaselab("lab", "down", "-i", INVENTORY, "--force")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def server(machines):
    """How the server's host is reached."""
    return machines.only(SERVER_GROUP).access


@pytest.fixture
def measured(machines, tmp_path):
    """Measure a scenario; return its result."""

    def measure(scenario, *options):
        words = ("run", scenario, "-i", machines.path, "--results", tmp_path / "results")
        done = leaselab(*words, *SMALL, *options, "--json", timeout_s=SLOW_S)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return measure


def switch(access, action):
    """Use a machine's power switch."""
    cut = subprocess.run(
        [POWER, "vm", "power", action, access.name], capture_output=True, text=True, check=True
    )
    assert json.loads(cut.stdout) == {"power": "on"}


def output_of(access, *argv):
    """What a command says on a host, once that answers."""
    deadline = time.monotonic() + HANGS_S
    while True:
        try:
            with connect(access) as host:
                return host.run(list(argv), timeout_s=HANGS_S).stdout.decode().strip()
        except LeaselabError:
            assert time.monotonic() < deadline, access.name
            time.sleep(0.5)


def boot_of(access):
    return output_of(access, "cat", "/proc/sys/kernel/random/boot_id")


def test_a_lab_that_is_up_is_left_as_it_is(machines):
    done = leaselab("lab", "up", "-i", INVENTORY, "--json")
    assert json.loads(done.stdout)["changed"] == 0, done.stderr
    status = json.loads(leaselab("lab", "status", "-i", INVENTORY, "--json").stdout)
    assert status["up"]
    assert len(status["hosts"]) == len(machines.hosts)


def test_a_machine_that_loses_power_boots_with_what_was_on_its_disk(server):
    output_of(server, "sh", "-c", "echo kept > /var/lib/kept; sync")
    before = boot_of(server)
    switch(server, "cycle")
    assert output_of(server, "cat", "/var/lib/kept") == "kept"
    assert boot_of(server) != before


def test_a_host_that_is_off_is_recovered_before_a_sweep(machines, server, tmp_path):
    """By `check` as well, where it is asked for; not in a sweep."""
    off = leaselab("lab", "power", "off", server.name, "-i", INVENTORY)
    assert (off.returncode, off.stdout) == (0, f"{server.name}: off, was on\n"), off.stderr
    checked = leaselab("lab", "check", "-i", INVENTORY, timeout_s=SLOW_S)
    assert checked.returncode == 4
    assert "its power is cycled" not in checked.stderr
    sweep = ("run", "v4-dnsmasq", "-i", INVENTORY, "--results", tmp_path, *SMALL)
    done = leaselab(*sweep, timeout_s=SLOW_S)
    assert done.returncode == 0, done.stderr
    assert f"{server.name} does not answer: its power is cycled" in done.stderr
    assert f"{server.name} answers again, " in done.stderr
    generator = machines.only(GENERATOR_GROUP).access
    before = boot_of(generator)
    cycled = leaselab("lab", "power", "cycle", generator.name, "-i", INVENTORY, "--json")
    assert cycled.returncode == 0, cycled.stderr
    assert json.loads(cycled.stdout)["answered_after_s"] > 0
    assert boot_of(generator) != before


def test_a_packaged_server_is_measured_and_a_reboot_is_gone_on_after(server, tmp_path):
    results = tmp_path / "results"
    sweep = ("run", "v4-dnsmasq", "-i", INVENTORY, "--results", results, *SMALL)
    done = leaselab(*sweep, "--json", timeout_s=SLOW_S)
    assert done.returncode == 0, done.stderr
    engine = subprocess.Popen(
        [sys.executable, "-m", "leaselab", *map(str, sweep), "--set", "rounds=2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=ENVIRONMENT,
    )
    for line in engine.stdout:
        if "run 2/2: starting" in line:
            break
    before = boot_of(server)
    output_of(server, "systemctl", "--no-block", "reboot")
    rest = engine.communicate(timeout=HANGS_S)[0]
    assert engine.returncode == 4, rest
    while boot_of(server) == before:
        time.sleep(0.5)
    resumed = leaselab("resume", "--results", results, timeout_s=SLOW_S)
    assert resumed.returncode == 0, resumed.stderr


def test_a_confined_kea_is_deployed_and_measured(server, measured):
    """Debian's profile allows the names of its own units alone."""
    seen = measured("v4-memfile")["servers"]["server"]
    assert seen["package"].startswith("kea-dhcp4-server 2.")
    assert seen["confinement"] == "kea-dhcp4 (enforce)"
    profiles = output_of(server, "sudo", "cat", "/sys/kernel/security/apparmor/profiles")
    assert "kea-dhcp4 (enforce)" in profiles


VERBS = ("start", "operate", "stop")


def package(result):
    return result["servers"]["server"]["package"]


@pytest.mark.parametrize("scenario", ["v4-mysql", "v4-postgresql"])
def test_a_database_serves_before_and_after_a_power_cut(server, measured, scenario):
    assert package(measured(scenario)).startswith("kea-dhcp4-server 2.")
    switch(server, "cycle")
    assert output_of(server, "true") == ""
    assert package(measured(scenario)).startswith("kea-dhcp4-server 2.")


def test_a_link_loses_and_delays_packets(server, measured):
    """A kernel without netem, such as that of a small host of containers, cannot delay."""
    measured("v4-dnsmasq")
    verbs = {name: f"sudo /opt/leaselab/server {name} v4-dnsmasq" for name in VERBS}
    asked = f"{verbs['start']}; printf 'link-loss\\nlink-delay\\n' | {verbs['operate']}"
    said = output_of(server, "sh", "-c", f"{asked}; {verbs['stop']}").splitlines()
    done = [json.loads(line) for line in said[2:-1]]
    assert [(line["name"], line["why"]) for line in done] == [
        ("link-loss", ""),
        ("link-delay", ""),
    ]


def test_a_pair_is_measured(measured):
    assert measured("v4-memfile-hs")["outcome"] == "ok"


def test_a_commit_is_built_and_measured(measured, tmp_path):
    suites = ["trixie"]
    lists = SourceLists(tmp_path / "lists", suites)
    source = tmp_path / "dnsmasq"
    (version,) = repository_of("dnsmasq", suites, source, lists)
    built = measured("v4-dnsmasq", "--repo", source, "--commit", "main")
    assert built["servers"]["server"]["version"] == version
