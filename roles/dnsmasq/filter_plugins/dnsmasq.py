"""Filters of role dnsmasq."""

from __future__ import annotations

import ipaddress


def dnsmasq_range(pool, subnet):
    """Write a pool ("first - last" or a prefix) as "first,last,mask", a length for v6."""
    network = ipaddress.ip_network(subnet)
    if "/" in pool:
        whole = ipaddress.ip_network(pool)
        first, last = whole[0], whole[-1]
    else:
        first, last = (ipaddress.ip_address(end.strip()) for end in pool.split("-"))
    return f"{first},{last},{network.netmask if network.version == 4 else network.prefixlen}"


class FilterModule:
    """Filters of role dnsmasq."""

    def filters(self):
        return {"dnsmasq_range": dnsmasq_range}
