"""Foreign DHCP, as frames; and the program that finds it, as a module."""

import ipaddress

from tests.role_modules import ROLES, load

PROGRAM = ROLES / "isolation/files/foreign-dhcp"


foreign_dhcp = load("isolation", "foreign-dhcp")


def reply4(mac, address="198.18.0.10", server="198.18.0.10", kind=2):
    """A frame with a server's reply to all: a DHCPOFFER, or of another `kind`."""
    options = bytes((53, 1, kind, 54, 4)) + ipaddress.IPv4Address(server).packed + b"\xff"
    message = b"\x02\x01\x06\0" + bytes(232) + bytes.fromhex("63825363") + options
    return foreign_dhcp.frame4(mac, address, (67, 68), message)
