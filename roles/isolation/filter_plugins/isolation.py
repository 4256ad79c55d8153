"""Filters of role isolation."""

from __future__ import annotations

import json


def isolation_found(results):
    """Foreign DHCP traffic that hosts received, a phrase each, from results of async_status."""
    return [
        f"{result['item']['item']} heard {load['message']} from {load['address']}"
        f" ({load['mac']})"
        + (f", server identifier {load['server_id']}" if load["server_id"] else "")
        for result in results
        for load in json.loads(result["stdout"])["foreign"]
    ]


class FilterModule:
    """Filters of role isolation."""

    def filters(self):
        return {"isolation_found": isolation_found}
