"""The YADIFA server behind the contract: it holds nothing, and counts nothing that is read."""

import re
import time
from pathlib import Path

from leaselab_contract import dns, process, program, sampling, server
from leaselab_contract.errors import ContractError

VERSION = re.compile(r"^yadifad ([0-9.]+)")
VERSION_S = 10.0


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
        """Wait until it answers for each of its zones; raise its log line where it cannot.

        It loads each on its own, and logs that one has failed some time after that.
        """
        until = time.monotonic() + self.config["start_s"]
        with Path(self.config["zone_folder"], "zones.tsv").open(encoding="ascii") as zones:
            for zone in (line.partition("\t")[0] for line in zones):
                while not self._has(zone):
                    self._check_log()
                    if time.monotonic() > until:
                        raise ContractError(f"it does not answer for its zone {zone}")
                    time.sleep(process.POLL_S)
        return {}

    def _has(self, zone):
        try:
            dns.check_answers({**self.config, "known_name": zone})
        except (OSError, ValueError, ContractError):
            return False
        return True

    def _check_log(self):
        text = Path(self.config["process"]["output_file"]).read_text("utf-8", "replace")
        failed = [line for line in text.splitlines() if " | E | " in line]
        if failed:
            raise ContractError(failed[-1])

    def counted(self):
        """Return no counters: its statistics go to a log, at an interval."""
        return {}, None
