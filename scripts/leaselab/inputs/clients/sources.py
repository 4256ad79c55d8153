"""Clients of captures with libpcap, of Kea's lease files, and of its forensic logs."""

from __future__ import annotations

import csv
import ipaddress
import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, NamedTuple

from leaselab.catalog.plain_file import (
    LONGEST_LINE,
    first_of,
    lines_of,
    not_read,
    text_of,
    unpacking,
)
from leaselab.inputs.clients.census import Census
from leaselab.inputs.clients.file import Clients
from leaselab.inputs.clients.frames import LINKS, datagram_of, todo_for
from leaselab.inputs.clients.messages import Message, message_of
from leaselab.inputs.clients.population import traffic_of
from leaselab.inputs.leases import MOST_BYTES
from leaselab.model.errors import usage_error

STDIN = Path("-")
PORTS = {4: (67, 68), 6: (546, 547)}
SHARED = 5
"""Clients that have to send a value for it to be kept."""


class Reader:
    """What was read so far."""

    def __init__(self, *, vendors: bool = False) -> None:
        """`vendors` has kinds differ by the maker of the hardware address."""
        self.families = {family: Census(family, vendors=vendors) for family in (4, 6)}
        self._first_s, self._last_s = math.inf, 0.0
        self.skipped: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self._leases: dict[int, float] = {}
        """When a lease that is known was last given (s)."""
        self._wants: dict[int, str] = {}

    def add(self, message: Message | str, at: float) -> None:
        """Count a message of a time (s), or the reason why it is none."""
        if at > 0:
            self._first_s, self._last_s = min(at, self._first_s), max(at, self._last_s)
        if isinstance(message, str):
            self.skipped[message] += 1
        else:
            self.families[message.family].add(message, at)

    def add_lease(self, lease: _Lease) -> None:
        """Count what Kea wrote of a lease.

        It does not say which leases are new: the first of a client is, later ones are
        renewals.  Those of one moment are of one exchange, as an address and a prefix.
        """
        who, word = lease.who.encode(), lease.word
        key = hash((lease.name, who))
        if word == "new" and self._leases.get(key) == lease.at:
            self.skipped["lines of a lease as before"] += 1
            return
        if word == "new" and key in self._leases:
            word = "renew"
        if word == "release":
            self._leases.pop(key, None)
        elif key in self._leases or len(self._leases) < _MOST_KNOWN:
            self._leases[key] = lease.at
        want = lease.want
        client = hash(who)
        if lease.family == 6 and (client in self._wants or len(self._wants) < _MOST_KNOWN):
            known = self._wants.setdefault(client, want)
            want = self._wants[client] = want if want == known else "both"
        message = Message(
            family=lease.family,
            word=word,
            xid=int(lease.at) & 0xFFFFFFFF,
            who=who,
            options=(),
            relay=lease.relay,
            want=want,
        )
        self.add(message, lease.at)

    def clients(self, shared: int = SHARED) -> Clients:
        """The clients that were read of; a usage error without any."""
        seen = self._first_s, self._last_s
        of = {
            family: traffic_of(census, shared, seen) for family, census in self.families.items()
        }
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
                todo=todo_for(skipped),
            )
        notes = [f"{count} files {what}" for what, count in self.notes.items()]
        return Clients(skipped=skipped, notes=notes, dhcpv4=of[4], dhcpv6=of[6])


def _read_capture(reader: Reader, path: Path) -> None:
    """Read a capture into a reader.

    Raises a usage error for a file that is none, and where libpcap's Python binding is not
    installed.
    """
    packets = Packets(path)
    for at, frame in packets:
        datagram = datagram_of(packets.link, frame, PORTS)
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
        self._left = math.inf if path == STDIN else path.stat().st_size
        """Bytes of packets that the file had room for as it was opened."""

    def __iter__(self) -> Iterator[tuple[float, bytes]]:
        try:
            for header, data in self._opened:
                self._left -= len(data)
                if self._left < 0:
                    self.notes = ("grow while they are read: read up to their size",)
                    return
                yield header.ts, data  # type: ignore[attr-defined]
        except self._library.Error as error:
            why = str(error.args[-1])
            if "interface" in why:  # libpcap reads those of one type of link
                name, one_form = self._path.name, "editcap -F pcap"
                one_link = (
                    "save the packets of each interface apart: tshark -r "
                    f"{name} -Y frame.interface_id==0 -w PART; {one_form} -T ether PART "
                    "OUTPUT; on Linux's `any` -T linux-sll"
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
        if path != STDIN and not first_of(path, 1):  # libpcap would wait for the kernel's
            raise usage_error("empty", where=str(path), wanted="pcap or pcapng")
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
            wanted="Ethernet, Linux cooked, Wi-Fi, PPP, or raw IP",
            todo="capture on the network card of the server or relay: tcpdump -i NAME",
        )
    return link, cypcap, opened


_LEASES = b"address,"
_AT = r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\S* \S+ "
_LOG = re.compile(f"{_AT}(?:Address|Prefix|Administrator|HA partner)\\b")
"""How a line of a forensic log begins, also one of a command."""
_LOGGED = re.compile(
    f"{_AT}"
    r"(?P<kind>Address|Prefix): ?(?P<what>[0-9a-f.:]+)\S* has been "
    r"(?P<done>assigned|renewed|rebound|released)"
)
_WHO = re.compile(r"(?:client-id|DUID): ([0-9a-f:]+)")
_HARDWARE = re.compile(r"hwtype=\d+ ([0-9a-f:]+)")
_RELAY = re.compile(r"(?:link address|relay at address): ([0-9a-f.:]+)")
_DONE = {"assigned": "new", "renewed": "renew", "rebound": "rebind", "released": "release"}
_TEXT = re.compile(rb"[ -~][\t\r\n -~]*")
_LEFT = "lines of no client"
_FIRST = "do not say which leases are new: the first of each client counts as new"


def read_source(reader: Reader, path: Path) -> None:
    """Read a file into a reader, by what it begins with; a usage error for what is none.

    Kea's files say nothing of options: their clients are of one kind for each subnet or relay.
    Standard input (``-``) has a capture.
    """
    if path == STDIN:
        _read_capture(reader, path)
        return
    try:
        first = first_of(path, LONGEST_LINE).partition(b"\n")[0]
        is_leases = first.startswith(_LEASES)
        if is_leases or _LOG.match(first.decode("latin-1")):
            with text_of(path, MOST_BYTES) as file:
                (_read_leases if is_leases else _read_log)(reader, file)
            return
    except OSError as error:
        raise not_read(path, error) from error
    if _TEXT.fullmatch(first):
        raise usage_error(
            "text that is neither a lease file nor a log",
            where=str(path),
            wanted="a lease file of Kea with its header, or a forensic log in Kea's own format",
            todo="capture packets if Kea writes a format of yours",
        )
    _read_capture(reader, path)


class _Lease(NamedTuple):
    """What Kea wrote of a lease in a line."""

    family: int
    name: str
    """Its address or prefix."""
    who: str
    at: float
    word: str
    relay: bytes
    want: str


_MOST_KNOWN = 1 << 19
"""Leases of which the last line is remembered."""
_GONE = ("1", "4")
"""States of addresses that are declined or only registered: they are nobody's lease."""
_RELEASED, _RECLAIMED = "3", "2"


def _read_leases(reader: Reader, file: IO[str]) -> None:
    """Read a memfile."""
    rows: Iterable[dict[str | None, str]] = csv.DictReader(
        lines_of(file), quoting=csv.QUOTE_NONE
    )
    reader.notes[_FIRST] += 1
    try:
        for row in rows:
            _add(reader, _of_row(row))
    except csv.Error:
        reader.skipped[_LEFT] += 1


def _of_row(row: dict[str | None, str]) -> _Lease | None:
    """The lease of a row; None of a row that has none.  Old files have no state."""
    try:
        family = ipaddress.ip_address(row["address"]).version
        lifetime, expires = int(row["valid_lifetime"]), int(row["expire"])
        who = row["client_id"] or row["hwaddr"] if family == 4 else row["duid"]
        relay = int(row["subnet_id"]).to_bytes(4, "big")
        want = "prefix" if family == 6 and row["lease_type"] == "2" else "address"
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None
    state = row.get("state")
    if not who or state in _GONE:
        return None
    # A row that ends a lease has no lifetime; that of a reclaimed one nobody released.
    ended = state == _RELEASED or (not lifetime and state != _RECLAIMED)
    word = "release" if ended else "new"
    return _Lease(family, row["address"], who, expires - lifetime, word, relay, want)


def _read_log(reader: Reader, file: IO[str]) -> None:
    """Read a forensic log as Kea writes it where no format is set."""
    words = set()
    for line in lines_of(file):
        lease = _of_line(line)
        words.add(lease and lease.word)
        _add(reader, lease)
    if words.isdisjoint(("renew", "rebind")):  # as of Kea 2
        reader.notes[_FIRST] += 1


def _of_line(line: str) -> _Lease | None:
    logged, relay = _LOGGED.match(line), _RELAY.findall(line)
    who = _WHO.search(line) or _HARDWARE.search(line)
    if logged is None or who is None:
        return None
    try:
        at = time.mktime(time.strptime(logged["at"], "%Y-%m-%d %H:%M:%S"))
        family = ipaddress.ip_address(logged["what"]).version
        link = ipaddress.ip_address(relay[-1]).packed if relay else b""
    except (ValueError, OverflowError):
        return None
    want = "prefix" if logged["kind"] == "Prefix" else "address"
    return _Lease(family, logged["what"], who[1], at, _DONE[logged["done"]], link, want)


def _add(reader: Reader, lease: _Lease | None) -> None:
    if lease is None:
        reader.add(_LEFT, 0)
    else:
        reader.add_lease(lease)
