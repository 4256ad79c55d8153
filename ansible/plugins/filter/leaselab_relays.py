"""Filter that names the relays of a load's DHCP clients, which the generator's host is."""

from __future__ import annotations

import ipaddress
from typing import Any

from ansible.errors import AnsibleFilterError


def relays(address: str, count: int) -> list[str]:
    """Return the addresses of `count` relays: the first, and those that follow it."""
    try:
        first = ipaddress.ip_address(address)
        return [str(first + number) for number in range(count)]
    except ValueError as error:
        raise AnsibleFilterError(f"{count} relays from {address!r} on: {error}") from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by the name it has in templates."""
        return {"leaselab_relays": relays}
