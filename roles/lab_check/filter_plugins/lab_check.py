"""Filters of role lab_check."""

from __future__ import annotations

from collections.abc import Mapping

from leaselab.catalog.roles import lab_roles


def lab_check_networks(names, hostvars, check_mode, generators, link_mbps):
    """{host: what `leaselab lab check --networks` wants of it} of the hosts that were read.

    `link_mbps` is the role's default of the least speed.  In check mode one that nothing was
    done to may lack the program that they are read with.
    """
    found = {}
    for name in names:
        host = hostvars[name]
        probe = host.get("lab_check_networks", {}).get("probe")
        if not probe or (check_mode and not probe["tools"]["ip"]):
            continue
        found[name] = {
            "network": {
                "address": host.get("leaselab_test_address", ""),
                "address6": host.get("leaselab_test_address6", ""),
                "others": [
                    host[name]
                    for name in ("leaselab_test_address_2", "leaselab_test_address6_2")
                    if name in host
                ],
                "subnet": host.get("leaselab_test_subnet", ""),
                "subnet6": host.get("leaselab_test_subnet6", ""),
            },
            "address": host.get("ansible_host", host.get("ansible_ssh_host", name)),
            "link_mbps": host.get("lab_check_link_mbps", link_mbps),
            "generates": name in generators,
            "probe": {
                key: probe[key]
                for key in ("addresses", "routes", "tools", "management", "links")
            },
        }
    return found


def lab_check_declared(field):
    """All that roles declare in a field of `LabRole`, each once, sorted."""
    found = set()
    for role in lab_roles().values():
        value = getattr(role, field)
        for values in value.values() if isinstance(value, Mapping) else [value]:
            found.update(values)
    return sorted(found)


class FilterModule:
    """Filters of role lab_check."""

    def filters(self):
        return {
            "lab_check_declared": lab_check_declared,
            "lab_check_networks": lab_check_networks,
        }
