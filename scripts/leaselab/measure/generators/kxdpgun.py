"""kxdpgun: an open loop of queries past the kernel's sockets (AF_XDP), and counts alone.

It needs capabilities that its role checks.  Facts this adapter rests on (kxdpgun of Knot DNS
3.4, tried on veth in copy mode):

- It sends at its rate for any answers, in batches of ten, and somewhat more than asked for.
- ``lost`` stays 0: what is lost are queries less responses.  It says nothing of latency, and
  nothing of the size of answers (JSON).
- It stops listening as it stops sending, so what is answered later is lost.
- Where it cannot open its socket it prints an empty list, says why on standard error, and ends
  with status 0.
- With ``-S 1000`` each second but the last has an entry of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leaselab.measure.generators.adapter import Seen
from leaselab.measure.generators.open_loop import OpenLoop, OpenLoopReading, Output, Span
from leaselab.measure.generators.printed import WRONG, unreadable
from leaselab.model.trial import Load

UNITS_PER_S = 1_000_000_000


def parse(text: bytes, complaint: str = "") -> Output:
    """Parse the whole output of one run; `complaint` is what came on standard error.

    Raises a broken-lab error naming what is missing: output that does not parse is never
    taken for a loss.
    """
    try:
        entries = json.loads(text)
        documents: dict[str, list[Mapping[str, Any]]] = {}
        for entry in entries:
            documents.setdefault(entry["type"], []).append(entry)
        if "stats_sum" not in documents:
            lines = complaint.strip().splitlines()
            reason = f": {lines[-1]}" if lines else ""
            raise unreadable("kxdpgun", f"no entry 'stats_sum'{reason}", text)
        (header,), (total,) = documents["header"], documents["stats_sum"]
        whole = _span(total)
        seconds = [_span(one) for one in documents.get("stats_periodic", [])]
        errors = sum(int(one["errors"]) for one in documents.get("thread_summary", []))
        units = int(header["time_units_per_sec"])
    except WRONG as error:
        raise unreadable("kxdpgun", f"{type(error).__name__} {error}", text) from error
    if units != UNITS_PER_S:
        raise unreadable("kxdpgun", f"time in units of 1/{units} s", text)
    if sum(whole.rcodes.values()) != whole.responses:
        raise unreadable("kxdpgun", "responses by RCODE are not all responses", text)
    if whole.responses > whole.queries:
        raise unreadable("kxdpgun", "more responses than queries", text)
    rest = Span(
        whole.seconds - sum(second.seconds for second in seconds),
        whole.queries - sum(second.queries for second in seconds),
        whole.responses - sum(second.responses for second in seconds),
    )
    return Output(whole, (*seconds, *([rest] if rest.queries > 0 else [])), errors)


def _span(entry: Mapping[str, Any]) -> Span:
    return Span(
        (int(entry["until"]) - int(entry["since"])) / UNITS_PER_S,
        int(entry["queries"]),
        int(entry["responses"]),
        {str(code): int(count) for code, count in entry.get("response_rcodes", {}).items()},
    )


@dataclass(frozen=True)
class KxdpgunReading(OpenLoopReading):
    """What kxdpgun printed of one load."""

    @cached_property
    def output(self) -> Output:
        """What it printed, parsed; raises a broken-lab error for what is no measurement."""
        return parse(self.text(), self.generated.error)

    def dropped(self, seen: Seen) -> int:  # noqa: ARG002  # its packets pass the host's sockets
        """None: they are not counted."""
        return 0


class Kxdpgun(OpenLoop):
    """kxdpgun, against the server of one bench."""

    reading = KxdpgunReading

    def command(self, load: Load) -> list[str]:
        """Build the argv of one run."""
        settings = self._tool.settings
        argv = [self._tool.path, "-j", "-S", "1000", "-m", str(settings["mode"])]
        argv += ["-b", str(settings["batch"])]
        argv += ["-I", self._own.test_interface, "-l", self._own.test_address]
        argv += ["-t", str(load.duration_s), "-Q", str(load.rate)]
        return [*argv, "-i", self._queries, self._server]
