"""The leases of a running server, from its file: which addresses are taken, and by nobody.

Identities, names and times are dropped as the file is read.
"""

from __future__ import annotations

import calendar
import csv
import ipaddress
import math
import re
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from leaselab.catalog.plain_file import lines_of, not_read, text_of, unpacking
from leaselab.model.errors import usage_error
from leaselab.model.pool import Address

ACTIVE, DECLINED = "active", "declined"
_MOST = 1 << 20
"""Leases of a file at the most."""
MOST_BYTES = 1 << 30
"""Bytes of a file at the most; one has many lines of a lease."""
_FOREVER = 0xFFFFFFFF
"""A lifetime that does not end."""
_KEA_STATES = {
    "0": ACTIVE,
    "1": DECLINED,
    "2": "expired",
    "3": "released",
    "4": "registered",
    "default": ACTIVE,
    "declined": DECLINED,
    "expired-reclaimed": "expired",
}
_DHCPD_STATES = {"active": ACTIVE, "abandoned": DECLINED}
"""Others are of addresses that are free."""
_LENGTHS = {4: 32, 6: 128}
_PREFIX = ("2", "IA_PD")
_AROUND = re.compile(r"ia-(?:na|ta|pd) ")
_BLOCK = re.compile(r"\s*(lease|iaaddr|iaprefix) (\S+) \{")
_STATED = re.compile(r"\s*binding state (\w+);")
_TIMED = re.compile(r"\s*(starts|cltt|ends) (?:never|epoch (\d{1,11})|\d (\S+ \S+));")
_DNSMASQ = re.compile(r"(\d+) \S+ ([0-9a-f.:]+) \S+ \S+\s*$|duid [0-9a-f:]+\s*$")
_NONE = "lines that are no lease"
_LATEST = 1 << 33
"""Seconds since the epoch that a lease may end."""
_LOOKED_AT = 200
"""Lines by which a file's language is known."""
_SHOWN = {4: 24, 6: 64}
"""Length of the prefixes by which addresses of no subnet are named."""


class Lease(NamedTuple):
    """What a file says of an address at one time; `state` is none where it is free again."""

    address: Address
    length: int
    state: str
    begun_s: float
    ends_s: float


class Range(NamedTuple):
    """Addresses of which a configuration has leases, and the number of their subnet."""

    first: int
    last: int
    subnet: int
    length: int
    """Of the prefixes that are leased: that of one address for addresses."""


class Leases:
    """The leases that a server has, as it would have them at the time of its file."""

    def __init__(self, leases: Iterable[Lease]) -> None:
        """Keep the newest of each address; raises a usage error for too many."""
        held: dict[tuple[Address, int], Lease] = {}
        now_s = 0.0
        for lease in leases:
            now_s = max(now_s, lease.begun_s)
            if lease.state:
                held[lease.address, lease.length] = lease
            else:
                held.pop((lease.address, lease.length), None)
            if len(held) > _MOST:
                raise usage_error("too many leases", where="--leases", wanted=f"up to {_MOST}")
        self.left_out: Counter[str] = Counter()
        self.taken: list[tuple[Address, int, bool]] = []
        for (address, length), lease in held.items():
            expired = lease.state == ACTIVE and lease.ends_s < now_s
            if lease.state in (ACTIVE, DECLINED) and not expired:
                self.taken.append((address, length, lease.state == DECLINED))
            else:
                self.left_out["expired" if expired else lease.state] += 1


class Filling:
    """Those of the leases that a configuration has subnets for."""

    def __init__(
        self, leases: Leases, family: int, ranges: Iterable[Range], reserved: Iterable[str]
    ) -> None:
        """Take the leases of some ranges, but for addresses of clients with reservations.

        Raises ValueError where a reserved address is none.
        """
        self.left_out = leases.left_out.copy()
        self.elsewhere: Counter[str] = Counter()
        """Leases of no subnet, by prefix."""
        of_clients = {int(ipaddress.ip_network(text, strict=False)[0]) for text in reserved}
        by_length: dict[int, list[Range]] = {}
        for held in sorted(ranges):
            by_length.setdefault(held.length, []).append(held)
        rows = []
        for address, length, declined in leases.taken:
            number = int(address)
            if address.version != family:
                self.left_out[f"of DHCPv{address.version}"] += 1
            elif number in of_clients:
                self.left_out["of reserved addresses"] += 1
            elif (near := _range(by_length.get(length, ()), number)) is None:
                prefix = ipaddress.ip_network((address, _SHOWN[family]), strict=False)
                self.elsewhere[str(prefix)] += 1
            else:
                rows.append((number, length, declined, near.subnet, address))
        if self.elsewhere:
            self.left_out["in no subnet"] += self.elsewhere.total()
        rows.sort()
        self._numbers = [number for number, *_ in rows]
        self.lines = [
            f"{address},{length},{int(declined)},{subnet}"
            for _, length, declined, subnet, address in rows
        ]
        """Address, length, 1 for declined, number of the subnet: what is kept of each."""

    def __str__(self) -> str:
        """How many fill the server, and how many do not, for which reasons."""
        others = ", ".join(f"{count} {why}" for why, count in self.left_out.most_common())
        return f"{len(self.lines)} fill it" + (f"; left out: {others}" if others else "")

    def within(self, first: int, last: int) -> int:
        """How many are of the addresses from `first` to `last`."""
        return bisect_right(self._numbers, last) - bisect_left(self._numbers, first)


def _range(ranges: Sequence[Range], number: int) -> Range | None:
    """The range of an address; the nearest that begins before it, as they do not overlap."""
    at = bisect_right(ranges, number, key=lambda held: held.first)
    near = ranges[at - 1] if at else None
    return near if near is not None and number <= near.last else None


def read_leases(paths: Sequence[Path]) -> Leases:
    """Read files of leases, the oldest first; a usage error for one that is none."""
    unread: Counter[str] = Counter()
    leases = Leases(lease for path in paths for lease in _of_file(path, unread))
    leases.left_out.update(unread)
    return leases


def _of_file(path: Path, unread: Counter[str]) -> Iterator[Lease]:
    try:
        with text_of(path, MOST_BYTES) as file:
            first = [line for line, _ in zip(lines_of(file), range(_LOOKED_AT), strict=False)]
            read = _language(first)
            if read is None:
                raise usage_error(
                    "no file of leases",
                    where=str(path),
                    wanted="kea-leases4.csv or kea-leases6.csv of Kea (or of `kea-admin "
                    "lease-dump`), dhcpd.leases, or dnsmasq.leases",
                    todo=unpacking(path),
                )
            file.seek(0)
            yield from read(file, unread)
    except OSError as error:
        raise not_read(path, error) from error


def _language(
    first: Sequence[str],
) -> Callable[[IO[str], Counter[str]], Iterator[Lease]] | None:
    if first and first[0].startswith("address,"):
        return _of_kea
    if any(_BLOCK.match(line) or _AROUND.match(line) for line in first):
        return _of_dhcpd
    if first and all(_DNSMASQ.match(line) for line in first):
        return _of_dnsmasq
    return None


def _of_kea(file: IO[str], unread: Counter[str]) -> Iterator[Lease]:
    """A memfile: later lines of an address are newer, one without lifetime deletes it."""
    rows: Iterator[dict[str | None, str]] = csv.DictReader(
        lines_of(file), quoting=csv.QUOTE_NONE
    )
    while True:
        try:
            row = next(rows)
            address = ipaddress.ip_address(row["address"])
            lifetime, expires = int(row["valid_lifetime"]), int(row["expire"])
            state = _KEA_STATES[row["state"]] if lifetime else ""
            if not 0 <= expires <= _LATEST:
                raise ValueError(expires)
            prefix = row.get("lease_type") in _PREFIX
            length = int(row["prefix_len"]) if prefix else _LENGTHS[address.version]
        except StopIteration:
            return
        except (ValueError, KeyError, TypeError, AttributeError, csv.Error):
            unread[_NONE] += 1
            continue
        ends = math.inf if lifetime == _FOREVER else expires
        yield Lease(address, length, state, expires - lifetime if lifetime else 0, ends)


def _of_dhcpd(file: IO[str], unread: Counter[str]) -> Iterator[Lease]:
    """A dhcpd.leases: blocks, of which a later one of an address is newer."""
    name, state, begun, around, ends = "", "", 0.0, 0.0, math.inf
    for line in lines_of(file):
        if _AROUND.match(line):
            name, around = "", 0.0
        elif match := _BLOCK.match(line):
            name, state, ends = match[2], "", math.inf
            begun = 0.0 if match[1] == "lease" else around
        elif match := _STATED.match(line):
            state = _DHCPD_STATES.get(match[1], "")
        elif match := _TIMED.match(line):
            at = _moment(*match.group(2, 3))
            if match[1] == "ends":
                ends = at
            elif name:
                begun = max(begun, at if at < math.inf else 0)
            else:
                around = at
        elif line.strip() == "}" and name:
            try:
                yield Lease(*_place(name), state, begun, ends)
            except ValueError:
                unread[_NONE] += 1
            name = ""


def _place(name: str) -> tuple[Address, int]:
    address, _, length = name.partition("/")
    held = ipaddress.ip_address(address)
    return held, int(length or _LENGTHS[held.version])


def _moment(epoch: str | None, date: str | None) -> float:
    """A time as dhcpd writes it, UTC; infinite for never, and for what is none."""
    if epoch:
        return float(epoch)
    try:
        return calendar.timegm(time.strptime(date or "", "%Y/%m/%d %H:%M:%S"))
    except (ValueError, OverflowError):
        return math.inf


def _of_dnsmasq(file: IO[str], unread: Counter[str]) -> Iterator[Lease]:
    """A dnsmasq.leases: what has expired is no longer in it."""
    for line in lines_of(file):
        match = _DNSMASQ.match(line)
        try:
            if match is None or match[2]:
                address, length = _place(match[2] if match else "")
                yield Lease(address, length, ACTIVE, 0, math.inf)
        except ValueError:
            unread[_NONE] += 1
