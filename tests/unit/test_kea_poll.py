"""The program that asks a running Kea for statistics, beside its contract."""

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
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

        def reply():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                # One that was ended does not wait for its answer.
                with connection, suppress(BrokenPipeError):
                    asked.append(json.loads(connection.recv(4096)))
                    answer = answers[min(len(asked), len(answers)) - 1]
                    connection.sendall(json.dumps(answer).encode())

        threading.Thread(target=reply, daemon=True).start()
        return str(tmp_path / "socket"), asked

    yield serve
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


@contextmanager
def polling(path):
    """Its process, which is ended."""
    with subprocess.Popen(
        [sys.executable, SCRIPT, path, "stat-lease4-get", "0.05", "7"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.terminate()


def test_it_asks_again_and_again_and_says_once_that_it_was_answered(kea):
    path, asked = kea({"result": 0}, {"result": 3})
    with polling(path) as child:
        assert child.stdout.readline() == "answered\n"
        deadline = time.monotonic() + 60
        while len(asked) <= 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert child.poll() is None
        child.terminate()
        assert child.stdout.read() == ""
    arguments = {"subnet-range": {"first-subnet-id": 1, "last-subnet-id": 7}}
    assert asked[0] == {"command": "stat-lease4-get", "arguments": arguments}


def test_it_ends_where_kea_refuses(kea):
    path, _ = kea({"result": 2, "text": "'stat-lease4-get' command not supported."})
    with polling(path) as child:
        output, _ = child.communicate(timeout=60)
    assert (output, child.returncode) == (
        "ERROR stat-lease4-get: 'stat-lease4-get' command not supported.\n",
        1,
    )


def test_it_goes_on_where_nobody_answers(tmp_path):
    with polling(str(tmp_path / "nothing")) as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(1)
        child.terminate()
        assert child.stdout.read() == ""
