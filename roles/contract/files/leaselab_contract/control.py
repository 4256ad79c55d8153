"""What NSD and Unbound tell on a control socket: a command, then lines until it is closed."""

import re
import socket

MOST_BYTES = 1 << 20
_VERSION = re.compile(r"version: (\S+)")


def ask(path, greeting, command, seconds):
    """Have a command done; return what it prints.

    `greeting` names the protocol and its version, such as ``NSDCT1``.  Raises OSError where no
    answer comes in time, ValueError where the server refuses the command.
    """
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(seconds)
        asking.connect(path)
        asking.sendall(f"{greeting} {command}\n".encode("ascii"))
        parts, size = [], 0
        while (part := asking.recv(1 << 16)) and size < MOST_BYTES:
            parts.append(part)
            size += len(part)
    told = b"".join(parts).decode("ascii", errors="replace")
    if told.startswith("error"):
        raise ValueError(f"{command}: {told.strip()}")
    return told


def version(path, greeting, seconds):
    """Return the version that it tells; raises as `ask`."""
    return _VERSION.search(ask(path, greeting, "status", seconds))[1]


def statistics(path, greeting, seconds):
    """Return its figures by its own names; raises as `ask`."""
    told = ask(path, greeting, "stats_noreset", seconds)
    pairs = (line.partition("=") for line in told.splitlines() if "=" in line)
    return {name: float(value) for name, _, value in pairs}


def counters(figures, names):
    """Return counts by the names that all servers have, of figures; `names` maps their own."""
    return {name: round(figures.get(own, 0)) for own, name in names.items()}
