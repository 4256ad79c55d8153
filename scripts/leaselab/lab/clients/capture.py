"""Reads captures, pcap and pcapng, packet by packet, with libpcap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from leaselab.lab.clients.census import Census
from leaselab.lab.clients.file import Clients
from leaselab.lab.clients.frames import LINKS, datagram_of
from leaselab.lab.clients.messages import Message, message_of
from leaselab.lab.clients.population import traffic_of
from leaselab.lab.plain_file import check_plain, not_read
from leaselab.model.errors import usage_error

_PORTS = {4: (67, 68), 6: (546, 547)}
SHARED = 5
"""Clients that have to send a value for it to be kept."""


class Reader:
    """What was read so far."""

    def __init__(self, *, vendors: bool = False) -> None:
        """`vendors` has kinds differ by the maker of the hardware address."""
        self.families = {family: Census(family, vendors=vendors) for family in (4, 6)}
        self.skipped: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()

    def add(self, message: Message | str, at: float) -> None:
        """Count a message of a time (s), or the reason why it is none."""
        if isinstance(message, str):
            self.skipped[message] += 1
        else:
            self.families[message.family].add(message, at)

    def clients(self, shared: int = SHARED) -> Clients:
        """The clients that were read of; a usage error without any."""
        of = {family: traffic_of(census, shared) for family, census in self.families.items()}
        skipped = dict(self.skipped.most_common())
        if not any(of.values()):
            others = ", ".join(f"{count} {why}" for why, count in skipped.items())
            raise usage_error(
                "no client of DHCP begins anything in it",
                where="leaselab clients",
                found=others or "no packet",
                wanted="a capture of a relay's or a server's side, ports 67 or 547",
            )
        notes = [f"{count} captures {what}" for what, count in self.notes.items()]
        return Clients(skipped=skipped, notes=notes, dhcpv4=of[4], dhcpv6=of[6])


def read_capture(reader: Reader, path: Path) -> None:
    """Read a capture into a reader.

    Raises a usage error for a file that is none, and where libpcap's Python binding is not
    installed.
    """
    packets = Packets(path)
    for at, frame in packets:
        datagram = datagram_of(packets.link, frame, _PORTS)
        reader.add(datagram if isinstance(datagram, str) else message_of(datagram), at)
    if not packets.is_whole:
        reader.notes["end within a packet: read up to there"] += 1


class Packets:
    """The packets of a capture with their times (s).

    Raises a usage error for a file that is none, and where libpcap's Python binding is not
    installed.
    """

    link: int
    """Type of the link, as libpcap numbers them."""
    is_whole = True
    """Whether it ends after a packet, once it was read."""

    def __init__(self, path: Path) -> None:
        """Open the capture."""
        self.link, self._library, self._opened = _opened(path)
        self._is_empty = not path.stat().st_size

    def __iter__(self) -> Iterator[tuple[float, bytes]]:
        try:
            for header, data in self._opened:
                yield header.ts, data  # type: ignore[attr-defined]
        except self._library.Error:
            self.is_whole = self._is_empty


def _opened(path: Path) -> tuple[int, ModuleType, Iterable[tuple[object, bytes]]]:
    try:
        import cypcap  # type: ignore[import-untyped]  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise usage_error(
            "captures need cypcap, which is not installed",
            where=str(path),
            todo="./leaselab extra captures",
        ) from error
    try:
        check_plain(path)
        with path.open("rb"):
            opened = cypcap.open_offline(str(path.absolute()))
        link = int(opened.datalink())
    except OSError as error:
        raise not_read(path, error) from error
    except cypcap.Error as error:
        raise usage_error(
            f"not a capture: {error.args[-1]}", where=str(path), wanted="pcap or pcapng"
        ) from error
    if link not in LINKS:
        raise usage_error(
            "packets of another kind of link",
            where=str(path),
            found=f"link type {link}",
            wanted="Ethernet, Linux cooked, or raw IP",
        )
    return link, cypcap, opened
