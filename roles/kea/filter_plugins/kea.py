"""Filters of role kea."""

from __future__ import annotations

import ipaddress


def kea_halves(pool):
    """Split a pool ("first - last" or a prefix) into two of the same size, written "a - b"."""
    if "/" in pool:
        network = ipaddress.ip_network(pool)
        first, last = network[0], network[-1]
    else:
        first, last = (ipaddress.ip_address(end.strip()) for end in pool.split("-"))
    size = int(last) - int(first) + 1
    middle = first + size // 2
    return [f"{first} - {middle - 1}", f"{middle} - {last}"]


class FilterModule:
    """Filters of role kea."""

    def filters(self):
        """Return them by name."""
        return {"kea_halves": kea_halves}
