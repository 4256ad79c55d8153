"""Filters of role dnsmasq."""

from __future__ import annotations

import ipaddress
import re


def dnsmasq_range(pool, subnet):
    """Write a pool ("first - last" or a prefix) as "first,last,mask", a length for v6."""
    network = ipaddress.ip_network(subnet)
    if "/" in pool:
        whole = ipaddress.ip_network(pool)
        first, last = whole[0], whole[-1]
    else:
        first, last = (ipaddress.ip_address(end.strip()) for end in pool.split("-"))
    return f"{first},{last},{network.netmask if network.version == 4 else network.prefixlen}"


def dnsmasq_named_line(refusal, text):
    """Return what dnsmasq says of a configuration, with the line itself for its number."""
    lines = text.splitlines()
    return re.sub(
        r" at line (\d+) of \S+\.conf",
        lambda match: f": {lines[int(match[1]) - 1]}",
        refusal.strip(),
    )


class FilterModule:
    """Filters of role dnsmasq."""

    def filters(self):
        return {"dnsmasq_named_line": dnsmasq_named_line, "dnsmasq_range": dnsmasq_range}
