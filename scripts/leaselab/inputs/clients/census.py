"""Counts clients by their kinds, what they begin and when, in tables that are bounded.

Pure.  Where a table is full the rest is counted without it, and the result notes that.
"""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict
from dataclasses import dataclass, field

from leaselab.inputs.clients.messages import SECOND, WORDS, Message
from leaselab.inputs.clients.values import AGENT, Features, coarse, features_of

MOST_CLIENTS = 1 << 19
MOST_KINDS = 4096
MOST_RELAYS = 4096
MOST_GROUPS = 1 << 15
MOST_MINUTES = 7 * 24 * 60
MOST_EARLIER = 1 << 16
"""Messages that are known beside each client's newest: one with two adapters sends two series
at once, each with its own transaction id."""
RESENT_S = 4000.0
"""How long after an earlier one a message may be sent again: a SOLICIT is after an hour (s)."""
SOON_S = 130.0
"""The same of a renewal and the like that says that it is the first: some clients always have
the same transaction id (s)."""
COPY_S = 1.0
"""A message that is seen again within this time on another path was passed on, not resent."""
SAME_S = 0.001
"""One that is seen again within this time is a copy, of another interface of the capture."""
_LATEST_S = 1 << 33
"""Times beyond it are none."""
_ALL = (*WORDS, SECOND)
_ASKING, _ASKED = tuple(map(_ALL.index, ("new", "rapid", "reboot"))), (_ALL.index(SECOND),)
_FULL = {"new": 3, "rapid": 3, SECOND: 2, "reboot": 2, "release": 0, "decline": 0}
"""How much a message says of its client's kind; 1 for those that are not named."""
_SEVERAL = -1


@dataclass(slots=True)
class Group:
    """Clients of one kind behind one relay."""

    clients: int = 0
    agent: dict[int, int] = field(default_factory=dict)
    """Of the relay's options whether all clients have the same value, by their codes."""


class Census:
    """The clients of one family."""

    def __init__(self, family: int, *, vendors: bool = False) -> None:
        """`vendors` has kinds differ by the maker of the hardware address, too."""
        self.family, self._vendors = family, vendors
        self.messages = self.resent = self.copies = 0
        self.begun: Counter[str] = Counter()
        self.minutes: dict[int, Counter[str]] = {}
        self.first_s = self.last_s = 0.0
        self.nested = self.poor = 0
        self.bounds: dict[str, int] = {}
        """What a full table has left out: messages, by the table."""
        self.kinds: dict[Features, int] = {}
        self.relays: dict[bytes, int] = {b"": 0}
        self.groups: dict[tuple[int, int], Group] = {}
        self._known: dict[int, int] = {}
        self._kind, self._relay = array("i"), array("i")
        self._rank, self._word = array("b"), array("b")
        self._xid, self._path, self._at = array("I"), array("q"), array("d")
        self._earlier: OrderedDict[int, tuple[int, float]] = OrderedDict()
        """Path and time of messages of clients that sent another since, the oldest first."""

    @property
    def clients(self) -> int:
        """Distinct clients."""
        return len(self._known)

    def add(self, message: Message, at: float) -> None:
        """Count a message of a time (s)."""
        self.messages += 1
        self.nested += message.hops > 1 and self.family == 6
        self._note_time(at)
        number = self._client(message.who)
        if number is None:
            self._begin(message.word, at)
            return
        before = self._sent(number, message, at)
        if before is None:
            self._begin(message.word, at)
        elif abs(at - before[1]) < (SAME_S if before[0] == message.path else COPY_S):
            self.copies += 1
        else:
            self.resent += 1
        self._settle(number, message)

    def _sent(self, number: int, message: Message, at: float) -> tuple[int, float] | None:
        """Note a message; return path and time of the same one before, None without one."""
        word = _ALL.index(message.word)
        newest = self._xid[number], self._word[number]
        before = self._path[number], self._at[number]
        self._xid[number], self._word[number] = message.xid, word
        self._path[number], self._at[number] = message.path, at
        longest = RESENT_S if message.elapsed or word in _ASKING else SOON_S
        if newest == (message.xid, word):
            return before if abs(at - before[1]) < longest else None
        # What a client has gone on from is not sent again, and some begin with one id always.
        for other in _ASKING if message.word == SECOND else _ASKED:
            self._earlier.pop(hash((number, message.xid, other)), None)
        if newest[1] >= 0 and newest[0] != message.xid:
            self._earlier[hash((number, *newest))] = before
            if len(self._earlier) > MOST_EARLIER:
                self._earlier.popitem(last=False)
        known = self._earlier.pop(hash((number, message.xid, word)), None)
        return known if known and abs(at - known[1]) < longest else None

    def _note_time(self, at: float) -> None:
        if not 0 <= at < _LATEST_S:
            return
        if self.first_s == self.last_s == 0:
            self.first_s = self.last_s = at
        self.first_s, self.last_s = min(at, self.first_s), max(at, self.last_s)

    def _client(self, who: bytes) -> int | None:
        """The number of a client; None of a new one where there is no room for it."""
        key = hash((self.family, who))
        number = self._known.get(key)
        if number is None:
            if len(self._known) >= MOST_CLIENTS:
                self._leave("clients")
                return None
            number = self._known[key] = len(self._known)
            for column in (self._xid, self._path):
                column.append(0)
            for column in (self._kind, self._relay, self._rank, self._word):
                column.append(-1)
            self._at.append(0.0)
            self.poor += 1
        return number

    def _begin(self, word: str, at: float) -> None:
        if word == SECOND:
            return
        self.begun[word] += 1
        minute = int(at // 60) if 0 <= at < _LATEST_S else -1
        if minute not in self.minutes:
            if minute < 0 or len(self.minutes) >= MOST_MINUTES:
                self._leave("minutes")
                return
            self.minutes[minute] = Counter()
        self.minutes[minute][word] += 1

    def _settle(self, number: int, message: Message) -> None:
        """Assign a client, behind its relay, to the kind that its fullest message shows."""
        full = _FULL.get(message.word, 1)
        rank = 4 * full + 2 * bool(message.relay) + (message.want == "both")
        if not full:
            return
        kind, relay = self._kind[number], self._relay[number]
        if message.relay:
            relay = self._relay_of(message.relay)
        if rank > self._rank[number]:
            known = self._kind_of(features_of(message, vendors=self._vendors))
            if known is not None:
                kind, self._rank[number] = known, rank
        if kind >= 0:
            self._move(number, (kind, max(0, relay)), message)

    def _kind_of(self, features: Features) -> int | None:
        """The number of a kind; None of a new one where there is no room for it."""
        if features not in self.kinds and len(self.kinds) >= MOST_KINDS:
            self._leave("kinds")
            features = coarse(self.family, features)
            if features not in self.kinds and len(self.kinds) >= 2 * MOST_KINDS:
                return None
        return self.kinds.setdefault(features, len(self.kinds))

    def _move(self, number: int, place: tuple[int, int], message: Message) -> None:
        before = (self._kind[number], self._relay[number])
        if place not in self.groups and len(self.groups) >= MOST_GROUPS:
            self._leave("kinds behind relays")
            return
        group = self.groups.setdefault(place, Group())
        if place != before:
            group.clients += 1
            if before[0] < 0:
                self.poor -= 1
            else:
                self.groups[before].clients -= 1
            self._kind[number], self._relay[number] = place
        for code, value in message.agent:
            if code not in AGENT[self.family]:
                continue
            seen = hash(value) & 0x7FFFFFFF
            if group.agent.setdefault(code, seen) != seen:
                group.agent[code] = _SEVERAL

    def _relay_of(self, address: bytes) -> int:
        if address not in self.relays and len(self.relays) > MOST_RELAYS:
            self._leave("relays")
            return 0
        return self.relays.setdefault(address, len(self.relays))

    def _leave(self, table: str) -> None:
        self.bounds[table] = self.bounds.get(table, 0) + 1


def is_shared(seen: int) -> bool:
    """Whether all clients of a group had one value of an option of their relay."""
    return seen != _SEVERAL
