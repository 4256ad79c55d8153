"""A server that can be emptied only by a restart without its leases."""

from leaselab_contract import process, server
from leaselab_contract.errors import ContractError


class Server(server.Server):
    """A server whose `launch` begins without leases."""

    ENTRIES = "leases"
    """What it holds."""

    def entries(self):
        """Return how many entries it holds."""
        raise NotImplementedError

    def reset(self):
        """Restart it without leases."""
        with self.steady():
            was = self.entries()
            process.end(self.config["process"])
            self.launch()
            left = self.entries()
        if left:
            raise ContractError(
                f"{left} {self.ENTRIES} right after a start; is traffic running?"
            )
        return {"held": left, "was": was}
