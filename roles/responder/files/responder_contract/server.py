"""The responder behind the contract: what differs from other servers.

It writes its counts into a file four times a second.  reset drops its leases by SIGHUP: a
restart would begin its warm-up again.
"""

import hashlib
import json
import os
import secrets
import signal
import time
from pathlib import Path

from leaselab_contract import process, sampling, server
from leaselab_contract.errors import ContractError
from leaselab_contract.operations import operation

FORGET_S = 10.0
SEED_BITS = 63
COUNTERS = ("received", "answered", "overloaded", "dropped_on_purpose", "malformed", "unsent")


class Server(server.Server):
    """The responder.

    It has another random seed at each start, so that runs are independent.
    """

    START_S = 15.0

    def keeps(self):
        """Its leases end with it."""
        return False

    def launch(self):
        """Start it without counts, with a new seed."""
        Path(self.config["counts_file"]).unlink(missing_ok=True)
        own = self.config["process"]
        argv = [*own["argv"], "--seed", str(secrets.randbits(SEED_BITS))]
        child = process.launch({**own, "argv": argv})
        return child, self.await_ready(child)

    def ready(self):
        """Return its version once it writes counts, which it does when its socket is open."""
        sampling.check_serves(self.config["process"], self.config["udp_port"])
        self.counts()
        return self.config["version"]

    def config_sha256(self, pid):
        """Return the hash of the arguments that it runs with, a line each, but for the seed."""
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:-1]
        asked = words[: words.index(b"--seed")]
        return hashlib.sha256(b"\n".join(asked) + b"\n").hexdigest()

    def counts(self):
        """Return what it has counted since its start, by name."""
        return json.loads(Path(self.config["counts_file"]).read_text(encoding="ascii"))

    def reset(self):
        """Make it forget its leases, and drop all waiting requests."""
        before = self.counts()
        os.kill(self.running(), signal.SIGHUP)
        deadline = time.monotonic() + FORGET_S
        while (after := self.counts())["resets"] == before["resets"]:
            if time.monotonic() > deadline:
                raise ContractError(f"it has not forgotten its leases within {FORGET_S:.0f} s")
            time.sleep(process.POLL_S)
        if not self.config["holds"]:
            return super().reset()
        if after["leases"]:
            raise ContractError(
                f"{after['leases']} leases right after that; is traffic running?"
            )
        return {"held": 0, "was": after["forgotten"] - before["forgotten"]}

    @operation(
        "stall",
        "its counts have one more stall",
        lambda server: "--stalls" in server.config["process"]["argv"],
    )
    def stall(self):
        """Answer nothing for the next of the set times."""
        before = len(self.counts()["stalls"])
        yield
        os.kill(self.running(), signal.SIGUSR1)
        while len(self.counts()["stalls"]) == before:
            yield False
        yield True

    def counted(self):
        """Return its counters, and its leases."""
        counts = self.counts()
        leases = counts["leases"] if self.config["holds"] else None
        return {name: counts[name] for name in COUNTERS}, leases
