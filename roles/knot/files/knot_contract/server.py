"""The Knot server behind the contract: what differs from other servers.

It has no counters without its module stats, which would cost time for each query.  What it
holds of updates are changes of its zone, each of one update or of several.
"""

import shutil
import time
from pathlib import Path

from leaselab_contract import dns, logged, program, sampling, signed, updated
from leaselab_contract.errors import ContractError

STATUS_S = 10.0


class Server(signed.WithKeys, logged.WithLog, updated.Server):
    """Knot: one process."""

    ENTRIES = "changes of its zone"
    STOP_S = 60.0
    ZONE = '  - domain: "{zone}"\n    file: "{file}"'
    SECONDARY = (
        "remote:\n  - id: operate\n    address: {address}@{port}\n"
        "acl:\n  - id: operate\n    remote: operate\n    action: notify\n"
        'zone:\n  - domain: "{zone}"\n    master: operate\n    acl: operate'
    )

    SIGNED = (
        'keystore:\n  - id: operate\n    config: "{folder}"\n'
        "policy:\n  - id: operate\n    keystore: operate\n"
        "    dnskey-ttl: 0\n    zone-max-ttl: 1\n    propagation-delay: 0\n"
        'zone:\n  - domain: "{zone}"\n    file: "{file}"\n'
        "    dnssec-signing: on\n    dnssec-policy: operate"
    )

    def restore(self):
        """Remove its journal: it reads its zones from their files."""
        if Path(self.config["journal_folder"]).exists():
            shutil.rmtree(self.config["journal_folder"])

    def ready(self):
        """Return its version once it answers for its data."""
        dns.check_answers(self.config)
        sampling.check_serves(self.config["process"], self.config["udp_port"])
        return self.control("status", "version").split()[-1]

    def control(self, *words):
        """Send it a command; return what it says."""
        argv = [self.config["control"], "-s", self.config["socket"], *words]
        return program.run(argv, f"knotc: {' '.join(words)}", STATUS_S)

    def read_zones_again(self):
        """As in the base class."""
        self.control("zone-reload")

    def read_list_again(self):
        """As in the base class."""
        self.control("reload")

    def reopen_log(self):
        """As in the base class."""
        self.control("reload")

    def forget(self, zone):
        """As in the base class; its database forgets the zone's times and keys."""
        super().forget(zone)
        self.control("-f", "zone-purge", zone, "+orphan")

    def roll_key(self):
        """As in the base class."""
        self.control("zone-key-rollover", signed.ZONE, "zsk")

    def check_started(self):
        """Raise its log line where it serves without one of its zones."""
        text = Path(self.config["log_file"]).read_text(encoding="utf-8", errors="replace")
        failed = [line for line in text.splitlines() if " error: " in line]
        if failed:
            raise ContractError(failed[-1])
        return super().check_started()

    def rest(self):
        """Let it free the connection by which its version was asked: 5 s after the last."""
        time.sleep(6.0)

    def counted(self):
        """Return no counters, and how often its zone has changed."""
        return {}, self.held()
