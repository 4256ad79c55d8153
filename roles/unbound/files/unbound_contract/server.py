"""The Unbound server behind the contract: what differs from other servers.

Reset reloads its configuration, which empties its caches, and counts what is left.  Its
flush_zone would only mark all entries as expired.
"""

import time

from leaselab_contract import control, dns, process, sampling, server
from leaselab_contract.errors import ContractError

GREETING = "UBCT1"
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
"""Common names of its counters; those of the last two are BIND 9's."""
CACHES = ("msg.cache.count", "rrset.cache.count")


class Server(server.Server):
    """Unbound, with empty caches at its start."""

    def ready(self):
        """Return its version once it resolves a name of the authority."""
        dns.check_answers(self.config, recursion=True)
        sampling.check_serves(self.config["process"], self.config["udp_port"])
        return control.version(self.config["socket"], GREETING, CONTROL_S)

    def check_started(self):
        """Empty its caches: what proved that it answers has left its trace."""
        self.reset()
        return {}

    def statistics(self, seconds):
        """Return its figures by its own names."""
        return control.statistics(self.config["socket"], GREETING, seconds)

    def reset(self):
        """Empty its caches, until nothing is left in them."""
        deadline = time.monotonic() + CONTROL_S
        was = held(self.statistics(CONTROL_S))
        while True:
            control.ask(self.config["socket"], GREETING, "reload", CONTROL_S)
            left = self.settled(deadline)
            if not left:
                return {"held": 0, "was": was}
            if time.monotonic() > deadline:
                raise ContractError(
                    f"{left} messages and sets of records in the caches after a reload; is"
                    " traffic running?"
                )
            time.sleep(process.POLL_S)

    def settled(self, deadline):
        """Return what it holds once it answers again: a reload makes its socket again."""
        while True:
            try:
                return held(self.statistics(CONTROL_S))
            except (OSError, ValueError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(process.POLL_S)

    def counted(self):
        """Return its counters, and what its caches have."""
        figures = self.statistics(ANSWER_S)
        return control.counters(figures, COUNTERS), held(figures)


def held(figures):
    """Return how much its caches have: messages, and sets of records."""
    return round(sum(figures.get(name, 0) for name in CACHES))
