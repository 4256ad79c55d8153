"""The control sockets of NSD and Unbound: a command, then lines until the socket closes."""

import re
import socket

MOST_BYTES = 1 << 20
_VERSION = re.compile(r"version: (\S+)")


def ask(path, greeting, command, seconds):
    """Send a command; return the server's answer.

    `greeting` names the protocol and its version, such as ``NSDCT1``.  Raises OSError where no
    answer comes in time or the server closes without one, ValueError where it refuses the
    command.
    """
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(seconds)
        asking.connect(path)
        asking.sendall(f"{greeting} {command}\n".encode("ascii"))
        parts, size = [], 0
        while (part := asking.recv(1 << 16)) and size < MOST_BYTES:
            parts.append(part)
            size += len(part)
    answer = b"".join(parts).decode("ascii", errors="replace")
    if not answer:  # else the caller would count zeros
        raise ConnectionResetError(f"{path} closed without an answer to {command}")
    if answer.startswith("error"):
        raise ValueError(f"{command}: {answer.strip()}")
    return answer


def version(path, greeting, seconds):
    """Return the server's version; raises as `ask`."""
    return _VERSION.search(ask(path, greeting, "status", seconds))[1]


def statistics(path, greeting, seconds):
    """Return the server's figures by its own names; raises as `ask`."""
    answer = ask(path, greeting, "stats_noreset", seconds)
    pairs = (line.partition("=") for line in answer.splitlines() if "=" in line)
    return {name: float(value) for name, _, value in pairs}


def counters(figures, names):
    """Return figures as counts by common names; `names` maps these to the server's own."""
    return {name: round(figures.get(own, 0)) for own, name in names.items()}
