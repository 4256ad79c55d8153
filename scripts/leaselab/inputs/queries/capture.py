"""Reads queries of captures, in bounded memory, and hides the names in them."""

from __future__ import annotations

import hmac
import secrets
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from leaselab.inputs.clients.census import SAME_S
from leaselab.inputs.clients.frames import Datagram, datagram_of
from leaselab.inputs.clients.sources import Packets
from leaselab.inputs.queries.file import MOST_BYTES
from leaselab.inputs.queries.messages import ANSWER, Query, answered, query_of
from leaselab.inputs.queries.names import name_of
from leaselab.inputs.queries.resolvers import Resolvers
from leaselab.inputs.queries.streams import PART, Streams
from leaselab.model.errors import usage_error

_PLAIN, _TLS = 53, 853
_PORTS = {4: (_PLAIN, _TLS), 6: (_PLAIN, _TLS)}
_LETTERS = b"abcdefghijklmnopqrstuvwxyz234567"
_MOST_MIXED_S = 1.0
"""By how much a packet may be earlier than one that was captured before it (s)."""
_EDNS, _DNSSEC_OK, _TCP, _RECURSION = 1, 2, 4, 8
"""Flags of a query that is kept."""
_MOST_SERVERS = 1 << 18
"""Addresses that are known to answer; queries of later ones stay."""
_MOST_RECENT = 1 << 12
"""Datagrams that are remembered to know their copies."""
_MOST_LABELS = 1 << 16
"""Labels whose stand-in is remembered."""


class Names:
    """What stands for names: each label is replaced by one of its length.

    Equal labels have equal ones, so what names share stays.  Which label stands for which
    depends on a key that is made here and kept nowhere; short ones may coincide.
    """

    def __init__(self, kept: Sequence[tuple[bytes, ...]] = ()) -> None:
        """Names at or below one of those `kept` (labels in small letters) stay."""
        self._kept = tuple(kept)
        self._key = secrets.token_bytes(32)
        self._hidden = lru_cache(_MOST_LABELS)(self._hide)

    def written(self, labels: Sequence[bytes]) -> str:
        """The name that is written, in text form."""
        small = tuple(label.lower() for label in labels)
        if any(small[len(small) - len(kept) :] == kept for kept in self._kept):
            return name_of(labels)
        return name_of([self._hidden(label) for label in small])

    def _hide(self, label: bytes) -> bytes:
        drawn = hmac.digest(self._key, label, "sha512")
        return bytes(_LETTERS[one % len(_LETTERS)] for one in drawn[: len(label)])


class Counted(NamedTuple):
    """The queries that were read, and what there is of them."""

    text: bytes
    """The file of queries: a line for each."""
    queries: int
    edns: int
    dnssec_ok: int
    tcp: int
    iterative: int
    """Those that ask for no recursion, as a resolver asks authorities."""
    types: Counter[str]
    of_servers: int
    """Queries that are not among them, as their senders answered queries of others."""
    for_others: int
    """Those of resolvers that were not seen to answer."""


@dataclass(slots=True)
class Read:
    """What was read so far."""

    names: Names
    with_times: bool = False
    """Each line ends with the time of its query since the first (``@SECONDS``)."""
    left_out: int = 0
    """Queries beyond the size that such a file may have."""
    skipped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    _text: bytearray = field(default_factory=bytearray)
    """A line for each query, without its time."""
    _senders: array[int] = field(default_factory=lambda: array("q"))
    """Who sent each: the hash of an address, 0 for one that asks itself."""
    _flags: array[int] = field(default_factory=lambda: array("B"))
    _times: array[float] = field(default_factory=lambda: array("d"))
    _servers: set[int] = field(default_factory=set)
    """Senders that answered others."""
    _resolvers: Resolvers = field(default_factory=Resolvers)
    _recent: dict[int, float] = field(default_factory=dict)
    """When each of the last datagrams came (s), by its hash."""
    _streams: Streams = field(default_factory=Streams)
    _size: int = 0
    _first_s: float | None = None
    _last_s: float = 0.0

    def add(self, path: Path) -> None:
        """Read a capture; raises a usage error as `Packets`.

        With times also for a query that is earlier than the last by more than captures mix up.
        """
        packets = Packets(path)
        for at, frame in packets:
            datagram = datagram_of(packets.link, frame, _PORTS, tcp=True)
            if isinstance(datagram, str):
                self.skipped[datagram] += 1
                continue
            if datagram.segment is None and self._is_copy(datagram, at):
                self.skipped["copies, of another interface"] += 1
                continue
            for query in self._asked(datagram, at):
                if isinstance(query, str):
                    self.skipped[query] += 1
                elif self.left_out:
                    self.left_out += 1
                else:
                    time_s = self._time_s(at, path) if self.with_times else 0
                    self._add(query, datagram, time_s)
        self.notes.update(packets.notes)

    def counted(self) -> Counted:
        """The queries without those that servers sent themselves, as a resolver does."""
        text, types = bytearray(), Counter[str]()
        queries = edns = dnssec_ok = tcp = iterative = of_servers = 0
        first_s = None
        ends = zip(self._senders, self._flags, strict=True)
        resolvers = self._resolvers.resolvers(
            Counter(sender for sender, flags in ends if flags & _RECURSION)
        )
        every = zip(self._senders, self._flags, self._times, strict=True)
        for line, (sender, flags, time_s) in zip(BytesIO(self._text), every, strict=True):
            if sender in self._servers:
                of_servers += 1
                continue
            if sender in resolvers:
                continue
            queries += 1
            first_s = time_s if first_s is None else first_s
            time = f" @{time_s - first_s:.6f}" if self.with_times else ""
            text += line[:-1] + f"{time}\n".encode("ascii")
            types[line.split()[1].decode("ascii")] += 1
            edns += bool(flags & _EDNS)
            dnssec_ok += bool(flags & _DNSSEC_OK)
            tcp += bool(flags & _TCP)
            iterative += not flags & _RECURSION
        for_others = len(self._senders) - queries - of_servers
        counts = queries, edns, dnssec_ok, tcp, iterative
        return Counted(bytes(text), *counts, types, of_servers, for_others)

    def _asked(self, datagram: Datagram, at: float) -> list[Query | str]:
        """The queries that a packet ends, or why there is none; notes who answers."""
        if datagram.segment is None:
            query = query_of(datagram.payload)
            ends = hash(datagram.source), hash(datagram.target)
            if isinstance(query, Query):
                name = _hashed(query.labels, query.type_word)
                self._resolvers.asked(ends, name, at, recursion=query.recursion)
            elif query == ANSWER:
                self._note_server(datagram)
                if answer := answered(datagram.payload):
                    labels, word, recursive = answer
                    name = _hashed(labels, word)
                    self._resolvers.answered(ends, name, recursive=recursive)
            return [query]
        if datagram.segment.ports[0] in _PORTS[datagram.family] and datagram.payload:
            self._note_server(datagram)
        if _TLS in datagram.segment.ports:
            return ["segments of TLS"]
        return [query_of(message) for message in self._streams.add(datagram)] or [PART]

    def _is_copy(self, datagram: Datagram, at: float) -> bool:
        """Whether the same came just before, as in a capture of several interfaces."""
        if len(self._recent) >= _MOST_RECENT:
            self._recent.clear()
        key = hash((datagram.source, datagram.target, datagram.payload))
        before, self._recent[key] = self._recent.get(key), at
        return before is not None and abs(at - before) < SAME_S

    def _note_server(self, datagram: Datagram) -> None:
        if datagram.source != datagram.target and len(self._servers) < _MOST_SERVERS:
            self._servers.add(hash(datagram.source))

    def _time_s(self, at: float, path: Path) -> float:
        """A time since the first (s), which is not before the last."""
        self._first_s = at if self._first_s is None else self._first_s
        time_s = at - self._first_s
        if time_s < self._last_s - _MOST_MIXED_S:
            raise usage_error(
                "its queries are earlier than those before",
                where=str(path),
                found=f"{self._last_s - time_s:.0f} s",
                wanted="captures in the order of their times",
                todo="name them in that order, or sort one with reordercap",
            )
        self._last_s = max(self._last_s, time_s)
        return self._last_s

    def _add(self, query: Query, datagram: Datagram, time_s: float) -> None:
        name = self.names.written(query.labels)
        line = f"{name} {query.type_word}\n".encode("ascii")
        self._size += len(line) + (len(f" @{time_s:.6f}") if self.with_times else 0)
        if self._size > MOST_BYTES:
            self.left_out = 1
            return
        self._text += line
        asks_itself = datagram.source == datagram.target
        self._senders.append(0 if asks_itself else hash(datagram.source))
        self._flags.append(
            _EDNS * query.edns
            | _DNSSEC_OK * query.dnssec_ok
            | _RECURSION * query.recursion
            | _TCP * (datagram.segment is not None)
        )
        self._times.append(time_s)


def _hashed(labels: Sequence[bytes], word: str) -> int:
    return hash((word, *(label.lower() for label in labels)))
