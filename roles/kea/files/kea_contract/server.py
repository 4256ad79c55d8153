"""What Kea does for each verb of the server contract, which `VERBS` names.

start makes a database's schema anew; state and settle are about a pair; list tells address
and client of every lease.
"""

import os
import signal
import sys
from pathlib import Path

from leaselab_contract import address, loaded, process
from leaselab_contract.errors import ContractError

from kea_contract import database, pair, poll, sampling, store
from kea_contract.control import config_hash, control, leases

START_S = 30.0


def start(config):
    """Start it clean; return what runs."""
    stop(config)
    store.remove_files(config)
    Path(config["control_socket"]).unlink(missing_ok=True)
    with process.undone_by(lambda: stop(config)):
        return serve(config)


def serve(config):
    """Start database, Kea and agent; return what runs."""
    beside = database.prepare(config) if config["database"] else {}
    for link in database.links(config):
        launch_and_hear(link, "listens")
    address.wait_until_usable(config["interface"])
    child = process.launch(config["process"])
    version = process.wait_until(
        lambda: control(config, "version-get", timeout=2.0),
        child,
        config["process"],
        START_S,
    )
    start_s = child.age_s
    if config["agent"]:
        pair.start_agent(config["agent"])
    if config["poller"]:
        launch_and_hear(config["poller"], poll.ANSWERED)
    return {
        "pid": child.pid,
        "version": version["extended"].split()[0],
        "commit": config["commit"],
        "config_sha256": config_hash(config),
        "start_s": start_s,
        "beside": beside,
        **loaded.identity(child.pid),
    }


def launch_and_hear(helper, word):
    """Start a program beside Kea; wait until it has said this word."""

    def said():
        if word not in Path(helper["output_file"]).read_text(encoding="utf-8"):
            raise ContractError(f"it has not said '{word}'")

    process.wait_until(said, process.launch(helper), helper, START_S)


def helpers(config):
    """What runs beside Kea for its sake alone: what asks it, what leads to its database.

    A variant that an older release deployed says nothing of them, and has to be stopped.
    """
    poller = config.get("poller")
    return [*([poller] if poller else []), *database.links(config)]


def state(config):
    """Say how a pair differs from the state asked for."""
    return {"trouble": pair.trouble(config)}


def settle(config):
    """Return when a pair is in that state."""
    pair.settle(config)
    return {"trouble": ""}


def reset(config):
    """Empty the store; once more for leases whose request was still queued."""
    empty = database.empty if database.has_leases(config) else empty_memory
    was = 0
    for _ in range(5):
        before, left = empty(config)
        was += before
        if left == 0:
            return {"held": 0, "was": was}
    raise ContractError(f"{left} leases left after emptying five times; is traffic running?")


def empty_memory(config):
    """Return how many leases there were and are.

    The command for it is a hook's.  Without the hook, Kea reads its configuration again and
    finds no file of leases; it stays the same process, and counts packets on.
    """
    before = leases(config)
    if config["can_wipe"]:
        # Without a subnet it is all of them.
        of_one = {} if config["subnet_id"] is None else {"subnet-id": config["subnet_id"]}
        control(config, f"lease{config['family']}-wipe", of_one)
    else:
        store.remove_files(config)
        control(config, "config-reload")
    return before, leases(config)


def listing(config):
    """Print every lease: address and client."""
    sys.stdout.writelines(f"{address} {client}\n" for address, client in store.leases(config))


def crash(config):
    """Every process at once: neither of a pair is told."""
    pids = [pid for one in pair.processes(config) if (pid := process.running_pid(one))]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return {"was_running": bool(pids)}


def stop(config):
    """End it, and its database."""
    ended = [process.end(one) for one in reversed(pair.processes(config))]
    ended += [process.end(one) for one in helpers(config)]
    if config["database"]:
        database.ask(config, "stop")
    return {"was_running": any(ended)}


def is_running(config):
    """Whether a process of it runs."""
    return any(process.running_pid(one) for one in pair.processes(config))


VERBS = {
    "start": start,
    "state": state,
    "settle": settle,
    "reset": reset,
    "sample": sampling.follow,
    "list": listing,
    "crash": crash,
    "stop": stop,
}
