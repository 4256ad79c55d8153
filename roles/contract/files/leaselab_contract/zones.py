"""Operations on the zones of an authority: read again, added and removed while it serves.

Its settings have `zone_folder` with zones.tsv (zone TAB file), and the list of its zones as the
last but for what is beside it of `config_files`.
"""

import contextlib
import re
from pathlib import Path

from leaselab_contract import changed, dns
from leaselab_contract.operations import operation, prepared

ADDED = 1000
ADDED_FILE = "operate.added"
"""Name of the file of all added zones, in the folder of the zones; none of them ends so."""
ADDED_TEXT = "$TTL 60\n@ SOA ns hostmaster 1 10800 3600 604800 3600\n@ NS ns\nns A 192.0.2.53\n"
ASK_S = 0.2
TRANSFER_S = 10.0
"""How long a transfer may stand still."""
NEW_SERIAL = "it answers the new serial number of the zone"
_SERIAL = re.compile(r"(\sSOA\s+\S+\s+\S+\s*\(?\s*)\d+")
_BEGINNING = 4096
"""What of a zone file has the serial number (letters)."""


def is_text(server):
    """Whether the last of its zones is in a file of text with a serial number."""
    path = server.zone_file()
    if path is None or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return bool(_SERIAL.search(file.read(_BEGINNING)))


class WithZones:
    """An authority that reads its zones from files."""

    ZONE = ""
    """What the list of its zones has of each, of `zone` and `file`."""

    def read_zones_again(self):
        """Have it read the zones whose files have changed."""
        raise NotImplementedError

    def read_list_again(self):
        """Have it read the list of its zones again."""
        raise NotImplementedError

    def zone_file(self):
        """Return the file of the zone that it is asked for; None where it has none."""
        folder = self.config.get("zone_folder")
        if not folder or self.config.get("made_folder"):
            return None  # what is updated is in no file
        name = self.config["known_name"]
        with Path(folder, "zones.tsv").open(encoding="ascii") as rows:
            found = (row.rstrip("\n").split("\t") for row in rows)
            return next((Path(folder, file) for zone, file in found if zone == name), None)

    def serial_of(self, zone):
        """Return the serial number that it answers for a zone; None where it has no answer."""
        try:
            return dns.serial(self.config["address"], zone, seconds=ASK_S)
        except (OSError, ValueError):
            return None

    @operation("reload", NEW_SERIAL, is_text)
    def reload_zone(self):
        """Read a zone again whose file has a new serial number."""
        zone, path = self.config["known_name"], self.zone_file()
        new = dns.serial(self.config["address"], zone) % 0xFFFFFFFF + 1
        text = _SERIAL.sub(rf"\g<1>{new}", path.read_text(encoding="utf-8"), count=1)
        with changed.replaced(path, text):
            yield
            self.read_zones_again()
            while self.serial_of(zone) != new:
                yield False
            yield True

    @operation("transfer", "it has sent the last record of the zone", is_text)
    def transfer(self):
        """Send a zone whole over TCP (AXFR)."""
        yield
        dns.transfer(self.config["address"], self.config["known_name"], seconds=TRANSFER_S)
        yield True

    @operation("add-zones", "it answers for the last of the added zones", is_text)
    def add_zones(self):
        """Add 1000 zones to its list."""
        folder = Path(self.config["zone_folder"])
        names = [f"z{number:04d}.operate." for number in range(ADDED)]
        lines = [self.ZONE.format(zone=name, file=folder / ADDED_FILE) for name in names]
        own = changed.beside(folder / ADDED_FILE, ADDED_TEXT)
        text = "\n".join(["", *lines, ""])
        with own, changed.appended(self.config["config_files"][1], text):
            yield
            self.read_list_again()
            while self.serial_of(names[-1]) is None:
                yield False
            yield True

    @operation("remove-zones", "it does not answer for the last of them any more", is_text)
    def remove_zones(self):
        """Remove the 1000 zones that were added before."""
        last = f"z{ADDED - 1:04d}.operate."
        if self.serial_of(last) is None:
            prepared(self.add_zones())
        yield
        self.read_list_again()
        while self.has(last):
            yield False
        yield True

    @contextlib.contextmanager
    def listed(self, text, zone):
        """Have its list of zones end with a text for the context; it forgets a zone then."""
        try:
            with changed.appended(self.config["config_files"][1], f"\n{text}\n"):
                yield
        finally:
            self.forget(zone)

    def forget(self, zone):  # noqa: ARG002  # some keep more of it
        """Have it forget a zone that its list does not have any more."""
        self.read_list_again()

    def has(self, zone):
        """Whether it answers for a zone, or not at all."""
        try:
            _, records, _ = dns.ask(self.config["address"], zone, seconds=ASK_S)
        except (OSError, ValueError):
            return True  # no answer is none
        return bool(records)
