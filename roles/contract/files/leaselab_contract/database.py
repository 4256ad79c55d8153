"""The database of a server, through the database's own contract.

A server's settings have it as `database`: `contract` (its program), `pid_file`, `free_bytes`
(least room on its disk), and `distant` where it is on another host: a contract on that host
watches the database and its disk, and this one only connects to it.
"""

import json
import time
from pathlib import Path

from leaselab_contract import program
from leaselab_contract.errors import LabError
from leaselab_contract.process import POLL_S, alive, tree_cpu_s

ANSWER_S = 55.0
DYING_S = 2.0


def ask(config, verb, text=""):
    """Call one verb of the database's contract; return what it prints."""
    argv = [config["database"]["contract"], verb, config["variant"]]
    return program.run(argv, f"database {verb}", ANSWER_S, error=LabError, text=text)


def start(config):
    """Start it; return what it reports.  Where the server is counted, its queries are, too."""
    counted = config.get("counted") and not is_distant(config)
    return json.loads(ask(config, "start_counting" if counted else "start"))


def is_distant(config):
    """Whether it runs on another host."""
    return config["database"].get("distant", False)


def check_running(config):
    """Return the database's pid, None of a distant one; raises why it does not serve."""
    if is_distant(config):
        ask(config, "login")
        return None
    try:
        pid = int(Path(config["database"]["pid_file"]).read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        pid = 0
    if not pid or not alive(pid):
        check_disk(config)  # the last line of one that ended of that need not name it
        raise LabError(f"the database is gone: {json.loads(ask(config, 'state'))['reason']}")
    return pid


def check_after_death(config):
    """Raise what is wrong with the database of a server that has died.

    It may take a moment longer to end than the server that lost it.
    """
    deadline = time.monotonic() + DYING_S
    while time.monotonic() < deadline:
        check_running(config)
        time.sleep(POLL_S)
    check_disk(config)


class WithDatabase:
    """Mixin of a server whose settings may have a database."""

    def explain_death(self):
        """Raise what is wrong with its database."""
        if self.config["database"]:
            check_after_death(self.config)

    def beside_cpu_s(self):
        """Return the CPU time of its database; a database on another host is sampled there."""
        if not self.config["database"] or is_distant(self.config):
            return {}
        return {"database": tree_cpu_s(check_running(self.config))}

    def beside_counts(self):
        """Return the queries and rows that its database has counted; not of a distant one."""
        if not self.config["database"] or is_distant(self.config):
            return {}
        return json.loads(ask(self.config, "counts"))

    def stop(self):
        """End it, and its database."""
        ended = super().stop()
        if self.config["database"]:
            ask(self.config, "stop")
        return ended


def check_disk(config):
    """Raise LabError when its disk has less free space than its settings ask for."""
    if is_distant(config):
        return
    wanted = config["database"]["free_bytes"]
    found = json.loads(ask(config, "state"))
    if found["free_bytes"] < wanted:
        raise LabError(
            f"the database's disk is full (found {found['free_bytes'] >> 20} MiB free, wanted "
            f"{wanted >> 20} MiB); its last error: {found['reason']}"
        )
