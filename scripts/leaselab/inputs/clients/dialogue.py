"""The history of leases in a capture: each message of a client with its answers."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from leaselab.inputs.clients.bindings import NO_BINDING, OF_SERVERS, Binding, Spoken, spoken
from leaselab.inputs.clients.frames import datagram_of
from leaselab.inputs.clients.sources import PORTS, Packets
from leaselab.leases.history import NEVER, SECOND, History, Kind, Recorder

MOST_OPEN = 1 << 16
"""Messages whose answers are still expected, at the most."""
MOST_EVENTS = 1 << 22
"""Of a history; later ones are left out."""
_COPY = 1000
"""A message that is seen again within this time is a copy, of another interface (us)."""
_LATEST_S = 1 << 33
_FINAL = {"release": Kind.RELEASED, "decline": Kind.DECLINED}


@dataclass(slots=True)
class _Asked:
    """A message of a client, and what came of it."""

    message: Spoken
    sent: int
    resent: int = NEVER
    answered_by: set[tuple[str, str, str]] = field(default_factory=set)


class _Same:
    """Which identities are of one client."""

    def __init__(self) -> None:
        self._others: dict[str, str] = {}

    def first(self, name: str) -> str:
        """The identity that stands for all of the client."""
        while (other := self._others.get(name, name)) != name:
            name = other
        return name

    def join(self, names: Iterable[str]) -> None:
        """These are of one client."""
        first, *others = sorted(map(self.first, names))
        for other in others:
            self._others[other] = first


class Dialogue:
    """The messages of captures, in the order of their times."""

    def __init__(self) -> None:
        """Begin without any."""
        self.skipped: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self._recorder = Recorder()
        self._open: OrderedDict[tuple[int, str, str], _Asked] = OrderedDict()
        self._same = _Same()
        self.left_out = 0

    def read(self, path: Path) -> None:
        """Read a capture; a usage error for a file that is none."""
        packets = Packets(path)
        for at, frame in packets:
            datagram = datagram_of(packets.link, frame, PORTS)
            message = datagram if isinstance(datagram, str) else spoken(datagram)
            if not 0 <= at < _LATEST_S:
                message = "without a time"
            if isinstance(message, str):
                self.skipped[message] += 1
            else:
                self.add(message, round(at * SECOND))
        self.notes.update(packets.notes)

    def add(self, message: Spoken, at: int) -> None:
        """Add a message of a time (us)."""
        # An answer may lack the client identifier of its client.
        who = message.hardware or message.identifier
        if message.kind in OF_SERVERS:
            for kind in ("request", "renew", "ask", *_FINAL):
                asked = self._open.get((message.xid, who, kind))
                if asked and self._answer(asked, message, at):
                    return
            return
        key = message.xid, who, message.kind
        known = self._open.get(key)
        if known and not known.answered_by and known.message.bindings == message.bindings:
            if known.message.relay != message.relay:  # a relay has passed it on
                known.message = message
            elif at - known.sent >= _COPY:
                known.resent = at
            return
        if known:
            self._conclude(self._open.pop(key))
        self._open[key] = _Asked(message, at)
        if len(self._open) > MOST_OPEN:
            self._conclude(self._open.popitem(last=False)[1])

    def history(self) -> History:
        """The history of all that was added."""
        while self._open:
            self._conclude(self._open.popitem(last=False)[1])
        history = self._recorder.history()
        firsts = [self._same.first(f"id {name}") for name in history.clients]
        _, client = np.unique(np.array(firsts, dtype=object), return_inverse=True)
        return replace(history, client=client.astype(np.int64))

    def _answer(self, asked: _Asked, answer: Spoken, at: int) -> bool:
        """Take an answer to a message; whether it is one to such a message."""
        kind, is_rapid = asked.message.kind, asked.message.is_rapid and answer.is_rapid
        if (answer.kind == "offer") != (kind == "ask") and not (kind == "ask" and is_rapid):
            return False
        if kind in _FINAL:
            self._end(asked, at)
            return True
        before = {binding.group: binding for binding in asked.message.bindings}
        for binding in answer.bindings:
            seen = answer.server, binding.group, binding.word
            if seen not in asked.answered_by:
                asked.answered_by.add(seen)
                wanted = before.get(binding.group, Binding(""))
                self._note_answer(asked, answer, at, wanted=wanted, given=binding)
        return True

    def _note_answer(
        self, asked: _Asked, answer: Spoken, at: int, *, wanted: Binding, given: Binding
    ) -> None:
        kind, is_refused = asked.message.kind, answer.kind == "refuse"
        if answer.kind == "offer":
            if given.word and given.valid_s:
                self._add(Kind.OFFERED, asked, given, at, server=answer.server)
        elif given.word and given.valid_s and not is_refused:
            what = Kind.RENEWED if kind == "renew" else Kind.GRANTED
            self._add(what, asked, given, at, asked_for=wanted.word, server=answer.server)
        elif kind == "renew" and wanted.word:
            # With no time left, or unknown: another status says nothing of the lease.
            if is_refused or given.status == NO_BINDING or given.word == wanted.word:
                none = replace(given, word="")
                server = answer.server
                self._add(Kind.REFUSED, asked, none, at, asked_for=wanted.word, server=server)
        elif kind == "request" and asked.resent != NEVER:
            self._add(Kind.GRANTED, asked, wanted, NEVER, asked_for=wanted.word)

    def _conclude(self, asked: _Asked) -> None:
        """No answer is expected any more."""
        if asked.answered_by:
            return
        kind = asked.message.kind
        if kind in _FINAL:
            self._end(asked, NEVER)
        elif kind == "request" or (kind == "ask" and asked.message.is_rapid):
            for binding in asked.message.bindings:
                word = binding.word if kind == "request" else ""
                given = replace(binding, word=word)
                self._add(Kind.GRANTED, asked, given, NEVER, asked_for=word)

    def _end(self, asked: _Asked, at: int) -> None:
        if not asked.answered_by:
            asked.answered_by.add(("", "", ""))
            for binding in asked.message.bindings:
                if binding.word:
                    self._add(_FINAL[asked.message.kind], asked, binding, at)

    def _add(
        self,
        kind: Kind,
        asked: _Asked,
        lease: Binding,
        at: int,
        *,
        asked_for: str = "",
        server: str = "",
    ) -> None:
        if len(self._recorder) >= MOST_EVENTS:
            self.left_out += 1
            return
        message = asked.message
        name = message.identifier or message.hardware
        self._same.join((f"id {name}", f"hardware {message.hardware or name}"))
        place = message.relay and f"{message.relay} {lease.group}"
        self._recorder.add(
            kind,
            name,
            lease.word,
            asked.sent,
            at,
            valid_s=lease.valid_s if at != NEVER else 0,
            asked=asked_for,
            server=server,
            place=place,
            resent=asked.resent,
        )
