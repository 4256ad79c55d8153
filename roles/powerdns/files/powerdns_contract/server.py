"""What PowerDNS does for each verb of the server contract, which `VERBS` names.

An authority holds nothing of its clients.  Its caches hold answers: where a point declares
that they begin empty, reset empties them and counts.
"""

import time

from leaselab_contract import address, dns, loaded, process, sampling
from leaselab_contract.database import acquit, ask, check_running
from leaselab_contract.errors import ContractError

from powerdns_contract import store
from powerdns_contract.control import cached, config_hash, control, counters

START_S = 60.0
ANSWER_S = 0.8
TRIES = 5
BEGIN_EMPTY = ("cold", "mixed")
"""What may be declared of caches that a reset has to empty."""


def start(config):
    """Start it with its caches empty; return what runs."""
    stop(config)
    with process.undone_by(lambda: stop(config)):
        return serve(config)


def serve(config):
    """Have its zones, start it, wait until it answers; return what runs."""
    beside = store.prepare(config)
    address.wait_until_usable(config["interface"])
    child = process.launch(config["process"])
    process.wait_until(lambda: dns.check_answers(config), child, config["process"], START_S)
    start_s = child.age_s
    return {
        "pid": child.pid,
        "version": control(config, "version").strip(),
        "commit": config["commit"],
        "config_sha256": config_hash(config),
        "start_s": start_s,
        "beside": beside,
        **loaded.identity(child.pid),
    }


def reset(config):
    """Empty its caches where they begin empty; once more for what was still under way."""
    if config["cache"] not in BEGIN_EMPTY:
        return {"held": None, "was": None}
    was = cached(counters(config))
    for _ in range(TRIES):
        control(config, "purge")
        left = cached(counters(config))
        if left == 0:
            return {"held": 0, "was": was}
    raise ContractError(
        f"{left} cached answers left after purging {TRIES} times; is traffic running?"
    )


def sample(config):
    """Print samples until standard input is closed, and one for each line on it."""
    if not is_running(config):
        raise ContractError("the server is not running")
    sampling.follow(lambda: take(config), config["files"])


def take(config):
    """Take one; raises the reason when PowerDNS or its database has gone."""
    database = config["database"]
    database_pid = check_running(config) if database else None
    cpu_s, rss_bytes = sampling.used(
        [config["process"]], lambda: acquit(config) if database else None
    )
    drops = sampling.udp_drops(config["process"], config["udp_port"])
    try:
        known = counters(config, ANSWER_S)
        held = cached(known) if config["cache"] != "none" else None
        told = {name: known[name] for name in config["counters"]}
    except (OSError, LookupError, ValueError, ContractError):
        held, told = None, {}  # too busy to answer, or just dying; the next sample tells
    return {
        "t": time.time(),
        "cpu_s": cpu_s,
        "rss_bytes": rss_bytes,
        "udp_drops": drops,
        "held": held,
        "counters": told,
        "refused": None,
        "beside_cpu_s": {"database": process.tree_cpu_s(database_pid)} if database_pid else {},
    }


def stop(config):
    """End it, and its database."""
    was_running = process.end(config["process"])
    if config["database"]:
        ask(config, "stop")
    return {"was_running": was_running}


def is_running(config):
    """Whether it runs."""
    return process.running_pid(config["process"]) is not None


VERBS = {"start": start, "reset": reset, "sample": sample, "stop": stop}
