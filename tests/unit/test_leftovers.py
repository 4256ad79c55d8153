"""What a killed command left running is stopped: generators by their roles, then servers."""

import pytest
from tests.fake_host import FakeHost
from tests.inventories import local_lab

from leaselab.model.errors import LeaselabError, Outcome
from leaselab.run import recovery


@pytest.fixture
def asked(monkeypatch):
    """(host, script) of each command, in their order; `failing` is the host where one fails."""
    result = {"commands": [], "failing": ""}

    def connect(access):
        def act(argv):
            result["commands"].append((access.name, argv[-1]))
            return (1, "no such thing") if access.name == result["failing"] else ""

        return FakeHost(access.name, others=act)

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
    with pytest.raises(LeaselabError, match="no such thing") as caught:
        recovery.stop_leftovers(local_lab())
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "leaselab-server")
