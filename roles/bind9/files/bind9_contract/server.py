"""What BIND 9 does for each verb of the server contract, which `VERBS` names.

An authority holds nothing, so reset does nothing there.  That of a recursor flushes its cache
and counts what is left in it.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

from leaselab_contract import address, dns, loaded, process, sampling
from leaselab_contract.errors import ContractError, last_line

from bind9_contract import statistics

RECURSIVE = "recursive"
LOADED = "all zones loaded"
NOT_LOADED = "not loaded due to errors"
NOT_RELOADED = "reloading configuration failed"
RELOADED = ": loaded serial "
STOP_S = 60.0
"""A million zones take a while to be given back."""
EMPTY_S = 20.0
FLUSH_S = 10.0
RELOAD_POLL_S = 0.02
_THREADS = re.compile(r"using (\d+) worker thread")
_VERSION = re.compile(r"\b\d+\.\d+\.\d+")


def start(config):
    """Start it with an empty cache; return what runs, when it answers."""
    stop(config)
    address.wait_until_usable(config["interface"])
    with process.undone_by(lambda: stop(config)):
        child = process.launch(config["process"])
        version = process.wait_until(
            lambda: ready(config), child, config["process"], config["start_s"]
        )
        start_s = child.age_s
        check_zones(config)
        if config["role"] == RECURSIVE:
            reset(config)  # what proved that it answers has left its trace
        return {
            "pid": child.pid,
            "version": version,
            "start_s": start_s,
            "worker_threads": worker_threads(config),
            "commit": config["commit"],
            "config_sha256": loaded.together(config["config_files"], config["zone_folder"]),
            "beside": {},
            **loaded.identity(child.pid),
        }


def ready(config):
    """Return its version once it answers for its data.

    While it loads its zones it answers SERVFAIL; a recursor answers so without its authority.
    """
    if LOADED not in log(config):
        raise ContractError("its zones are being loaded")
    dns.check_answers(config, recursion=config["role"] == RECURSIVE)
    sampling.check_serves(config["process"], config["udp_port"])
    return _VERSION.search(statistics.ask(config)["version"])[0]


def check_zones(config):
    """Raise named's own words where it serves without one of its zones."""
    failed = [line for line in log(config).splitlines() if NOT_LOADED in line]
    if failed:
        raise ContractError(f"{len(failed)} zones are missing: {failed[-1]}")


def log(config):
    """Return what it has logged since its start."""
    return read(config["log_file"])


def read(path):
    """Return the text of a log."""
    return Path(path).read_text(encoding="utf-8", errors="replace")


def worker_threads(config):
    """Return how many threads it says that it works with."""
    found = _THREADS.search(log(config))
    if not found:
        raise ContractError(f"{config['log_file']} does not say how many threads it has")
    return int(found[1])


def reset(config):
    """Flush the cache of a recursor, until nothing is left in it."""
    if config["role"] != RECURSIVE:
        return {"held": None, "was": None}
    deadline = time.monotonic() + EMPTY_S
    was = held(config)
    while True:
        rndc(config, "flush")
        left = held(config)
        if not left:
            return {"held": 0, "was": was}
        if time.monotonic() > deadline:
            raise ContractError(
                f"{left} sets of records in the cache after a flush; is traffic running?"
            )
        time.sleep(process.POLL_S)


def held(config):
    """Return how many sets of records are in the cache."""
    return statistics.cached(config, statistics.ask(config, EMPTY_S))


def reload(config):
    """Have an authority of one zone read it again, and wait until it has.

    It passes over a file that is no newer than its zone, so it is made newer.  The old data
    are served meanwhile.  The signal does what ``rndc reload`` does, which waits for the
    configuration to be read, and of 9.18 for a minute at most.  What named logs of all zones
    being loaded comes before they are.
    """
    pid = process.running_pid(config["process"])
    if pid is None:
        raise ContractError("the server is not running")
    for path in Path(config["zone_folder"]).iterdir():
        os.utime(path)
    logged, loads = len(log(config)), len(read(config["loads_file"]))
    began = time.monotonic()
    deadline = began + config["start_s"]
    os.kill(pid, signal.SIGHUP)
    while RELOADED not in read(config["loads_file"])[loads:]:
        sampling.used([config["process"]])  # says why it is gone
        told = log(config)[logged:]
        if NOT_RELOADED in told or NOT_LOADED in told:
            raise ContractError(process.last_reason(config["process"]))
        if time.monotonic() > deadline:
            raise ContractError(f"its zone is not loaded within {config['start_s']:.0f} s")
        time.sleep(RELOAD_POLL_S)
    reload_s = time.monotonic() - began
    dns.check_answers(config)
    return {"reload_s": reload_s}


def rndc(config, command):
    """Have named do a command."""
    done = subprocess.run(
        [*map(str, config["rndc"]), command],
        capture_output=True,
        text=True,
        timeout=FLUSH_S,
        check=False,
        env=process.ENVIRONMENT,
    )
    if done.returncode != 0:
        raise ContractError(f"rndc {command}: {last_line(done.stderr, done.stdout)}")


def sample(config):
    """Print samples until standard input is closed, and one for each line on it."""
    if process.running_pid(config["process"]) is None:
        raise ContractError("the server is not running")
    sampling.follow(lambda: take(config), config["files"])


def take(config):
    """Take one."""
    cpu_s, rss_bytes = sampling.used([config["process"]])
    drops = sampling.udp_drops(config["process"], config["udp_port"])
    try:
        told = statistics.ask(config)
        counted, cached = statistics.counters(config, told), statistics.cached(config, told)
    except (OSError, LookupError, ValueError):
        counted, cached = {}, None  # too busy to answer, or just dying
    return {
        "t": time.time(),
        "cpu_s": cpu_s,
        "rss_bytes": rss_bytes,
        "udp_drops": drops,
        "held": cached,
        "counters": counted,
        "refused": counted.get("REFUSED"),
        "beside_cpu_s": {},
    }


def stop(config):
    """End it."""
    return {"was_running": process.end(config["process"], STOP_S)}


def is_running(config):
    """Whether it runs."""
    return process.running_pid(config["process"]) is not None


VERBS = {"start": start, "reset": reset, "reload": reload, "sample": sample, "stop": stop}
