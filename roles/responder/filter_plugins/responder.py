"""Filters of role responder."""

from __future__ import annotations

USUAL = {"overload": "holds", "warm_up_factor": 1}
"""Values of options that ask for nothing; of the others that is 0."""
PLAIN = (
    "capacity",
    "overload",
    "doubled_by",
    "drop_first",
    "drop_second",
    "refuse",
    "duplicate",
    "malformed",
    "foreign",
    "same_address",
)
"""Options that leaserespond has by the same name."""
PORTS = {"dot": ["--tls-port", "853"], "https": ["--https-port", "443"]}
"""Where it listens beside UDP and TCP, by the transport of a load."""


def responder_arguments(options, protocol, address, interface, transport="udp"):
    """Return the command line of leaserespond, without the program, by a scenario's options.

    `protocol` is dhcp4, dhcp6 or dns.  DHCPv6 clients send to a group, which is listened to
    where no address is named.  It answers queries over UDP and TCP in any case, and over TLS
    or HTTPS where that is the load's `transport`.
    """
    where = [] if protocol == "dhcp6" else ["--listen", address]
    argv = [protocol, *where, "--interface", interface, "--queue", f"{options['queue']}"]
    argv += PORTS.get(transport, [])
    for name in PLAIN:
        if options[name] != USUAL.get(name, 0):
            argv += [f"--{name.replace('_', '-')}", _word(options[name])]
    pairs = (
        ("delay", "delay_least_ms", "-", "delay_most_ms"),
        ("stall", "stall_ms", "@", "stall_every_ms"),
        ("warm-up", "warm_up_factor", "@", "warm_up_ms"),
    )
    for name, first, between, second in pairs:
        if options[second]:
            argv += [f"--{name}", f"{_word(options[first])}{between}{_word(options[second])}"]
    return argv + (["--stalls", options["stalls_ms"]] if options["stalls_ms"] else [])


def _word(value):
    """Write a number without the dot that it does not need."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


class FilterModule:
    """Filters of role responder."""

    def filters(self):
        return {"responder_arguments": responder_arguments}
