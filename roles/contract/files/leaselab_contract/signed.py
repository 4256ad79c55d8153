"""The keys of an authority that signs a zone itself."""

import tempfile
import time
from pathlib import Path

from leaselab_contract import dns, secondary, zones
from leaselab_contract.operations import operation, prepared

ZONE = "signed.operate."
NAMES = 10_000
HEAD = "$TTL 60\n@ SOA ns hostmaster 1 10800 3600 604800 60\n@ NS ns\nns A 192.0.2.53\n"
SIGNING_POLL_S = 0.2


class WithKeys(secondary.WithPrimary):
    """An authority that can sign a zone of its list."""

    SIGNED = ""
    """What its list has of such a zone, of `zone`, `file` and the `folder` of its keys."""

    def is_signed(self):
        """Whether it has signed that zone; some answer with its keys only then."""
        return bool(self._keys())

    def roll_key(self):
        """Have it sign that zone with another key."""
        raise NotImplementedError

    @operation("roll-keys", "it answers a DNSKEY set with a new key", zones.is_text)
    def roll_keys(self):
        """Replace the key by which it signs a zone of 10000 names."""
        listed = Path(self.config["config_files"][1])
        with tempfile.TemporaryDirectory(prefix="operate.", dir=listed.parent) as folder:
            file = Path(folder, "zone")
            names = "".join(f"n{number:05d} A 192.0.2.1\n" for number in range(NAMES))
            file.write_text(HEAD + names, encoding="utf-8")
            text = self.SIGNED.format(zone=ZONE, file=file, folder=folder)
            with self.listed(text, ZONE):
                prepared(self._signing())
                keys = self._keys()
                yield
                self.roll_key()
                while self._keys() <= keys:
                    yield False
                yield True

    def _signing(self):
        yield
        self.read_list_again()
        while not self.is_signed():
            time.sleep(SIGNING_POLL_S)
            yield False
        yield True

    def _keys(self):
        try:
            return dns.records(self.config["address"], ZONE, dns.DNSKEY, seconds=zones.ASK_S)
        except (OSError, ValueError):
            return set()
