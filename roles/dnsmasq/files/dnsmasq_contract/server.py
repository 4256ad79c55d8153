"""What dnsmasq does for each verb of the server contract, which `VERBS` names.

reset restarts it without its leases: it has no other way to forget them.
"""

import contextlib
import fcntl
import time
from pathlib import Path

from leaselab_contract import address, loaded, process, sampling
from leaselab_contract.errors import ContractError

from dnsmasq_contract import bus

START_S = 15.0
ANSWER_S = 0.8
COUNTERS = ("dhcp_ack", "dhcp_offer", "dhcp_nak")


@contextlib.contextmanager
def steady(config):
    """Keep samples, and the end of the server, from meeting the restart of a reset."""
    Path(config["lock_file"]).parent.mkdir(parents=True, exist_ok=True)
    with Path(config["lock_file"]).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def start(config):
    """Start it clean, on a bus of its own; return what runs."""
    stop(config)
    address.wait_until_usable(config["interface"])
    with process.undone_by(lambda: stop(config)):
        process.launch(config["bus"]["process"])
        found = launch(config)
        return {
            **found,
            "commit": config["commit"],
            # dnsmasq cannot be asked what it runs with; it has nothing but this file
            "config_sha256": loaded.sha256(config["config_file"]),
            "beside": {},
            **loaded.identity(found["pid"]),
        }


def launch(config):
    """Start it with an empty lease store; return pid, version and start_s when it answers."""
    Path(config["lease_file"]).unlink(missing_ok=True)
    child = process.launch(config["process"])
    version = process.wait_until(lambda: bus.version(config), child, config["process"], START_S)
    return {"pid": child.pid, "version": version, "start_s": child.age_s}


def reset(config):
    """Start it anew, without leases."""
    with steady(config):
        was = bus.leases(config)
        process.end(config["process"])
        launch(config)
        left = bus.leases(config)
    if left:
        raise ContractError(f"{left} leases right after a start; is traffic running?")
    return {"held": left, "was": was}


def sample(config):
    """Print samples until standard input is closed, and one for each line on it."""
    if process.running_pid(config["process"]) is None:
        raise ContractError("the server is not running")
    sampling.follow(lambda: take(config), config["files"])


def take(config):
    """Take one."""
    with steady(config):
        cpu_s, rss_bytes = sampling.used([config["process"]])
        drops = sampling.udp_drops(config["process"], config["udp_port"])
        try:
            known = bus.metrics(config, ANSWER_S)
            held = bus.held(config, known)
            counters = {name: known[name] for name in COUNTERS}
        except (OSError, LookupError, ValueError, ContractError):
            held, counters = None, {}  # too busy to answer, or just dying
    return {
        "t": time.time(),
        "cpu_s": cpu_s,
        "rss_bytes": rss_bytes,
        "udp_drops": drops,
        "held": held,
        "counters": counters,
        "refused": counters.get("dhcp_nak"),
        "beside_cpu_s": {},
    }


def stop(config):
    """End it; a reset that is under way, whose caller was interrupted, would start it again."""
    with steady(config):
        was_running = process.end(config["process"])
    process.end(config["bus"]["process"])
    Path(config["bus"]["socket"]).unlink(missing_ok=True)
    return {"was_running": was_running}


def is_running(config):
    """Whether it, or its bus, runs."""
    return any(
        process.running_pid(one) for one in (config["process"], config["bus"]["process"])
    )


VERBS = {"start": start, "reset": reset, "sample": sample, "stop": stop}
