"""The addresses of an interface, as the kernel has them."""

import array
import fcntl
import ipaddress
import socket
import struct
import time
from pathlib import Path

from leaselab_contract.errors import ContractError, LabError
from leaselab_contract.process import POLL_S

USABLE_S = 15.0
TENTATIVE = 0x40
INTERFACES = Path("/sys/class/net")
LOOPBACK = 0x8
SIOCGIFCONF, ENTRY_BYTES, MOST_ENTRIES = 0x8912, 40, 4096


def check_placed(interface, address):
    """Raise LabError unless an interface has an address, is up and has a carrier.

    After a boot its name may be that of another one, which leads to other networks, and that
    of a second place is gone.
    """
    folder = INTERFACES / interface
    if folder.exists() and int((folder / "flags").read_text(encoding="ascii"), 16) & LOOPBACK:
        return  # it leads nowhere, and has more addresses than are listed
    having = having_address(address)
    if interface not in having:
        known = ", ".join(sorted(path.name for path in INTERFACES.iterdir()))
        raise LabError(
            f"the test address {address} is not where it was as this was deployed (found on "
            f"{' and '.join(having) or f'none of {known}'}; wanted on {interface}); give "
            f"{interface} its address, or deploy again"
        )
    try:
        carrier = (folder / "carrier").read_text(encoding="ascii").strip()
    except OSError:
        carrier = "none: it is not up"
    if carrier != "1":
        raise LabError(
            f"the link of {interface} is down (found carrier {carrier}; wanted 1); look at its"
            " cable and switch"
        )


def having_address(address):
    """Return the interfaces that have an address."""
    wanted = ipaddress.ip_address(address).packed
    if len(wanted) > 4:
        return [row[5] for row in rows_of_ipv6() if bytes.fromhex(row[0]) == wanted]
    room = array.array("B", bytes(ENTRY_BYTES * MOST_ENTRIES))
    asked = struct.pack("iP", len(room), room.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        used, _ = struct.unpack("iP", fcntl.ioctl(any_socket, SIOCGIFCONF, asked))
    entries = (room[at : at + ENTRY_BYTES].tobytes() for at in range(0, used, ENTRY_BYTES))
    return [
        # the name, perhaps with a label, and a socket address
        entry[:16].partition(b"\0")[0].decode("ascii", "replace").partition(":")[0]
        for entry in entries
        if entry[20:24] == wanted
    ]


def wait_until_usable(interface):
    """Wait until duplicate address detection has ended on an interface.

    A DHCPv6 server that starts while its link-local address is tentative runs and
    warns, but answers no client.
    """
    deadline = time.monotonic() + USABLE_S
    while addresses := tentative(interface):
        if time.monotonic() > deadline:
            raise ContractError(
                f"{interface}: address {addresses[0]} still tentative after {USABLE_S:.0f} s"
            )
        time.sleep(POLL_S)


def tentative(interface):
    """Return the addresses of an interface whose duplicate detection has not ended."""
    rows = rows_of_ipv6()
    return [row[0] for row in rows if row[5] == interface and int(row[4], 16) & TENTATIVE]


def rows_of_ipv6():
    """Return the kernel's rows of IPv6 addresses."""
    path = Path("/proc/net/if_inet6")
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []
