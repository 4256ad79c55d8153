"""Filters of role kea: pools, subnets and classes of a configuration."""

from __future__ import annotations

import ipaddress

OTHERS = {4: ("100.64.0.0/10", 28), 6: ("2001:2:1::/48", 64)}
"""What the subnets that serve nobody are parts of, and the length of each one's prefix."""
FIRST_STRANGER = 0x020000000000
"""A MAC address that is set by hand: no generator's client has one of these."""
NEVER_TRUE = {
    4: "substring(option[61].hex,1,3) == 0xffffff",
    6: "substring(option[1].hex,1,3) == 0xffffff",
}
"""On the identifier that each client sends, so that the expression is worked out."""


def kea_parts(pool, count):
    """Split a pool ("first - last" or a prefix) into `count` of the same size, as "a - b".

    A single part is the pool as it is written.  What the division leaves belongs to the last.
    """
    if count == 1:
        return [pool]
    first, last = _ends(pool)
    size = (int(last) - int(first) + 1) // count
    starts = [first + number * size for number in range(count)]
    ends = [*(start - 1 for start in starts[1:]), last]
    return [f"{start} - {end}" for start, end in zip(starts, ends, strict=True)]


def kea_other_subnets(ids, family, before=0):
    """Return subnets of these ids that serve nobody, each with a pool over all of it.

    Those of a shared network and those beside it differ by how many there are `before` them.
    """
    whole, length = OTHERS[int(family)]
    network = ipaddress.ip_network(whole)
    size = 1 << (network.max_prefixlen - length)
    starts = (network[0] + (before + number) * size for number in range(len(ids)))
    prefixes = [f"{start}/{length}" for start in starts]
    return [
        {"id": one, "subnet": prefix, "pools": [{"pool": prefix}]}
        for one, prefix in zip(ids, prefixes, strict=True)
    ]


def kea_classes(kind, count, family):
    """Return the client classes of one kind: see the role's default of `kea_classes`."""
    if kind == "none":
        return []
    if kind == "members":
        return [{"name": "members", "test": _list_of(count, int(family))}]
    test = {"empty": {}, "simple": {"test": "'a'=='a'"}}.get(kind)
    test = {"test": NEVER_TRUE[int(family)]} if test is None else test
    return [{"name": f"class-{number}", **test} for number in range(1, count + 1)]


def _list_of(count, family):
    """An expression that is true for `count` clients, none of which ever comes."""
    macs = (f"0x{FIRST_STRANGER + number:012x}" for number in range(count))
    left = "pkt4.mac" if family == 4 else "substring(option[1].hex,8,6)"
    return " or ".join(f"{left} == {mac}" for mac in macs)


def _ends(pool):
    if "/" in pool:
        network = ipaddress.ip_network(pool)
        return network[0], network[-1]
    first, last = (ipaddress.ip_address(end.strip()) for end in pool.split("-"))
    return first, last


class FilterModule:
    """Filters of role kea."""

    def filters(self):
        """Return them by name."""
        return {
            "kea_parts": kea_parts,
            "kea_other_subnets": kea_other_subnets,
            "kea_classes": kea_classes,
        }
