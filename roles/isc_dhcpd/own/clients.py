"""The clients that a dhcpd.conf is made for: relays, pools, reservations, prefixes."""

from __future__ import annotations

import ipaddress
import math
from bisect import bisect_right
from collections import Counter, deque
from itertools import chain, islice

from leaselab.lab.leases import Filling
from leaselab.lab.own_kinds import (
    INFORMING,
    MOST_ADDRESSES,
    RESERVED,
    Kinds,
    divided,
    pool_share,
)
from leaselab.model.pool import POOL_USE_LIMIT

from .classes import LISTED, SENT, Classes, members, packet_of
from .places import (
    Prefixes,
    address_of,
    fixed,
    hosts_of,
    identity_of,
    places_of,
    prefix_of,
)
from .rules import Client, Rules, member
from .shares import Shares
from .statements import every

_TRIED = 64
"""Forms of a class that are tried in a pool: those of its subclasses differ in their values."""
MOST_KINDS = 4096
"""Kinds of clients of classes that no pool names."""
_MOST_ALONE = 1024
"""Clients of a class in one pool that have a kind each."""
_ANOTHER_HOSTS = "the address or prefix of an earlier host, which one client at a time may have"
_ANOTHERS_CLIENT = "the client of an earlier host of its network, and dhcpd takes one of them"
_OF_RANGE = "an address of a range, which dhcpd also gives to other clients"


class Clients(Kinds):
    """Kinds of clients that dhcpd answers, and clients that it would not answer."""

    def __init__(self, statements, family, most, leases):
        """At most `most` clients take half of the free addresses, by the sizes of pools.

        `leases` are those that there are, None without any.
        """
        super().__init__(family)
        word = "subnet" if family == 4 else "subnet6"
        self._places = list(places_of(statements, word))
        self._by_prefix = Prefixes()
        for place in self._places:
            self._by_prefix.add(place.prefix, place)
        hosts = [(host, identity_of(host, family)) for host in hosts_of(statements)]
        pools = [ranges for place in self._places for ranges, *_ in place.pools]
        self.filling = leases and Filling(
            leases,
            family,
            [held for ranges in pools for _, held in ranges],
            fixed(host for host, _ in hosts),
        )
        wanted = sum(_most(self._free(ranges)) for ranges in pools)
        share = pool_share(wanted, most)
        self._classes = Classes(statements, family)
        for place in self._places:
            place.pools = [
                (ranges, Rules(rules, self._classes), spot)
                for ranges, rules, spot in place.pools
            ]
        self._forms = {name: _sorted(one.forms()) for name, one in self._classes.items()}
        asked = {member(rule) for rule in every(statements) if rule.name == "allow"}
        self._spread = [
            name for name, forms in self._forms.items() if any(forms) and name not in asked
        ]
        self._used, self._refused, self._come, self._turn = 0, {}, set(), 0
        self._roam, self._shares = {}, Shares(self._classes, family)
        identities = [identity[1] for _, identity in hosts if identity]
        self._taken = {one if isinstance(one, str) else one[-1] for one in identities}
        self._roaming = self._without_address(hosts)
        for place in self._places:
            self._of_pools(place, share)
        self._of_hosts(hosts)
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

    def _of_none(self, name):
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

    def _free(self, ranges):
        """How many addresses and prefixes of some ranges are free."""
        free = {"address": 0, "prefix": 0}
        for what, (first, last, _, length) in ranges:
            size = (last - first + 1) >> ((32 if self.family == 4 else 128) - length)
            free[what] += size - (self.filling.within(first, last) if self.filling else 0)
        return free

    def _of_pools(self, place, share):
        """Clients without a reservation, as many as a share of the pools that admit them.

        Half of those in a pool for all are in classes.
        """
        clients, wants, open_ = 0, {"address": 0, "prefix": 0}, {}
        for ranges, rules, spot in place.pools:
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
                or self._outside(place, {"clients": room, **_wanted(sizes)}, rules, refusal)
                or self._admits_roaming(rules)
            ):
                why = refusal.said("its pool is for other clients")
                self.say(f"{spot}: {place.prefix}: {why}")
        if all(wants.values()):  # of other pools; each client has one of both
            clients = min(clients, math.floor(min(wants.values()) * share) or 1)
        clients -= self._in_classes(place, clients // 2, open_.values(), _wanted(wants))
        own = self._admitted({"clients": clients}, open_.values())[0] if clients else None
        if own is not None:
            self.add(place, {**own, **_wanted(wants)})

    def _in_classes(self, place, clients, pools, want):
        """Divide clients among the classes that some pools admit; return how many there are.

        They are the classes that a pool names, and those that none names.
        """
        if not clients:
            return 0
        asked = [name for rules in pools for name in rules.asked]
        names = dict.fromkeys([*asked, *self._next()])
        names = list(islice((name for name in names if self._fits(name, pools)), clients))
        # A class that lists its clients may have fewer than its part: others have the rest.
        names.sort(key=lambda name: not self._forms[name][0])
        left = clients
        for number, name in enumerate(names):
            part = {"clients": math.ceil(left / (len(names) - number)), **want}
            left -= self._in_class(place, name, part, pools)
        return clients - left

    def _next(self):
        """The classes that no pool names, for a pool: others for each where there are many."""
        most = max(1, MOST_KINDS // len(self._places))
        if len(self._spread) <= most:
            return self._spread
        self._turn += most
        turn = self._turn % len(self._spread)
        return [*self._spread[turn:], *self._spread[:turn]][:most]

    def _outside(self, place, part, rules, refusal):
        """Add clients that are not in the class that refuses others; return how many."""
        name = member(refusal.statement) or "".join(refusal.statement.words[1:2]).strip('"')
        forms = self._classes[name].forms_outside() if name in self._classes else ()
        for form in forms:
            own, *_ = self._of_many([form], part["clients"], [rules])
            if own is not None:
                self.add(place, part | own, f"not {name}")
                return own["clients"]
        return 0

    def _fits(self, name, pools):
        """Whether some pools admit a client of a class; notes why not."""
        for form in islice(chain(*self._forms.get(name, ())), _TRIED):
            if form["identity"] in self._taken:
                continue
            admitted, refusal = self._admitted(self._some(form), pools)
            if admitted:
                return True
            self._refused.setdefault(name, refusal)
        return False

    def _some(self, form):
        """What the first clients with a form have."""
        return members(form, 1 if form["identity"] else 2, self._used * self._shares.is_limited)

    def _admitted(self, own, pools):
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
            own = own | {"clients": len(listed), word: listed}
            if not listed:
                return None, why
        elif why is not None:
            return None, why
        served, *_, full = self._shares.charged(own)
        return served, why or full

    def add(self, place, own, of=""):
        """Add a kind as `Kinds.add`, and note what leases of classes its clients share."""
        if of != RESERVED:
            self._shares.take(own)
        super().add(place, own, of)

    def _in_class(self, place, name, part, pools):
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

    def _in_class_alone(self, place, name, part, pools):
        """Add those clients of a class of which each has a form of its own, as `_in_class`."""
        word, listed, made, clients = LISTED[self.family], [], 0, part["clients"]
        alone, _ = self._forms[name]
        for _ in range(min(len(alone), clients + _TRIED)):
            if made == clients or made - len(listed) == _MOST_ALONE:
                break
            form = alone.popleft()
            if form["identity"] in self._taken:
                continue  # each of these is in one place at a time
            own, _ = self._admitted(members(form, 1, 0), pools)
            if own is None:
                alone.append(form)
                continue
            self._taken.add(form["identity"])
            made += 1
            if own.keys() & SENT:
                self.add(place, part | own, name)
            else:
                listed += own[word]
        if listed:
            self.add(place, part | {"clients": len(listed), word: listed}, name)
        return made

    def _of_many(self, forms, clients, pools):
        """What clients have that take one of some forms, or of addresses each of them.

        None for no clients.  With it is why some are refused, as of `_admitted`, and the number
        of forms that were tried.
        """
        first = forms[0]
        if "address" not in first:
            own = members(first, clients, self._used * self._shares.is_limited)
            self._used += clients * self._shares.is_limited
            return *self._admitted(own, pools), 1
        same = {**first, "address": ()}
        forms = [form for form in islice(forms, clients) if {**form, "address": ()} == same]
        word, listed = LISTED[self.family], []
        for number, form in enumerate(forms):
            each = clients // len(forms) + (number < clients % len(forms))
            listed += members(form, each, self._used)[word]
            self._used += each
        listed = [one for one in listed if one not in self._taken]
        own = {**members(first, 1, 0), "clients": len(listed), word: listed}
        return *(self._admitted(own, pools) if listed else (None, None)), len(forms)

    def _without_address(self, hosts):
        """Hosts without an address, by the classes in which their clients are.

        Of each group: a client of it, and the hosts with their identities.
        """
        groups, known = {}, set()
        for host, identity in hosts:
            is_again = str(identity) in known  # it is one client
            if identity and not (is_again or address_of(host) or prefix_of(host)):
                known.add(str(identity))
                client = self._known(identity)
                if client.ignored() is None and self._shares.take_alone(client):
                    group = groups.setdefault(client.classes, (client, []))
                    group[1].append((host, identity))
        return list(groups.values())

    def _known(self, identity):
        """A client that has a reservation."""
        word, value = identity
        is_listed = word in LISTED.values()
        own, listed = ({}, value) if is_listed else ({word: [value]}, None)
        packet = packet_of(own, self.family, 0, listed)
        return Client(self._classes, packet, is_known=True)

    def _admits_roaming(self, rules):
        """Whether a pool is for clients that have a reservation without an address."""
        if rules.said not in self._roam:
            found = (client.refusal(rules) for client, _ in self._roaming)
            self._roam[rules.said] = any(refusal is None for refusal in found)
        return self._roam[rules.said]

    def _admits_unknown(self, rules):
        """Whether a pool is for clients without a reservation."""
        _, refusal = self._admitted({"clients": 2}, [rules])
        return refusal is None or any(
            self._admitted(self._some(form), [rules])[0]
            for name in dict.fromkeys([*rules.asked, *self._next()])
            for form in islice(chain(*self._forms.get(name, ())), _TRIED)
        )

    def _of_hosts(self, hosts):
        """Clients that have the reservations, each through a relay of its address's subnet."""
        held, doubled = set(), {_ANOTHER_HOSTS: [], _ANOTHERS_CLIENT: [], _OF_RANGE: []}
        pools = [
            (place, ranges, rules, self._admits_unknown(rules))
            for place in self._places
            for ranges, rules, _ in place.pools
        ]
        shared = _merged(self._shared(pools))
        for host, identity in hosts:
            address, prefix = address_of(host), prefix_of(host)
            wanted = address or prefix
            place, why = self._place(address) if address else (None, "")
            if prefix and not address:  # dhcpd gives it whatever the subnet
                place, why = next(iter(self._places), None), "there is no subnet"
            ignored = self._known(identity).ignored() if identity else None
            if identity is None or (wanted and place is None):
                why = why if identity else "no client is known to have it"
                self.say(f"{host.spot}: {' '.join(host.words)}: {why}")
            elif ignored is not None:
                why = ignored.said("its client is ignored")
                self.say(f"{host.spot}: {' '.join(host.words)}: {why}")
            elif wanted in held:
                doubled[_ANOTHER_HOSTS].append(host)
            elif wanted and (place.network, str(identity)) in held:
                doubled[_ANOTHERS_CLIENT].append(host)
            elif address and _is_in(address, shared):
                doubled[_OF_RANGE].append(host)
            elif place is not None:
                held |= {wanted, (place.network, str(identity))}
                want = {"want": "both" if address else "prefix"} if prefix else {}
                self.reserve(place, *identity, want)
        for why, alike in doubled.items():
            if alike:
                host = alike[0]
                count = f"the first of {len(alike)} hosts with {why}"
                self.say(f"{host.spot}: {' '.join(host.words)}: {count}")
        self._of_roaming(pools)
        self.add_reserved()

    def _shared(self, pools):
        """Yield ranges whose addresses dhcpd gives to other clients, as it does in DHCPv4.

        `pools` are those of all places, each with whether it admits unknown clients.
        """
        for _, ranges, rules, has_others in pools if self.family == 4 else ():
            if has_others or self._admits_roaming(rules):
                yield from (held for _, held in ranges)

    def _of_roaming(self, pools):
        """Known clients without an address of their own: in pools for them, by their sizes.

        `pools` as of `_shared`.
        """
        sizes = [_most(self._free(ranges)) for _, ranges, *_ in pools]
        taken, beyond = Counter(), []
        said = [rules.said for _, _, rules, _ in pools]
        several = {rules: pool[2] for rules, pool in zip(said, pools, strict=True)}
        groups = {}
        for client, hosts in self._roaming:
            known = {rules for rules, held in several.items() if client.refusal(held) is None}
            groups.setdefault(frozenset(known), []).extend(hosts)
        for known, hosts in groups.items():
            rooms = []
            for at, (*_, has_others) in enumerate(pools):
                # An unknown client has one address of a pool at least, if it is for such.
                most = min(
                    math.ceil(sizes[at] * POOL_USE_LIMIT), max(0, sizes[at] - has_others)
                )
                rooms.append(max(0, most - taken[at]) if said[at] in known else 0)
            chosen = divided(len(hosts), rooms)
            taken.update(chosen)
            for at, (_, identity) in zip(chosen, hosts, strict=False):
                self.reserve(pools[at][0], *identity, {})
            beyond += hosts[len(chosen) :]
        for host, _ in beyond[:1]:
            self.say(
                f"{host.spot}: {' '.join(host.words)}: {len(beyond)} hosts "
                "without fixed-address are beyond half of the pools that admit them"
            )

    def _place(self, word):
        """The subnet of an address, or why there is none."""
        try:
            address = ipaddress.ip_address(word)
        except ValueError:
            return None, "its address is a name, and none is asked of DNS"
        is_ours = address.version == self.family
        return self._by_prefix.of(int(address)) if is_ours else None, "in no subnet"


def _wanted(sizes):
    """What clients of pools of these sizes ask for."""
    is_both = all(sizes.values())
    return {"want": "both" if is_both else max(sizes, key=lambda name: sizes[name])}


def _sorted(forms):
    """Forms of one client alone, and those of many."""
    alone, many = deque(), deque()
    for form in forms:
        (alone if form["identity"] else many).append(form)
    return alone, many


def _merged(ranges):
    """Some ranges as first and last addresses, in order and without gaps of none."""
    merged = []
    for held in sorted(ranges):
        if merged and held.first <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], held.last)
        else:
            merged.append([held.first, held.last])
    return merged


def _is_in(address, merged):
    """Whether an address is in one of some ranges, as `_merged`."""
    number = int(ipaddress.ip_address(address))
    at = bisect_right(merged, number, key=lambda held: held[0])
    return at > 0 and number <= merged[at - 1][1]


def _most(sizes):
    """How many clients a pool has room for."""
    held = [size for size in sizes.values() if size]
    return min(*held, MOST_ADDRESSES) if held else 0
