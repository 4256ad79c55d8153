"""Samples of the running server, about one a second."""

import time

from leaselab_contract import sampling
from leaselab_contract.database import acquit, check_running, is_distant
from leaselab_contract.errors import ContractError
from leaselab_contract.process import running_pid, tree_cpu_s

from kea_contract import database, pair
from kea_contract.control import leases, statistic

ANSWER_S = 0.8


def follow(config):
    """Print samples until standard input is closed, and one for each line on it."""
    if running_pid(config["process"]) is None:
        raise ContractError("the server is not running")
    sampling.follow(lambda: take(config), config["files"])


def take(config):
    """Take one; raises the reason when Kea, its agent or its database has gone."""
    near = config["database"] and not is_distant(config)
    database_pid = check_running(config) if near else None
    cpu_s, rss_bytes = sampling.used(
        pair.processes(config),
        lambda: acquit(config) if config["database"] else None,
    )
    beside = {"database": tree_cpu_s(database_pid)} if database_pid else {}
    if config["poller"]:
        beside["poller"] = sampling.used([config["poller"]])[0]
    for link in database.links(config):
        beside["link"] = sampling.used([link])[0]
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
        "cpu_s": cpu_s,
        "rss_bytes": rss_bytes,
        "udp_drops": sampling.udp_drops(config["process"], config["udp_port"]),
        "held": held,
        "counters": counters,
        "refused": counters.get(config["refused_counter"]),
        "written": written(counters, *config["written_counters"]),
        "beside_cpu_s": beside,
    }


def written(counters, served, reused):
    """Return how many leases were written: those served but for the ones that the cache saved.

    None where a counter is missing.
    """
    if served not in counters or reused not in counters:
        return None
    return counters[served] - counters[reused]
