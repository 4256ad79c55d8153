"""What dnsmasq differs in from other servers behind the contract.

reset restarts it without its leases: it has no other way to forget them.
"""

import contextlib
import fcntl
from pathlib import Path

from leaselab_contract import loaded, process, server
from leaselab_contract.errors import ContractError

from dnsmasq_contract import bus

ANSWER_S = 0.8
COUNTERS = ("dhcp_ack", "dhcp_offer", "dhcp_nak")


class Server(server.Server):
    """dnsmasq, and beside it a bus of its own."""

    START_S = 15.0
    REFUSED = "dhcp_nak"

    @contextlib.contextmanager
    def steady(self):
        """Keep samples, and the end of the server, from meeting the restart of a reset."""
        path = Path(self.config["lock_file"])
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def prepare(self):
        """Start its bus."""
        process.launch(self.config["bus"]["process"])
        return {}

    def launch(self):
        """Start it with an empty lease store."""
        Path(self.config["lease_file"]).unlink(missing_ok=True)
        return super().launch()

    def ready(self):
        """Return the version that it tells on its bus."""
        return bus.version(self.config)

    def config_sha256(self, _pid):
        """Return the hash of its file: it cannot be asked what it runs with."""
        return loaded.sha256(self.config["config_file"])

    def reset(self):
        """Restart it without leases."""
        with self.steady():
            was = bus.leases(self.config)
            process.end(self.config["process"])
            self.launch()
            left = bus.leases(self.config)
        if left:
            raise ContractError(f"{left} leases right after a start; is traffic running?")
        return {"held": left, "was": was}

    def take(self):
        """Return one sample, of a server that is not being restarted."""
        with self.steady():
            return super().take()

    def counted(self):
        """Return its counters, and its leases by them."""
        known = bus.metrics(self.config, ANSWER_S)
        return {name: known[name] for name in COUNTERS}, bus.held(self.config, known)

    def stop(self):
        """End it; a reset that is under way, whose caller was interrupted, would start it."""
        with self.steady():
            ended = super().stop()
        process.end(self.config["bus"]["process"])
        Path(self.config["bus"]["socket"]).unlink(missing_ok=True)
        return ended

    def is_running(self):
        """Whether it, or its bus, runs."""
        return super().is_running() or bool(process.running_pid(self.config["bus"]["process"]))
