"""What the responder does for each verb of the server contract, which `VERBS` names.

It writes its counts into a file four times a second.  reset has it forget its leases by SIGHUP:
a restart would begin its warm-up again.
"""

import hashlib
import json
import os
import secrets
import signal
import time
from pathlib import Path

from leaselab_contract import address, loaded, process, sampling
from leaselab_contract.errors import ContractError

START_S = 15.0
FORGET_S = 10.0
SEED_BITS = 63
COUNTERS = ("received", "answered", "overloaded", "dropped_on_purpose", "malformed", "unsent")


def start(config):
    """Start it clean; return what runs.

    Its random numbers are others at each start, so that runs are independent.
    """
    stop(config)
    address.wait_until_usable(config["interface"])
    Path(config["counts_file"]).unlink(missing_ok=True)
    with process.undone_by(lambda: stop(config)):
        argv = [*config["process"]["argv"], "--seed", str(secrets.randbits(SEED_BITS))]
        child = process.launch({**config["process"], "argv": argv})
        process.wait_until(lambda: ready(config), child, config["process"], START_S)
        return {
            "pid": child.pid,
            "version": config["version"],
            "start_s": child.age_s,
            "commit": None,
            "config_sha256": running_sha256(child.pid),
            "beside": {},
            **loaded.identity(child.pid),
        }


def ready(config):
    """Raise where it does not serve yet; it writes its counts when its socket is open."""
    sampling.check_serves(config["process"], config["udp_port"])
    counts(config)


def running_sha256(pid):
    """Hash of the arguments that it runs with, a line each, but for the seed."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:-1]
    asked = words[: words.index(b"--seed")]
    return hashlib.sha256(b"\n".join(asked) + b"\n").hexdigest()


def counts(config):
    """What it has counted since its start, by name."""
    return json.loads(Path(config["counts_file"]).read_text(encoding="ascii"))


def reset(config):
    """Have it forget its leases, and all that waits."""
    before = counts(config)
    pid = process.running_pid(config["process"])
    if pid is None:
        raise ContractError("the server is not running")
    os.kill(pid, signal.SIGHUP)
    deadline = time.monotonic() + FORGET_S
    while (after := counts(config))["resets"] == before["resets"]:
        if time.monotonic() > deadline:
            raise ContractError(f"it has not forgotten its leases within {FORGET_S:.0f} s")
        time.sleep(process.POLL_S)
    if not config["holds"]:
        return {"held": None, "was": None}
    if after["leases"]:
        raise ContractError(f"{after['leases']} leases right after that; is traffic running?")
    return {"held": 0, "was": after["forgotten"] - before["forgotten"]}


def sample(config):
    """Print samples until standard input is closed, and one for each line on it."""
    if process.running_pid(config["process"]) is None:
        raise ContractError("the server is not running")
    sampling.follow(lambda: take(config), config["files"])


def take(config):
    """Take one."""
    cpu_s, rss_bytes = sampling.used([config["process"]])
    counted = counts(config)
    return {
        "t": time.time(),
        "cpu_s": cpu_s,
        "rss_bytes": rss_bytes,
        "udp_drops": sampling.udp_drops(config["process"], config["udp_port"]),
        "held": counted["leases"] if config["holds"] else None,
        "counters": {name: counted[name] for name in COUNTERS},
        "refused": None,
        "beside_cpu_s": {},
    }


def stop(config):
    """End it."""
    return {"was_running": process.end(config["process"])}


def is_running(config):
    """Whether it runs."""
    return process.running_pid(config["process"]) is not None


VERBS = {"start": start, "reset": reset, "sample": sample, "stop": stop}
