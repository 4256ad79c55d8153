"""Which source a file is: a capture, Kea's lease file, or its forensic log."""

from __future__ import annotations

import csv
import ipaddress
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from leaselab.lab.clients.capture import Reader, read_capture
from leaselab.lab.clients.messages import MALFORMED, Message
from leaselab.lab.plain_file import LONGEST_LINE, check_plain, lines_of, not_read, text_of

_LEASES = b"address,"
_LOGGED = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\S* \S+ "
    r"(?:Address|Prefix): (?P<what>[0-9a-f.:]+)\S* has been "
    r"(?P<done>assigned|renewed|rebound|released)"
)
_WHO = re.compile(r"(?:client-id|DUID|hwtype=\d+):? ([0-9a-f:]+)")
_RELAY = re.compile(r"(?:link address|relay at address): ([0-9a-f.:]+)")
_DONE = {"assigned": "new", "renewed": "renew", "rebound": "rebind", "released": "release"}
_LEFT = "lines that are none of Kea's"


def read_source(reader: Reader, path: Path) -> None:
    """Read a file into a reader, by what it begins with; a usage error for what is none.

    Kea's files say nothing of options: their clients are of one kind for each subnet or relay.
    """
    try:
        check_plain(path)
        with path.open("rb") as file:
            first = file.readline(LONGEST_LINE)
    except OSError as error:
        raise not_read(path, error) from error
    if first.startswith(_LEASES):
        with text_of(path) as file:
            _read_leases(reader, file)
    elif _LOGGED.match(first.decode("latin-1")):
        with text_of(path) as file:
            _read_log(reader, file)
    else:
        read_capture(reader, path)


def _read_leases(reader: Reader, file: IO[str]) -> None:
    """Read a memfile: the first line of a client is a new lease, a later one a renewal."""
    rows: Iterable[dict[str | None, str]] = csv.DictReader(lines_of(file))
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
