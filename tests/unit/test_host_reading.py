"""What is read of a host, by the program that runs there."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from leaselab.lab.contract.remote import RemoteHost
from leaselab.model.errors import LeaselabError, Outcome


class Here:
    """A connection to this machine."""

    access = SimpleNamespace(name="here")

    def run(self, argv, *, timeout_s):
        done = subprocess.run(
            [sys.executable, *argv[1:]], capture_output=True, check=False, timeout=timeout_s
        )
        return SimpleNamespace(
            status=done.returncode, stdout=done.stdout, stderr=done.stderr.decode()
        )


def test_a_host_is_read_in_some_milliseconds_of_work():
    host = RemoteHost(Here(), "lo")
    before, after = host.read(), host.read()
    assert 0.0005 < before.work_s < 0.5
    assert after.steal_s >= before.steal_s >= 0
    assert after.receive_errors >= before.receive_errors >= 0
    assert after.interface_drops >= before.interface_drops >= 0
    assert after.backlog_drops >= before.backlog_drops >= 0
    assert before.throttled_s is None or before.throttled_s >= 0


def test_a_host_without_python_is_a_broken_lab():
    class Bare(Here):
        def run(self, argv, *, timeout_s):
            assert argv
            assert timeout_s
            return SimpleNamespace(status=127, stdout=b"", stderr="sh: python3: not found\n")

    with pytest.raises(LeaselabError, match="python3: not found") as caught:
        RemoteHost(Bare(), "lo").read()
    assert caught.value.outcome is Outcome.LAB
    assert caught.value.where == "here"


@pytest.mark.parametrize("answer", [b"{}", b"no JSON", b'{"work_s": -1}'])
def test_a_reading_that_is_none_is_a_broken_lab(answer):
    class Odd(Here):
        def run(self, argv, *, timeout_s):
            assert argv
            assert timeout_s
            return SimpleNamespace(status=0, stdout=answer, stderr="")

    with pytest.raises(LeaselabError, match="the reading of the host is invalid") as caught:
        RemoteHost(Odd(), "lo").read()
    assert caught.value.outcome is Outcome.LAB
