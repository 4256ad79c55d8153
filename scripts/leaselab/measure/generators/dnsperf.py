r"""dnsperf: its command line, and the probe that says what answers look like.

Facts this adapter rests on (dnsperf 2.10 to 2.14, read in its source and tried):

- ``-Q`` is kept by the second: that many at most in each, and what was missed in a second is
  not made up for in the next.  Within it, queries are a whole number of microseconds apart.
- With ``-q`` queries unanswered it waits: a server that is dead, or too slow, gets fewer than
  asked for.  That says that the server failed, and nothing of the generator.
- ``-t`` forgets a query, so what is answered later is lost; it looks each 0.1 s.
- A run begins with the first line of the query file, and again from there at its end.
- A name's ``\DDD`` becomes another character (2.10: its digits are of base 7).
- Threads divide clients, rate and unanswered queries among them.
"""

from __future__ import annotations

from dataclasses import replace

from leaselab.measure.generators.adapter import PROBES
from leaselab.measure.generators.dns_answers import (
    PROBE_LATE_S,
    PROBE_RATE,
    PROBE_S,
    PROBE_SHARE,
    edns_of,
)
from leaselab.measure.generators.dns_reading import QueryTool
from leaselab.measure.generators.dnsperf_output import parse
from leaselab.measure.generators.dnsperf_reading import DnsperfReading, outstanding
from leaselab.measure.generators.printed import printed
from leaselab.model.trial import Load

SHORT_S, SHORT_STEP_S = 10, 0.1
"""Longest load for which dnsperf prints steps shorter than a second, and these steps (s): what
it completes after the last of them may have waited in a buffer as the traffic ended."""
PORTS = {"udp": 53, "tcp": 53, "dot": 853}


class Dnsperf(QueryTool):
    """dnsperf, against the server of one bench."""

    edns_bytes = (4096,)
    reading = DnsperfReading

    def answers(self) -> bool:
        """Whether the server answers queries of the load, whose size trials must have."""
        load = Load(PROBE_RATE, PROBE_S)
        argv = self.command(load, late_s=PROBE_LATE_S)
        for _ in range(PROBES):
            generated = self.generate(argv, self.longest_s(load))
            whole = parse(printed(generated, self._bench)).whole
            self._expected.check_probe(whole.rcodes, self._where)
            if whole.completed and whole.completed >= PROBE_SHARE * whole.sent:
                self._expected = replace(self._expected, answer_bytes=whole.answer_bytes)
                return True
        return False

    def command(self, load: Load, *, late_s: float | None = None) -> list[str]:
        """Build the argv of one run: a rate for a time, or as fast as it can.

        `late_s` is when a query counts as lost (s); None: when the procedure says.
        """
        settings = self._tool.settings
        argv = [self._tool.path, "-f", "inet", "-m", self._transport]
        argv += ["-s", self._server, "-p", str(PORTS[self._transport])]
        argv += ["-a", self._own.test_address]
        argv += ["-d", str(self._tool.files["queries"]["path"])]
        argv += ["-c", str(settings["clients"]), "-T", str(settings["threads"])]
        argv += ["-q", str(outstanding(self._tool, load))]
        step_s = SHORT_STEP_S if load.duration_s <= SHORT_S else 1
        argv += ["-l", str(load.duration_s), "-t", f"{late_s or self._procedure.late_s:g}"]
        argv += ["-S", f"{step_s:g}"]
        if not load.flood:
            argv += ["-Q", str(load.rate)]
        size, dnssec_ok = edns_of(self._bench.scenario, self.edns_bytes)
        argv += ["-e"] if size else []
        argv += ["-D"] if dnssec_ok else []
        for option in settings["long_options"]:
            argv += ["-O", option]
        return argv
