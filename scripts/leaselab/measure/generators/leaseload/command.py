"""leaseload: the project's own generator (``load/``), its command lines and its probe.

It sends by an absolute schedule, independent of the server, follows every exchange by its id,
and ends as soon as no exchange is open.  ``leaseload --help`` describes the options.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from leaselab.measure.counting import Step
from leaselab.measure.generators.adapter import PROBES, Adapter
from leaselab.measure.generators.dhcp_load import (
    WANTED,
    check_leases,
    clients_of,
    filled,
    most_given,
    returning_clients,
    wanted_of,
    wishes_of,
)
from leaselab.measure.generators.dns.answers import (
    CACHE,
    COLD,
    FRESH,
    HOT,
    MIXED,
    NOERROR,
    NXDOMAIN,
    PROBE_LATE_S,
    PROBE_RATE,
    PROBE_S,
    PROBE_SHARE,
    TRANSPORTS,
    UPDATES_PROBE_RATE,
    check_queries,
    connections_of,
    edns_of,
    expected_of,
    is_dns,
    is_recorded,
    most_queries,
    subnets_of,
    transport_of,
    updates_of,
)
from leaselab.measure.generators.leaseload.output import report_of
from leaselab.measure.generators.leaseload.trial import (
    HISTORY,
    LEAST_FILL_RATE,
    ClientsReading,
    LeaseloadReading,
    QueriesReading,
)
from leaselab.measure.ports import GeneratorHost
from leaselab.model.bench import Bench
from leaselab.model.errors import usage_error
from leaselab.model.procedure import Procedure
from leaselab.model.procedures.cost import FEWER, MORE, USUAL, WARM_UP, Cost
from leaselab.model.procedures.event import Event
from leaselab.model.scenario import Scenario
from leaselab.model.trial import RECORDED, Load

QUIET_S = 0.25
"""Silence after the traffic after which what is not answered counts as lost (s)."""
AT_ONCE_S = 1
"""Time within which all clients of a burst have begun (s)."""
SUBNETS_BYTES = 1232
"""Size of answers that queries with client subnets accept, where the load says none (bytes)."""
BIN_S = 0.001
"""Times by which exchanges are counted while something happens under the load (s)."""
EVERYBODY = "255.255.255.255"
"""Where a relay sends messages that both servers of a pair have to receive."""
FIRST_CLIENT = "00:0c:01:02:03:04"
"""Hardware address of the first client, where the load names none."""


RECURSOR = "pdns_recursor"
"""Counts of 300 queries to it differ by 40 % by what all of its threads do each second."""
POLLED = "poll_interval_s"
"""Option of a server by whose clock another program asks it."""
GIVING_BACK = {"release", "decline"}
"""What clients do after which a server holds fewer leases than it has clients."""


def check_countable(scenario: Scenario) -> None:
    """Raise a usage error for a scenario whose server does not do the same in each start."""
    kind = scenario.server.kind
    against = {
        "a pair of servers": scenario.partner,
        "clients that follow the clocks of their leases": scenario.load.get("lease_clock"),
        "a connection for each query": connections_of(scenario) == FRESH,
        "a cache that fills meanwhile": scenario.load.get(CACHE) in (COLD, MIXED),
        "a program that asks it for statistics": scenario.server.options.get(POLLED, 0) > 0,
        "PowerDNS Recursor, which looks through its caches each second": kind == RECURSOR,
    }
    for what, has in against.items():
        if has:
            raise usage_error(
                "this scenario cannot be counted",
                where=f"scenario {scenario.name}",
                found=what,
                wanted="a server alone, and transactions that follow each other",
                todo="name another scenario, or measure this one: --procedure max-rate",
            )


class Leaseload(Adapter):
    """leaseload, against the servers of one bench."""

    waits = False

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        super().__init__(bench, procedure, host)
        self._seeds = itertools.count(1)
        self._is_dns = is_dns(bench.scenario)
        self._expected = expected_of(bench.scenario)
        self._transport = transport_of(bench.scenario)

    @classmethod
    def check_fits(cls, scenario: Scenario, procedure: Procedure) -> None:
        """Raise a usage error where a scenario's load does not suit a procedure."""
        if isinstance(procedure, Cost):
            check_countable(scenario)
        if is_dns(scenario):
            check_queries(scenario, procedure, TRANSPORTS)
        else:
            wishes_of(scenario)
            wanted_of(scenario)
            check_leases(scenario, procedure, judged=isinstance(procedure, Event))

    @property
    def capacity(self) -> int | None:
        """Addresses for new clients; of DNS, queries before a name comes again."""
        scenario = self._bench.scenario
        return most_queries(scenario) if self._is_dns else most_given(scenario)

    @property
    def takes_clients(self) -> bool:
        """Whether they are clients that get leases, and their number is open."""
        return not self._is_dns and not returning_clients(self._bench.scenario)

    def answers(self) -> bool:
        """Whether the server completes an exchange, in a few tries of a second each.

        Clients that return to their leases get them before the first trial, not here.
        Of DNS a few hundred queries are tried: their answers' size is what those of trials
        must have.
        """
        updates, _ = updates_of(self._bench.scenario)
        rate = UPDATES_PROBE_RATE if updates else PROBE_RATE
        load = Load(rate, PROBE_S) if self._is_dns else Load(1, 1)
        for _ in range(PROBES):
            argv = [*self._beginning(load), *self._of_options()]
            argv += ["--late", str(PROBE_LATE_S), "--grace", "0"]
            report = report_of(self.generate(argv, load.duration_s + 1), self._bench)
            if self._is_dns:
                self._expected.check_probe(report.rcodes, self._where)
            if report.counts.completed >= PROBE_SHARE * report.counts.attempted > 0:
                if self._is_dns:
                    size = report.answer_bytes
                    self._expected = replace(self._expected, answer_bytes=round(size))
                return True
        return False

    def offer(self, load: Load, *, may_abort: bool) -> LeaseloadReading:
        """Run leaseload; raises a broken-lab error for output that is no measurement."""
        argv = self.command(load, may_abort=may_abort)
        longest_s = self.longest_s(load)
        if filled(self._bench.scenario):
            longest_s += returning_clients(self._bench.scenario) / LEAST_FILL_RATE
        generated = self.generate(argv, longest_s)
        reading = (self._bench, self._procedure, load, tuple(argv), generated)
        return (
            QueriesReading(*reading, self._expected)
            if self._is_dns
            else ClientsReading(*reading)
        )

    def steps(self) -> Sequence[Step]:
        """Return the loads of a count: with the clients, and of DHCP with more of them."""
        plan = self._procedure
        if not isinstance(plan, Cost):
            raise AssertionError(f"{plan.name} counts nothing")
        usual = self._step(USUAL, plan.clients, plan.transactions)
        more = self._step(MORE, plan.more_clients, max(1, plan.transactions // FEWER))
        return (usual, more) if (more.leases or 0) > (usual.leases or 0) else (usual,)

    def _step(self, name: str, clients: int, transactions: int) -> Step:
        """Return the loads of a count with a number of clients, which have leases before."""
        wishes = {} if self._is_dns else wishes_of(self._bench.scenario)
        leasing = bool(wishes.keys() - {"inform"})
        if self._is_dns:
            who = self._dns()
        else:
            clients = min(clients, returning_clients(self._bench.scenario) or clients)
            who = self._dhcp(Load(1, 1), clients)
        tool, mix = self._tool, "".join(f" {word}" for word in self._mix())
        closed = "--window 1 --transactions"
        # Of queries those that are counted: a hot cache has their names.
        is_hot = self._bench.scenario.load.get(CACHE) == HOT
        first = clients if leasing else transactions * is_hot
        return Step(
            name,
            [
                *(*tool.launcher, tool.path, *who, "--serve", "--seed", "1"),
                *("--late", f"{self._procedure.late_s:g}", "--grace", "0"),
            ],
            leases=clients if leasing and not wishes.keys() & GIVING_BACK else None,
            filling=f"{closed} {first}" if first else "",
            warm_up=f"{closed} {WARM_UP}{mix}",
            counted=f"{closed} {transactions}{mix}",
            transactions=transactions,
        )

    def command(self, load: Load, *, may_abort: bool) -> list[str]:
        """Build the argv of one load.

        It ends early, once it has failed for certain, only where it `may_abort` and the number
        of exchanges is known: leases with a clock decide when they are renewed.
        """
        argv = [*self._beginning(load), *self._leases()]
        if load.at_once:
            # None of them is late as long as they go on trying.
            trying_s = max(0, load.duration_s - AT_ONCE_S)
            return [*argv, "--late", f"{trying_s:g}", "--grace", "0", "--lag", str(AT_ONCE_S)]
        late_s, wait_s = self._procedure.late_s, self._procedure.wait_s
        argv += ["--late", f"{late_s:g}", "--grace", f"{max(0.0, wait_s - late_s):g}"]
        if not self._bench.scenario.load.get("resends"):
            argv += ["--quiet", f"{QUIET_S:g}"]
        if may_abort and "--lease-clock" not in argv:
            argv += ["--goal", f"{self._procedure.loss_ratio:g}"]
        if self._is_dns and is_recorded(self._bench.scenario):
            argv += ["--arrivals", f"{RECORDED}:{self._queries}"]
        seen = isinstance(self._procedure, Event) or self._procedure.operates
        if seen or self._procedure.samples:
            argv += ["--bin", f"{BIN_S:g}"]
        if seen and not self._is_dns:
            argv += [HISTORY]
        return argv

    def _beginning(self, load: Load) -> list[str]:
        """Return the beginning of every command: client, server and rate."""
        tool = self._tool
        argv = [*tool.launcher, tool.path, *(self._dns() if self._is_dns else self._dhcp(load))]
        argv += ["--threads", str(tool.settings["threads"])]
        # Transaction ids begin at another number in each load, so that none is taken for one
        # of the load before.
        argv += ["--seed", str(next(self._seeds))]
        if load.at_once:
            argv += ["--seconds", str(AT_ONCE_S)]
            return [*argv, "--at-once", str(load.at_once), "--retransmit"]
        how = ["--counts", load.counts_words] if load.counts else ["--rate", str(load.rate)]
        return [*argv, "--seconds", str(load.duration_s), *how]

    @property
    def _queries(self) -> str:
        """Path of the query file."""
        return str(self._tool.files["queries"]["path"])

    def _dns(self) -> list[str]:
        """Return the arguments of queries to the server."""
        known = NOERROR if self._expected.misses == 0 else f"{NOERROR},{NXDOMAIN}"
        size, dnssec_ok = edns_of(self._bench.scenario, None)
        subnets, share = subnets_of(self._bench.scenario)
        size = size or (SUBNETS_BYTES if subnets else 0)
        # As clients and dnsperf ask: Unbound refuses a query that does not ask for recursion.
        how = ["--recursion", *(["--edns", str(size)] if size else [])]
        how += ["--dnssec"] if dnssec_ok else []
        _, key = updates_of(self._bench.scenario)
        how += ["--tsig", key] if key else []
        how += ["--subnets", subnets, "--subnet-share", f"{share:g}"] if subnets else []
        where = ["--interface", self._own.test_interface]
        where += ["--server", self._server, "--transport", self._transport]
        where += ["--sockets", str(self._tool.settings["sockets"])]
        where += ["--fresh"] if connections_of(self._bench.scenario) == FRESH else []
        return ["dns", *where, "--queries", self._queries, "--expect", known, *how]

    def _dhcp(self, load: Load, clients: int | None = None) -> list[str]:
        """Return the arguments of clients: where they are, who they are.

        DHCPv4 clients are behind relays, whose addresses its host has.  DHCPv6 clients are on
        the link, or behind a relay where the load says so.  Both servers of a pair have to
        receive each message.  `clients` return in turn, and send nothing again, where they
        are counted in lock step.
        """
        scenario, generator = self._bench.scenario, self._own
        argv = ["--interface", generator.test_interface]
        if scenario.load["family"] == 4:
            server = EVERYBODY if scenario.partner else self._server
            argv = ["dhcp4", *argv, "--server", server]
            for relay in self._tool.relays:
                argv += ["--relay", relay]
        elif scenario.load.get("relayed"):
            relay = generator.test_address6
            argv = ["dhcp6", *argv, "--server", self._server, "--relay", relay]
        else:
            argv = ["dhcp6", *argv]
        again = ["--retransmit"] if scenario.load.get("resends") and clients is None else []
        if "population" in self._tool.files:
            argv += ["--population", str(self._tool.files["population"]["path"])]
            return [*argv, *again, *(["--clients", str(clients)] if clients else [])]
        clients = clients_of(scenario, load) if clients is None else clients
        first = int(scenario.load.get("first_client", FIRST_CLIENT).replace(":", ""), 16)
        first += 0 if clients else load.first_client
        argv += ["--first-mac", first.to_bytes(6, "big").hex(":")]
        argv += ["--clients", str(clients)] if clients else []
        argv += again
        wanted = wanted_of(scenario)
        argv += ["--want", wanted] if wanted != WANTED[0] else []
        return argv

    def _of_options(self) -> list[str]:
        """Return the arguments for clients that only ask for options, as all of these do."""
        only = not self._is_dns and wishes_of(self._bench.scenario).keys() == {"inform"}
        return ["--mix", "inform=1"] if only else []

    def _leases(self) -> list[str]:
        """Return the arguments of what clients want, and of leases before the traffic."""
        scenario = self._bench.scenario
        if self._is_dns:
            return []
        fill = ["--fill"] if filled(scenario) else []
        clock = ["--lease-clock"] if scenario.load.get("lease_clock") else []
        return [*fill, *clock, *self._mix()]

    def _mix(self) -> list[str]:
        """Return the argument of what clients want; none where all want their first lease."""
        wishes = {} if self._is_dns else wishes_of(self._bench.scenario)
        mix = ["--mix", ",".join(f"{kind}={wishes[kind]:g}" for kind in wishes)]
        return mix if wishes.keys() - {"new"} else []
