"""The engine's watch for foreign DHCP: its request, and what it makes of the answer."""

import pytest
from msgspec.structs import replace
from tests.fake_host import FakeFollower, FakeHost
from tests.refusals import refused

from leaselab.lab.contract.remote import RemoteWatch, watching
from leaselab.model.bench import BenchHost, HostAccess, SecondPlace
from leaselab.model.errors import Outcome
from leaselab.model.observation import Foreign

MAC = "02:00:00:00:00:07"


OFFER = {"kind": "reply", "message": "DHCPOFFER", "mac": "02:00:00:00:00:08", "count": 1}
OFFER |= {"address": "192.0.2.1", "server_id": "192.0.2.1"}


def host(mac="", second="", line=None):
    """A host whose test interface has an address, or is not there; so its second place."""
    macs = {"eth1": mac, "leaselab2": second}

    def cat(argv):
        place, kind, of, device, file = argv[1].strip("/").split("/")
        assert (place, kind, of, file) == ("sys", "class", "net", "address")
        return macs[device] or (1, "cat: no such file\n")

    return FakeHost(cat=cat, follower=FakeFollower(line))


def bench_host(role, last):
    access = HostAccess(role, "192.0.2.1", "root", "key", "known")
    return BenchHost(access=access, test_interface="eth1", test_address=f"198.18.0.{last}")


HOSTS = {"generator": bench_host("gen", 30), "server": bench_host("sut", 10)}


def test_the_engine_names_the_servers_of_the_bench():
    generator = host(line={"foreign": [OFFER]})
    with watching(HOSTS, {"generator": generator, "server": host(MAC)}) as watch:
        assert watch.foreign() == [Foreign(**OFFER)]
    assert generator.follower.taken == 1
    own = f"{MAC}/198.18.0.10"
    assert generator.asked[-1][1:] == ["watch", "eth1", "198.18.0.30", own]


@pytest.mark.parametrize("made", ["06:00:00:00:00:07", ""])
def test_a_second_place_is_the_benchs_own_where_it_has_a_device(made):
    """None was made yet: nothing can come from it, and no other may take its address."""
    second = replace(HOSTS["server"], second=SecondPlace("leaselab2", "198.18.0.11"))
    generator = host(line={"foreign": []})
    connections = {"generator": generator, "server": host(MAC, made)}
    with watching({**HOSTS, "server": second}, connections) as watch:
        assert watch.foreign() == []
    wanted = [f"{MAC}/198.18.0.10", f"{made}/198.18.0.11"]
    assert generator.asked[-1][4:] == (wanted if made else wanted[:1])


@pytest.mark.parametrize(
    ("follower", "match", "printed"),
    [
        (FakeFollower(None, ended="not found"), "provision the bench again", "not found"),
        (FakeFollower(None), "provision the bench again", "nothing within 20 s"),
        *(
            (FakeFollower(line), "printed is no answer", "")
            for line in ("Welcome!", "{}", '{"foreign": [{"kind": "reply"}]}')
        ),
    ],
)
def test_a_watch_that_does_not_answer_as_this_release_is_a_broken_lab(follower, match, printed):
    with refused(match, Outcome.LAB, "gen") as caught:
        RemoteWatch(follower, "gen").foreign()
    assert caught.value.found.startswith(printed)


def test_a_server_without_its_test_interface_is_a_broken_lab():
    hosts = {"generator": host(), "server": host()}
    with refused("deploy again", Outcome.LAB, "sut"), watching(HOSTS, hosts):
        pass
