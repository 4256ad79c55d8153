"""The Knot server behind the contract: what differs from other servers.

It holds nothing, so reset does nothing.  It has no counters without its module stats, which
would cost time for each query.
"""

from pathlib import Path

from leaselab_contract import dns, program, sampling, server
from leaselab_contract.errors import ContractError

STATUS_S = 10.0


class Server(server.Server):
    """Knot: one process."""

    STOP_S = 60.0

    def ready(self):
        """Return its version once it answers for its data."""
        dns.check_answers(self.config)
        sampling.check_serves(self.config["process"], self.config["udp_port"])
        argv = [self.config["control"], "-s", self.config["socket"], "status", "version"]
        return program.run(argv, "knotc: status version", STATUS_S).split()[-1]

    def check_started(self):
        """Raise its log line where it serves without one of its zones."""
        text = Path(self.config["log_file"]).read_text(encoding="utf-8", errors="replace")
        failed = [line for line in text.splitlines() if " error: " in line]
        if failed:
            raise ContractError(failed[-1])
        return {}

    def counted(self):
        """Return no counters; it holds nothing."""
        return {}, None
