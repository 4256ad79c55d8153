"""The engine's watch for foreign DHCP: its request, and what it makes of the answer."""

import json
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from leaselab.lab.contract.remote import RemoteWatch, watching
from leaselab.lab.hosts.transport import Completed
from leaselab.model.bench import BenchHost, HostAccess, SecondPlace
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
    """A connection to a host whose test interface has an address, or is not there.

    So has the device of its second place.
    """

    def __init__(self, mac="", follower=None, second=""):
        self.macs = {"eth1": mac, "leaselab2": second}
        self.follower, self.argv = follower, None

    def run(self, argv, *, timeout_s):
        assert timeout_s
        program, path = argv
        mac = self.macs[path.split("/")[4]]
        assert (program, path.split("/")[:4]) == ("cat", ["", "sys", "class", "net"])
        if not mac:
            return Completed(1, b"", "cat: no such file\n")
        return Completed(0, f"{mac}\n".encode(), "")

    @contextmanager
    def follow(self, argv):
        self.argv = argv
        yield self.follower


def bench_host(role, last):
    access = HostAccess(role, "192.0.2.1", "root", "key", "known")
    return BenchHost(access=access, test_interface="eth1", test_address=f"198.18.0.{last}")


HOSTS = {"generator": bench_host("gen", 30), "server": bench_host("sut", 10)}


def test_the_engine_names_the_servers_of_the_bench():
    generator = Host(follower=Follower(json.dumps({"foreign": [OFFER]})))
    with watching(HOSTS, {"generator": generator, "server": Host(MAC)}) as watch:
        assert watch.foreign() == [Foreign(**OFFER)]
    assert generator.follower.taken == 1
    own = f"{MAC}/198.18.0.10"
    assert generator.argv[1:] == ["watch", "eth1", "198.18.0.30", own]


@pytest.mark.parametrize("made", ["06:00:00:00:00:07", ""])
def test_a_second_place_is_the_benchs_own_where_it_has_a_device(made):
    """None was made yet: nothing can come from it, and no other may take its address."""
    second = replace(HOSTS["server"], second=SecondPlace("leaselab2", "198.18.0.11"))
    generator = Host(follower=Follower(json.dumps({"foreign": []})))
    connections = {"generator": generator, "server": Host(MAC, second=made)}
    with watching({**HOSTS, "server": second}, connections) as watch:
        assert watch.foreign() == []
    wanted = [f"{MAC}/198.18.0.10", f"{made}/198.18.0.11"]
    assert generator.argv[4:] == (wanted if made else wanted[:1])


@pytest.mark.parametrize("ended", ["sh: foreign-dhcp: not found", None])
def test_a_watch_that_does_not_answer_is_a_broken_lab(ended):
    with pytest.raises(LeaselabError, match="provision the bench again") as caught:
        RemoteWatch(Follower(None, ended), "gen").foreign()
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "gen")
    assert caught.value.found == (ended or "nothing within 20 s")


@pytest.mark.parametrize("line", ["Welcome!", "{}", '{"foreign": [{"kind": "reply"}]}'])
def test_what_no_watch_of_this_release_prints_is_a_broken_lab(line):
    with pytest.raises(LeaselabError, match="printed is no answer") as caught:
        RemoteWatch(Follower(line), "gen").foreign()
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "gen")


def test_a_server_without_its_test_interface_is_a_broken_lab():
    with (
        pytest.raises(LeaselabError, match="deploy again") as caught,
        watching(HOSTS, {"generator": Host(), "server": Host()}),
    ):
        pass
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "sut")
