"""Operations on an authority that becomes secondary of a zone: it takes that, then changes."""

import contextlib
import time

from leaselab_contract import dns, primary, process, zones
from leaselab_contract.errors import ContractError
from leaselab_contract.operations import operation, prepared
from leaselab_contract.primary import ZONE

TAKEN_S = 30.0
"""When it should answer for a zone that it was sent."""
REST_S = 1.5
"""NSD reads what it was sent at most once a second."""


class WithPrimary(zones.WithZones):
    """An authority that can be secondary of a zone of its list."""

    SECONDARY = ""
    """What its list has of such a zone, of `zone`, and the primary's `address` and `port`."""

    @operation("transfer-in", "it answers the serial number of the zone", zones.is_text)
    def transfer_in(self):
        """Become secondary of a zone of 100000 records, which comes whole (AXFR)."""
        with self._primary() as source:
            yield from self._become_secondary(source)
        while self.has(ZONE):
            yield True

    @operation("transfer-in-changes", zones.NEW_SERIAL, zones.is_text)
    def transfer_changes_in(self):
        """Take 1000 changed records of such a zone after a NOTIFY (IXFR)."""
        with self._primary() as source:
            prepared(self._become_secondary(source))
            source.change()
            time.sleep(REST_S)
            yield
            while not self._notified(source):
                yield False
            yield from self._taking(source, "IXFR")
        while self.has(ZONE):
            yield True

    @contextlib.contextmanager
    def _primary(self):
        """Have a primary whose zone is in the list, for the context."""
        with primary.serving(self.config["address"]) as source:
            place = {"address": source.address, "port": source.port}
            with self.listed(self.SECONDARY.format(zone=ZONE, **place), ZONE):
                yield source

    def _become_secondary(self, source):
        yield
        self.read_list_again()
        yield from self._taking(source, "AXFR")

    def _taking(self, source, kind):
        """Yield whether it answers the serial number of a primary.

        Raises ContractError where it does not, or was sent that by another kind of transfer.
        """
        while self.serial_of(ZONE) != source.serial:
            if source.sent and time.monotonic() - source.sent_at > TAKEN_S:
                reason = process.last_reason(self.config["process"])
                raise ContractError(
                    f"it does not answer for the zone that it was sent: {reason}"
                )
            yield False
        if source.sent[-1] != kind:
            raise ContractError(f"it was sent {', '.join(source.sent)} (wanted {kind})")
        yield True

    def _notified(self, source):
        """Whether it has answered a NOTIFY of a primary."""
        own = {"source": source.address, "seconds": zones.ASK_S}
        try:
            dns.notify(self.config["address"], ZONE, **own)
        except (OSError, ValueError):
            return False
        return True
