"""Two variants up at once: started, reached each alone, stopped, or refused."""

import json
from types import SimpleNamespace

import pytest
from tests.bench_document import DOCUMENT
from tests.unit.test_contract_server import STARTED, Sampler

from leaselab.lab.bench_file import parse_bench
from leaselab.lab.servers import both_up
from leaselab.model.errors import LeaselabError, Outcome


class Host:
    """A host whose contract does each verb; `fails` are verbs of variants that do not go."""

    def __init__(self, *fails):
        self.access = SimpleNamespace(name="leaselab-server")
        self.fails, self.done = fails, []

    def run(self, argv, *, timeout_s):
        assert timeout_s > 0
        did = " ".join(argv[1:])
        self.done.append(did)
        if did in self.fails:
            return SimpleNamespace(status=4, stdout=b"", stderr="it cannot")
        text = json.dumps(STARTED if argv[1] == "start" else {"was_running": True})
        return SimpleNamespace(status=0, stdout=text.encode(), stderr="")

    def follow(self, argv, _heard=None):
        assert argv[1] == "sample"
        return Sampler()


def bench(at=1, load=None, **changes):
    """A bench whose server lies at a place."""
    document = json.loads(json.dumps(DOCUMENT))
    document["servers"]["server"] |= {
        "variant": "v4-memfile" + ("-at2" if at == 2 else ""),
        "test_address": f"198.18.0.1{at - 1}",
        **changes,
    }
    document["scenario"]["load"] |= load or {}
    return parse_bench(document, "bench.json")


def test_each_has_a_load_that_reaches_it_alone_and_both_are_stopped():
    host = Host()
    benches = (bench(load_apart={"relayed": True}), bench(2, load_apart={"relayed": True}))
    with both_up(*benches, host) as targets:
        assert host.done == ["stop", "start v4-memfile", "start v4-memfile-at2"]
        assert [one.bench.server.test_address for one in targets] == [
            "198.18.0.10",
            "198.18.0.11",
        ]
        for one, given in zip(targets, benches, strict=True):
            assert one.bench.scenario.load == {**given.scenario.load, "relayed": True}
            assert one.servers.sample_now().held == 3
    assert host.done[3:] == ["stop v4-memfile-at2", "stop v4-memfile"]


def test_where_nothing_has_to_change_the_load_is_the_scenarios_own():
    with both_up(bench(), bench(2), Host()) as targets:
        assert [one.bench.scenario.load for one in targets] == [bench().scenario.load] * 2


def test_the_first_is_stopped_where_the_second_does_not_start():
    host = Host("start v4-memfile-at2")
    with pytest.raises(LeaselabError, match="it cannot"), both_up(bench(), bench(2), host):
        pass
    assert host.done[-2:] == ["stop v4-memfile-at2", "stop v4-memfile"]


@pytest.mark.parametrize(
    ("other", "why", "found"),
    [
        ({"at": 1}, "both variants lie at the same place", "198.18.0.10"),
        (
            {"at": 2, "capabilities": ["crash", "list"]},
            "it cannot be up at once with another variant",
            "crash, list",
        ),
        (
            {"at": 2, "name": "dnsmasq"},
            "servers of two kinds cannot be up at once",
            "kea and dnsmasq",
        ),
    ],
)
def test_what_cannot_be_up_at_once_is_refused_before_anything_is_stopped(other, why, found):
    host = Host()
    with (
        pytest.raises(LeaselabError, match=why) as caught,
        both_up(bench(), bench(**other), host),
    ):
        pass
    assert (caught.value.outcome, caught.value.found) == (Outcome.USAGE, found)
    assert host.done == []
