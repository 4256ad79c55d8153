"""Leases of classes of a dhcpd.conf that their clients share."""

from __future__ import annotations

from collections import Counter

from leaselab.inputs.dhcpd.classes import LISTED, packet_of
from leaselab.inputs.dhcpd.rules import Client, Refusal

_MOST_LOOKED_AT = 4096
"""Clients whose classes are kept."""


class Shares:
    """Which leases of classes clients have taken, and who may take some."""

    def __init__(self, classes, family):
        """`classes` are `classes.Classes`."""
        self._classes, self._family = classes, family
        self._looked_at, self._bills, self._relied = {}, Counter(), set()
        self.is_limited = any(one.is_limited for one in classes.values())
        """Whether any class has a limit."""

    def take(self, own):
        """Have clients of a kind take what leases of classes they share."""
        if self.is_limited:
            _, taken, relied, _ = self.charged(own)
            self._bills.update(taken)
            self._relied |= relied

    def take_alone(self, client):
        """Have one client take its leases of classes; return whether there were some."""
        base, room = self._room(client.bills, client.bills, 1, Counter())
        if room:
            self._bills.update(client.bills)
            self._relied |= {base} - {None}
        return bool(room)

    def charged(self, own):
        """What those clients of a kind have for which classes have leases, in whatever order.

        None for none.  With it are the leases of classes that they may take, the classes on
        which they rely, and the refusal of a class that has none left, None for none.
        """
        taken, relied, full, word = Counter(), set(), None, LISTED[self._family]
        clients = self.clients(own) if self.is_limited else []
        listed, count = word in own, own["clients"]
        served = [] if listed else count
        for at, client in enumerate(clients if listed else clients[:1]):
            # The others of a kind have the same values, or each a value of its own.
            same = [bill for bill in client.bills if all(bill in one.bills for one in clients)]
            same = client.bills if listed else same
            base, room = self._room(client.bills, same, 1 if listed else count, taken)
            if not room:
                full = full or client.bills[0]
            relied |= {base} if room and base else set()
            taken.update({bill: room if bill in same else bool(room) for bill in client.bills})
            if not listed:
                full, served = client.bills[0] if room < count else None, room
            elif room:
                served.append(own[word][at])
        why = full and Refusal(self._classes[full[0]].statement, is_clear=True)
        if listed and clients:
            own = own | {"clients": len(served), word: served}
        elif not listed:
            own = own | {"clients": served}
        return (own if own["clients"] else None), taken, relied, why

    def _room(self, bills, same, clients, taken):
        """For how many clients there are leases, and the class of one on which they rely.

        dhcpd takes those of the first class that has some, so others may have come before.
        """
        order = sorted(bills, key=lambda bill: (bill in same, self._left(bill)))
        for base in order:
            room = clients
            for bill in bills:
                left = self._left(bill) - taken[bill]
                if bill == base or bill in self._relied:
                    room = min(room, left if bill in same or left < 1 else room)
            if room > 0:
                return base, room
        return None, 0 if bills else clients

    def clients(self, own):
        """Those of a kind: all that are listed, otherwise the first two."""
        listed = own.get(LISTED[self._family])
        numbers = range(len(listed) if listed else min(own["clients"], 2))
        packets = [packet_of(own, self._family, at, listed and listed[at]) for at in numbers]
        return [self._client(packet) for packet in packets]

    def _client(self, packet):
        """The client of a packet; the first ones of a kind are looked at for each pool."""
        key = tuple(packet.items())
        if key not in self._looked_at:
            if len(self._looked_at) == _MOST_LOOKED_AT:
                self._looked_at.clear()
            self._looked_at[key] = Client(self._classes, packet)
        return self._looked_at[key]

    def _left(self, bill):
        """How many more clients may share the leases of a class, for a value of it."""
        name, data = bill
        return self._classes[name].limit_of(data) - self._bills[bill]
