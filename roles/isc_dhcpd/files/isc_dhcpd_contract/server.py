"""The ISC dhcpd server behind the contract: what differs from other servers."""

from pathlib import Path

from leaselab_contract import restarted, sampling

from isc_dhcpd_contract.leases import Leases


class Server(restarted.Server):
    """ISC dhcpd, whose leases are in a file to which each is appended."""

    START_S = 60.0

    def __init__(self, config):
        super().__init__(config)
        self._leases = Leases(config["lease_file"])

    def launch(self):
        """Start it with an empty lease file, which it does not make itself."""
        path = Path(self.config["lease_file"])
        path.with_name(f"{path.name}~").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        path.touch()
        return super().launch()

    def ready(self):
        """Return its version, once it has its socket: it has read its leases before."""
        sampling.check_serves(self.config["process"], self.config["port"])
        output = Path(self.config["process"]["output_file"]).read_text(encoding="utf-8")
        return output.partition("\n")[0].split()[-1]

    def leases(self):
        """Count its leases."""
        return self._leases.held()

    def counted(self):
        """Return no counters, as dhcpd has none, and the number of leases."""
        return {}, self.leases()
