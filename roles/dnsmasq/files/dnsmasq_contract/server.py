"""The dnsmasq server behind the contract: what differs from other servers."""

import os
import secrets
import signal
import time
from pathlib import Path

from leaselab_contract import changed, process, restarted
from leaselab_contract.disk import WithLeaseFile
from leaselab_contract.logged import WithLog
from leaselab_contract.operations import operation

from dnsmasq_contract import bus

BUS_S = 5.0
LATE_S = 0.02
"""By how much time(2) may be behind (s): the kernel goes on with it at its next tick."""
ADDRESS, CLIENT, RESERVED = "192.0.2.1", "02:fd:00:00:ff:ff", "02:fd:00:00:{:02x}:{:02x}"
"""A lease that an operation adds, and hardware addresses that no client of a load has."""
FOR_A_DAY = ("uint32:86400", "uint32:0", "boolean:false")
ROW = 5
"""Words of a lease in its file."""
COUNTERS = ("dhcp_ack", "dhcp_offer", "dhcp_nak")


class Server(WithLeaseFile, WithLog, restarted.Server):
    """dnsmasq, with a D-Bus of its own as companion service."""

    VERBS = (*restarted.Server.VERBS, "list")
    START_S = 15.0
    REFUSED = "dhcp_nak"

    def prepare(self):
        """Start its bus: without one at its start, dnsmasq looks for it each 0.25 s."""
        own = self.config["bus"]["process"]
        process.wait_until(lambda: bus.connect(self.config), process.launch(own), own, BUS_S)
        return {}

    def holders(self):
        """Return the client of each address in its file: MAC (v4) or DUID (v6)."""
        column = 4 if int(self.config["family"]) == 6 else 1
        rows = map(str.split, Path(self.config["lease_file"]).read_text("ascii").splitlines())
        return {row[2]: row[column].replace(":", "") for row in rows if len(row) == ROW}

    def keeps(self):
        """Whether its leases are in a file, and not in its memory alone."""
        return self.writes_leases()

    def launch(self):
        """Start it with an empty lease store."""
        Path(self.config["lease_file"]).unlink(missing_ok=True)
        return super().launch()

    def ready(self):
        """Return its version, by D-Bus."""
        return bus.version(self.config)

    @operation(
        "reload",
        "a lease gets the name that only the new file has",
        lambda server: bool(server.config["hosts_file"]),
    )
    def reload(self):
        """Read a file of 1000 reservations (SIGHUP)."""
        pid, name = self.running(), f"operated-{secrets.token_hex(4)}"
        others = (f"{RESERVED.format(*divmod(number, 256))},r{number}" for number in range(999))
        text = "\n".join([f"{CLIENT},{name}", *others, ""])
        own = [f"string:{ADDRESS}", f"string:{CLIENT}", "array:byte:", "array:byte:"]
        with (
            bus.signals(self.config) as said,
            changed.replaced(self.config["hosts_file"], text),
        ):
            bus.ask(self.config, "AddDhcpLease", *own, *FOR_A_DAY)
            try:
                yield
                os.kill(pid, signal.SIGHUP)
                while name not in said():
                    yield False
                yield True
            finally:
                bus.ask(self.config, "DeleteDhcpLease", f"string:{ADDRESS}")

    def reopen_log(self):
        """As in the base class."""
        os.kill(self.running(), signal.SIGUSR2)

    def rest(self):
        """Wait for the next second of its clock, which is a little late.

        It writes its file again for a lease whose end, in whole seconds, has changed: not for a
        client that returns within the same second.
        """
        time.sleep(1.0 - time.time() % 1.0 + LATE_S)

    def entries(self):
        """Ask how many leases it holds."""
        return bus.leases(self.config)

    def counted(self):
        """Return its counters, and its leases by them."""
        known = bus.metrics(self.config, self.ANSWER_S)
        return {name: known[name] for name in COUNTERS}, bus.held(self.config, known)

    def stop(self):
        """End it, then its bus."""
        ended = super().stop()
        process.end(self.config["bus"]["process"])
        Path(self.config["bus"]["socket"]).unlink(missing_ok=True)
        return ended

    def is_running(self):
        """Whether it, or its bus, runs."""
        return super().is_running() or bool(process.running_pid(self.config["bus"]["process"]))
