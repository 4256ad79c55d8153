"""What role guest_lab computes: addresses and processors of the machines."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

PARTS = ("dhcp_server", "dhcp_partner", "dhcp_generator", "builder")


def guest_lab_address(subnet: str, number: int) -> str:
    """Return an address of a subnet by its number, with the prefix's length."""
    network = ipaddress.ip_network(subnet)
    return f"{network[number]}/{network.prefixlen}"


def guest_lab_machines(
    hosts: Iterable[Mapping[str, Any]],
    management: str,
    key_dir: str,
    cpus: str,
    chosen: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return the machines as program guest_lab wants them, of the hosts' variables.

    `cpus` is the kernel's list of the processors that may be used, ``"0-2,5"``; `chosen`
    gives a part's own, by inventory group.
    """
    if unknown := sorted(set(chosen) - set(PARTS)):
        message = f"guest_lab_cpus: no part {', '.join(unknown)}, wanted {', '.join(PARTS)}"
        raise AnsibleFilterError(message)
    here = _cpus(cpus)
    machines = []
    for number, host in enumerate(hosts, start=1):
        part = next(part for part in PARTS if part in host["group_names"])
        networks = {"management": [guest_lab_address(management, 10 + number)]}
        if "leaselab_test_address" in host:
            networks["test"] = [
                _with_length(host[f"leaselab_test_address{family}"], subnet)
                for family, subnet in (
                    ("", host["leaselab_test_subnet"]),
                    ("6", host["leaselab_test_subnet6"]),
                )
            ]
        machines.append(
            {
                "name": host["inventory_hostname"],
                "number": number,
                "at": host["ansible_host"],
                "port": host["ansible_port"],
                "networks": networks,
                "builds": part == "builder",
                "cpus": chosen.get(part, _default_cpu(part, here)),
                "host_key": f"{key_dir}/{host['inventory_hostname']}/host",
            }
        )
    return machines


def _cpus(text: str) -> list[int]:
    """Return the processors of a kernel's list."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        found += range(int(first), int(last if dash else first) + 1)
    return found


def _default_cpu(part: str, cpus: list[int]) -> str:
    """Return one processor: the generator shares none with a server where there are two.

    A builder works between measurements, never during one: it has all of them.
    """
    if part == "builder":
        return ",".join(map(str, cpus))
    if part == "dhcp_generator":
        return str(cpus[-1])
    others = cpus[:-1] or cpus
    return str(others[PARTS.index(part) % len(others)])


def _with_length(address: str, subnet: str) -> str:
    return f"{address}/{ipaddress.ip_network(subnet).prefixlen}"


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, Any]:
        return {
            "guest_lab_address": guest_lab_address,
            "guest_lab_machines": guest_lab_machines,
        }
