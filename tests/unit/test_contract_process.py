"""What contracts on a host are made of: real processes, verbs, failures."""

import json
import os
import pwd
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.contracts import contract_module

LIBRARY = Path(__file__).parents[2] / "roles" / "contract" / "files"
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


@pytest.fixture(scope="module")
def process():
    """The module that handles processes, found where the contracts find it."""
    sys.path.insert(0, str(LIBRARY))
    from leaselab_contract import process  # noqa: PLC0415  # installed beside the contracts

    yield process
    sys.path.remove(str(LIBRARY))


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
            "user": None,
            "stop_signal": "SIGTERM",
            **fields,
        }
        made.append(entry)
        return entry

    yield describe
    for item in made:
        process.end(item, 1.0)


def test_a_process_is_known_again_by_its_arguments_until_it_ends(process, make):
    daemon = make("sleep 60; true")
    assert process.running_pid(daemon) is None
    child = process.launch(daemon)
    known = process.wait_until(
        lambda: int(process.running_pid(daemon) or "no"), child, daemon, 60.0
    )
    assert known == child.pid
    assert process.running_pid({**daemon, "argv": ["/bin/sh", "-c", "another"]}) is None
    assert process.end(daemon)
    assert process.running_pid(daemon) is None
    assert not process.end(daemon)


def test_the_cpu_time_of_a_process_is_that_of_all_below_it(process, make):
    """PostgreSQL's way: one of a session of its own, whose parent only waits."""
    daemon = make("setsid sh -c 'while :; do :; done' & wait")
    child = process.launch(daemon)
    process.wait_until(
        lambda: int(process.tree_cpu_s(child.pid) > 0.2 or "no"), child, daemon, 60.0
    )
    assert process.tree_cpu_s(child.pid) > 0.2
    subprocess.run(["pkill", "-KILL", "-P", str(child.pid)], check=True)
    assert child.wait(60.0) == 0


def written(process, daemon, child):
    """Wait until it has written something."""
    process.wait_until(
        lambda: int(Path(daemon["output_file"]).stat().st_size or "no"), child, daemon, 60.0
    )


def test_one_that_does_not_obey_is_ended_by_force(process, make):
    daemon = make("trap '' TERM; echo deaf; while :; do sleep 0.1; done")
    child = process.launch(daemon)
    written(process, daemon, child)
    began = time.monotonic()
    assert process.end(daemon, 0.3)
    assert time.monotonic() - began >= 0.3, "it obeyed"
    assert not process.alive(child.pid)


def test_one_that_ends_before_it_is_ready_gives_its_last_error(process, make, tmp_path):
    daemon = make("sleep 0.2; exit 1")
    child = process.launch(daemon)
    (tmp_path / "log").write_text("1 ERROR no disk\n2 INFO goodbye\n")

    def never():
        raise OSError("not yet")

    with pytest.raises(Exception, match=r"^1 ERROR no disk$"):
        process.wait_until(never, child, daemon, 60.0)


def test_one_that_is_never_ready_is_ended_and_says_so(process, make):
    daemon = make("echo starting; sleep 60; true")
    child = process.launch(daemon)
    written(process, daemon, child)

    def never():
        raise OSError("not yet")

    with pytest.raises(Exception, match="no answer within 0 s: not yet; last words: starting"):
        process.wait_until(never, child, daemon, 0.3)
    assert process.running_pid(daemon) is None


def run(tmp_path, *arguments):
    path = tmp_path / "server"
    path.write_text(PROGRAM.format(library=str(LIBRARY)))
    (tmp_path / "server.json").write_text('{"family": 4}')
    return subprocess.run(
        [sys.executable, path, *arguments], capture_output=True, text=True, check=False
    )


def test_a_verb_prints_one_object_and_reads_its_settings(tmp_path):
    done = run(tmp_path, "good")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"settings": {"family": 4}}


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["bad"], 1, "it is broken"),
        (["beneath"], 4, "the disk is full"),
        (["missing"], 1, "'nothing'"),
        (["nosuch"], 1, "usage: server good|bad|beneath|missing"),
        ([], 1, "usage: server good|bad|beneath|missing"),
    ],
)
def test_a_failure_is_one_line_and_says_whose_it_is(tmp_path, arguments, status, line):
    done = run(tmp_path, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"{line}\n")


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


def test_a_folder_that_a_reboot_removed_is_made_again(process, make, tmp_path):
    daemon = make("sleep 60; true", pid_file=str(tmp_path / "run" / "kea" / "pid"))
    child = process.launch(daemon)
    process.wait_until(lambda: int(process.running_pid(daemon) or "no"), child, daemon, 60.0)
    assert (tmp_path / "run" / "kea").stat().st_mode & 0o777 == 0o750


def test_one_whose_pid_cannot_be_written_is_not_left_running(process, make, tmp_path):
    (tmp_path / "pid").mkdir()
    daemon = make(f"echo $$ > {tmp_path}/own; exec sleep 60", pid_file=str(tmp_path / "pid"))
    with pytest.raises(Exception, match="Is a directory") as caught:
        process.launch(daemon)
    assert caught.value.status == 4
    (tmp_path / "pid").rmdir()
    time.sleep(0.3)
    own = tmp_path / "own"
    assert not own.exists() or not process.alive(int(own.read_text() or 0))


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
    ],
)
def test_what_the_host_lacks_is_not_the_servers_fault(process, make, fields):
    with pytest.raises(Exception, match="cannot be started on this host") as caught:
        process.launch(make("true", **fields))
    assert caught.value.status == 4


def test_what_was_started_is_ended_where_the_rest_of_a_start_fails(process, make):
    daemon = make("sleep 60; true")

    def start():
        with process.undone_by(lambda: process.end(daemon)):
            child = process.launch(daemon)
            pids.append(child.pid)
            raise LookupError("its answer lacks a field")

    pids = []
    with pytest.raises(LookupError, match="lacks a field"):
        start()
    assert not process.alive(pids[0])


DENIED = (
    'AVC apparmor="DENIED" operation="open" class="file" profile="kea-dhcp4" '
    'name="/run/kea/logger_lockfile" pid={} comm="kea-dhcp4" requested_mask="wrc" '
    'denied_mask="wrc" fsuid=0 ouid=0\n'
)
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

        def never():
            raise OSError("not yet")

        def failure(log, record, words="it failed", other=0):
            daemon = make(f"sleep 0.3; echo {words}; exit 1")
            child = process.launch(daemon)
            with (tmp_path / log).open("a", encoding="utf-8") as file:
                file.write(record.format(child.pid + other))
            with pytest.raises(Exception, match=words) as caught:
                process.wait_until(never, child, daemon, 60.0)
            return caught.value

        yield failure


@pytest.mark.parametrize(
    ("log", "record", "words"),
    [
        ("journal", DENIED, "open of /run/kea/logger_lockfile (wrc) by profile kea-dhcp4"),
        ("audit.log", CAPABLE, "capable of dac_read_search by profile kea-dhcp4"),
    ],
)
def test_what_apparmor_denies_is_not_the_servers_fault(confined, log, record, words):
    error = confined(log, record)
    assert error.status == 4
    assert str(error).startswith(f"AppArmor denies it {words}; deploy again")
    assert str(error).endswith("; it failed")


def test_a_confined_server_that_is_refused_something_counts_where_no_log_reports(confined):
    error = confined("journal", "", "lock file: Permission denied")
    assert error.status == 4
    assert str(error).startswith("AppArmor denies it what it names, by profile kea-dhcp4;")


def test_a_denial_of_before_or_of_another_process_excuses_nothing(confined):
    error = confined("journal", DENIED, other=1)
    assert (error.status, str(error)) == (1, "it failed")


def test_a_process_that_a_shutdown_ends_is_not_to_blame(process, make, tmp_path, monkeypatch):
    (tmp_path / "systemctl").write_text("#!/bin/sh\necho stopping\nexit 1\n")
    (tmp_path / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    daemon = make("exit 1")

    def never():
        raise OSError("not yet")

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
