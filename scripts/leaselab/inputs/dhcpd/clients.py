"""The clients that a dhcpd.conf is made for: relays, pools, reservations, prefixes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from leaselab.inputs import client_kinds
from leaselab.inputs.client_kinds import (
    INFORMING,
    MOST_ADDRESSES,
    RESERVED,
    Having,
    Kinds,
    listing,
    pool_share,
)
from leaselab.inputs.dhcpd.classes import LISTED, SENT, Classes, Form, members, reader_of
from leaselab.inputs.dhcpd.conditions import Condition, ruled
from leaselab.inputs.dhcpd.places import (
    Leased,
    Place,
    What,
    fixed,
    hosts_of,
    identity_of,
    places_of,
)
from leaselab.inputs.dhcpd.reserved import Hosts, Pool
from leaselab.inputs.dhcpd.rules import Refusal, Rules, member
from leaselab.inputs.dhcpd.shares import Shares
from leaselab.inputs.dhcpd.statements import Statement, every
from leaselab.inputs.leases import Filling, Leases

_TRIED = 64
"""Forms of a class that are tried in a pool: those of its subclasses differ in their values."""
MOST_KINDS = 4096
"""Kinds of clients of classes that no pool names."""
_MOST_ALONE = 1024
"""Clients of a class in one pool that have a kind each."""


_Pools = Collection[Rules]


class _Ruled(NamedTuple):
    """A pool: its ranges, whom it admits, and where it stands."""

    ranges: Sequence[Leased]
    rules: Rules
    spot: str


class Clients(Kinds):
    """Kinds of clients that dhcpd answers, and clients that it would not answer."""

    def __init__(
        self, statements: Sequence[Statement], family: int, most: int, leases: Leases | None
    ) -> None:
        """At most `most` clients take half of the free addresses, by the sizes of pools.

        `leases` are those that there are, None without any.
        """
        super().__init__(family)
        word = "subnet" if family == 4 else "subnet6"
        reader, held = reader_of(statements, family), list[Condition]()
        if family == 4:  # in DHCPv6 dhcpd looks at no such rule
            statements, held = ruled(statements, reader)
        self._places = list(places_of(statements, word))
        hosts = [(host, identity_of(host, family)) for host in hosts_of(statements)]
        pools = [ranges for place in self._places for ranges, *_ in place.pools]
        self.filling = None
        if leases is not None:
            every_range = [held for ranges in pools for _, held in ranges]
            self.filling = Filling(leases, family, every_range, fixed(one for one, _ in hosts))
        wanted = sum(_most(self._free(ranges)) for ranges in pools)
        share = pool_share(wanted, most)
        self._classes = Classes(statements, reader, held)
        self._pools = {
            place: [
                _Ruled(ranges, Rules(rules, self._classes), spot)
                for ranges, rules, spot in place.pools
            ]
            for place in self._places
        }
        self._forms = {name: _sorted(one.forms()) for name, one in self._classes.items()}
        asked = {member(rule) for rule in every(statements) if rule.name == "allow"}
        self._spread = [
            name for name, forms in self._forms.items() if any(forms) and name not in asked
        ]
        self._used = self._turn = 0
        self._refused: dict[str, Refusal] = {}
        self._come: set[str] = set()
        self._shares = Shares(self._classes, family)
        identities = [identity.value for _, identity in hosts if identity]
        self._taken = {one if isinstance(one, str) else one[-1] for one in identities}
        self._hosts = Hosts(self, hosts, self._places, self._classes, self._shares)
        for place in self._places:
            self._of_pools(place, share)
        self._of_hosts()
        self.informs = family == 6 and not (pools or self.kinds)
        """Whether all clients ask for options alone, as no subnet has a lease."""
        for place in self._places if self.informs else ():
            clients = max(1, min(INFORMING, most // len(self._places)))
            super().add(place, {"clients": clients})
        for one in every(statements):
            if one.name == "range6" and "temporary" in one.words:
                self.say(f"{one.spot}: {' '.join(one.words)}: no client asks for one of these")
        for name in self._classes:
            if name not in self._come:
                self._of_none(name)
        self.size = self.addresses(wanted)

    def _of_none(self, name: str) -> None:
        """Note why a class has no clients."""
        one = self._classes[name]
        if name in self._refused:
            why = self._refused[name].said("its clients are refused")
        elif any(self._forms[name]):
            return  # there was no room for one
        elif one.has_ignored:
            why = "its clients are ignored"
        elif one.asks_relay:
            why = "relays of the lab have other addresses, as dhcpd answers to these"
        elif one.is_padded:
            why = "dhcpd writes no leading zeros"
        else:
            why = "no client was worked out for its test"
        self.say(f"{one.statement.spot}: {' '.join(one.statement.words)}: {why}")

    def _free(self, ranges: Iterable[Leased]) -> dict[What, int]:
        """How many addresses and prefixes of some ranges are free."""
        free: dict[What, int] = {"address": 0, "prefix": 0}
        for what, (first, last, _, length) in ranges:
            size = (last - first + 1) >> ((32 if self.family == 4 else 128) - length)
            free[what] += size - (self.filling.within(first, last) if self.filling else 0)
        return free

    def _of_pools(self, place: Place, share: float) -> None:
        """Clients without a reservation, as many as a share of the pools that admit them.

        Half of those in a pool for all are in classes.
        """
        clients, wants = 0, self._free(())
        open_: dict[tuple[tuple[str, ...], ...], Rules] = {}
        for ranges, rules, spot in self._pools[place]:
            sizes = self._free(ranges)
            if not any(sizes.values()):
                self.say(f"{spot}: {place.prefix}: its pool has no free address")
                continue
            room = math.floor(_most(sizes) * share) or 1
            _, refusal = self._admitted({"clients": 2}, [rules])
            if refusal is None:
                clients += room
                wants = {want: size + sizes[want] for want, size in wants.items()}
                open_[rules.said] = rules
            elif not (
                self._in_classes(place, room, [rules], _wanted(sizes))
                or self._outside(
                    place, {"clients": room, "want": _wanted(sizes)}, rules, refusal
                )
                or self._hosts.admits_roaming(rules)
            ):
                why = refusal.said("its pool is for other clients")
                self.say(f"{spot}: {place.prefix}: {why}")
        if all(wants.values()):  # of other pools; each client has one of both
            clients = min(clients, math.floor(min(wants.values()) * share) or 1)
        clients -= self._in_classes(place, clients // 2, open_.values(), _wanted(wants))
        own = self._admitted({"clients": clients}, open_.values())[0] if clients else None
        if own is not None:
            self.add(place, {**own, "want": _wanted(wants)})

    def _in_classes(self, place: Place, clients: int, pools: _Pools, want: str) -> int:
        """Divide clients among the classes that some pools admit; return how many there are.

        They are the classes that a pool names, and those that none names.
        """
        if not clients:
            return 0
        asked = [name for rules in pools for name in rules.asked]
        named = dict.fromkeys([*asked, *self._next()])
        names = list(islice((name for name in named if self._fits(name, pools)), clients))
        # A class that lists its clients may have fewer than its part: others have the rest.
        names.sort(key=lambda name: not self._forms[name][0])
        left = clients
        for number, name in enumerate(names):
            each = math.ceil(left / (len(names) - number))
            part: Having = {"clients": each, "want": want}
            left -= self._in_class(place, name, part, pools)
        return clients - left

    def _next(self) -> list[str]:
        """The classes that no pool names, for a pool: others for each where there are many."""
        most = max(1, MOST_KINDS // len(self._places))
        if len(self._spread) <= most:
            return self._spread
        self._turn += most
        turn = self._turn % len(self._spread)
        return [*self._spread[turn:], *self._spread[:turn]][:most]

    def _outside(self, place: Place, part: Having, rules: Rules, refusal: Refusal) -> int:
        """Add clients that are not in the class that refuses others; return how many."""
        first, *words = refusal.statement.words
        names = (member(refusal.statement), "".join(words[:1]).strip('"'), first)
        name = next((one for one in names if one in self._classes), "")
        forms = self._classes[name].forms_outside() if name else ()
        for form in forms:
            own, *_ = self._of_many([form], part["clients"], [rules])
            if own is not None:
                self.add(place, part | own, f"not {name}")
                return own["clients"]
        return 0

    def _fits(self, name: str, pools: _Pools) -> bool:
        """Whether some pools admit a client of a class; notes why not."""
        for form in islice(chain(*self._forms.get(name, ())), _TRIED):
            if form.identity in self._taken:
                continue
            admitted, refusal = self._admitted(self._some(form), pools)
            if admitted:
                return True
            if refusal is not None:
                self._refused.setdefault(name, refusal)
        return False

    def _some(self, form: Form) -> Having:
        """What the first clients with a form have."""
        return members(form, 1 if form.identity else 2, self._used * self._shares.is_limited)

    def _admitted(self, own: Having, pools: _Pools) -> tuple[Having | None, Refusal | None]:
        """What clients of a kind have without those that pools refuse, and why they do.

        None for no clients, and for no refusal.
        """
        word = LISTED[self.family]
        refusals = []
        for client in self._shares.clients(own):
            found = (client.refusal(rules) for rules in pools)
            refusals.append(next((one for one in found if one is not None), None))
        why = next((one for one in refusals if one is not None), None)
        if word in own:
            pairs = zip(own[word], refusals, strict=True)
            listed = [held for held, one in pairs if one is None]
            own = listing(own, word, listed)
            if not listed:
                return None, why
        elif why is not None:
            return None, why
        served, *_, full = self._shares.charged(own)
        return served, why or full

    def add(self, place: client_kinds.Place, own: Having, of: str = "") -> None:
        """Add a kind as `Kinds.add`, and note what leases of classes its clients share."""
        if of != RESERVED:
            self._shares.take(own)
        super().add(place, own, of)

    def _in_class(self, place: Place, name: str, part: Having, pools: _Pools) -> int:
        """Add clients of a class, as many as a part has; return how many there are."""
        made = self._in_class_alone(place, name, part, pools)
        many, clients = self._forms[name][1], part["clients"]
        for _ in range(min(len(many), _MOST_ALONE)):
            if made >= clients:
                break
            own, why, tried = self._of_many(many, clients - made, pools)
            if own is not None:
                self.add(place, part | own, name)
                made += own["clients"]
            elif why is not None:
                self._refused.setdefault(name, why)
            if not self._shares.is_limited:
                break
            many.rotate(-tried)  # their subclasses may have no lease left
        if made:
            self._come.add(name)
        return made

    def _in_class_alone(self, place: Place, name: str, part: Having, pools: _Pools) -> int:
        """Add those clients of a class of which each has a form of its own, as `_in_class`."""
        word, made, clients = LISTED[self.family], 0, part["clients"]
        listed: list[str] = []
        alone, _ = self._forms[name]
        for _ in range(min(len(alone), clients + _TRIED)):
            if made == clients or made - len(listed) == _MOST_ALONE:
                break
            form = alone.popleft()
            if form.identity in self._taken:
                continue  # each of these is in one place at a time
            own, _ = self._admitted(members(form, 1, 0), pools)
            if own is None:
                alone.append(form)
                continue
            self._taken.add(form.identity)
            made += 1
            if any(key in own for key in SENT):
                self.add(place, part | own, name)
            else:
                listed += own[word]
        if listed:
            self.add(place, listing(part, word, listed), name)
        return made

    def _of_many(
        self, forms: Sequence[Form], clients: int, pools: _Pools
    ) -> tuple[Having | None, Refusal | None, int]:
        """What clients have that take one of some forms, or of addresses each of them.

        None for no clients.  With it is why some are refused, as of `_admitted`, and the number
        of forms that were tried.
        """
        first = forms[0]
        if first.address is None:
            own = members(first, clients, self._used * self._shares.is_limited)
            self._used += clients * self._shares.is_limited
            return *self._admitted(own, pools), 1
        same = first._replace(address=None)
        forms = [one for one in islice(forms, clients) if one._replace(address=None) == same]
        word = LISTED[self.family]
        listed: list[str] = []
        for number, form in enumerate(forms):
            each = clients // len(forms) + (number < clients % len(forms))
            listed += members(form, each, self._used)[word]
            self._used += each
        listed = [one for one in listed if one not in self._taken]
        own = listing(members(first, 1, 0), word, listed)
        return *(self._admitted(own, pools) if listed else (None, None)), len(forms)

    def _admits_unknown(self, rules: Rules) -> bool:
        """Whether a pool is for clients without a reservation."""
        _, refusal = self._admitted({"clients": 2}, [rules])
        return refusal is None or any(
            self._admitted(self._some(form), [rules])[0]
            for name in dict.fromkeys([*rules.asked, *self._next()])
            for form in islice(chain(*self._forms.get(name, ())), _TRIED)
        )

    def _of_hosts(self) -> None:
        """Clients that have the reservations."""
        pools = [
            Pool(place, ranges, rules, self._admits_unknown(rules), _most(self._free(ranges)))
            for place in self._places
            for ranges, rules, _ in self._pools[place]
        ]
        self._hosts.add(pools)


def _wanted(sizes: Mapping[What, int]) -> str:
    """What clients of pools of these sizes ask for."""
    is_both = all(sizes.values())
    return "both" if is_both else max(sizes, key=lambda name: sizes[name])


def _sorted(forms: Iterable[Form]) -> tuple[deque[Form], deque[Form]]:
    """Forms of one client alone, and those of many."""
    alone, many = deque[Form](), deque[Form]()
    for form in forms:
        (alone if form.identity else many).append(form)
    return alone, many


def _most(sizes: Mapping[What, int]) -> int:
    """How many clients a pool has room for."""
    held = [size for size in sizes.values() if size]
    return min(*held, MOST_ADDRESSES) if held else 0
