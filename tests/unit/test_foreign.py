"""The engine's watch for foreign DHCP: what it is told, and what it says of the answer."""

import json
from contextlib import contextmanager

import pytest

from leaselab.lab.foreign import RemoteWatch, watching
from leaselab.lab.transport import Completed
from leaselab.model.bench import BenchHost, HostAccess
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.observation import Foreign

MAC = "02:00:00:00:00:07"
OFFER = {
    "kind": "reply",
    "message": "DHCPOFFER",
    "mac": "02:00:00:00:00:08",
    "address": "192.0.2.1",
    "server_id": "192.0.2.1",
    "count": 1,
}


class Follower:
    def __init__(self, line, ended=None):
        self.line, self.ended, self.taken = line, ended, 0

    def ask(self, timeout_s):
        assert timeout_s
        return self.line

    def lines(self):
        self.taken += 1
        return [self.line]


class Host:
    """A connection to a host whose test interface has an address, or is not there."""

    def __init__(self, mac="", follower=None):
        self.mac, self.follower, self.argv = mac, follower, None

    def run(self, argv, *, timeout_s):
        assert timeout_s
        assert argv == ["cat", "/sys/class/net/eth1/address"]
        if not self.mac:
            return Completed(1, b"", "cat: no such file\n")
        return Completed(0, f"{self.mac}\n".encode(), "")

    @contextmanager
    def follow(self, argv):
        self.argv = argv
        yield self.follower


def bench_host(role, last):
    access = HostAccess(role, "192.0.2.1", "root", "key", "known")
    return BenchHost(access, "eth1", f"198.18.0.{last}")


HOSTS = {"generator": bench_host("gen", 30), "server": bench_host("sut", 10)}


def test_the_engine_names_the_servers_of_the_bench():
    generator = Host(follower=Follower(json.dumps({"foreign": [OFFER]})))
    with watching(HOSTS, {"generator": generator, "server": Host(MAC)}) as watch:
        assert watch.foreign() == [Foreign(**OFFER)]
    assert generator.follower.taken == 1
    own = f"{MAC}/198.18.0.10"
    assert generator.argv[1:] == ["watch", "eth1", "198.18.0.30", own]


@pytest.mark.parametrize("ended", ["sh: foreign-dhcp: not found", None])
def test_a_watch_that_does_not_answer_is_a_broken_lab(ended):
    with pytest.raises(LeaselabError, match="provision the bench again") as caught:
        RemoteWatch(Follower(None, ended), "gen").foreign()
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "gen")
    assert caught.value.found == (ended or "nothing within 20 s")


def test_a_server_without_its_test_interface_is_a_broken_lab():
    with (
        pytest.raises(LeaselabError, match="deploy again") as caught,
        watching(HOSTS, {"generator": Host(), "server": Host()}),
    ):
        pass
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "sut")
