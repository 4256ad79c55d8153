#!/usr/bin/python
"""Ansible module: have the network device of a host's second place on the test network.

It is a macvlan on the test interface, with a hardware address of its own.  So what is sent to
the second place comes in there and nowhere else, and a server that listens on its interface,
not on its address, can run beside another one.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
---
module: second_place
short_description: Have the network device of a host's second place on the test network
description:
  - Makes a macvlan (mode bridge) on the test interface, gives it the addresses, and has the
    kernel answer for each address on its own device only.
  - The device lasts until the host boots; what is there and right is left alone.
options:
  interface:
    description: The test interface.
    type: str
    required: true
  device:
    description: Name of the second place's device.
    type: str
    required: true
  addresses:
    description: Its addresses, each with the length of its network.
    type: list
    elements: str
    required: true
author: the leaselab maintainers
"""

RETURN = r"""
steps:
  description: What was done, or in check mode would be, in words.
  type: list
  returned: always
"""

_TIMEOUT_S = 20
_METRIC = 512
"""Of the routes of its addresses: those of the test interface come first, in whatever order the
two devices came up."""
_ARP = {"net/ipv4/conf/{}/arp_ignore": 1, "net/ipv4/conf/{}/arp_announce": 2}
"""A device answers for its own addresses alone, and asks by one of them."""
_REVERSE = "net/ipv4/conf/{}/rp_filter"
_STRICT, _LOOSE = 1, 2


def hardware_address(parent: str, device: str) -> str:
    """The device's hardware address: its parent's decides, so that it is the same after a boot.

    It is locally administered, and begins like none of the generator's clients.
    """
    digest = hashlib.sha256(f"{parent} {device}".encode()).hexdigest()
    return ":".join(["06", *(digest[at : at + 2] for at in range(0, 10, 2))])


def misplaced(listing: list[dict], device: str, addresses: list[str]) -> list[str]:
    """Return which of the addresses are on another device, of ``ip -json address``."""
    wanted = {address.partition("/")[0] for address in addresses}
    return [
        f"{info['local']} on {link['ifname']}"
        for link in listing
        for info in link.get("addr_info", [])
        if link["ifname"] != device and info.get("local") in wanted
    ]


def commands(
    listing: list[dict], interface: str, device: str, addresses: list[str]
) -> list[list[str]]:
    """The arguments of ``ip`` that are missing, of ``ip -json -details address``.

    Raises ValueError for a device of that name that is no such macvlan, with what it is.
    """
    links = {link["ifname"]: link for link in listing}
    found = links.get(device)
    if found is None:
        own = hardware_address(links[interface]["address"], device)
        made = f"link add link {interface} name {device} address {own} type macvlan mode bridge"
        missing = [made.split()]
    else:
        kind = found.get("linkinfo", {})
        mode = kind.get("info_data", {}).get("mode")
        if (kind.get("info_kind"), found.get("link"), mode) != ("macvlan", interface, "bridge"):
            message = (
                f"{kind.get('info_kind', 'no virtual device')} {mode or ''} on"
                f" {found.get('link', 'nothing')}"
            )
            raise ValueError(" ".join(message.split()))
        missing = []
    if found is None or "UP" not in found.get("flags", []):
        missing.append(["link", "set", device, "up"])
    present = {
        f"{info['local']}/{info['prefixlen']}"
        for info in (found or {}).get("addr_info", [])
        if "local" in info
    }
    missing += [
        ["address", "add", address, "dev", device, "metric", str(_METRIC)]
        for address in addresses
        if address not in present
    ]
    return missing


def settings(interface: str, device: str, proc: Path) -> dict[str, int]:
    """Settings of the kernel that are to be changed, by their path below ``/proc/sys``.

    Both devices have a route to the test network, and the kernel takes the same one for both:
    what comes in at the other would be dropped where it asks for the very route.  And without
    the others, each device would answer ARP for the other's address, or give it as its own.
    """

    def value(name: str) -> int:
        try:
            return int((proc / "sys" / name).read_text(encoding="ascii"))
        except FileNotFoundError:  # a device that is not there yet
            return 0

    changed = {}
    for one in (interface, device):
        for name, least in _ARP.items():
            if max(value(name.format("all")), value(name.format(one))) < least:
                changed[name.format(one)] = least
        if max(value(_REVERSE.format("all")), value(_REVERSE.format(one))) == _STRICT:
            changed[_REVERSE.format(one)] = _LOOSE
    return changed


def main() -> None:
    """Make the device, and set the kernel's settings for it."""
    module = AnsibleModule(
        argument_spec={
            "interface": {"type": "str", "required": True},
            "device": {"type": "str", "required": True},
            "addresses": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    interface, device = module.params["interface"], module.params["device"]
    addresses = module.params["addresses"]

    def ip(*argv: str) -> str:
        done = subprocess.run(
            ["ip", *argv], capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
        if done.returncode != 0:
            module.fail_json(
                msg=f"{device} cannot be created: ip {' '.join(argv)}. Found:"
                f" {done.stderr.strip()}. Wanted: a macvlan on {interface}, for which the"
                " kernel has a module of that name. Without one, take leaselab_test_address_2"
                " and leaselab_test_address6_2 out of the inventory."
            )
        return done.stdout

    listing = json.loads(ip("-json", "-details", "address"))
    if there := misplaced(listing, device, addresses):
        module.fail_json(
            msg="An address of the second place is on another device. Found:"
            f" {', '.join(there)}. Wanted: on {device}, which the lab makes. Remove it from"
            " that device and from the host's network configuration."
        )
    try:
        missing = commands(listing, interface, device, addresses)
    except ValueError as error:
        module.fail_json(
            msg=f"{device} is no device of the lab. Found: {error}. Wanted: a macvlan, mode"
            f" bridge, on {interface}, or none, which is then made. Remove it: ip link delete"
            f" {device}."
        )
    steps = ["ip " + " ".join(argv) for argv in missing]
    if not module.check_mode:
        for argv in missing:
            ip(*argv)
    # Asked when the device is there: a new one has the kernel's defaults.
    changed = settings(interface, device, Path("/proc"))
    for name, value in changed.items():
        steps.append(f"sysctl {name.replace('/', '.')}={value}")
        if not module.check_mode:
            try:
                (Path("/proc/sys") / name).write_text(f"{value}\n", encoding="ascii")
            except OSError as error:
                module.fail_json(
                    msg=f"The kernel's setting {name.replace('/', '.')} cannot be changed."
                    f" Found: {error}. Wanted: {value}. In a container it is a parameter of"
                    " the container: take the lab down and bring it up."
                )
    module.exit_json(changed=bool(steps), steps=steps)


if __name__ == "__main__":
    main()
