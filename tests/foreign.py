"""Foreign DHCP, as frames; and the program that finds it, as a module."""

import importlib.machinery
import importlib.util
import ipaddress
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "roles" / "isolation" / "files" / "foreign-dhcp"


def load_file(name, path):
    """A file as a module, whatever its name ends in."""
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


foreign_dhcp = load_file("foreign_dhcp", PROGRAM)


def reply4(mac, address="198.18.0.10", server="198.18.0.10", kind=2):
    """A frame with a server's reply to all: a DHCPOFFER, or of another `kind`."""
    options = bytes((53, 1, kind, 54, 4)) + ipaddress.IPv4Address(server).packed + b"\xff"
    message = b"\x02\x01\x06\0" + bytes(232) + bytes.fromhex("63825363") + options
    return foreign_dhcp.frame4(mac, address, (67, 68), message)
