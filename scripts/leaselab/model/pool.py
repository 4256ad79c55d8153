"""The address pool of the clients, part of a scenario's load."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from leaselab.model.errors import usage_error

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
POOL_USE_LIMIT = 0.5
"""Highest share of the pool that may be leased: beyond it allocation slows down."""


def pool_size(pool: str) -> int:
    """Return the number of addresses in a pool: ``first - last``, or a prefix.

    Raises ValueError for anything else.
    """
    first, last = _ends(pool)
    return int(last) - int(first) + 1


def _ends(pool: str) -> tuple[Address, Address]:
    """Return the first and the last address of a pool; raises ValueError as `pool_size`."""
    if "/" in pool:
        network = ipaddress.ip_network(pool)
        return network[0], network[-1]
    first, _, last = (end.strip() for end in pool.partition("-"))
    return ipaddress.ip_address(first), ipaddress.ip_address(last)


def check_pool(load: Mapping[str, Any], where: str) -> None:
    """Raise a usage error for an invalid `subnet` or `pool`, or one of another `family`."""
    if "pool" not in load:
        return
    try:
        subnet = ipaddress.ip_network(load["subnet"])
        ends, size = _ends(load["pool"]), pool_size(load["pool"])
    except KeyError as error:
        raise usage_error("key missing", where=where, wanted="subnet, beside pool") from error
    except ValueError as error:
        raise usage_error(
            f"pool is not usable: {error}", where=where, wanted="FIRST - LAST, or a prefix"
        ) from error
    if not all(end in subnet for end in ends):
        raise usage_error(
            "pool is not in its subnet",
            where=where,
            found=f"{load['pool']}",
            wanted=f"addresses of {load['subnet']}",
        )
    if subnet.version != load.get("family") or size < 1:
        raise usage_error(
            "pool does not fit the address family",
            where=where,
            found=f"{load['subnet']}, {size} addresses",
            wanted=f"an IPv{load.get('family')} pool",
        )
