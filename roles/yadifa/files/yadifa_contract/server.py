"""The YADIFA server behind the contract: it holds nothing, and counts nothing that is read."""

import re
import time
from pathlib import Path

from leaselab_contract import dns, program, sampling, server
from leaselab_contract.errors import ContractError

VERSION = re.compile(r"^yadifad ([0-9.]+)")
VERSION_S = 10.0
LOG_S = 0.5
"""A thread of its own writes its log, some time after what it logs."""


class Server(server.Server):
    """YADIFA, one process of many threads."""

    STOP_S = 60.0

    def ready(self):
        """Return its version once it answers for its data."""
        dns.check_answers(self.config)
        sampling.check_serves(self.config["process"], self.config["udp_port"])
        argv = [self.config["process"]["argv"][0], "--version"]
        return VERSION.search(program.run(argv, "yadifad --version", VERSION_S))[1]

    def check_started(self):
        """Raise its log line where it serves without one of its zones."""
        time.sleep(LOG_S)
        text = Path(self.config["process"]["output_file"]).read_text("utf-8", "replace")
        failed = [line for line in text.splitlines() if " | E | " in line]
        if failed:
            raise ContractError(failed[-1])
        return {}

    def counted(self):
        """Return no counters: its statistics go to a log, at an interval."""
        return {}, None
