"""What a database does for each verb of the server contract, for a server on another host.

It is one instance or several nodes of a cluster, of which the first is asked and begins the
cluster.  What is in it belongs to the server that asks it, which empties it: `reset` looks
whether it is still what was deployed, and has disk left.
"""

import hashlib
import json
import os
import time
from pathlib import Path

from leaselab_contract import loaded, process, sampling
from leaselab_contract.errors import BeneathError

from database_contract import instance

SETTLE_S = 30.0


def start(config):
    """Start it anew; return what runs."""
    stop(config)
    with process.undone_by(lambda: stop(config)):
        return serve(config)


def serve(config):
    """Start the nodes one after the other; return what runs, and the settings of each."""
    began = time.monotonic()
    for node in config["nodes"]:
        instance.launch(node)
    await_settled(config)
    start_s = time.monotonic() - began
    pid = process.running_pid(config["nodes"][0]["process"])
    told = [instance.start(node) for node in config["nodes"]]
    text = json.dumps([one["variables"] for one in told], sort_keys=True)
    return {
        "pid": pid,
        "version": told[0]["version"],
        "commit": None,
        "config_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "start_s": start_s,
        "beside": {},
        "nodes": [one["variables"] for one in told],
        **loaded.identity(pid),
    }


def await_settled(config):
    """Wait until every node is in the state of a whole cluster."""
    deadline = time.monotonic() + SETTLE_S
    while found := unsettled(config):
        if time.monotonic() > deadline:
            raise BeneathError(found)
        time.sleep(process.POLL_S)


def unsettled(config):
    """Say in what a node differs from one of a whole cluster; empty when none does."""
    if not config["settled"]:
        return ""
    for node in config["nodes"]:
        found = instance.variables(node)
        for name, wanted in config["settled"].items():
            if found.get(name) != wanted:
                return (
                    f"the cluster is not whole: {node['node']} has {name} "
                    f"{found.get(name, 'none')}, wanted {wanted}"
                )
    return ""


def reset(config):
    """Refuse one that is not whole any more, or has no room left.

    It holds nothing of its own.
    """
    if found := unsettled(config):
        raise BeneathError(found)
    for node in config["nodes"]:
        disk = os.statvfs(node["data_folder"])
        free = disk.f_bavail * disk.f_frsize
        if free < config["free_bytes"]:
            raise BeneathError(
                f"the database's disk is full (found {free >> 20} MiB free in "
                f"{node['data_folder']}, wanted {config['free_bytes'] >> 20} MiB)"
            )
    return {"held": None, "was": None}


def follow(config):
    """Print samples until standard input is closed, and one for each line on it."""
    sampling.follow(lambda: take(config))


def take(config):
    """Take one: the first node is the server, the others stand beside it."""
    pids = [running(node) for node in config["nodes"]]
    first, *others = [process.tree_cpu_s(pid) for pid in pids]
    names = [node["node"] for node in config["nodes"][1:]]
    return {
        "t": time.time(),
        "cpu_s": first,
        "rss_bytes": sum(process.tree_bytes(pid) for pid in pids),
        "udp_drops": None,
        "held": None,
        "counters": {},
        "beside_cpu_s": dict(zip(names, others, strict=True)),
    }


def running(node):
    """Return a node's pid; raises its last words when it has gone."""
    pid = process.running_pid(node["process"])
    if pid is None:
        process.refuse_shutdown()
        name = Path(node["process"]["argv"][0]).name
        raise BeneathError(f"{name} is gone: {process.last_reason(node['process'])}")
    return pid


def stop(config):
    """End the nodes, the first one last: it begins the cluster the next time."""
    ended = [instance.stop(node)["was_running"] for node in reversed(config["nodes"])]
    return {"was_running": any(ended)}


def is_running(config):
    """Whether a node of it runs."""
    return any(process.running_pid(node["process"]) for node in config["nodes"])


VERBS = {"start": start, "reset": reset, "sample": follow, "stop": stop}
