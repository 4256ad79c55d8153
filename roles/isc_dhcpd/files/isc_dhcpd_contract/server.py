"""The ISC dhcpd server behind the contract: what differs from other servers."""

from pathlib import Path

from leaselab_contract import filled, restarted, sampling
from leaselab_contract.disk import WithLeaseFile

from isc_dhcpd_contract import leases


class Server(WithLeaseFile, restarted.Server):
    """ISC dhcpd, whose leases are in a file to which each is appended."""

    VERBS = (*restarted.Server.VERBS, "list")
    START_S = 60.0

    def __init__(self, config):
        super().__init__(config)
        self._leases = leases.Leases(config["lease_file"])

    def launch(self):
        """Start it with a lease file, which it does not make itself: of its first leases."""
        path = Path(self.config["lease_file"])
        path.with_name(f"{path.name}~").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(leases.text_of(filled.read(self.config)), encoding="ascii")
        return super().launch()

    def ready(self):
        """Return its version, once it has its socket: it has read its leases before."""
        sampling.check_serves(self.config["process"], self.config["port"])
        output = Path(self.config["process"]["output_file"]).read_text(encoding="utf-8")
        return output.partition("\n")[0].split()[-1]

    def syncs(self):
        """As in the base class, unless its configuration forbids it."""
        text = Path(self.config["config_file"]).read_text(encoding="utf-8")
        return super().syncs() and "dont-use-fsync true" not in text

    def entries(self):
        """Count its leases but those with which it begins; it lists what is declined apart."""
        begun = sum(not lease.declined for lease in filled.read(self.config))
        return self._leases.held() - begun

    def holders(self):
        """Return the client of each address in its file."""
        return leases.holders(Path(self.config["lease_file"]).read_bytes())

    def check_started(self):
        """Raise for leases that it did not take."""
        filled.check(self.config, self.entries)
        return {}

    def counted(self):
        """Return no counters, as dhcpd has none, and the number of leases."""
        return {}, self.entries()
