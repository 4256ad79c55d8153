"""Leases of classes of a dhcpd.conf that their clients share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from leaselab.inputs.client_kinds import Having, listing
from leaselab.inputs.dhcpd.classes import LISTED, Classes, packet_of
from leaselab.inputs.dhcpd.expressions import Packet
from leaselab.inputs.dhcpd.reader import Field
from leaselab.inputs.dhcpd.rules import Bill, Client, Refusal

_MOST_LOOKED_AT = 4096
"""Clients whose classes are kept."""


class Shares:
    """Which leases of classes clients have taken, and who may take some."""

    def __init__(self, classes: Classes, family: int) -> None:
        """`classes` are `classes.Classes`."""
        self._classes, self._family = classes, family
        self._looked_at: dict[tuple[tuple[Field, bytes], ...], Client] = {}
        self._bills: Counter[Bill] = Counter()
        self._relied: set[Bill] = set()
        self.is_limited = any(one.is_limited for one in classes.values())
        """Whether any class has a limit."""

    def take(self, own: Having) -> None:
        """Have clients of a kind take what leases of classes they share."""
        if self.is_limited:
            _, taken, relied, _ = self.charged(own)
            self._bills.update(taken)
            self._relied |= relied

    def take_alone(self, client: Client) -> bool:
        """Have one client take its leases of classes; return whether there were some."""
        base, room = self._room(client.bills, client.bills, 1, Counter())
        if room:
            self._bills.update(client.bills)
            self._relied |= {base} if base else set()
        return bool(room)

    def charged(
        self, own: Having
    ) -> tuple[Having | None, Counter[Bill], set[Bill], Refusal | None]:
        """What those clients of a kind have for which classes have leases, in whatever order.

        None for none.  With it are the leases of classes that they may take, the classes on
        which they rely, and the refusal of a class that has none left, None for none.
        """
        taken: Counter[Bill] = Counter()
        relied: set[Bill] = set()
        full: Bill | None = None
        served: list[str] = []
        clients = self.clients(own) if self.is_limited else []
        word, count = LISTED[self._family], own["clients"]
        listed, left = own.get(word), count
        for at, client in enumerate(clients if listed is not None else clients[:1]):
            # The others of a kind have the same values, or each a value of its own.
            same = [bill for bill in client.bills if all(bill in one.bills for one in clients)]
            same = same if listed is None else client.bills
            base, room = self._room(client.bills, same, count if listed is None else 1, taken)
            if not room:
                full = full or client.bills[0]
            relied |= {base} if room and base else set()
            taken.update({bill: room if bill in same else bool(room) for bill in client.bills})
            if listed is None:
                full, left = client.bills[0] if room < count else None, room
            elif room:
                served.append(listed[at])
        why = Refusal(self._classes[full[0]].statement, is_clear=True) if full else None
        if listed is None:
            own = {**own, "clients": left}
        elif clients:
            own = listing(own, word, served)
        return (own if own["clients"] else None), taken, relied, why

    def _room(
        self, bills: Sequence[Bill], same: Collection[Bill], clients: int, taken: Counter[Bill]
    ) -> tuple[Bill | None, int]:
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

    def clients(self, own: Having) -> list[Client]:
        """Those of a kind: all that are listed, otherwise the first two."""
        listed = own.get(LISTED[self._family])
        numbers = range(len(listed) if listed else min(own["clients"], 2))
        each = ((at, listed[at] if listed else None) for at in numbers)
        return [self._client(packet_of(own, self._family, at, one)) for at, one in each]

    def _client(self, packet: Packet) -> Client:
        """The client of a packet; the first ones of a kind are looked at for each pool."""
        key = tuple(packet.items())
        if key not in self._looked_at:
            if len(self._looked_at) == _MOST_LOOKED_AT:
                self._looked_at.clear()
            self._looked_at[key] = Client(self._classes, packet)
        return self._looked_at[key]

    def _left(self, bill: Bill) -> int:
        """How many more clients may share the leases of a class, for a value of it."""
        name, data = bill
        return (self._classes[name].limit_of(data) or 0) - self._bills[bill]
