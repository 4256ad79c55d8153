"""Two variants up at once on one host, at its two places on the test network."""

import time
from contextlib import ExitStack, contextmanager

import pytest
from tests.lab.commands import LOCAL, ROOT, SMALL, leaselab

from leaselab.catalog.catalogue import Catalogue
from leaselab.lab.contract.remote import RemoteGenerator, watching
from leaselab.lab.contract.server import ContractServer
from leaselab.lab.contract.servers import Servers, apart
from leaselab.lab.hosts.inventory import read_inventory
from leaselab.lab.hosts.transport import connect
from leaselab.measure.generators import adapter_of
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.trial import Load
from leaselab.run import variants
from leaselab.run.preparation import leased

pytestmark = pytest.mark.lab

PAUSE_S = 1.2
"""Longer than the second between two samples: the next one is of after a load."""


def at_both_places(scenario, procedure):
    """Deploy a scenario; return its bench at both places."""
    chosen = Catalogue(ROOT).find(scenario)
    with leased(read_inventory(LOCAL), "the tests") as bench:
        return variants.deploy(chosen, bench, procedure, full=False, places=variants.PLACES)


@pytest.fixture
def benches(bench_of, scenario, monkeypatch):
    """The benches of one scenario at place 1 and at place 2."""
    bench_of(scenario)
    monkeypatch.setenv("LEASELAB_ROOT", str(ROOT))
    catalogue = Catalogue(ROOT)
    procedure = catalogue.procedure_of(catalogue.find(scenario), SMALL)
    first, second = at_both_places(scenario, procedure)
    return first, second


@pytest.fixture
def hosts(benches):
    """Connections to the hosts that serve and generate, by role."""
    with (
        connect(benches[0].hosts["server"].access) as server,
        connect(benches[0].hosts["generator"].access) as generator,
    ):
        yield {"server": server, "generator": generator}


@contextmanager
def both_up(*benches, host):
    """Start both, each with a load that it hears alone; stop both in the end."""
    with ExitStack() as stack:
        targets = [
            (Servers({"server": ContractServer(host, bench.server)}), apart(bench))
            for bench in benches
        ]
        targets[0][0].clear()
        for servers, _ in targets:
            stack.callback(servers.stop)
            servers.start()
        yield targets


class Asked:
    """One of the two variants, and the generator that asks it."""

    def __init__(self, target, generator):
        self.server, bench = target
        self.generator = adapter_of(bench.scenario)(
            bench,
            bench.procedure,
            RemoteGenerator(generator, bench.hosts["generator"].test_interface, []),
        )

    def offer(self, rate):
        """Offer a load for a second; return how many leases that may have made.

        A machine that is busy with something else does not complete each exchange in time.
        """
        load = Load(rate=rate, duration_s=1)
        counts = self.generator.offer(load, may_abort=False).report.counts
        assert counts.completed > 0
        return range(counts.completed, counts.attempted + 1)

    def seen(self):
        """What it holds, and its counters, by a sample of now."""
        time.sleep(PAUSE_S)
        sample = self.server.sample_now()
        return sample.held, dict(sample.counters)


@pytest.mark.parametrize("scenario", ["v4-dnsmasq", "v6-dnsmasq", "v4-memfile", "v6-memfile"])
def test_two_are_up_at_once_and_each_counts_its_own(benches, hosts):
    assert [bench.server.variant for bench in benches] == [
        benches[0].scenario.name,
        f"{benches[0].scenario.name}-at2",
    ]
    with (
        watching(benches[0].hosts, hosts) as watch,
        both_up(*benches, host=hosts["server"]) as targets,
    ):
        first, second = (Asked(target, hosts["generator"]) for target in targets)
        assert (first.generator.answers(), second.generator.answers()) == (True, True)
        # A probe each, and nothing of the other's.
        assert (first.server.reset(), second.server.reset()) == ({"server": 1}, {"server": 1})
        idle = second.seen()
        made = first.offer(60)
        served = first.seen()
        assert served[0] in made
        assert second.seen() == idle
        made = second.offer(30)
        held, _ = second.seen()
        assert held in made
        assert first.seen() == served
        # What is done to one leaves the other as it is.
        assert second.server.reset() == {"server": held}
        assert second.seen()[0] == 0
        second.server.stop()
        assert first.seen() == served
        assert first.generator.answers()
        second.server.start()
        assert second.generator.answers()
        first.server.stop()
        assert second.generator.answers()
        assert second.seen()[0] >= 1
        assert watch.foreign() == []


@pytest.mark.parametrize("scenario", ["v4-dnsmasq"])
def test_a_device_of_the_second_place_that_is_gone_is_reported_and_made_again(
    benches, hosts, on_host, scenario
):
    """As after a boot.  What is checked knows it, there or not."""
    device = benches[0].hosts["server"].second.interface

    def wrong():
        return [
            line
            for line in leaselab("lab", "check").stdout.splitlines()
            if "test interface: err" in line
        ]

    assert wrong() == []
    on_host("server", f"ip link delete {device}")
    assert wrong() == []
    with (
        pytest.raises(
            LeaselabError,
            match=rf"not where it was .*found on none of .*; wanted on {device}\)",
        ) as caught,
        both_up(*benches, host=hosts["server"]),
    ):
        pass
    assert caught.value.outcome is Outcome.LAB
    at_both_places(scenario, benches[1].procedure)
    with both_up(*benches, host=hosts["server"]) as targets:
        assert all(Asked(target, hosts["generator"]).generator.answers() for target in targets)
