"""The Knot server behind the contract: what differs from other servers.

It has no counters without its module stats, which would cost time for each query.  What it
holds of updates are changes of its zone, each of one update or of several.
"""

import shutil
import time
from pathlib import Path

from leaselab_contract import dns, program, sampling, updated, zones
from leaselab_contract.errors import ContractError

STATUS_S = 10.0


class Server(zones.WithZones, updated.Server):
    """Knot: one process."""

    ENTRIES = "changes of its zone"
    STOP_S = 60.0
    ZONE = '  - domain: "{zone}"\n    file: "{file}"'

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
