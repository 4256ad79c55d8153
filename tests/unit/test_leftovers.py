"""What a killed command left running is stopped: generators by their roles, then servers."""

from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from tests.inventories import local_lab

from leaselab.model.errors import LeaselabError, Outcome
from leaselab.run import recovery


@dataclass
class Done:
    status: int
    stderr: str = ""


@pytest.fixture
def asked(monkeypatch):
    """(host, script) of each command, in their order; `failing` is the host where one fails."""
    result = {"commands": [], "failing": ""}

    @contextmanager
    def connect(access):
        class Connection:
            access = None

            def run(self, argv, timeout_s):
                assert timeout_s > 0
                result["commands"].append((access.name, argv[-1]))
                failed = access.name == result["failing"]
                return Done(1, "no such thing") if failed else Done(0)

        Connection.access = access
        yield Connection()

    monkeypatch.setattr(recovery, "connect", connect)
    return result


def test_traffic_is_stopped_before_the_servers(asked):
    recovery.stop_leftovers(local_lab())
    hosts, scripts = zip(*asked["commands"], strict=True)
    assert hosts == ("leaselab-generator", "leaselab-server", "leaselab-partner")
    programs = ("dnsperf", "flame", "leaseload", "perfdhcp")
    stops = (f"pkill -TERM -x {program} || test $? -eq 1" for program in programs)
    assert scripts[0] == f"set -e; {'; '.join(stops)}"
    assert all("/opt/leaselab/server stop" in script for script in scripts[1:])


def test_what_cannot_be_stopped_is_a_broken_lab(asked):
    asked["failing"] = "leaselab-server"
    with pytest.raises(
        LeaselabError, match="cannot stop leftover processes: no such thing"
    ) as caught:
        recovery.stop_leftovers(local_lab())
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "leaselab-server")
