"""The addresses of an interface, as the kernel has them."""

import time
from pathlib import Path

from leaselab_contract.errors import ContractError, LabError
from leaselab_contract.process import POLL_S

USABLE_S = 15.0
TENTATIVE = 0x40
INTERFACES = Path("/sys/class/net")


def wait_until_usable(interface):
    """Wait until duplicate address detection has ended on an interface.

    A DHCPv6 server that starts while its link-local address is tentative runs and
    warns, but answers no client.  Raises LabError where there is no such interface: a
    boot removes that of a second place.
    """
    if not (INTERFACES / interface).exists():
        known = ", ".join(sorted(path.name for path in INTERFACES.iterdir()))
        raise LabError(
            f"no such interface (found {known}; wanted {interface}); deploy again, which makes"
            " that of a second place"
        )
    deadline = time.monotonic() + USABLE_S
    while addresses := tentative(interface):
        if time.monotonic() > deadline:
            raise ContractError(
                f"{interface}: address {addresses[0]} still tentative after {USABLE_S:.0f} s"
            )
        time.sleep(POLL_S)


def tentative(interface):
    """Return the addresses of an interface whose duplicate detection has not ended."""
    path = Path("/proc/net/if_inet6")
    rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [row[0] for row in rows if row[5] == interface and int(row[4], 16) & TENTATIVE]
