"""Clients of captures with libpcap, of Kea's lease files, and of its forensic logs."""

from __future__ import annotations

import csv
import ipaddress
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO

from leaselab.lab.clients.census import Census
from leaselab.lab.clients.file import Clients
from leaselab.lab.clients.frames import LINKS, TRUNCATED, datagram_of
from leaselab.lab.clients.messages import MALFORMED, Message, message_of
from leaselab.lab.clients.population import traffic_of
from leaselab.lab.plain_file import (
    LONGEST_LINE,
    check_plain,
    lines_of,
    not_read,
    text_of,
    unpacking,
)
from leaselab.model.errors import usage_error

STDIN = Path("-")
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
        apart = {
            f"messages of DHCPv{family} that begin no lease": census.messages
            for family, census in self.families.items()
            if census.messages and not of[family]
        }
        skipped = dict(Counter({**self.skipped, **apart}).most_common())
        if not any(of.values()):
            others = ", ".join(f"{count} {why}" for why, count in skipped.items())
            raise usage_error(
                "no DHCP request of a client in it",
                where="leaselab clients",
                found=others or "no packet",
                wanted="a capture of a relay's or a server's side, ports 67 or 547",
                todo="capture whole packets: tcpdump -s 0" if TRUNCATED in skipped else "",
            )
        notes = [f"{count} captures {what}" for what, count in self.notes.items()]
        return Clients(skipped=skipped, notes=notes, dhcpv4=of[4], dhcpv6=of[6])


def _read_capture(reader: Reader, path: Path) -> None:
    """Read a capture into a reader.

    Raises a usage error for a file that is none, and where libpcap's Python binding is not
    installed.
    """
    packets = Packets(path)
    for at, frame in packets:
        datagram = datagram_of(packets.link, frame, _PORTS)
        reader.add(datagram if isinstance(datagram, str) else message_of(datagram), at)
    reader.notes.update(packets.notes)


class Packets:
    """The packets of a capture with their times (s).

    Raises a usage error for a file that is none, and where libpcap's Python binding is not
    installed.
    """

    link: int
    """Type of the link, as libpcap numbers them."""
    notes: tuple[str, ...] = ()
    """Why it was not read to its end, once it was read."""

    def __init__(self, path: Path) -> None:
        """Open the capture; standard input for ``-``."""
        self.link, self._library, self._opened = _opened(path)
        self._path = path

    def __iter__(self) -> Iterator[tuple[float, bytes]]:
        try:
            for header, data in self._opened:
                yield header.ts, data  # type: ignore[attr-defined]
        except self._library.Error as error:
            why = str(error.args[-1])
            if "interface" in why:  # libpcap reads those of one type of link
                name, one_form = self._path.name, "editcap -F pcap"
                one_link = (
                    "save the packets of each interface apart: tshark -r "
                    f"{name} -Y frame.interface_id==0 -w PART; {one_form} -T ether PART OUTPUT"
                )
                raise usage_error(
                    f"its packets are not read: {why}",
                    where=str(self._path),
                    todo=f"{one_form} {name} OUTPUT" if "snapshot" in why else one_link,
                ) from error
            end = "end within a packet" if "truncated" in why else f"end early ({why})"
            self.notes = (f"{end}: read up to there",)


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
        if path != STDIN:
            check_plain(path)
            with path.open("rb"):
                pass
        opened = cypcap.open_offline(str(path if path == STDIN else path.absolute()))
        link = int(opened.datalink())
    except OSError as error:
        raise not_read(path, error) from error
    except cypcap.Error as error:
        raise usage_error(
            f"not a capture: {error.args[-1]}",
            where=str(path),
            wanted="pcap or pcapng",
            todo="" if path == STDIN else unpacking(path),
        ) from error
    if link not in LINKS:
        raise usage_error(
            "packets of another kind of link",
            where=str(path),
            found=f"link type {link}",
            wanted="Ethernet, Linux cooked, or raw IP",
        )
    return link, cypcap, opened


_LEASES = b"address,"
_AT = r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\S* \S+ "
_LOG = re.compile(f"{_AT}(?:Address|Prefix|Administrator|HA partner)\\b")
"""How a line of a forensic log begins, also one of a command."""
_LOGGED = re.compile(
    f"{_AT}"
    r"(?:Address|Prefix): (?P<what>[0-9a-f.:]+)\S* has been "
    r"(?P<done>assigned|renewed|rebound|released)"
)
_WHO = re.compile(r"(?:client-id|DUID|hwtype=\d+):? ([0-9a-f:]+)")
_RELAY = re.compile(r"(?:link address|relay at address): ([0-9a-f.:]+)")
_DONE = {"assigned": "new", "renewed": "renew", "rebound": "rebind", "released": "release"}
_LEFT = "lines of no client"


def read_source(reader: Reader, path: Path) -> None:
    """Read a file into a reader, by what it begins with; a usage error for what is none.

    Kea's files say nothing of options: their clients are of one kind for each subnet or relay.
    Standard input (``-``) has a capture.
    """
    if path == STDIN:
        _read_capture(reader, path)
        return
    try:
        check_plain(path)
        with path.open("rb") as file:
            first = file.readline(LONGEST_LINE)
    except OSError as error:
        raise not_read(path, error) from error
    if first.startswith(_LEASES):
        with text_of(path) as file:
            _read_leases(reader, file)
    elif _LOG.match(first.decode("latin-1")):
        with text_of(path) as file:
            _read_log(reader, file)
    else:
        _read_capture(reader, path)


def _read_leases(reader: Reader, file: IO[str]) -> None:
    """Read a memfile: the first line of a client is a new lease, a later one a renewal."""
    rows: Iterable[dict[str | None, str]] = csv.DictReader(
        lines_of(file), quoting=csv.QUOTE_NONE
    )
    known: set[int] = set()
    try:
        for number, row in enumerate(rows):
            reader.add(*_of_lease(row, number, known))
    except csv.Error:
        reader.skipped[_LEFT] += 1


def _of_lease(
    row: dict[str | None, str], number: int, known: set[int]
) -> tuple[Message | str, float]:
    try:
        family = ipaddress.ip_address(row["address"]).version
        lifetime, expires = int(row["valid_lifetime"]), int(row["expire"])
        who = row["client_id"] or row["hwaddr"] if family == 4 else row["duid"]
        subnet = int(row["subnet_id"])
        relay = subnet.to_bytes(4, "big")
        word = "release" if not lifetime or row["state"] == "2" else "new"
        want = "prefix" if family == 6 and row["lease_type"] == "2" else "address"
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return _LEFT, 0
    if not who:
        return MALFORMED, 0
    key = hash((row["address"], who))
    if word == "new" and key in known:
        word = "renew"
    elif len(known) < _MOST_KNOWN:
        known.add(key)
    return _message(family, word, number, who, relay, want), expires - lifetime


_MOST_KNOWN = 1 << 19
"""Leases whose first line is remembered."""


def _read_log(reader: Reader, file: IO[str]) -> None:
    """Read a forensic log as Kea writes it where no format is set."""
    for number, line in enumerate(lines_of(file)):
        logged = _LOGGED.match(line)
        who, relay = _WHO.search(line), _RELAY.findall(line)
        if logged is None or who is None:
            reader.add(_LEFT, 0)
            continue
        try:
            at = time.mktime(time.strptime(logged["at"], "%Y-%m-%d %H:%M:%S"))
            family = ipaddress.ip_address(logged["what"]).version
            link = ipaddress.ip_address(relay[-1]).packed if relay else b""
        except (ValueError, OverflowError):
            reader.add(_LEFT, 0)
            continue
        want = "prefix" if " Prefix: " in line[:80] else "address"
        message = _message(family, _DONE[logged["done"]], number, who[1], link, want)
        reader.add(message, at)


def _message(  # noqa: PLR0917
    family: int, word: str, number: int, who: str, relay: bytes, want: str
) -> Message:
    """A message of a client whose options are unknown."""
    return Message(
        family=family,
        word=word,
        xid=number & 0xFFFFFFFF,
        who=who.encode(),
        options=(),
        relay=relay,
        want=want,
    )
