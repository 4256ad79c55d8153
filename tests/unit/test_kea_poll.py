"""The program that asks a running Kea for statistics, beside its contract."""

import json
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "roles/kea/files/kea_contract/poll.py"


@pytest.fixture
def kea(tmp_path):
    """Start a socket that gives each request the next answer, the last one ever after.

    Return its path and the requests so far.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(tmp_path / "socket"))
    listening.listen()

    def serve(*answers):
        asked = []

        def answer():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                # One that was ended does not wait for its answer.
                with connection, suppress(BrokenPipeError):
                    asked.append(json.loads(connection.recv(4096)))
                    reported = answers[min(len(asked), len(answers)) - 1]
                    connection.sendall(json.dumps(reported).encode())

        threading.Thread(target=answer, daemon=True).start()
        return str(tmp_path / "socket"), asked

    yield serve
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def polling(path, *, seconds):
    """What it prints in this time, and its exit status; null where it was still asking."""
    with subprocess.Popen(
        [sys.executable, SCRIPT, path, "stat-lease4-get", "0.05", "7"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as child:
        try:
            output, _ = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.terminate()
            return child.communicate()[0], None
        return output, child.returncode


def test_it_asks_again_and_again_and_says_once_that_it_was_answered(kea):
    path, asked = kea({"result": 0}, {"result": 3})
    assert polling(path, seconds=1.5) == ("answered\n", None)
    assert len(asked) > 3
    arguments = {"subnet-range": {"first-subnet-id": 1, "last-subnet-id": 7}}
    assert asked[0] == {"command": "stat-lease4-get", "arguments": arguments}


def test_it_ends_where_kea_refuses(kea):
    path, _ = kea({"result": 2, "text": "'stat-lease4-get' command not supported."})
    output, status = polling(path, seconds=30)
    assert (output, status) == (
        "ERROR stat-lease4-get: 'stat-lease4-get' command not supported.\n",
        1,
    )


def test_it_goes_on_where_nobody_answers(tmp_path):
    assert polling(str(tmp_path / "nothing"), seconds=1) == ("", None)
