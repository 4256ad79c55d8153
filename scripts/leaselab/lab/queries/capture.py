"""Reads queries of captures, in bounded memory, and hides the names in them."""

from __future__ import annotations

import hmac
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from leaselab.lab.clients.frames import datagram_of
from leaselab.lab.clients.sources import Packets
from leaselab.lab.queries.file import MOST_BYTES
from leaselab.lab.queries.messages import Query, query_of
from leaselab.lab.queries.names import name_of
from leaselab.model.errors import usage_error

_PORTS = {4: (53,), 6: (53,)}
_LETTERS = b"abcdefghijklmnopqrstuvwxyz234567"
_MOST_MIXED_S = 1.0
"""By how much a packet may be earlier than one that was captured before it (s)."""
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


@dataclass(slots=True)
class Read:
    """What was read so far."""

    names: Names
    with_times: bool = False
    """Each line ends with the time of its query since the first (``@SECONDS``)."""
    text: bytearray = field(default_factory=bytearray)
    """The file of queries: a line for each."""
    queries: int = 0
    left_out: int = 0
    """Queries beyond the size that such a file may have."""
    edns: int = 0
    dnssec_ok: int = 0
    types: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    _first_s: float | None = None
    _last_s: float = 0.0

    def add(self, path: Path) -> None:
        """Read a capture; raises a usage error as `Packets`.

        With times also for a query that is earlier than the last by more than captures mix up.
        """
        packets = Packets(path)
        for at, frame in packets:
            datagram = datagram_of(packets.link, frame, _PORTS)
            query = datagram if isinstance(datagram, str) else query_of(datagram.payload)
            if isinstance(query, str):
                self.skipped[query] += 1
            elif self.left_out:
                self.left_out += 1
            else:
                self._add(query, self._time(at, path) if self.with_times else "")
        if not packets.is_whole:
            self.notes["end within a packet: read up to there"] += 1

    def _time(self, at: float, path: Path) -> str:
        """The word for a time, which is not before the last."""
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
        return f" @{self._last_s:.6f}"

    def _add(self, query: Query, time: str) -> None:
        name = self.names.written(query.labels)
        line = f"{name} {query.type_word}{time}\n".encode("ascii")
        if len(self.text) + len(line) > MOST_BYTES:
            self.left_out = 1
            return
        self.text += line
        self.queries += 1
        self.edns += query.edns
        self.dnssec_ok += query.dnssec_ok
        self.types[query.type_word] += 1
