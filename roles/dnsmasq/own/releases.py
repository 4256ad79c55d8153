"""The releases of dnsmasq that take a configuration, by options that not all of them have."""

from __future__ import annotations

_SINCE = {
    # From its changelog.
    "2.91": ("dhcp-option-pxe", "do-0x20-encode", "no-0x20-encode"),
    "2.90": ("max-tcp-connections", "dnssec-limits"),
    "2.88": ("fast-dns-retry", "use-stale-cache", "port-limit", "no-round-robin"),
    "2.81": ("shared-network", "dhcp-ignore-clid"),
    "2.80": ("dhcp-name-match",),
    "2.76": ("max-port", "dhcp-ttl"),
    "2.73": ("min-cache-ttl",),
}
"""Options by the first release that has them, the last ones first."""


def releases(lines):
    """Return which releases take what the lab keeps of a configuration.

    With what is said comes the first of them, as options of the scenario.
    """
    places = {line.name: line.where for line in reversed(lines)}
    for release, names in _SINCE.items():
        for name in names:
            if name in places:
                said = f"dnsmasq {release} or newer: {name} ({places[name]})"
                return [said], {"since": release}
    return [], {}
