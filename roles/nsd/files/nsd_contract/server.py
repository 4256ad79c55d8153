"""What NSD does for each verb of the server contract, which `VERBS` names.

It holds nothing, so reset does nothing.  It is a tree of processes: one that was replaced by
another while it was measured has lost queries, and is as good as dead.
"""

import re
import time
from pathlib import Path

from leaselab_contract import address, control, dns, loaded, process, sampling
from leaselab_contract.errors import ContractError

GREETING = "NSDCT1"
ANSWER_S = 0.8
STATUS_S = 10.0
STOP_S = 60.0
COUNTERS = {
    "num.queries": "QUERY",
    "num.rcode.NOERROR": "NOERROR",
    "num.rcode.NXDOMAIN": "NXDOMAIN",
    "num.rcode.SERVFAIL": "SERVFAIL",
    "num.rcode.REFUSED": "REFUSED",
}
_VERSION = re.compile(r"version: (\S+)")


def start(config):
    """Start it; return what runs, when it answers for its data."""
    stop(config)
    address.wait_until_usable(config["interface"])
    with process.undone_by(lambda: stop(config)):
        child = process.launch(config["process"])
        version = process.wait_until(
            lambda: ready(config), child, config["process"], config["start_s"]
        )
        start_s = child.age_s
        check_zones(config)
        return {
            "pid": child.pid,
            "version": version,
            "start_s": start_s,
            "commit": None,
            "config_sha256": loaded.together(config["config_files"], config["zone_folder"]),
            "beside": {},
            **loaded.identity(child.pid),
        }


def ready(config):
    """Raise where it does not answer for its data yet; else return its version."""
    dns.check_answers(config)
    sampling.check_serves(config["process"], config["udp_port"])
    return _VERSION.search(control.ask(config["socket"], GREETING, "status", STATUS_S))[1]


def check_zones(config):
    """Raise its own words where it serves without one of its zones; else it logs nothing."""
    try:
        text = Path(config["log_file"]).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    failed = [line for line in text.splitlines() if " error: " in line]
    if failed:
        raise ContractError(failed[-1])


def reset(_config):
    """Do nothing: an authority holds nothing."""
    return {"held": None, "was": None}


def sample(config):
    """Print samples until standard input is closed, and one for each line on it."""
    pid = process.running_pid(config["process"])
    if pid is None:
        raise ContractError("the server is not running")
    first = process.tree(pid)
    sampling.follow(lambda: take(config, first), config["files"])


def take(config, first):
    """Take one; raises ContractError where a process of `first` is no more."""
    sampling.used([config["process"]])  # says why it is gone
    pid = process.running_pid(config["process"])
    now = process.tree(pid)
    if gone := sorted(set(first) - set(now)):
        raise ContractError(
            f"process {gone[0]} of nsd has ended: {process.last_reason(config['process'])}"
        )
    try:
        told = control.figures(
            control.ask(config["socket"], GREETING, "stats_noreset", ANSWER_S)
        )
        counted = {name: round(told.get(own, 0)) for own, name in COUNTERS.items()}
    except (OSError, ValueError):
        counted = {}  # too busy to answer, or just dying
    return {
        "t": time.time(),
        "cpu_s": process.tree_cpu_s(pid),
        # of the largest: its processes share the zones
        "rss_bytes": max(int(fields[21]) for fields in now.values()) * sampling.PAGE,
        "udp_drops": sampling.udp_drops(config["process"], config["udp_port"]),
        "held": None,
        "counters": counted,
        "refused": counted.get("REFUSED"),
        "beside_cpu_s": {},
    }


def stop(config):
    """End it, and those that it has started."""
    return {"was_running": process.end(config["process"], STOP_S)}


def is_running(config):
    """Whether it runs."""
    return process.running_pid(config["process"]) is not None


VERBS = {"start": start, "reset": reset, "sample": sample, "stop": stop}
