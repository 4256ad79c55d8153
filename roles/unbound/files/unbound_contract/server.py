"""What Unbound does for each verb of the server contract, which `VERBS` names.

Reset has it read its configuration again, which empties its caches, and counts what is left.
Its flush_zone would mark all as expired and leave it there.
"""

import re
import time

from leaselab_contract import address, control, dns, loaded, process, sampling
from leaselab_contract.errors import ContractError

GREETING = "UBCT1"
START_S = 30.0
ANSWER_S = 0.8
CONTROL_S = 20.0
COUNTERS = {
    "total.num.queries": "QUERY",
    "num.answer.rcode.NOERROR": "NOERROR",
    "num.answer.rcode.NXDOMAIN": "NXDOMAIN",
    "num.answer.rcode.SERVFAIL": "SERVFAIL",
    "num.answer.rcode.REFUSED": "REFUSED",
    "total.num.cachemiss": "QryRecursion",
    "num.query.udpout": "Queryv4",
}
"""By what they are called of all servers: those of the last two as BIND 9 calls them."""
CACHES = ("msg.cache.count", "rrset.cache.count")
_VERSION = re.compile(r"version: (\S+)")


def start(config):
    """Start it with empty caches; return what runs, when it answers."""
    stop(config)
    address.wait_until_usable(config["interface"])
    with process.undone_by(lambda: stop(config)):
        child = process.launch(config["process"])
        process.wait_until(lambda: ready(config), child, config["process"], START_S)
        start_s = child.age_s
        reset(config)  # what proved that it answers has left its trace
        told = control.ask(config["socket"], GREETING, "status", CONTROL_S)
        return {
            "pid": child.pid,
            "version": _VERSION.search(told)[1],
            "start_s": start_s,
            "commit": None,
            "config_sha256": loaded.together(config["config_files"]),
            "beside": {},
            **loaded.identity(child.pid),
        }


def ready(config):
    """Raise where it does not find a name of the authority yet."""
    dns.check_answers(config, recursion=True)
    sampling.check_serves(config["process"], config["udp_port"])


def statistics(config, seconds):
    """Return its figures by its own names."""
    return control.figures(control.ask(config["socket"], GREETING, "stats_noreset", seconds))


def reset(config):
    """Empty its caches, until nothing is left in them."""
    deadline = time.monotonic() + CONTROL_S
    was = held(statistics(config, CONTROL_S))
    while True:
        control.ask(config["socket"], GREETING, "reload", CONTROL_S)
        left = settled(config, deadline)
        if not left:
            return {"held": 0, "was": was}
        if time.monotonic() > deadline:
            raise ContractError(
                f"{left} messages and sets of records in the caches after a reload; is traffic"
                " running?"
            )
        time.sleep(process.POLL_S)


def settled(config, deadline):
    """Return what it holds once it answers again: its socket is made anew by a reload."""
    while True:
        try:
            return held(statistics(config, CONTROL_S))
        except (OSError, ValueError):
            if time.monotonic() > deadline:
                raise
            time.sleep(process.POLL_S)


def held(figures):
    """Return how much its caches have: messages, and sets of records."""
    return round(sum(figures.get(name, 0) for name in CACHES))


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
        figures = statistics(config, ANSWER_S)
        counted = {name: round(figures.get(own, 0)) for own, name in COUNTERS.items()}
        cached = held(figures)
    except (OSError, ValueError):
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
    return {"was_running": process.end(config["process"])}


def is_running(config):
    """Whether it runs."""
    return process.running_pid(config["process"]) is not None


VERBS = {"start": start, "reset": reset, "sample": sample, "stop": stop}
