"""What contracts on a host are made of: real processes, verbs, failures."""

import json
import os
import pwd
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.contracts import ROLES, contract_fixture, contract_module
from tests.waiting import until

PROGRAM = """
import sys
sys.path.insert(0, {library!r})
from leaselab_contract import verbs
from leaselab_contract.errors import LabError, ContractError

def good(settings):
    return {{"settings": settings}}

def bad(settings):
    raise ContractError("it\\nis broken")

def beneath(settings):
    raise LabError("the disk is full")

def missing(settings):
    return settings["nothing"]

verbs.serve(__file__, {{verb.__name__: verb for verb in (good, bad, beneath, missing)}})
"""


process = contract_fixture("contract", "leaselab_contract.process")


@pytest.fixture
def make(process, tmp_path):
    """Describe a process of some lines of shell; it is ended at the end."""
    made = []

    def describe(script, **fields):
        entry = {
            "argv": ["/bin/sh", "-c", script],
            "pid_file": str(tmp_path / "pid"),
            "output_file": str(tmp_path / "out"),
            "log_files": [str(tmp_path / "log")],
            "error_words": [" FATAL ", " ERROR "],
            "noise_words": ["Aborting"],
            **fields,
        }
        made.append(entry)
        return entry

    yield describe
    for item in made:
        process.end(item, 1.0)


def never():
    raise OSError("not yet")


def test_a_process_is_known_again_by_its_arguments_until_it_ends(process, make, tmp_path):
    """The folder of its pid file, which a reboot has removed, is made again."""
    daemon = make("sleep 60; true", pid_file=str(tmp_path / "run" / "kea" / "pid"))
    assert process.running_pid(daemon) is None
    child = process.launch(daemon)
    assert until(lambda: process.running_pid(daemon), bool) == child.pid
    assert (tmp_path / "run" / "kea").stat().st_mode & 0o777 == 0o750
    assert process.running_pid({**daemon, "argv": ["/bin/sh", "-c", "another"]}) is None
    assert process.end(daemon)
    assert process.running_pid(daemon) is None
    assert not process.end(daemon)


def test_the_cpu_time_of_a_process_is_that_of_all_below_it(process, make):
    """PostgreSQL's way: one of a session of its own, whose parent only waits."""
    daemon = make("setsid sh -c 'while :; do :; done' & wait")
    child = process.launch(daemon)
    until(lambda: process.tree_cpu_s(child.pid), lambda spent_s: spent_s > 0.2)
    subprocess.run(["pkill", "-KILL", "-P", str(child.pid)], check=True)
    assert child.wait(60.0) == 0


def written(daemon):
    """Wait until it has written something."""
    until(Path(daemon["output_file"]).stat, lambda stat: stat.st_size)


def test_one_that_does_not_obey_is_ended_by_force(process, make):
    daemon = make("trap '' TERM; echo deaf; while :; do sleep 0.1; done")
    child = process.launch(daemon)
    written(daemon)
    began = time.monotonic()
    assert process.end(daemon, 0.3)
    assert time.monotonic() - began >= 0.3, "it obeyed"
    assert not process.alive(child.pid)


def test_one_that_is_never_ready_is_ended_and_says_so(process, make):
    daemon = make("echo starting; sleep 60; true")
    child = process.launch(daemon)
    written(daemon)
    with pytest.raises(Exception, match="no answer within 0 s: not yet; last words: starting"):
        process.wait_until(never, child, daemon, 0.3)
    assert process.running_pid(daemon) is None


@pytest.mark.parametrize(
    ("arguments", "status", "output", "line"),
    [
        (["good"], 0, {"settings": {"family": 4}}, ""),
        (["bad"], 1, None, "it is broken\n"),
        (["beneath"], 4, None, "the disk is full\n"),
        (["missing"], 1, None, "'nothing'\n"),
        *((no, 1, None, "usage: server good|bad|beneath|missing\n") for no in (["nosuch"], [])),
    ],
)
def test_a_verb_prints_one_object_or_a_line_that_says_whose_the_fault_is(
    tmp_path, arguments, status, output, line
):
    path = tmp_path / "server"
    path.write_text(PROGRAM.format(library=str(ROLES / "contract/files")))
    (tmp_path / "server.json").write_text('{"family": 4}')
    argv = [sys.executable, path, *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, line)
    assert json.loads(done.stdout or "null") == output


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("a\n1 ERROR b\n2 ERROR c\nd", "2 ERROR c"),
        ("1 FATAL a\n2 ERROR b", "1 FATAL a"),
        ("1 ERROR a\n2 ERROR Aborting", "1 ERROR a"),
        ("a\nb\n", "b"),
        ("", "it wrote no log"),
    ],
)
def test_the_reason_is_the_last_of_the_worst_errors_that_say_something(
    process, make, log, reason
):
    daemon = make("true")
    Path(daemon["log_files"][0]).write_text(log, encoding="utf-8")
    assert process.last_reason(daemon) == reason


def test_a_folder_of_another_user_is_its_own_again_at_each_start(process, make, tmp_path):
    """As tmpfiles.d gives /etc/kea to the user of the packaged unit at each boot."""
    folder = tmp_path / "run" / "kea"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    me = pwd.getpwuid(os.getuid()).pw_name
    process.launch(make("true", folders={str(folder): {"user": me, "mode": "0750"}})).wait(60.0)
    assert folder.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    "fields",
    [
        {"output_file": "/proc/leaselab/out"},
        {"argv": ["/nowhere/kea-dhcp4"]},
        {"user": "nobody-has-this-name"},
        {"folders": {"/proc/leaselab": {"user": None, "mode": "0755"}}},
        {"pid_file": "/proc/self/kea.pid"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_the_host_lacks_is_not_the_servers_fault_and_leaves_nothing_running(
    process, make, tmp_path, fields
):
    script = f"sleep 60; echo {tmp_path}"
    with pytest.raises(Exception, match="cannot be started on this host") as caught:
        process.launch(make(script, **fields))
    assert caught.value.status == 4
    assert subprocess.run(["pgrep", "-f", script], check=False).returncode == 1


DENIED = (
    'AVC apparmor="DENIED" operation="open" class="file" profile="kea-dhcp4" '
    'name="/run/kea/logger_lockfile" pid={} comm="kea-dhcp4" requested_mask="wrc" '
    'denied_mask="wrc" fsuid=0 ouid=0\n'
)
OPEN = "open of /run/kea/logger_lockfile (wrc) by profile kea-dhcp4"
CAPABLE = (
    'type=AVC msg=audit(1.2:4): apparmor="DENIED" operation="capable" profile="kea-dhcp4" '
    'pid={} comm="kea-dhcp4" capability=2  capname="dac_read_search"\n'
)


@pytest.fixture
def confined(process, make, tmp_path, monkeypatch):
    """Start a confined process; return how it fails with lines in a log."""
    with contract_module("contract", "leaselab_contract.confinement") as confinement:
        journal, audit, label = (tmp_path / name for name in ("journal", "audit.log", "label"))
        label.write_text("kea-dhcp4 (enforce)\n")
        for log in (journal, audit):
            log.write_text(DENIED.format(1))
        program = tmp_path / "journalctl"
        program.write_text(f"#!/bin/sh\ncat {journal}\n")
        program.chmod(0o755)
        monkeypatch.setattr(confinement, "LABEL", str(label))
        monkeypatch.setattr(confinement, "JOURNAL", (str(program),))
        real = process.Denials
        monkeypatch.setattr(process, "Denials", lambda: real(audit))

        def failure(log, record, words="it failed", other=0):
            go = tmp_path / "go"
            daemon = make(f"until [ -e {go} ]; do sleep 0.05; done; echo {words}; exit 1")
            child = process.launch(daemon)
            with (tmp_path / log).open("a", encoding="utf-8") as file:
                file.write(record.format(child.pid + other))
            go.touch()
            with pytest.raises(Exception, match=words) as caught:
                process.wait_until(never, child, daemon, 60.0)
            return caught.value

        yield failure


@pytest.mark.parametrize(
    ("log", "record", "how", "said"),
    [
        ("journal", DENIED, {}, OPEN),
        ("audit.log", CAPABLE, {}, "capable of dac_read_search by profile kea-dhcp4"),
        (
            *("journal", "", {"words": "lock file: Permission denied"}),
            "what it names, by profile kea-dhcp4",
        ),
        ("journal", DENIED, {"other": 1}, ""),
    ],
    ids=["journal", "audit", "no log reports", "of before or of another process"],
)
def test_what_apparmor_denies_is_not_the_servers_fault(confined, log, record, how, said):
    error, words = confined(log, record, **how), how.get("words", "it failed")
    if said:
        assert error.status == 4
        assert str(error).startswith(f"AppArmor denies it {said}; deploy again")
        assert str(error).endswith(f"; {words}")
    else:
        assert (error.status, str(error)) == (1, words)


def test_a_process_that_a_shutdown_ends_is_not_to_blame(process, make, tmp_path, monkeypatch):
    (tmp_path / "systemctl").write_text("#!/bin/sh\necho stopping\nexit 1\n")
    (tmp_path / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    daemon = make("exit 1")
    with pytest.raises(Exception, match="the host shuts down") as caught:
        process.wait_until(never, process.launch(daemon), daemon, 60.0)
    assert caught.value.status == 4


def test_a_process_lives_as_long_as_one_of_its_threads(process):
    """As a server does whose first thread has ended while another waits for the disk."""
    script = (
        "import ctypes, os, threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(1.5), os._exit(0))).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script])
    states = set()
    while process.alive(child.pid):
        states.add(process.stat_fields(child.pid)[0])
        time.sleep(0.01)
    assert "Z" in states
    assert process.stat_fields(child.pid)[0] == "Z"
    assert child.wait() == 0
