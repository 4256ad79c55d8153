"""PowerDNS Recursor behind the contract: what differs from other servers.

Reset wipes its caches of records, of negative answers and of packets, and counts what is left.
What it knows of the authority's speed stays.
"""

from leaselab_contract import dns, program, sampling, server
from leaselab_contract.errors import ContractError
from leaselab_contract.operations import operation

CONTROL_S = 20.0
TRIES = 5
COUNTERS = {
    "questions": "QUERY",
    "noerror-answers": "NOERROR",
    "nxdomain-answers": "NXDOMAIN",
    "servfail-answers": "SERVFAIL",
    "policy-drops": "policy-drops",
    "over-capacity-drops": "over-capacity-drops",
    "packetcache-hits": "packetcache-hits",
    "cache-misses": "QryRecursion",
    "all-outqueries": "Queryv4",
}
"""Names of its counters; where others count the same, common ones, such as BIND 9's."""
CACHES = ("cache-entries", "negcache-entries", "packetcache-entries")


class Server(server.Server):
    """PowerDNS Recursor, with empty caches at its start."""

    def ready(self):
        """Return its version once it resolves a name of the authority."""
        dns.check_answers(self.config, recursion=True)
        sampling.check_serves(self.config["process"], self.config["udp_port"])
        return self.control("version").strip()

    def check_started(self):
        """Empty its caches: what proved that it answers has left its trace."""
        self.reset()
        return {}

    def control(self, *command, seconds=CONTROL_S):
        """Send it a command; return what it prints."""
        argv = [self.config["control"], f"--socket-dir={self.config['socket_folder']}"]
        return program.run([*argv, *command], f"rec_control {command[0]}", seconds)

    def figures(self, seconds=CONTROL_S):
        """Return its figures by its own names."""
        rows = (line.split() for line in self.control("get-all", seconds=seconds).splitlines())
        return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}

    def reset(self):
        """Empty its caches; again for queries that were still under way."""
        was = held(self.figures())
        for _ in range(TRIES):
            self.control("wipe-cache", "$")
            left = held(self.figures())
            if left == 0:
                return {"held": 0, "was": was}
        raise ContractError(
            f"{left} entries in the caches after wiping them {TRIES} times; is traffic running?"
        )

    @operation("flush", "its caches have half of the entries that they had, or less")
    def flush(self):
        """Empty its caches."""
        was = held(self.figures())
        yield
        self.control("wipe-cache", "$")
        while held(self.figures()) > was // 2:
            yield False
        yield True

    def counted(self):
        """Return its counters, and what its caches have."""
        figures = self.figures(self.ANSWER_S)
        counters = {name: figures[own] for own, name in COUNTERS.items()}
        return counters, held(figures)


def held(figures):
    """Return how much its caches have: sets of records, negative ones, and packets."""
    return sum(figures[name] for name in CACHES)
