"""Filters of role isolation."""

from __future__ import annotations

import json


def isolation_found(results):
    """What hosts heard of others, a sentence part each, from the results of async_status."""
    return [
        f"{result['item']['item']} heard {one['message']} from {one['address']} ({one['mac']})"
        + (f", server identifier {one['server_id']}" if one["server_id"] else "")
        for result in results
        for one in json.loads(result["stdout"])["foreign"]
    ]


class FilterModule:
    """Filters of role isolation."""

    def filters(self):
        return {"isolation_found": isolation_found}
