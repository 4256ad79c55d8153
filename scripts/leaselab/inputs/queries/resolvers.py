"""Which senders are resolvers, as far as a capture shows it.  Pure.

A resolver is asked for recursion and asks without, or asks on what it was asked.  One that asks
from another address than it serves on asks between a client's query for the same name and the
answer to it.  One whose clients are not seen, as they ask over TLS, asks many servers without
recursion, where most authorities are asked by many.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

_LONGEST_S = 10.0
"""How long a client waits for an answer at the most."""
_MOST_PENDING = 1 << 14
"""Names for which an answer is awaited; the oldest go first."""
_MOST_INNER = 64
_MOST_SENDERS = 1 << 16
_MANY = 8
"""Servers that a resolver asks without recursion; an authority has fewer."""
_LEAST, _SHARE = 2, 0.9
"""How many of a sender's queries for recursion, and which share of them, are those of others:
a host that asks two servers at once may have one such by chance."""


@dataclass(slots=True)
class _Pending:
    client: int
    server: int
    at: float
    inner: list[list[int]] = field(default_factory=list)
    """Queries for the name since then: sender, target, and whether a resolver may have sent it:
    it has its answer, or asked for no recursion, as no client does."""


class Resolvers:
    """What is known of senders; addresses and names are given by their hashes."""

    def __init__(self) -> None:
        self._pending: OrderedDict[int, _Pending] = OrderedDict()
        self._for_others: Counter[int] = Counter()
        """Queries for recursion that came within another's, by their senders."""
        self._iterate: set[int] = set()
        """Senders of such queries without recursion."""
        self._onward: Counter[int] = Counter()
        """Queries for what its sender was just asked."""
        self._wanted: set[int] = set()
        """Who is asked for recursion."""
        self._iterated: dict[int, set[int]] = {}
        """Whom a sender asks without recursion."""

    def asked(self, ends: tuple[int, int], name: int, at: float, *, recursion: bool) -> None:
        """Note a query."""
        sender, target = ends
        if recursion and sender != target and len(self._wanted) < _MOST_SENDERS:
            self._wanted.add(target)
        elif not recursion and (
            sender in self._iterated or len(self._iterated) < _MOST_SENDERS
        ):
            of_sender = self._iterated.setdefault(sender, set())
            if len(of_sender) < _MOST_INNER:
                of_sender.add(target)
        pending = self._pending.get(name)
        if pending is not None and 0 <= at - pending.at < _LONGEST_S:
            if sender == pending.server and target not in (pending.client, sender):
                self._onward[sender] += 1
            is_other = sender not in (pending.client, pending.server)
            if is_other and target != pending.server and len(pending.inner) < _MOST_INNER:
                pending.inner.append([sender, target, int(recursion), int(not recursion)])
        elif recursion:
            self._pending[name] = _Pending(*ends, at)
            self._pending.move_to_end(name)
            if len(self._pending) > _MOST_PENDING:
                self._pending.popitem(last=False)

    def answered(self, ends: tuple[int, int], name: int, *, recursive: bool) -> None:
        """Note an answer; `recursive` is whether its sender offers recursion (RA)."""
        pending = self._pending.get(name)
        if pending is None:
            return
        if ends != (pending.server, pending.client):
            for inner in pending.inner:
                inner[3] |= inner[:2] == [ends[1], ends[0]]
            return
        del self._pending[name]
        for sender, _, recursion, fits in pending.inner if recursive else ():
            if fits and len(self._for_others) + len(self._iterate) < _MOST_SENDERS:
                if recursion:
                    self._for_others[sender] += 1
                else:
                    self._iterate.add(sender)

    def resolvers(self, asked: Mapping[int, int]) -> set[int]:
        """Senders that are resolvers; `asked` has how often each asked for recursion."""
        forwarders = {
            sender
            for sender, count in self._for_others.items()
            if count >= max(_LEAST, _SHARE * asked[sender])
        }
        onward = {sender for sender, count in self._onward.items() if count >= _LEAST}
        askers = {sender for sender in self._iterated if not asked[sender]}
        authorities = set[int]().union(*(self._iterated[sender] for sender in askers))
        of_many = len(authorities) > len(askers)
        return {
            *forwarders,
            *onward,
            *(self._iterated.keys() & self._wanted),
            *(self._iterate & askers),
            *(each for each in askers if of_many and len(self._iterated[each]) >= _MANY),
        }
