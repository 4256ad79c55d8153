"""The PowerDNS server behind the contract: what differs from other servers.

An authority holds nothing of its clients but updates.  Its caches hold answers: where a point
declares that they begin empty, reset empties them and counts.
"""

from leaselab_contract import dns, updated
from leaselab_contract.database import WithDatabase
from leaselab_contract.errors import ContractError
from leaselab_contract.operations import operation

from powerdns_contract import store
from powerdns_contract.control import cached, config_hash, control, counters

TRIES = 5
BEGIN_EMPTY = ("cold", "mixed")
"""What may be declared of caches that a reset has to empty."""


class Server(WithDatabase, updated.Server):
    """PowerDNS, with its zones in files of its own or in a database beside it."""

    START_S = 60.0

    def prepare(self):
        """Put its zones where it reads them."""
        return store.prepare(self.config)

    def restore(self):
        """Bring back its LMDB files as they were made."""
        store.restore(self.config)

    def ready(self):
        """Return its version once it answers for its data."""
        dns.check_answers(self.config)
        return control(self.config, "version").strip()

    def config_sha256(self, _pid):
        """Return the hash of the configuration that it reports."""
        return config_hash(self.config)

    def reset(self):
        """Empty its caches where they begin empty; again for what was still under way."""
        if self.config["cache"] not in BEGIN_EMPTY:
            return super().reset()
        was = cached(counters(self.config))
        for _ in range(TRIES):
            control(self.config, "purge")
            left = cached(counters(self.config))
            if left == 0:
                return {"held": 0, "was": was}
        raise ContractError(
            f"{left} cached answers left after purging {TRIES} times; is traffic running?"
        )

    @operation(
        "flush",
        "its caches have half of the answers that they had, or less",
        lambda server: server.config["cache"] != "none",
    )
    def flush(self):
        """Empty its caches."""
        was = cached(counters(self.config))
        yield
        control(self.config, "purge")
        while cached(counters(self.config)) > was // 2:
            yield False
        yield True

    def counted(self):
        """Return its counters, and what its caches or its updated zones hold."""
        known = counters(self.config, self.ANSWER_S)
        held = cached(known) if self.config["cache"] != "none" else self.held()
        return {name: known[name] for name in self.config["counters"]}, held
