r"""dnsperf: its command line, and the probe that says what answers look like.

Facts this adapter rests on (dnsperf 2.10 to 2.14, read in its source and tried):

- ``-Q`` is kept by the second: that many at most in each, and what was missed in a second is
  not made up for in the next.  Within it, queries are a whole number of microseconds apart.
- With ``-q`` queries unanswered it waits: a server that is dead, or too slow, gets fewer than
  asked for.  That says that the server failed, and nothing of the generator.
- ``-t`` forgets a query, so what is answered later is lost; it looks each 0.1 s.
- A run begins with the first line of the query file, and begins anew at its end.
- A name's ``\DDD`` becomes another character (2.10: its digits are of base 7).
- Threads divide clients, rate and unanswered queries among them.
"""

from __future__ import annotations

from dataclasses import replace

from leaselab.measure.generators.adapter import PROBES, TIMEOUT_SLACK_S
from leaselab.measure.generators.dns_answers import (
    PROBE_RATE,
    PROBE_S,
    PROBE_SHARE,
    TRANSPORTS,
    check_names,
    check_queries,
    edns_of,
    expected_of,
    most_queries,
    transport_of,
)
from leaselab.measure.generators.dnsperf_output import parse
from leaselab.measure.generators.dnsperf_reading import DnsperfReading, outstanding
from leaselab.measure.generators.printed import printed
from leaselab.measure.ports import GeneratorHost
from leaselab.model.bench import Bench
from leaselab.model.load import Load
from leaselab.model.procedure import Procedure
from leaselab.model.record import GENERATOR, SERVER, Scenario

SHORT_S, SHORT_STEP_S = 10, 0.1
"""Longest load of which dnsperf tells steps shorter than a second, and these (s): what it
completes after the last of them may have waited in a buffer as the traffic ended."""
PORTS = {"udp": 53, "tcp": 53, "dot": 853}


EDNS_BYTES = (4096,)
"""The size of answers that its EDNS says."""


class Dnsperf:
    """dnsperf, against the server of one bench."""

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        self._bench = bench
        self._tool = bench.generator
        self._procedure = procedure
        self._host = host
        self._transport = transport_of(bench.scenario, TRANSPORTS, "dnsperf")
        self._expected = expected_of(bench.scenario)

    @property
    def capacity(self) -> int | None:
        """Queries that a trial may ask, where names must not come again."""
        return most_queries(self._bench.scenario)

    @staticmethod
    def check_fits(scenario: Scenario, procedure: Procedure) -> None:
        """Refuse what queries cannot hold, and a transport that is none (usage errors)."""
        transport_of(scenario, TRANSPORTS, "dnsperf")
        edns_of(scenario, "dnsperf", EDNS_BYTES)
        check_names(scenario, "dnsperf")
        check_queries(scenario, procedure, "dnsperf")

    @property
    def takes_clients(self) -> bool:
        """Nobody in particular asks."""
        return False

    def answers(self) -> bool:
        """Whether the server answers queries of the load; their size is what trials must have.

        A few tries at a low rate, as a server may just have started.  Raises a server-broken
        error where it answers with other RCODEs than the load expects.
        """
        load = Load(PROBE_RATE, PROBE_S)
        argv = self.command(load)
        for _ in range(PROBES):
            generated = self._host.generate(
                argv, self._tool.environment, PROBE_S + self._procedure.wait_s + TIMEOUT_SLACK_S
            )
            where = self._bench.hosts[GENERATOR].access.name
            whole = parse(printed(generated, self._tool.path, where)).whole
            self._expected.check_probe(whole.rcodes, self._bench.hosts[SERVER].access.name)
            if whole.completed and whole.completed >= PROBE_SHARE * whole.sent:
                self._expected = replace(self._expected, answer_bytes=whole.answer_bytes)
                return True
        return False

    def offer(self, load: Load, *, may_abort: bool) -> DnsperfReading:  # noqa: ARG002  # it never gives up
        """Run dnsperf; raises a broken-lab error for output that is no measurement."""
        argv = self.command(load)
        longest_s = load.duration_s + self._procedure.wait_s + TIMEOUT_SLACK_S
        generated = self._host.generate(argv, self._tool.environment, longest_s)
        return DnsperfReading(
            self._bench, self._procedure, load, tuple(argv), generated, self._expected
        )

    def command(self, load: Load) -> list[str]:
        """Build the argv of one run: a rate for a time, or as fast as it can."""
        bench, settings = self._bench, self._tool.settings
        server = bench.server.test_address or bench.hosts[SERVER].test_address
        argv = [self._tool.path, "-f", "inet", "-m", self._transport]
        argv += ["-s", server, "-p", str(PORTS[self._transport])]
        argv += ["-a", bench.hosts[GENERATOR].test_address]
        argv += ["-d", str(self._tool.files["queries"]["path"])]
        argv += ["-c", str(settings["clients"]), "-T", str(settings["threads"])]
        argv += ["-q", str(outstanding(self._tool, load))]
        step_s = SHORT_STEP_S if load.duration_s <= SHORT_S else 1
        argv += ["-l", str(load.duration_s), "-t", f"{self._procedure.late_s:g}"]
        argv += ["-S", f"{step_s:g}"]
        if not load.flood:
            argv += ["-Q", str(load.rate)]
        size, dnssec_ok = edns_of(bench.scenario, "dnsperf", EDNS_BYTES)
        argv += ["-e"] if size else []
        argv += ["-D"] if dnssec_ok else []
        for option in settings["long_options"]:
            argv += ["-O", option]
        return argv
