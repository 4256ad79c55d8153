"""The clients that a dhcpd.conf is made for: relays, pools, reservations, prefixes."""

from __future__ import annotations

import ipaddress
import math
from collections import Counter

from leaselab.lab.leases import Filling
from leaselab.lab.own_kinds import MOST_ADDRESSES, Kinds, divided, pool_share
from leaselab.model.pool import POOL_USE_LIMIT

from .classes import LISTED, SENT, classes_of, members, packet_of
from .places import address_of, fixed, hosts_of, identity_of, places_of, prefix_of
from .rules import Client, member
from .statements import every

_TRIED = 64
"""Forms of a class that are tried in a pool: those of its subclasses differ in their values."""
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
        self._classes = classes_of(statements, family)
        self._forms = {name: list(one.forms()) for name, one in self._classes.items()}
        asked = {member(rule) for rule in every(statements) if rule.name == "allow"}
        self._spread = [
            name for name, forms in self._forms.items() if forms and name not in asked
        ]
        self._used, self._refused, self._come = 0, {}, set()
        identities = [identity[1] for _, identity in hosts if identity]
        self._taken = {one if isinstance(one, str) else one[-1] for one in identities}
        self._roaming = self._without_address(hosts)
        for place in self._places:
            self._of_pools(place, share)
        self._of_hosts(hosts)
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
        elif self._forms[name]:
            return  # there was no room for one
        elif one.has_ignored:
            why = "its clients are ignored"
        elif one.limit is not None and one.field is None:
            why = f"its clients share {one.limit} leases"
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
        clients, wants, open_ = 0, {"address": 0, "prefix": 0}, []
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
                open_.append(rules)
            elif not (
                self._in_classes(place, room, [rules], _wanted(sizes))
                or self._outside(place, {"clients": room, **_wanted(sizes)}, rules, refusal)
                or self._admits_roaming(rules)
            ):
                why = refusal.said("its pool is for other clients")
                self.say(f"{spot}: {place.prefix}: {why}")
        if all(wants.values()):  # of other pools; each client has one of both
            clients = min(clients, math.floor(min(wants.values()) * share) or 1)
        clients -= self._in_classes(place, clients // 2, open_, _wanted(wants))
        if clients:
            self.add(place, {"clients": clients, **_wanted(wants)})

    def _in_classes(self, place, clients, pools, want):
        """Divide clients among the classes that some pools admit; return how many there are.

        They are the classes that a pool names, and those that none names.
        """
        allowed = [member(rule) for rules in pools for rule in rules if rule.name == "allow"]
        names = [name for name in dict.fromkeys([*allowed, *self._spread]) if name]
        names = [name for name in names if clients and self._fits(name, pools)][:clients]
        # A class that lists its clients may have fewer than its part: others have the rest.
        names.sort(key=lambda name: not self._forms[name][0]["identity"])
        left = clients
        for number, name in enumerate(names):
            part = {"clients": math.ceil(left / (len(names) - number)), **want}
            left -= self._in_class(place, name, part, pools)
        return clients - left

    def _outside(self, place, part, rules, refusal):
        """Add clients that are not in the class that refuses others; return how many."""
        name = member(refusal.statement) or "".join(refusal.statement.words[1:2]).strip('"')
        forms = self._classes[name].forms_outside() if name in self._classes else ()
        for form in forms:
            own, _ = self._admitted(self._of_many([form], part["clients"]), [rules])
            if own is not None:
                self.add(place, part | own, f"not {name}")
                return own["clients"]
        return 0

    def _fits(self, name, pools):
        """Whether some pools admit a client of a class; notes why not."""
        for form in self._forms.get(name, ())[:_TRIED]:
            if form["identity"] in self._taken:
                continue
            admitted, refusal = self._admitted(_some(form), pools)
            if admitted:
                return True
            self._refused.setdefault(name, refusal)
        return False

    def _admitted(self, own, pools):
        """What clients of a kind have without those that pools refuse, and why they do.

        None for no clients, and for no refusal.
        """
        word = LISTED[self.family]
        listed = own.get(word)
        numbers = range(len(listed) if listed else min(own["clients"], 2))
        packets = [packet_of(own, self.family, at, listed and listed[at]) for at in numbers]
        refusals = []
        for packet, other in zip(packets, [None, *packets], strict=False):
            client = Client(self._classes, packet, other=other)
            found = (client.refusal(rules) for rules in pools)
            refusals.append(next((one for one in found if one is not None), None))
        why = next((one for one in refusals if one is not None), None)
        if listed:
            listed = [held for held, one in zip(listed, refusals, strict=True) if one is None]
            return (own | {"clients": len(listed), word: listed} if listed else None), why
        return (own if why is None else None), why

    def _in_class(self, place, name, part, pools):
        """Add clients of a class, as many as a part has; return how many there are."""
        word, listed, made, clients = LISTED[self.family], [], 0, part["clients"]
        for form in self._forms[name]:
            identity = form["identity"]
            if made == clients or made - len(listed) == _MOST_ALONE:
                break
            if not identity or identity in self._taken:
                continue  # each of these is in one place at a time
            own, _ = self._admitted(members(form, 1, 0), pools)
            if own is None:
                continue
            self._taken.add(identity)
            made += 1
            if own.keys() & SENT:
                self.add(place, part | own, name)
            else:
                listed += own[word]
        if listed:
            self.add(place, part | {"clients": len(listed), word: listed}, name)
        self._forms[name] = [
            form for form in self._forms[name] if form["identity"] not in self._taken
        ]
        many = [form for form in self._forms[name] if not form["identity"]]
        if many and made < clients:
            own, _ = self._admitted(self._of_many(many, clients - made), pools)
            if own is not None and own["clients"]:
                self.add(place, part | own, name)
                made += own["clients"]
        if made:
            self._come.add(name)
        return made

    def _of_many(self, forms, clients):
        """What clients have that take one of some forms: of addresses, each of them."""
        if "address" not in forms[0]:
            return members(forms[0], clients, 0)
        same = {**forms[0], "address": ()}
        forms = [form for form in forms if {**form, "address": ()} == same][:clients]
        word, listed = LISTED[self.family], []
        for number, form in enumerate(forms):
            each = clients // len(forms) + (number < clients % len(forms))
            listed += members(form, each, self._used)[word]
            self._used += each
        listed = [one for one in listed if one not in self._taken]
        return {**members(forms[0], 1, 0), "clients": len(listed), word: listed}

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
                if client.ignored() is None:
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
        return any(client.refusal(rules) is None for client, _ in self._roaming)

    def _admits_unknown(self, rules):
        """Whether a pool is for clients without a reservation."""
        _, refusal = self._admitted({"clients": 2}, [rules])
        return refusal is None or any(
            self._admitted(_some(form), [rules])[0]
            for forms in self._forms.values()
            for form in forms[:_TRIED]
        )

    def _of_hosts(self, hosts):
        """Clients that have the reservations, each through a relay of its address's subnet."""
        held, doubled = set(), {_ANOTHER_HOSTS: [], _ANOTHERS_CLIENT: [], _OF_RANGE: []}
        pools = [
            (place, ranges, rules, self._admits_unknown(rules))
            for place in self._places
            for ranges, rules, _ in place.pools
        ]
        shared = list(self._shared(pools))
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
        for client, hosts in self._roaming:
            rooms = []
            for at, (_, _, rules, has_others) in enumerate(pools):
                # An unknown client has one address of a pool at least, if it is for such.
                most = min(
                    math.ceil(sizes[at] * POOL_USE_LIMIT), max(0, sizes[at] - has_others)
                )
                is_for = client.refusal(rules) is None
                rooms.append(max(0, most - taken[at]) if is_for else 0)
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
        places = (place for place in self._places if address in place.prefix)
        return next(places, None), "in no subnet"


def _wanted(sizes):
    """What clients of pools of these sizes ask for."""
    is_both = all(sizes.values())
    return {"want": "both" if is_both else max(sizes, key=lambda name: sizes[name])}


def _some(form):
    """What the first clients with a form have."""
    return members(form, 1 if form["identity"] else 2, 0)


def _is_in(address, ranges):
    """Whether an address is in one of some ranges."""
    number = int(ipaddress.ip_address(address))
    return any(held.first <= number <= held.last for held in ranges)


def _most(sizes):
    """How many clients a pool has room for."""
    held = [size for size in sizes.values() if size]
    return min(*held, MOST_ADDRESSES) if held else 0
