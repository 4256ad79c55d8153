"""flame (Flamethrower): an open loop of queries from the host's sockets, and counts alone.

Facts this adapter rests on (Flamethrower 0.12.0, read in its source and tried):

- The time in which it reads the query file (0.6 s for 100 000 lines) is part of ``-l``, and of
  the first part of a ``--qps-flow``.  So each load begins with a part of `LEAD_S` in which
  next to nothing is sent, and counts from where that part ends.
- A rate is divided by the number of senders (``-c``), in a flow without the rest: 1005/s of ten
  senders are 1000/s.  So it is asked for the next multiple.
- Senders are in step: ten at 1000/s send ten queries each 10 ms.  Each has a socket of its own,
  and all ask the lines of the query file in turn, from the beginning again at its end.
- What was not sent in time is sent later, at most ``-q`` queries of a sender each ``-d`` ms:
  with its own ten of each 1 ms it reaches 100 000/s, and less on a slow processor.
- It sends however many queries wait, up to 65 535 of each sender.
- Its queries have EDNS (1232 bytes), which dnsperf's have not.
- Over TCP and DoT it opens a connection for each batch.  As it ends, all that waits there is
  called a time-out at once (1 to 4 % of 3 s at 1000/s); of a server that takes no connection
  it counts no query; over DoT it read 30 of 2110 answers.  So it is run over UDP alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from leaselab.measure.generators.adapter import Seen
from leaselab.measure.generators.flame_output import parse
from leaselab.measure.generators.open_loop import OpenLoop, OpenLoopReading, Output
from leaselab.model.load import Load

LEAD_S = 2
"""Time before the load in which it reads the query file (s)."""
REPORT_S = 0.02
"""By how much its reports may differ from the second that they are of (s)."""
DELAY_MS = 1
"""``-d``: how often each sender looks what is due (ms)."""


@dataclass(frozen=True)
class FlameReading(OpenLoopReading):
    """What flame printed of one load."""

    @cached_property
    def output(self) -> Output:
        """What it printed, parsed; raises a broken-lab error for what is no measurement."""
        return parse(self.text(), self.load.duration_s)

    @property
    def step_s(self) -> float:
        """How much too early it may report the end (s): its senders are in step."""
        return int(self.bench.generator.settings["senders"]) / self.load.rate + REPORT_S

    def dropped(self, seen: Seen) -> int:
        """Answers that its host dropped, or that waited while the host stood still."""
        return self.hosts_cost(seen, round(self.load.rate * self.procedure.late_s))


class Flame(OpenLoop):
    """flame, against the server of one bench."""

    reading = FlameReading

    def command(self, load: Load) -> list[str]:
        """Build the argv of one run: a flow of next to nothing, then of the load.

        Nothing but reports goes to standard output; elsewhere they would be a file more.
        """
        senders = int(self._tool.settings["senders"])
        rate = senders * math.ceil(load.rate / senders)
        flow = f"{senders},{1000 * LEAD_S};{rate},{1000 * load.duration_s}"
        argv = [self._tool.path, "-v", "0", "-o", "/dev/stdout", "-F", "inet", "-P", "udp"]
        argv += ["-b", self._own.test_address, "-p", "53"]
        argv += ["-f", self._queries, "-c", str(senders)]
        argv += ["-q", str(self._tool.settings["batch"]), "-d", str(DELAY_MS)]
        argv += ["-t", str(math.ceil(self._procedure.late_s))]
        argv += ["-l", str(LEAD_S + load.duration_s), "--qps-flow", flow]
        return [*argv, self._server]
