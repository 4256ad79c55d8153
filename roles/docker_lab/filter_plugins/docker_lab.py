"""What role docker_lab computes: free subnets and who gets which processors."""

from __future__ import annotations

import ipaddress
from typing import Any

from ansible.errors import AnsibleFilterError


def docker_lab_overlaps(
    subnet: str, routes: list[dict[str, Any]], name_servers: list[str], own_devices: list[str]
) -> list[str]:
    """Return what of this machine lies inside `subnet`, in words; empty when it is free.

    `routes` is the output of ``ip -json route show table all`` of both families.  The
    default route overlaps everything and says nothing, and routes over `own_devices`
    are the lab's own.
    """
    wanted = ipaddress.ip_network(subnet)
    taken = []
    for route in routes:
        if route.get("dev") in own_devices or route["dst"] == "default":
            continue
        try:
            network = ipaddress.ip_network(route["dst"], strict=False)
        except ValueError:  # a route to a named table entry: no address, no overlap
            continue
        if network.prefixlen and network.version == wanted.version and network.overlaps(wanted):
            taken.append(f"route {route['dst']} over {route.get('dev', 'no device')}")
    taken += [
        f"name server {server}"
        for server in name_servers
        if ipaddress.ip_address(server.partition("%")[0]) in wanted
    ]
    return taken


def docker_lab_free_subnet(
    candidates: list[str],
    routes: list[dict[str, Any]],
    name_servers: list[str],
    own_devices: list[str],
) -> str:
    """Return the first of `candidates` that overlaps nothing, or "" when all do."""
    for subnet in candidates:
        if not docker_lab_overlaps(subnet, routes, name_servers, own_devices):
            return subnet
    return ""


def docker_lab_cpu_list(text: str) -> list[int]:
    """Return the processors of a kernel CPU list: ``"0-2,5"`` is ``[0, 1, 2, 5]``."""
    cpus: set[int] = set()
    try:
        for part in text.strip().split(","):
            first, dash, last = part.partition("-")
            cpus.update(range(int(first), int(last if dash else first) + 1))
    except ValueError as error:
        message = f"not a list of processors (found {text!r}, wanted such as '0-2,5')"
        raise AnsibleFilterError(message) from error
    return sorted(cpus)


def docker_lab_cpu_plan(cpus: list[int], chosen: dict[str, str]) -> dict[str, str]:
    """Return each part's processors in Docker's notation, by inventory group.

    `cpus` are the processors this machine may use, `chosen` overrides parts.  The
    generator never shares a processor with the servers where there are two or more:
    what it takes from a server would look like the server's limit.
    """
    generator_count = 1 if len(cpus) < 4 else 2
    generator = cpus[-generator_count:]
    rest = cpus[:-generator_count] or cpus
    server = partner = rest
    if len(cpus) >= 6:
        half = (len(rest) + 1) // 2
        server, partner = rest[:half], rest[half:]
    plan = {
        "dhcp_server": server,
        "dhcp_partner": partner,
        "dhcp_generator": generator,
        "builder": cpus,
    }
    if unknown := sorted(set(chosen) - set(plan)):
        message = f"docker_lab_cpus: no part {', '.join(unknown)}, wanted {', '.join(plan)}"
        raise AnsibleFilterError(message)
    for part, text in chosen.items():
        plan[part] = docker_lab_cpu_list(str(text))
        if missing := sorted(set(plan[part]) - set(cpus)):
            message = (
                f"docker_lab_cpus: {part} names processors this machine does not have"
                f" (found {missing}, wanted any of {cpus})"
            )
            raise AnsibleFilterError(message)
    return {part: ",".join(map(str, numbers)) for part, numbers in plan.items()}


def docker_lab_with_address(interfaces: list[dict[str, Any]], address: str) -> list[str]:
    """Return the names of the interfaces that have `address`.

    `interfaces` is the output of ``ip -json address``.
    """
    wanted = ipaddress.ip_address(address)
    return [
        interface["ifname"]
        for interface in interfaces
        if any(
            "local" in info and ipaddress.ip_address(info["local"]) == wanted
            for info in interface["addr_info"]
        )
    ]


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, Any]:
        return {
            "docker_lab_overlaps": docker_lab_overlaps,
            "docker_lab_free_subnet": docker_lab_free_subnet,
            "docker_lab_cpu_list": docker_lab_cpu_list,
            "docker_lab_cpu_plan": docker_lab_cpu_plan,
            "docker_lab_with_address": docker_lab_with_address,
        }
