"""A database as a server behind the contract, for a server on another host.

It is one instance or several nodes of a cluster, of which the first is asked and begins the
cluster.  The server that uses the database owns its data and empties it: `reset` only checks
that the database is still as deployed, and has disk left.
"""

import hashlib
import json
import os
import time
from pathlib import Path

from leaselab_contract import loaded, process, server
from leaselab_contract.errors import LabError

from database_contract import instance

SETTLE_S = 30.0


class Server(server.Server):
    """The nodes of a database: the first is the server, the others run beside it."""

    def serve(self):
        """Start the nodes one after the other; return what runs, and the settings of each."""
        began = time.monotonic()
        nodes = self.config["nodes"]
        for node in nodes:
            instance.launch(node)
        self.await_settled()
        start_s = time.monotonic() - began
        pid = process.running_pid(nodes[0]["process"])
        started = [instance.start(node) for node in nodes]
        variables = [node["variables"] for node in started]
        text = json.dumps(variables, sort_keys=True)
        return {
            "pid": pid,
            "version": started[0]["version"],
            "commit": None,
            "config_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "start_s": start_s,
            "beside": {},
            "nodes": variables,
            **loaded.identity(pid),
        }

    def await_settled(self):
        """Wait until every node is in the state of a whole cluster."""
        deadline = time.monotonic() + SETTLE_S
        while difference := self.unsettled():
            if time.monotonic() > deadline:
                raise LabError(difference)
            time.sleep(process.POLL_S)

    def unsettled(self):
        """Return how a node differs from one of a whole cluster; empty when none does."""
        if not self.config["settled"]:
            return ""
        for node in self.config["nodes"]:
            variables = instance.variables(node)
            for name, wanted in self.config["settled"].items():
                if variables.get(name) != wanted:
                    return (
                        f"the cluster is not whole: {node['node']} has {name} "
                        f"{variables.get(name, 'none')}, wanted {wanted}"
                    )
        return ""

    def reset(self):
        """Raise LabError for a cluster that is not whole any more, or has no room left.

        It holds nothing of its own.
        """
        if difference := self.unsettled():
            raise LabError(difference)
        for node in self.config["nodes"]:
            disk = os.statvfs(node["data_folder"])
            free = disk.f_bavail * disk.f_frsize
            if free < self.config["free_bytes"]:
                raise LabError(
                    f"the database's disk is full (found {free >> 20} MiB free in "
                    f"{node['data_folder']}, wanted {self.config['free_bytes'] >> 20} MiB)"
                )
        return super().reset()

    def running(self):
        """Return the first node's pid; raises its last log line where it has gone."""
        return running(self.config["nodes"][0])

    def used(self):
        """Return CPU time (s) of the first node, and memory (bytes) of all."""
        pids = [running(node) for node in self.config["nodes"]]
        return process.tree_cpu_s(pids[0]), sum(map(process.tree_bytes, pids))

    def beside_cpu_s(self):
        """Return the CPU time of the other nodes."""
        others = self.config["nodes"][1:]
        return {node["node"]: process.tree_cpu_s(running(node)) for node in others}

    def counted(self):
        """Return nothing: its counters and data belong to the server that uses it."""
        return {}, None

    def stop(self):
        """End the nodes, the first one last: it begins the cluster the next time."""
        ended = [instance.stop(node)["was_running"] for node in reversed(self.config["nodes"])]
        return {"was_running": any(ended)}

    def processes(self):
        """Return the settings of the nodes' processes."""
        return [node["process"] for node in self.config["nodes"]]


def running(node):
    """Return a node's pid; raises its last log line when it has gone."""
    pid = process.running_pid(node["process"])
    if pid is None:
        process.refuse_shutdown()
        name = Path(node["process"]["argv"][0]).name
        raise LabError(f"{name} is gone: {process.last_reason(node['process'])}")
    return pid
