"""leaseload's report: one JSON document, of which each field is read."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

import msgspec

from leaselab.measure.generators.printed import TIMED_OUT, printed, unreadable
from leaselab.model.bench import Bench
from leaselab.model.bounds import clipped
from leaselab.model.observation import Generated
from leaselab.model.trial import Percentiles

EVENTS = {
    "foreign": "replies from elsewhere, or to no exchange",
    "earlier": "replies to an earlier load",
    "repeated": "repeated replies",
    "expired": "leases that have expired",
}
"""Words for what the report counts beside exchanges, by its fields."""
CONNECTED = {
    "closed": "connections that ended",
    "not_opened": "connections that could not be opened",
    "no_room": "messages that no connection took",
}
"""Likewise of connections."""
_NO_MORE = re.compile(r"--fill: found (\d+) leases, expected (\d+)")
"""What leaseload says where the server gives no more leases."""


class Counts(msgspec.Struct, frozen=True):
    """Exchanges by what came of them; the others sum to `attempted`."""

    attempted: int
    completed: int
    late: int
    lost: int
    refused: int
    open: int
    """Under way as the load was ended early."""


class KindCounts(Counts, frozen=True):
    """Those of one kind."""

    p50_s: float | None
    p99_s: float | None
    after_traffic: int
    early_mean_s: float | None
    early_spread_s: float | None


class Latency(msgspec.Struct, frozen=True):
    """Latency of what was answered (s)."""

    p50: float = msgspec.field(name="p50_s")
    p90: float = msgspec.field(name="p90_s")
    p99: float = msgspec.field(name="p99_s")
    p999: float = msgspec.field(name="p99.9_s")
    max: float = msgspec.field(name="max_s")

    @property
    def percentiles(self) -> Percentiles:
        """The same, in the form of records."""
        return Percentiles(
            p50=self.p50, p90=self.p90, p99=self.p99, p999=self.p999, max=self.max
        )


class Stage(msgspec.Struct, frozen=True):
    """A message and its answer."""

    name: str
    lost: int
    """Exchanges that were lost in it."""
    latency: Latency | None


class Times(msgspec.Struct, frozen=True):
    """Exchanges of one kind in one second."""

    due: int
    sent: int


class ReportSecond(msgspec.Struct, frozen=True):
    """One second of the load."""

    kinds: Mapping[str, Times]
    attempted: int
    completed: int
    p50_s: float | None
    p99_s: float | None


class ReportPart(msgspec.Struct, frozen=True):
    """What was due in one part of the load."""

    attempted: int
    completed: int
    late: int
    p50_s: float | None
    p99_s: float | None


class Replies(msgspec.Struct, frozen=True):
    """Replies of one type."""

    count: int
    bytes: int


class Connections(msgspec.Struct, frozen=True):
    """What queries over TCP and TLS went through."""

    wanted: int
    open: int
    """As the load began."""
    closed: int
    not_opened: int
    lost: int
    """Queries that were under way on a connection as it ended."""
    no_room: int
    error: str | None
    """Why one of them ended."""


class Filled(msgspec.Struct, frozen=True):
    """Leases before the load."""

    clients: int
    leases: int


class Bins(msgspec.Struct, frozen=True):
    """The load by times of `bin_s`, a list for each figure; empty where none were asked for."""

    answered: tuple[int, ...]
    """Exchanges whose last answer came in each."""
    replies: tuple[int, ...]
    """Answers that came in each, of any stage; the others are of the exchanges due in it."""
    attempted: tuple[int, ...]
    completed: tuple[int, ...]
    late: tuple[int, ...]
    latency_s: tuple[float, ...]
    """Of the answered, added up."""


class Report(msgspec.Struct, frozen=True):
    """What leaseload prints; times are in seconds."""

    ended: str
    started_at_s: float
    """By the host's clock, since 1970."""
    traffic_s: float
    fell_behind: bool
    """More than 1 % of the load was sent late, or not at all."""
    left_out: int
    """Exchanges not begun, as the generator was too slow for the load's time."""
    starved: int
    """Exchanges not begun, as no client waited with a lease."""
    counts: Counts
    kinds: Mapping[str, KindCounts]
    refused: Mapping[str, int]
    replies: Mapping[str, Replies]
    stages: tuple[Stage, ...]
    whole: Latency | None
    seconds: tuple[ReportSecond, ...]
    parts: tuple[ReportPart, ...]
    after_traffic: int
    """Completed in time, but after the traffic."""
    early_mean_s: float | None
    """Mean latency of the whole exchanges that began in the first tenth of the traffic (s)."""
    early_spread_s: float | None
    """Its standard deviation (s)."""
    bin_s: float
    bins: Bins
    duplicates: int
    foreign: int
    earlier: int
    repeated: int
    malformed: int
    expired: int
    sent_again: int
    unsent: int
    """Messages that the generator's own host did not take."""
    dropped: int
    """Replies that the generator's own sockets dropped."""
    connections: Connections | None
    """None of what went in datagrams."""
    filled: Filled | None
    """None where no leases were given before it."""

    @property
    def events(self) -> dict[str, int]:
        """What else happened, and where exchanges were lost, by words for it."""
        counts = {words: getattr(self, name) for name, words in EVENTS.items()}
        if len(self.stages) > 1:
            counts |= {f"lost in {stage.name}": stage.lost for stage in self.stages}
        if self.filled:
            missing = self.filled.clients - self.filled.leases
            counts["clients without a lease before the load"] = missing
        if self.connections:
            ways = self.connections
            counts["connections that were not open at its beginning"] = ways.wanted - ways.open
            why = f" ({clipped(ways.error)})" if ways.error else ""
            counts |= {words + why: getattr(ways, name) for name, words in CONNECTED.items()}
        return {words: count for words, count in counts.items() if count > 0}

    @property
    def rcodes(self) -> Mapping[str, int]:
        """Answers by RCODE."""
        return {word: one.count for word, one in self.replies.items()}

    @property
    def answer_bytes(self) -> float:
        """Mean size of the answers (bytes); 0 without any."""
        count = sum(reply.count for reply in self.replies.values())
        return sum(reply.bytes for reply in self.replies.values()) / count if count else 0.0


def report_of(generated: Generated, bench: Bench) -> Report:
    """Read a report; raises a broken-lab error for output that is no measurement."""
    text = printed(generated, bench)
    try:
        report = msgspec.json.decode(_parted(text)[1], type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable("leaseload", str(error), text) from error
    for word, counts in {"all": report.counts, **report.kinds}.items():
        ends = counts.completed + counts.late + counts.lost + counts.refused + counts.open
        if ends != counts.attempted:
            sums = f"{ends} ends of {counts.attempted} exchanges ({word})"
            raise unreadable("leaseload", sums, text)
    return report


def history_in(generated: Generated, bench: Bench) -> list[bytes]:
    """The lines of clients' leases before a report; raises as `report_of`."""
    return _parted(printed(generated, bench))[0].splitlines()


def _parted(text: bytes) -> tuple[bytes, bytes]:
    """The lines before a report, and the report, which begins a line, or is all."""
    begin = 0 if text.startswith(b"{") else text.find(b"\n{") + 1
    return text[:begin], text[begin:]


def filled_of(generated: Generated) -> Filled | None:
    """What a filling that failed, or was ended for its time, came to; None of another end."""
    if given := _NO_MORE.search(generated.error):
        leases, clients = map(int, given.groups())
        return Filled(clients, leases)
    if generated.status != TIMED_OUT:
        return None
    try:
        text = zlib.decompress(generated.output_gz, wbits=31)
        ended = msgspec.json.decode(_parted(text)[1], type=Report)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return None if ended.counts.attempted else ended.filled
