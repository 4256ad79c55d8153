"""Role power against a Redfish service over HTTPS, an IPMI BMC and a command; all real."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import bcrypt
import pytest
import yaml
from tests.ssh.machines import AS_ROOT, machine, unpacked
from tests.waiting import HANGS_S

from leaselab.cli.main import main
from leaselab.lab.hosts import boot
from leaselab.lab.hosts.inventory import read_inventory
from leaselab.run import recovery

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
WORD = "geheim-9"
"""The password of all that asks for one."""
START_S = 60.0
# The command's host is a file; it notes its arguments, as others on this machine see them.
COMMAND = """\
import sys
from pathlib import Path
action, host, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
with (folder / "called").open("a") as called:
    called.write(f"{action} {host}\\n")
state = folder / "state"
if action == "status":
    print(f"Outlet of {host} is {state.read_text().upper()}")
elif not (folder / "stuck").exists():
    state.write_text({"cycle": "on"}.get(action, action))
"""
PLAY = """\
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
    results: []
  tasks:
    - include_tasks: one.yml
      loop: "{{ asked }}"
      loop_control: {loop_var: one}
    - copy: {content: "{{ results | to_json }}", dest: "{{ playbook_dir }}/results.json"}
"""
ONE = """\
- block:
    - include_role: {name: power}
      vars: {power_host: "{{ one[0] }}", power_action: "{{ one[1] }}"}
    - set_fact: {results: "{{ results + [[power_before, power_now]] }}"}
  rescue:
    - set_fact: {results: "{{ results + [ansible_failed_result.msg] }}"}
"""


def free_port(kind):
    with socket.socket(type=kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def secret(path, text=f"{WORD}\n", mode=0o600):
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("power")


@pytest.fixture(scope="module")
def redfish(folder):
    """What the inventory says of a Redfish service with two systems, which runs."""
    place, port = folder / "redfish", free_port(socket.SOCK_STREAM)
    place.mkdir()
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=bmc"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key", "-out", "crt"),
        ],
        cwd=place,
        check=True,
        capture_output=True,
    )
    hashed = bcrypt.hashpw(WORD.encode(), bcrypt.gensalt(4)).decode()
    (place / "htpasswd").write_text(f"lab:{hashed}\n", "utf-8")
    system = {"external_notifier": False, "nics": [], "power_state": "Off"}
    systems = [{**system, "uuid": name, "name": name} for name in ("node-1", "node-2")]
    (place / "conf").write_text(
        f"SUSHY_EMULATOR_AUTH_FILE = {str(place / 'htpasswd')!r}\n"
        f"SUSHY_EMULATOR_STATE_DIR = {str(place)!r}\n"
        f"SUSHY_EMULATOR_FAKE_SYSTEMS = {systems!r}\n",
        "utf-8",
    )
    with started(
        *(HERE / "redfish.py", "--config", place / "conf", "--fake", "-i", "127.0.0.1"),
        *("-p", port, "--ssl-certificate", place / "crt", "--ssl-key", place / "key"),
        log=place / "log",
    ):
        until(lambda: socket.create_connection(("127.0.0.1", port), 1).close(), place / "log")
        yield {
            "address": f"https://127.0.0.1:{port}",
            "user": "lab",
            "system": "node-1",
            "ca_file": str(place / "crt"),
            "password_file": secret(place / "password"),
        }


@pytest.fixture(scope="module")
def ipmi(folder):
    """What the inventory says of a BMC, which runs."""
    place, port = folder / "ipmi", free_port(socket.SOCK_DGRAM)
    place.mkdir()
    (place / "state").write_text("on", "ascii")
    password = secret(place / "password")
    with started(HERE / "bmc.py", port, place / "state", "lab", password, log=place / "log"):
        yield {"address": "127.0.0.1", "port": port, "user": "lab", "password_file": password}


@contextlib.contextmanager
def started(*words, log):
    """Run a program of Python's until it is left."""
    with log.open("wb") as output:
        argv = [sys.executable, *map(str, words)]
        process = subprocess.Popen(argv, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.terminate()
        process.wait(HANGS_S)


def until(attempt, log):
    deadline = time.monotonic() + START_S
    while True:
        try:
            return attempt()
        except OSError:
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.1)


@pytest.fixture(scope="module")
def command(folder):
    place = folder / "command"
    place.mkdir()
    (place / "switch.py").write_text(COMMAND, "utf-8")
    (place / "state").write_text("off", "utf-8")
    program = [sys.executable, str(place / "switch.py")]
    return {"command": [*program, "{action}", "{host}", str(place)]}


@pytest.fixture(scope="module")
def played(folder, redfish, ipmi, command):
    """One play of all that is asked: what each came to, and all that was printed."""
    away = {**ipmi, "port": free_port(socket.SOCK_DGRAM)}
    wrong = secret(folder / "wrong", "geraten\n")
    readable = secret(folder / "readable", mode=0o644)
    stuck = folder / "stuck"
    stuck.mkdir()
    (stuck / "state").write_text("on", "utf-8")
    (stuck / "stuck").touch()
    ways = {
        "redfish": {"redfish": redfish},
        "ipmi": {"ipmi": ipmi},
        "command": command,
        "stranger": {"redfish": {key: redfish[key] for key in redfish if key != "ca_file"}},
        "guesser": {"redfish": {**redfish, "password_file": wrong}},
        "ipmi-guesser": {"ipmi": {**ipmi, "password_file": wrong}},
        "careless": {"ipmi": {**ipmi, "password_file": readable}},
        "away": {"ipmi": away},
        "stuck": {"command": [*command["command"][:-1], str(stuck)]},
    }
    quick = {"power_poll_s": 1, "power_off_s": 1}
    hosts = {name: {"leaselab_power": way, **quick} for name, way in ways.items()}
    hosts["stuck"]["power_settle_s"] = 1
    hosts["away"]["power_timeout_s"] = 2
    asked = [
        *(("redfish", verb) for verb in ("cycle", "off")),
        *(("ipmi", verb) for verb in ("cycle", "off")),
        *(("command", verb) for verb in ("cycle", "cycle")),
        *((name, "status") for name in list(ways)[3:-1]),
        ("stuck", "off"),
    ]
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}), "utf-8")
    (folder / "play.yml").write_text(PLAY, "utf-8")
    (folder / "one.yml").write_text(ONE, "utf-8")
    argv = [
        *(Path(sys.executable).with_name("ansible-playbook"), "-vvv"),
        *("-i", folder / "hosts.yml", folder / "play.yml"),
        *("-e", json.dumps({"asked": asked})),
    ]
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "LC_ALL": "C.UTF-8",
    }
    log = folder / "log"
    with log.open("wb") as output:
        done = subprocess.run(
            argv, stdout=output, stderr=output, env=environment, check=False, timeout=HANGS_S
        )
    printed = log.read_text("utf-8")
    assert done.returncode == 0, printed[-3000:]
    document = json.loads((folder / "results.json").read_text("utf-8"))
    results = {}
    for (host, _), item in zip(asked, document, strict=True):
        results.setdefault(host, []).append(item)
    return results, printed


def test_redfish_cycles_a_host_that_is_off_by_switching_it_on(played):
    assert played[0]["redfish"] == [["off", "on"], ["on", "off"]]


def test_a_host_that_is_on_is_off_in_between(played, ipmi):
    assert played[0]["ipmi"] == [["on", "on"], ["on", "off"]]
    states = (Path(ipmi["password_file"]).parent / "log").read_text("utf-8").split()
    assert states == ["off", "on", "off"]


def test_a_command_is_handed_action_and_host(played, folder):
    assert played[0]["command"] == [["off", "on"], ["on", "on"]]
    called = (folder / "command" / "called").read_text("utf-8").splitlines()
    done = [line for line in called if not line.startswith("status ")]
    assert done == ["on command", "cycle command"]


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("stranger", ["CERTIFICATE_VERIFY_FAILED"]),
        ("guesser", ["HTTP Error 401"]),
        ("ipmi-guesser", ["Incorrect password provided"]),
        ("careless", ["others can read the password file", "found mode 0644", "chmod 600"]),
        ("away", ["Timed out after 2 second"]),
        ("stuck", ["its power is not off", "Found: 'Outlet of stuck is ON'"]),
    ],
)
def test_what_is_wrong_is_reported_with_the_host(played, host, words):
    (reported,) = played[0][host]
    assert host in reported
    for word in words:
        assert word in reported


def test_no_password_is_in_what_a_play_prints_however_much_it_says(played):
    results, printed = played
    assert "power : Query the BMC" in printed
    assert not any(word in printed for word in (WORD, "geraten"))
    assert not any(word in json.dumps(results) for word in (WORD, "geraten"))


class TestHost:
    """A host whose power is an sshd of Debian's: on and off, it is there and is not."""

    @pytest.fixture
    def bench(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LEASELAB_ROOT", str(ROOT))
        monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path / "results"))
        monkeypatch.setattr(boot, "SECOND_LOOK_S", 0.1)
        with machine("sut", tmp_path) as sut, machine("gen", tmp_path) as gen:
            sut.process.terminate()  # no power yet
            sut.process.wait(HANGS_S)
            hosts = {"sut": sut.access, "gen": gen.access}
            sshd = ["chroot", str(unpacked()), "/usr/sbin/sshd", "-D", "-f"]
            settings = f"/etc/ssh/sut-{sut.access.port}/sshd_config"
            switch = tmp_path / "switch.sh"
            switch.write_text(
                f"""\
cd {tmp_path}
on() {{ setsid {" ".join([*AS_ROOT, *sshd, settings])} >sshd.log 2>&1 & echo $! >pid; }}
off() {{ test ! -e pid || {" ".join(AS_ROOT)} kill $(cat pid); rm -f pid; }}
case $1 in
  on) on ;;
  off) off ;;
  cycle) off; sleep 0.5; on ;;
  status) test -e pid && echo on || echo off ;;
esac
""",
                "utf-8",
            )
            variables = {
                name: {
                    "ansible_host": access.address,
                    "ansible_port": access.port,
                    "ansible_user": access.user,
                    "ansible_ssh_private_key_file": access.key_file,
                    "ansible_ssh_common_args": "-o UserKnownHostsFile="
                    + access.known_hosts_file,
                    "leaselab_bench": "rack1",
                }
                for name, access in hosts.items()
            }
            variables["sut"]["leaselab_power"] = {"command": ["sh", str(switch), "{action}"]}
            variables["sut"]["leaselab_power_boot_s"] = 60
            parts = {"dhcp_server": "sut", "dhcp_generator": "gen"}
            children = {
                part: {"hosts": {name: variables[name]}} for part, name in parts.items()
            }
            path = tmp_path / "hosts.yml"
            path.write_text(yaml.safe_dump({"bench": {"children": children}}), "utf-8")
            yield path
            subprocess.run(["sh", switch, "off"], check=True)

    def test_it_is_switched_on_waited_for_and_recovered(self, bench, capsys):
        """Here the generator's host has no program for a lock: nobody can have the bench."""
        inventory = read_inventory(bench)
        (sut, _) = inventory.hosts
        assert boot.silent(inventory.hosts) == [sut]
        assert main(["lab", "power", "on", "sut", "-i", str(bench)]) == 0
        out = capsys.readouterr().out
        assert out.startswith("sut: on, was off; it answers by SSH, ")
        assert boot.silent(inventory.hosts) == []
        subprocess.run(["sh", bench.parent / "switch.sh", "off"], check=True)
        assert boot.silent(inventory.hosts) == [sut]
        recovery.recover_alone(inventory)
        said = capsys.readouterr().err
        assert "sut does not answer: its power is cycled" in said
        assert "sut answers again, " in said
        assert boot.silent(inventory.hosts) == []
        recovery.recover_alone(inventory)
        assert capsys.readouterr().err == ""
