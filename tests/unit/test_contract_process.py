"""What contracts on a host are made of: real processes, verbs, failures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "roles" / "contract" / "files"
PROGRAM = """
import sys
sys.path.insert(0, {library!r})
from leaselab_contract import verbs
from leaselab_contract.errors import BeneathError, ContractError

def good(settings):
    return {{"settings": settings}}

def bad(settings):
    raise ContractError("it\\nis broken")

def beneath(settings):
    raise BeneathError("the disk is full")

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
        one = {
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
        made.append(one)
        return one

    yield describe
    for one in made:
        process.end(one, 1.0)


def test_a_process_is_known_again_by_its_arguments_until_it_ends(process, make):
    one = make("sleep 60; true")
    assert process.running_pid(one) is None
    child = process.launch(one)
    known = process.wait_until(lambda: int(process.running_pid(one) or "no"), child, one, 5.0)
    assert known == child.pid
    assert process.running_pid({**one, "argv": ["/bin/sh", "-c", "another"]}) is None
    assert process.end(one)
    assert process.running_pid(one) is None
    assert not process.end(one)


def test_the_cpu_time_of_a_process_is_that_of_all_below_it(process, make):
    """PostgreSQL's way: one of a session of its own, whose parent only waits."""
    one = make("setsid sh -c 'while :; do :; done' & wait")
    child = process.launch(one)
    process.wait_until(
        lambda: int(process.tree_cpu_s(child.pid) > 0.2 or "no"), child, one, 20.0
    )
    assert process.tree_cpu_s(child.pid) > 0.2
    subprocess.run(["pkill", "-KILL", "-P", str(child.pid)], check=True)
    assert child.wait(5.0) == 0


def test_one_that_does_not_obey_is_ended_by_force(process, make):
    one = make("trap '' TERM; touch ready; while :; do sleep 0.1; done")
    child = process.launch(one)
    process.wait_until(lambda: process.stat_fields(child.pid), child, one, 5.0)
    assert process.end(one, 0.3)
    assert not process.alive(child.pid)


def test_one_that_ends_before_it_is_ready_gives_its_last_error(process, make, tmp_path):
    one = make("sleep 0.2; exit 1")
    child = process.launch(one)
    (tmp_path / "log").write_text("1 ERROR no disk\n2 INFO goodbye\n")

    def never():
        raise OSError("not yet")

    with pytest.raises(Exception, match=r"^1 ERROR no disk$"):
        process.wait_until(never, child, one, 5.0)


def test_one_that_is_never_ready_is_ended_and_says_so(process, make):
    one = make("echo starting; sleep 60; true")
    child = process.launch(one)

    def never():
        raise OSError("not yet")

    with pytest.raises(Exception, match="no answer within 0 s: not yet; last words: starting"):
        process.wait_until(never, child, one, 0.3)
    assert process.running_pid(one) is None


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
    one = make("true")
    Path(one["log_files"][0]).write_text(log, encoding="utf-8")
    assert process.last_reason(one) == reason
