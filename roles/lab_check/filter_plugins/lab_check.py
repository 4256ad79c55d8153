"""Filters of role lab_check."""

from __future__ import annotations


def lab_check_networks(names, hostvars, check_mode):
    """{host: what `leaselab check --networks` wants of it} of the hosts that were read.

    In check mode one that nothing was done to may lack the program that they are read with.
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
                "subnet": host.get("leaselab_test_subnet", ""),
                "subnet6": host.get("leaselab_test_subnet6", ""),
            },
            "address": host.get("ansible_host", name),
            "probe": {
                key: probe[key] for key in ("addresses", "routes", "tools", "management")
            },
        }
    return found


class FilterModule:
    """Filters of role lab_check."""

    def filters(self):
        """Return them by name."""
        return {"lab_check_networks": lab_check_networks}
