"""The leases with which a server of DHCP begins, of made-up clients, as role files have them.

A line of the file is an address, its length (of a prefix), 1 where it is declined, and the
number of its subnet.  The settings have its path as `filled_file`; without one, no leases.
"""

import functools
from pathlib import Path
from typing import NamedTuple

from leaselab_contract.errors import ContractError

LIFETIME_S = 7 * 86400
"""From now on: longer than anything that is measured."""
_FIRST_MAC = 0x0E1EA5000000
"""No client of a load has a hardware address like these."""


class Lease(NamedTuple):
    """A lease: addresses are text, hardware addresses bytes."""

    address: str
    length: int
    declined: bool
    subnet: int
    mac: bytes

    @property
    def duid(self):
        """Its client's DUID, of type LL."""
        return b"\0\3\0\1" + self.mac


def read(config):
    """Return the leases of a server's settings."""
    return _of_file(config.get("filled_file"))


def check(config, count):
    """Raise ContractError where a server that has just begun counts others than these."""
    held = len(read(config))
    if held and (others := count()):
        raise ContractError(
            f"the server does not have the leases of its start (found {held + others}, "
            f"wanted {held})"
        )


@functools.cache
def _of_file(path):
    if not path:
        return ()
    made = []
    for number, line in enumerate(Path(path).read_text(encoding="ascii").splitlines()):
        address, length, declined, subnet = line.split(",")
        mac = (_FIRST_MAC + number).to_bytes(6, "big")
        made.append(Lease(address, int(length), declined == "1", int(subnet), mac))
    return tuple(made)
