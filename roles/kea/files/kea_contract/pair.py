"""The pair: the states and clocks of this server and its partner, the agent between them."""

import datetime
import socket
import time

from leaselab_contract.errors import ContractError, LabError
from leaselab_contract.process import POLL_S, last_reason, launch, wait_until

from kea_contract.control import control

AGENT_S = 15.0
ANSWER_S = 2.0
TERMINATED = "terminated"
"""The state of a server that has ended the replication, such as for clocks far apart."""
CLOCKED = "reclaimed-leases"
"""A statistic of every Kea, by whose reset it says what time it is."""


def trouble(config):
    """How the pair differs from the state asked for, empty when it does not.

    Kea asks its partner only at each heartbeat, and its own state may be as old as that; so
    the partner has to take a connection, too.
    """
    wanted = config["pair_state"]
    if not wanted:
        return ""
    seen = control(config, "status-get")["high-availability"][0]["ha-servers"]
    here, there = seen["local"]["state"], seen["remote"].get("last-state", "")
    if here == TERMINATED:
        return f"{here}: {last_reason(config['process'])}"
    if seen["remote"].get("communication-interrupted"):
        return f"{here}, communication with the partner interrupted"
    if (here, there) != (wanted, wanted):
        return f"{here}, the partner {there or 'unknown'}"
    partner = (config["pair_partner"], config["pair_port"])
    try:
        socket.create_connection(partner, timeout=ANSWER_S).close()
    except OSError as error:
        return f"{here}, the partner at {partner[0]} port {partner[1]} out of reach: {error}"
    return ""


def settle(config):
    """Wait until both servers are, and see each other, in the state asked for."""
    deadline = time.monotonic() + config["pair_settle_s"]
    while found := trouble(config):
        if time.monotonic() > deadline:
            raise ContractError(
                f"the pair is not in its state after {config['pair_settle_s']:.0f} s "
                f"(found {found}; wanted both {config['pair_state']})"
            )
        time.sleep(POLL_S)


def check_clock(config):
    """Raise LabError where Kea's clock is not ahead of the host's as asked for."""
    wanted = config.get("clock_ahead_s")  # a variant of an older release has none
    if not wanted:
        return
    before = time.time()
    control(config, "statistic-reset", {"name": CLOCKED})
    after = time.time()
    [[_, shown]] = control(config, "statistic-get", {"name": CLOCKED})[CLOCKED]
    its = datetime.datetime.fromisoformat(shown).timestamp()
    if not before <= its - wanted <= after:
        raise LabError(
            f"Kea's clock is not ahead as asked for (found {round(its - after)} s, "
            f"wanted {wanted} s); look whether libfaketime is installed for this architecture"
        )


def start_agent(agent):
    """Start the control agent, which takes the partner's updates; wait until it listens."""

    def listens():
        socket.create_connection((agent["address"], agent["port"]), timeout=ANSWER_S).close()

    wait_until(listens, launch(agent["process"]), agent["process"], AGENT_S)
