"""dnsmasq's metrics over D-Bus, on a bus that only the lab uses.

They are the one way to count its leases where it keeps no lease file.
"""

import contextlib
import os
import re
import socket
import subprocess
import tempfile
import time

from leaselab_contract import process, program
from leaselab_contract.errors import ContractError

NAME = "uk.org.thekelleys.dnsmasq"
OBJECT = "/uk/org/thekelleys/dnsmasq"
CALL_S = 10.0
_MOST_SAID = 1 << 20
"""What is read of signals (bytes)."""


def ask(config, method, *values, seconds=CALL_S):
    """Call one of dnsmasq's methods; return the answer as dbus-send prints it.

    `values` are those of the method as dbus-send takes them.
    """
    return program.run(
        [
            "dbus-send",
            f"--bus=unix:path={config['bus']['socket']}",
            "--print-reply=literal",
            f"--reply-timeout={round(1000 * seconds)}",
            f"--dest={NAME}",
            OBJECT,
            f"{NAME}.{method}",
            *values,
        ],
        f"dnsmasq: {method}",
        seconds + 1,
    )


@contextlib.contextmanager
def signals(config):
    """Listen to all signals of the bus; gives a function that returns those so far, in text."""
    argv = [
        "dbus-monitor",
        "--address",
        f"unix:path={config['bus']['socket']}",
        "type='signal'",
    ]
    with tempfile.TemporaryFile() as file:
        monitor = subprocess.Popen(argv, stdout=file, stderr=subprocess.STDOUT)

        def said():
            return os.pread(file.fileno(), _MOST_SAID, 0).decode()

        try:
            deadline = time.monotonic() + CALL_S
            while "NameLost" not in said():  # a monitor has no name
                if time.monotonic() > deadline or monitor.poll() is not None:
                    raise ContractError(f"no signals of the bus: {said()[-200:]}")
                time.sleep(process.POLL_S)
            yield said
        finally:
            monitor.terminate()
            monitor.wait()


def connect(config):
    """Raise OSError where the bus does not take a connection yet."""
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(config["bus"]["socket"])


def version(config):
    """Return dnsmasq's version."""
    return ask(config, "GetVersion", seconds=1.0).split()[0]


def metrics(config, seconds=CALL_S):
    """Return its counters by name."""
    metrics_found = re.findall(
        r"\b(\w+)\s+uint32 (\d+)", ask(config, "GetMetrics", seconds=seconds)
    )
    return {name: int(value) for name, value in metrics_found}


def held(config, known):
    """Return how many leases it holds: those given out less those taken back."""
    family = config["family"]
    return known[f"leases_allocated_{family}"] - known[f"leases_pruned_{family}"]


def leases(config):
    """Ask how many leases it holds."""
    return held(config, metrics(config))
