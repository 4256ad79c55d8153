"""kxdpgun's output: what it really says.

Facts this reading rests on (kxdpgun of Knot DNS 3.4, tried on veth in copy mode):

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
from typing import Any

from leaselab.measure.generators.open_loop import Output, Span
from leaselab.measure.generators.printed import unreadable

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
    except (ValueError, KeyError, TypeError, AttributeError) as error:
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
