"""Samples of the running server, about one a second."""

import json
import os
import select
import sys
import time
from pathlib import Path

from leaselab_contract.errors import ContractError
from leaselab_contract.process import (
    TICKS,
    last_reason,
    running_pid,
    stat_fields,
    tree_cpu_s,
)

from kea_contract import database, pair
from kea_contract.control import leases, statistic

ANSWER_S = 0.8
PAGE = os.sysconf("SC_PAGE_SIZE")


def follow(config):
    """Print samples until standard input is closed, and one for each line on it.

    Standard input is read past Python's buffer: select() cannot see that.
    """
    if running_pid(config["process"]) is None:
        raise ContractError("the server is not running")
    tick = time.monotonic()
    while True:
        reading = take(config)
        try:
            sys.stdout.write(json.dumps(reading, separators=(",", ":")) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            os._exit(0)  # nobody listens any more; a flush at exit would fail again
        now = time.monotonic()
        while tick <= now:
            tick += 1.0
        asked, _, _ = select.select([0], [], [], tick - now)
        if asked and not os.read(0, 4096):
            return


def take(config):
    """Take one; raises the reason when Kea, its agent or its database has gone."""
    database_pid = database.check_running(config) if config["database"] else None
    ticks = rss = 0
    for process in pair.processes(config):
        try:
            fields = stat_fields(running_pid(process))
        except (FileNotFoundError, ProcessLookupError):
            fields = ["Z"]
        if fields[0] == "Z":
            if config["database"]:
                database.acquit(config)
            name = Path(process["argv"][0]).name
            raise ContractError(f"{name} is gone: {last_reason(process)}")
        ticks += int(fields[11]) + int(fields[12])
        rss += int(fields[21]) * PAGE
    counters = {}
    held = None
    try:
        held = leases(config, ANSWER_S)
        for name in config["counters"]:
            counters[name] = statistic(config, name, ANSWER_S)
    except (OSError, ValueError, ContractError):
        held = None  # too busy to answer, or just dying; the next sample tells
    return {
        "t": time.time(),
        "cpu_s": ticks / TICKS,
        "rss_bytes": rss,
        "udp_drops": udp_drops(config["udp_port"]) if config["udp_port"] else None,
        "leases": held,
        "counters": counters,
        "database_cpu_s": tree_cpu_s(database_pid) if database_pid else None,
    }


def udp_drops(port):
    """Datagrams dropped at the sockets of one port, in both families."""
    drops = 0
    for path in ("/proc/net/udp", "/proc/net/udp6"):
        try:
            lines = Path(path).read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            continue
        rows = [line.split() for line in lines[1:]]
        drops += sum(int(row[-1]) for row in rows if int(row[1].rpartition(":")[2], 16) == port)
    return drops
