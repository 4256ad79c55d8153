"""Filters of role isc_dhcpd."""

from __future__ import annotations

import ipaddress
import itertools
import re


def _ends(pool):
    """First and last address of a pool: "first - last" or a prefix."""
    if "/" in pool:
        whole = ipaddress.ip_network(pool)
        return whole[0], whole[-1]
    first, last = (ipaddress.ip_address(end.strip()) for end in pool.split("-"))
    return first, last


def isc_dhcpd_range(pool):
    """Write a pool as dhcpd's range has it: "first last"."""
    return " ".join(map(str, _ends(pool)))


def isc_dhcpd_addresses(pool):
    """How many addresses a pool has."""
    first, last = _ends(pool)
    return int(last) - int(first) + 1


def isc_dhcpd_subnet(subnet):
    """Begin the declaration of a subnet, or of the one address of an address."""
    network = ipaddress.ip_network(subnet)
    if network.version == 6:
        return f"subnet6 {network}"
    return f"subnet {network.network_address} netmask {network.netmask}"


def isc_dhcpd_refusal(said):
    """Return what dhcpd says is wrong in a configuration, each with the text of its line."""
    lines = [line.strip() for line in said.splitlines()]
    wrong = [
        f"{match[1].rstrip('.')}: {text}"
        for line, text in itertools.pairwise([*lines, ""])
        if (match := re.search(r" line \d+: (.+)", line))
    ]
    whole = said.partition("www.isc.org/software/dhcp/")[2] or said
    return "; ".join(wrong[:5]) or " ".join(whole.partition("If you think")[0].split())


class FilterModule:
    """Filters of role isc_dhcpd."""

    def filters(self):
        """Return them by name."""
        return {
            "isc_dhcpd_addresses": isc_dhcpd_addresses,
            "isc_dhcpd_range": isc_dhcpd_range,
            "isc_dhcpd_refusal": isc_dhcpd_refusal,
            "isc_dhcpd_subnet": isc_dhcpd_subnet,
        }
