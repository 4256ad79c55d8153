"""perfdhcp: its command line, and the probe that proves that a server answers.

Facts this adapter rests on (perfdhcp of Kea 2.2 to 2.6, read in its source and tried):

- ``drops`` counts what is still in flight as lost unless ``-W`` waits for it.
- Exit status 3 means that exchanges failed, which is data.
- Clients are numbered: client i has the MAC address or DUID of ``-b`` plus i.
- ``--scenario avalanche`` has ``-R`` clients begin at once.  It ignores ``-p`` and ``-d``, and
  goes on for ever where one is not served; SIGINT ends it with its whole report and status 0.
- With ``-R`` they begin again after so many: those of a load with ``clients`` come back, which
  ``-u`` would call duplicate addresses.
- With ``-A1`` v6 clients send through a relay, to one server's own address.
"""

from __future__ import annotations

from leaselab.measure.generators.adapter import PROBES, Adapter
from leaselab.measure.generators.dhcp_load import (
    WANTED,
    check_leases,
    clients_of,
    most_given,
    returning_clients,
)
from leaselab.measure.generators.perfdhcp.output import parse_probe, printed
from leaselab.measure.generators.perfdhcp.trial import (
    BurstReading,
    PerfdhcpReading,
    exchanges,
)
from leaselab.measure.ports import GeneratorHost
from leaselab.model.bench import Bench
from leaselab.model.errors import usage_error
from leaselab.model.procedure import Procedure
from leaselab.model.scenario import Scenario
from leaselab.model.trial import Load

IN_FLIGHT_S = 0.5
"""Share of a second's load that may be unanswered before an abort is thought of (s)."""
EVERYBODY = "all"
"""perfdhcp's word for the broadcast address (v4) and the servers' multicast group (v6)."""
_FIRST_MAC = 0x000C01020304
"""perfdhcp's own first client."""


class Perfdhcp(Adapter):
    """perfdhcp, against the servers of one bench."""

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        super().__init__(bench, procedure, host)
        self._family = int(bench.scenario.load["family"])
        self._relayed = self._family == 6 and bool(bench.scenario.load.get("relayed"))
        self._clients = returning_clients(bench.scenario)
        mac = bench.scenario.load.get("first_client", _mac(_FIRST_MAC))
        self._first_client = int(mac.replace(":", ""), 16)
        # A client has to reach both servers of a pair; v6 clients multicast, relays need not.
        if bench.scenario.partner or (self._family == 6 and not self._relayed):
            self._server = EVERYBODY

    @classmethod
    def check_fits(cls, scenario: Scenario, procedure: Procedure) -> None:
        """Raise a usage error as `check_leases`.

        Also where clients want more than a new address each time.
        """
        load = scenario.load
        beyond = [
            name
            for name in ("renewals", "releases", "resends", "lease_clock")
            if load.get(name)
        ]
        beyond += ["population"] if "population" in load else []
        beyond += ["relays"] if load.get("relays", 1) > 1 else []
        beyond += ["want"] if load.get("want", WANTED[0]) != WANTED[0] else []
        if beyond:
            raise usage_error(
                "perfdhcp's clients only ask for new addresses",
                where=f"scenario {scenario.name}",
                found=", ".join(f"{name} {load[name]}" for name in beyond),
                wanted="another generator, such as leaseload",
            )
        check_leases(scenario, procedure)

    @property
    def capacity(self) -> int | None:
        """Addresses that the pool has for new clients."""
        return most_given(self._bench.scenario)

    @property
    def takes_clients(self) -> bool:
        """Whether the number of clients is open."""
        return not self._clients

    def answers(self) -> bool:
        """Whether the server completes an exchange; a few tries, a second each.

        With both stages limited to one packet perfdhcp ends as soon as the reply
        is there, or after a second without one.
        """
        argv = self._begun("single")
        argv += ["-r", "1", "-n", "1", "-n", "1", "-W", "1000000", "-d", "1", self._server]
        for _ in range(PROBES):
            text = printed(self.generate(argv, 0), self._bench)
            if parse_probe(text, self._family):
                return True
        return False

    def offer(self, load: Load, *, may_abort: bool) -> PerfdhcpReading:
        """Run perfdhcp; raises a broken-lab error for output that is no measurement."""
        limit = abort_after(load, self._procedure) if may_abort and not load.at_once else None
        argv = self.command(load, limit)
        generated = self.generate(argv, self.longest_s(load))
        reading = BurstReading if load.at_once else PerfdhcpReading
        return reading(self._bench, self._procedure, load, tuple(argv), generated, limit)

    def command(self, load: Load, limit: int | None) -> list[str]:
        """Build the argv of one trial.

        Every exchange is a new client (``-R`` is more than the trial can start), unless the
        load says how many there are.
        The trial ends by count (``-n``, both stages); ``-p`` bounds it where the
        generator cannot keep up.  ``-d`` is the procedure's lateness, so that an
        overtaken reply is not dropped before it is late.  `limit` is that of unanswered
        exchanges after which it gives up; None where it has to go on.
        """
        if load.at_once:
            return self._all_at_once(load)
        late_s, wait_s = self._procedure.late_s, self._procedure.wait_s
        count = exchanges(load)
        argv = self._begun(self._tool.threading)
        come_back = clients_of(self._bench.scenario, load)
        clients = come_back or 2 * count + 1000
        argv += ["-r", str(load.rate), "-R", str(clients), "-p", str(load.duration_s)]
        argv += ["-n", str(count), "-n", str(count)]
        argv += ["-W", str(round(wait_s * 1e6)), "-d", f"{late_s:g}"]
        argv += [*([] if come_back else ["-u"]), "-t", "1", "-x", "t", *self._first(load)]
        if limit is not None:
            argv += ["-D", str(limit)]
        return [*argv, self._server]

    def _all_at_once(self, load: Load) -> list[str]:
        """Build the argv of clients that begin at once.

        They are stopped when their time is over.  The receiver always has a thread of its own:
        without it all packets are sent before the first reply is read, and a socket holds only
        some hundreds of replies.
        """
        argv = ["timeout", "--signal=INT", "--preserve-status", str(load.duration_s)]
        argv += [*self._begun("multi"), "--scenario", "avalanche", "-R", str(load.at_once)]
        return [*argv, "-u", "-x", "t", *self._first(load), self._server]

    def _begun(self, threading: str) -> list[str]:
        """Return the beginning of every command: the clients and their interface."""
        argv = [*self._tool.launcher, self._tool.path, f"-{self._family}"]
        argv += ["-A1"] if self._relayed else []
        return [*argv, "-g", threading, "-l", self._own.test_interface]

    def _first(self, load: Load) -> list[str]:
        """Name the first client of a load, where it is not perfdhcp's own."""
        first = self._first_client + (0 if self._clients else load.first_client)
        return [] if first == _FIRST_MAC else ["-b", f"mac={_mac(first)}"]


def abort_after(load: Load, procedure: Procedure) -> int:
    """Unanswered first-stage exchanges after which a trial is hopeless.

    What the procedure allows the whole trial to lose, plus what may be in flight.
    perfdhcp counts the latter as dropped until the reply comes, so the caller
    still has to prove an aborted trial's failure.
    """
    return round(procedure.loss_ratio * load.rate * load.duration_s + IN_FLIGHT_S * load.rate)


def _mac(number: int) -> str:
    return number.to_bytes(6, "big").hex(":")
