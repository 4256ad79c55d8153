"""What forwards the connections of a server to its database, and lets what passes wait."""

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.plays import ended
from tests.waiting import HANGS_S

SCRIPT = Path(__file__).parents[2] / "roles/delayed_link/files/leaselab-delayed-link"
WAY_S = 0.05


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "delayed-link.json"

    def write(one_way_ms):
        path.write_text(json.dumps({"one_way_ms": one_way_ms}), encoding="utf-8")
        return path

    return write


@pytest.fixture
def database(tmp_path):
    """A socket whose server says everything back, until its client has ended."""
    path = tmp_path / "database"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()

        def echo():
            connection, _ = listening.accept()
            with connection:
                while data := connection.recv(1 << 16):
                    connection.sendall(data)

        threading.Thread(target=echo, daemon=True).start()
        yield path


@contextmanager
def linked(settings, path):
    """A connection through it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [sys.executable, SCRIPT, settings, "127.0.0.1", str(port), path]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "listens\n"
            with socket.create_connection(("127.0.0.1", port), timeout=HANGS_S) as connection:
                yield connection
        finally:
            child.terminate()


def received(connection, size):
    result = b""
    while len(result) < size and (data := connection.recv(1 << 16)):
        result += data
    return result


@pytest.mark.parametrize("way_s", [0.0, WAY_S])
def test_what_passes_is_whole_and_in_order_and_waits_each_way(settings, database, way_s):
    """The end of one side reaches the other."""
    sent = b"".join(number.to_bytes(4, "big") for number in range(100_000))
    with linked(settings(1e3 * way_s), database) as connection:
        began = time.monotonic()
        connection.sendall(b"hallo")
        assert received(connection, 5) == b"hallo"
        assert time.monotonic() - began >= 2 * way_s
        sending = threading.Thread(target=connection.sendall, args=(sent,), daemon=True)
        sending.start()
        assert received(connection, len(sent)) == sent
        sending.join()
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""


def test_several_on_the_way_wait_together(settings, database):
    with linked(settings(1e3 * WAY_S), database) as connection:
        began = time.monotonic()
        for _ in range(200):
            connection.sendall(b"x")
            time.sleep(0.001)
        assert received(connection, 200) == b"x" * 200
        assert 2 * WAY_S <= time.monotonic() - began < 200 * WAY_S


def test_a_database_that_is_gone_is_seen_as_one(settings, tmp_path):
    gone = linked(settings(0), tmp_path / "nothing")
    with gone as connection, suppress(ConnectionResetError):
        assert connection.recv(1) == b""


def test_it_measures_itself(settings):
    done = ended([sys.executable, SCRIPT, settings(2.0)])
    assert json.loads(done.stdout)["round_trip_ms"] >= 4
    assert done.stderr == ""
