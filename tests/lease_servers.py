"""Servers of leases as formulas, right and broken, behind a network that loses and delays.

`history_of` has clients use them, and takes down what the clients see.
"""

# ruff: noqa: ARG002  # broken servers have the interface of the right one

import heapq
import itertools
from dataclasses import dataclass, field

from leaselab.leases.check import DECLINED_S
from leaselab.leases.history import NEVER, SECOND, Kind, Recorder

VALID_S = 60
SIZE = 8
ADDRESSES = tuple(f"10.0.0.{number}" for number in range(1, SIZE + 1))
LATEST_S = 4.0
"""How late a message comes at the most (s)."""


@dataclass
class Lease:
    client: str
    until_s: int


@dataclass
class Server:
    """A right one.  It counts whole seconds, as Kea does."""

    leases: dict = field(default_factory=dict)
    declined: dict = field(default_factory=dict)
    turn: int = 0

    def is_free(self, address, now_s):
        lease = self.leases.get(address)
        is_held = lease is not None and lease.until_s > now_s
        return not is_held and self.declined.get(address, 0) <= now_s

    def lease_of(self, client, now_s):
        """The address that a client has."""
        held = (
            address
            for address, lease in self.leases.items()
            if lease.client == client and lease.until_s > now_s
        )
        return next(held, None)

    def pick(self, client, now_s):
        """An address for a client: its own, else another free one in turn."""
        own = self.lease_of(client, now_s)
        if own:
            return own
        for _ in range(SIZE):
            self.turn = (self.turn + 1) % SIZE
            if self.is_free(ADDRESSES[self.turn], now_s):
                return ADDRESSES[self.turn]
        return None

    def give(self, client, address, now_s):
        for other in [at for at, lease in self.leases.items() if lease.client == client]:
            del self.leases[other]
        self.leases[address] = Lease(client, now_s + VALID_S)
        return address

    def discover(self, client, now_s):
        return self.pick(client, now_s)

    def request(self, client, address, now_s):
        own = self.lease_of(client, now_s)
        if own == address or self.is_free(address, now_s):
            return self.give(client, address, now_s)
        return None

    def renew(self, client, address, now_s):
        """The address that it has from now on; None if it is refused."""
        if self.lease_of(client, now_s) == address:
            return self.give(client, address, now_s)
        return None

    def release(self, client, address, now_s):
        if self.lease_of(client, now_s) == address:
            del self.leases[address]

    def decline(self, client, address, now_s):
        if self.lease_of(client, now_s) == address:
            del self.leases[address]
            self.declined[address] = now_s + DECLINED_S

    def restart(self, now_s):
        """What it has is on its disk."""


class SameAddress(Server):
    def pick(self, client, now_s):
        return ADDRESSES[0]

    def is_free(self, address, now_s):
        return True


class Forgets(Server):
    """It loses its leases with its memory."""

    def restart(self, now_s):
        self.leases.clear()


class RefusesRenewals(Server):
    def renew(self, client, address, now_s):
        return None


class EndsEarly(Server):
    """It takes leases back after a quarter of their time."""

    def is_free(self, address, now_s):
        return super().is_free(address, now_s + VALID_S * 3 // 4)


class DoesNotProlong(Server):
    """It acknowledges renewals, and does nothing."""

    def renew(self, client, address, now_s):
        return address if self.lease_of(client, now_s) == address else None


class OffersDeclined(Server):
    def decline(self, client, address, now_s):
        self.release(client, address, now_s)


class MovesClients(Server):
    """It gives a client that asks again another address."""

    def lease_of(self, client, now_s):
        return None

    def renew(self, client, address, now_s):
        return self.give(client, address, now_s)

    def release(self, client, address, now_s):
        self.leases.pop(address, None)


class ReleasesOthers(Server):
    """It frees the address beside the one that was released."""

    def release(self, client, address, now_s):
        self.leases.pop(ADDRESSES[(ADDRESSES.index(address) + 1) % SIZE], None)


class GivesAnother(Server):
    """It acknowledges another address than the one that was asked for."""

    def request(self, client, address, now_s):
        given = self.lease_of(client, now_s)
        free = [other for other in ADDRESSES if other != address and self.is_free(other, now_s)]
        given = given if given not in (None, address) else next(iter(free), None)
        return self.give(client, given, now_s) if given else None


BROKEN = {
    SameAddress: {"twice"},
    Forgets: {"twice", "forgotten", "refused"},
    RefusesRenewals: {"refused"},
    EndsEarly: {"twice"},
    DoesNotProlong: {"twice"},
    OffersDeclined: {"declined"},
    MovesClients: {"forgotten"},
    ReleasesOthers: {"forgotten"},
    GivesAnother: {"other"},
}
"""What each promises and does not keep."""


@dataclass(frozen=True)
class Network:
    """Of a share each, by the numbers of `random`."""

    random: object
    lost: float
    late: float
    resent: float

    def delay_s(self):
        return self.random.uniform(0, LATEST_S) if self.random.random() < self.late else 0.001

    def loses(self):
        return self.random.random() < self.lost


class Clients:
    """Clients that act at random, and take down what they see."""

    def __init__(self, server, network, *, answers_all):
        """DHCPv6 `answers_all`: releases and declines, too."""
        self.server, self.network, self.answers_all = server, network, answers_all
        self.recorder, self.has = Recorder(), {}
        self.calls, self.numbers = [], itertools.count()

    def at(self, when, what):
        heapq.heappush(self.calls, (when, next(self.numbers), what))

    def run(self):
        while self.calls:
            when, _, what = heapq.heappop(self.calls)
            what(when)

    def message(self, now, ask, then):
        """Send a message, perhaps again; `then` takes the first answer, or that there is none.

        It takes the answer, when it came, and when the message was sent again.
        """
        network, copies, is_over = self.network, [], []

        def send(when):
            if is_over:
                return
            copies.append(when)
            if not network.loses():
                self.at(when + network.delay_s(), arrive)

        def arrive(when):
            answer = ask(int(when))
            if not network.loses():
                self.at(when + network.delay_s(), lambda at: receive(at, answer))

        def receive(when, answer):
            if not is_over:
                is_over.append(True)
                then(answer, when, round(copies[-1] * SECOND) if copies[1:] else NEVER)

        self.at(now, send)
        if network.random.random() < network.resent:
            self.at(now + network.random.uniform(0.1, 2.0), send)
        self.at(now + 10, lambda _: receive(NEVER, None))

    def note(self, kind, client, now, address, at, **more):
        answered = NEVER if at == NEVER else round(at * SECOND)
        valid_s = VALID_S if kind in (Kind.GRANTED, Kind.RENEWED) else 0
        self.recorder.add(
            kind, client, address or "", round(now * SECOND), answered, valid_s=valid_s, **more
        )

    def begin(self, client, now):
        """Ask for a lease: by an offer, and a request for it."""

        def offered(address, at, resent):
            if at != NEVER and address:
                self.note(Kind.OFFERED, client, now, address, at, resent=resent)
                self.request(client, address, at)

        self.message(now, lambda s: self.server.discover(client, s), offered)

    def request(self, client, address, now):
        def given(own, at, resent):
            if at != NEVER and own is None:
                if resent == NEVER:
                    return  # refused: it has what it had before
                at = NEVER  # another copy may be granted
            more = {"asked": address, "resent": resent}
            self.note(Kind.GRANTED, client, now, own or address, at, **more)
            if own:
                self.has[client] = own

        self.message(now, lambda s: self.server.request(client, address, s), given)

    def renew(self, client, now):
        if not (address := self.has.get(client)):
            return

        def renewed(own, at, resent):
            is_refused = at != NEVER and own is None
            kind = Kind.REFUSED if is_refused else Kind.RENEWED
            more = {"asked": address, "resent": resent}
            self.note(kind, client, now, own or address, at, **more)
            if is_refused:
                self.has.pop(client, None)
            elif own:
                self.has[client] = own

        self.message(now, lambda s: self.server.renew(client, address, s), renewed)

    def give_back(self, kind, client, now):
        if not (address := self.has.pop(client, None)):
            return
        do = self.server.release if kind is Kind.RELEASED else self.server.decline

        def ended(_, at, resent):
            at = at if self.answers_all else NEVER
            self.note(kind, client, now, address, at, resent=resent)

        self.message(now, lambda s: do(client, address, s), ended)


def history_of(server, random, *, lost=0.0, late=0.0, resent=0.0, actions=60, answers_all=True):
    """What clients see who use a server at random for some minutes."""
    clients = Clients(server, Network(random, lost, late, resent), answers_all=answers_all)
    now = 0.0
    for _ in range(actions):
        now += random.choice([0.01, 0.3, 3.0, 25.0])
        client = str(random.randint(1, 6))
        action = random.choice(
            ["begin", "begin", "begin", "renew", "renew", "release", "decline", "restart"]
        )
        calls = {
            "begin": lambda at, who=client: clients.begin(who, at),
            "renew": lambda at, who=client: clients.renew(who, at),
            "release": lambda at, who=client: clients.give_back(Kind.RELEASED, who, at),
            "decline": lambda at, who=client: clients.give_back(Kind.DECLINED, who, at),
            "restart": lambda at: server.restart(int(at)),
        }
        clients.at(now, calls[action])
    clients.run()
    return clients.recorder.history()
