"""Kea's control socket: commands, its statistics, the configuration it runs with."""

import hashlib
import json
import re
import socket

from leaselab_contract import filled
from leaselab_contract.errors import ContractError

CONTROL_S = 30.0
_COUNTED = re.compile(
    r"subnet\[(?P<subnet>\d+)\]\.((pd-)?pool\[(?P<pool>\d+)\]\.)?assigned-(?P<kind>addresses|nas|pds)"
)
"""Statistics of the leases of a subnet, and of each of its pools from Kea 2.3 on."""


def control(config, command, arguments=None, timeout=CONTROL_S):
    """Send one command; return its answer's arguments.

    Raises ContractError when Kea refuses it, OSError when it does not answer.
    """
    request = {"command": command}
    if arguments is not None:
        request["arguments"] = arguments
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(config["control_socket"])
        connection.sendall(json.dumps(request).encode())
        answer = b""
        while chunk := connection.recv(1 << 16):
            answer += chunk
    reply = json.loads(answer)
    if reply["result"] not in (0, 3):  # 3: done, but nothing matched
        raise ContractError(f"{command}: {reply.get('text', reply)}")
    return reply.get("arguments", {})


def statistic(config, name, timeout=CONTROL_S):
    """Return the newest value of one of Kea's statistics, 0 when it has none yet."""
    values = control(config, "statistic-get", {"name": name}, timeout).get(name)
    return values[0][0] if values else 0


def leases(config, timeout=CONTROL_S):
    """Return how many leases Kea counts: in one subnet, or in all where none is named.

    Those with which it began are none of them.
    """
    if config["leases_statistic"]:
        counted = statistic(config, config["leases_statistic"], timeout)
    else:
        values = _of_subnets(config, timeout)
        counted = sum(values[name][0][0] for name in values)
    return counted - len(filled.read(config))


def forget_leases(config):
    """Make Kea, which keeps its own counts, know that its leases are gone."""
    for name in (
        [config["leases_statistic"]] if config["leases_statistic"] else _of_subnets(config)
    ):
        control(config, "statistic-reset", {"name": name})


def counters(config):
    """Return (subnet, pool, kind) of each counter of leases; without a pool: of a subnet."""
    matches = [match for match, _ in _counted(config)]
    numbers = [match.group("subnet", "pool", "kind") for match in matches]
    return [(int(subnet), pool and int(pool), kind) for subnet, pool, kind in numbers]


def _of_subnets(config, timeout=CONTROL_S):
    """The statistics of the leases of every subnet."""
    counts = _counted(config, timeout)
    return {match[0]: values for match, values in counts if match["pool"] is None}


def _counted(config, timeout=CONTROL_S):
    """Each statistic of leases: its name's match and its values."""
    statistics = control(config, "statistic-get-all", timeout=timeout)
    matches = map(_COUNTED.fullmatch, statistics)
    return [(match, statistics[match[0]]) for match in matches if match]


def config_hash(config):
    """Hash of the configuration that Kea runs with.

    Kea's own hash covers the text of its file; this one covers the resulting configuration
    with its defaults.  The password is left out: each lab has its own, and the hashes of
    equal configurations should be equal.
    """
    running = control(config, "config-get")
    running.pop("hash", None)
    for section in running.values():
        databases = [section.get("lease-database", {}), *section.get("hosts-databases", [])]
        for database in databases:
            database.pop("password", None)
    text = json.dumps(running, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
