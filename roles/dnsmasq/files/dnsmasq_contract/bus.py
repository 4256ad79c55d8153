"""dnsmasq's metrics over D-Bus, on a bus that only the lab uses.

They are the one way to count its leases where it keeps no lease file.
"""

import re
import socket

from leaselab_contract import program

NAME = "uk.org.thekelleys.dnsmasq"
OBJECT = "/uk/org/thekelleys/dnsmasq"
CALL_S = 10.0


def ask(config, method, seconds=CALL_S):
    """Call one of dnsmasq's methods; return the answer as dbus-send prints it."""
    return program.run(
        [
            "dbus-send",
            f"--bus=unix:path={config['bus']['socket']}",
            "--print-reply=literal",
            f"--reply-timeout={round(1000 * seconds)}",
            f"--dest={NAME}",
            OBJECT,
            f"{NAME}.{method}",
        ],
        f"dnsmasq: {method}",
        seconds + 1,
    )


def connect(config):
    """Raise OSError where the bus does not take a connection yet."""
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(config["bus"]["socket"])


def version(config):
    """Return dnsmasq's version."""
    return ask(config, "GetVersion", 1.0).split()[0]


def metrics(config, seconds=CALL_S):
    """Return its counters by name."""
    metrics_found = re.findall(r"\b(\w+)\s+uint32 (\d+)", ask(config, "GetMetrics", seconds))
    return {name: int(value) for name, value in metrics_found}


def held(config, known):
    """Return how many leases it holds: those given out less those taken back."""
    family = config["family"]
    return known[f"leases_allocated_{family}"] - known[f"leases_pruned_{family}"]


def leases(config):
    """Ask how many leases it holds."""
    return held(config, metrics(config))
