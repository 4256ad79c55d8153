"""The pool that clients get their addresses from, part of a scenario's load."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from leaselab.model.errors import usage_error


def pool_size(pool: str) -> int:
    """Return the number of addresses in a pool: ``first - last``, or a prefix.

    Raises ValueError for anything else.
    """
    if "/" in pool:
        return ipaddress.ip_network(pool).num_addresses
    first, _, last = (end.strip() for end in pool.partition("-"))
    return int(ipaddress.ip_address(last)) - int(ipaddress.ip_address(first)) + 1


def check_pool(load: Mapping[str, Any], where: str) -> None:
    """Refuse a load whose `subnet` or `pool` is none, or not of its `family` (usage error)."""
    if "pool" not in load:
        return
    try:
        version = ipaddress.ip_network(load["subnet"]).version
        size = pool_size(load["pool"])
    except KeyError as error:
        raise usage_error("key missing", where=where, wanted="subnet, beside pool") from error
    except ValueError as error:
        raise usage_error(f"pool is not usable: {error}", where=where) from error
    if version != load.get("family") or size < 1:
        raise usage_error(
            "pool does not fit the address family",
            where=where,
            found=f"{load['subnet']}, {size} addresses",
            wanted=f"an IPv{load.get('family')} pool",
        )
