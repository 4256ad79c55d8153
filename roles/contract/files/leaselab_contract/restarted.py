"""A server that can be emptied only by a restart without its leases."""

import contextlib
import fcntl
from pathlib import Path

from leaselab_contract import process, server
from leaselab_contract.errors import ContractError


@contextlib.contextmanager
def held(path):
    """Hold a lock file for the context."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Server(server.Server):
    """A server whose `launch` begins without leases.

    Its settings also have `lock_file`.
    """

    ENTRIES = "leases"
    """What it holds."""

    def steady(self):
        """Keep samples from meeting the restart of a reset, for a context."""
        return held(self.config["lock_file"])

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

    def take(self):
        """Return one sample, of a server that is not being restarted."""
        with self.steady():
            return super().take()
