"""Messages: queries for a zone's SOA, for the whole zone; what a primary says and answers.

A name server is ready when it answers, not when it runs.
"""

import secrets
import socket
import struct

from leaselab_contract.errors import ContractError

A, NS, SOA, DNSKEY, IXFR, AXFR = 1, 2, 6, 48, 251, 252
RCODES = ("NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED")
UDP_BYTES = 4096
_HEADER = struct.Struct("!HHHHHH")
_POINTER = 0xC0
"""A length from here on is a pointer to the rest of a name."""
_IS_ANSWER, _AUTHORITATIVE, _RECURSION_DESIRED, _RCODE = 0x8000, 0x0400, 0x0100, 0x000F
_NOTIFY = 0x2000 | _AUTHORITATIVE
_INTERNET = 1
_LENGTH = struct.Struct("!H")
_RECORD = struct.Struct("!HHIH")
"""Type, class, TTL and length of a record, behind its name."""


def ask(address, zone, *, port=53, seconds=1.0, recursion=False, kind=SOA):
    """Ask a server for the SOA of a zone, or for records of another type, over UDP.

    Return the rcode by its name (as a number in text if it has none here), how many records
    the answer has, and what follows the question, as bytes.  Raises OSError where no answer to
    this query comes in time, ValueError where what comes is no DNS message.
    """
    flags = _RECURSION_DESIRED if recursion else 0
    return _asked((address, port), zone, seconds, flags=flags, kind=kind)


def notify(address, zone, *, source, seconds=1.0):
    """Say from a source address that a zone has changed (RFC 1996); raises as `ask`."""
    _asked((address, 53), zone, seconds, source, flags=_NOTIFY)


def _asked(server, zone, seconds, source="", **of_message):
    number = secrets.randbelow(1 << 16)
    query = message(number, zone, **of_message)
    family = socket.AF_INET6 if ":" in server[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.settimeout(seconds)
        asking.bind((source, 0))
        asking.connect(server)
        asking.send(query)
        answer = asking.recv(UDP_BYTES)
    if len(answer) < _HEADER.size:
        raise ValueError(f"not a DNS message: {len(answer)} bytes")
    found, flags, _, records, _, _ = _HEADER.unpack_from(answer)
    if found != number or not flags & _IS_ANSWER:
        raise ValueError("not the answer to this query")
    rest = answer[len(query) :]  # the question is as it was sent
    return _word(flags & _RCODE), records, rest


def serial(address, zone, *, port=53, seconds=1.0, recursion=False):
    """Return the serial number of a zone's SOA; raises as `ask`, ValueError without an SOA."""
    _, records, answer = ask(address, zone, port=port, seconds=seconds, recursion=recursion)
    if not records:
        raise ValueError(f"no SOA of {zone}")
    kind, end = _record(answer, 0)
    if kind != SOA or end > len(answer):
        raise ValueError(f"no SOA of {zone}")
    return _serial(answer, end)


def records(address, name, kind, *, seconds):
    """Return the set of a name's records of a type, as bytes; raises as `ask`."""
    _, count, answer = ask(address, name, seconds=seconds, kind=kind)
    found, at = set(), 0
    for _ in range(count):
        end = _record(answer, at)[1]
        found.add(answer[at:end])
        at = end
    return found


def _serial(answer, end):
    """Return the serial number of the SOA that ends there: five numbers behind two names."""
    return int.from_bytes(answer[end - 20 : end - 16], "big")


def transfer(address, zone, *, port=53, seconds=1.0):
    """Return how many records a server sends of a zone (AXFR, RFC 5936), its SOA twice.

    Raises ContractError where it refuses, OSError where nothing comes for `seconds`,
    ValueError where what comes is no transfer.
    """
    query = message(secrets.randbelow(1 << 16), zone, kind=AXFR)
    received = ends = 0
    with socket.create_connection((address, port), timeout=seconds) as connection:
        connection.sendall(_LENGTH.pack(len(query)) + query)
        with connection.makefile("rb") as stream:
            while ends < 2:
                length = int.from_bytes(stream.read(_LENGTH.size), "big")
                kinds = _answered(stream.read(length), query)
                received += len(kinds)
                ends += kinds.count(SOA)
    return received


def _answered(answer, query):
    """Return the types of the records of a message of a transfer."""
    if len(answer) < _HEADER.size:
        raise ValueError(f"not a message of a transfer: {len(answer)} bytes")
    number, flags, questions, records, _, _ = _HEADER.unpack_from(answer)
    if number != _HEADER.unpack_from(query)[0]:
        raise ValueError("not an answer to this query")
    if code := flags & _RCODE:
        raise ContractError(f"it refuses the transfer: {_word(code)}")
    if not records:
        raise ValueError("an empty message of a transfer")
    at = len(query) if questions else _HEADER.size
    kinds = []
    for _ in range(records):
        kind, at = _record(answer, at)
        kinds.append(kind)
    return kinds


def _record(answer, at):
    """Return the type of the record that begins there, and where it ends.

    Raises ValueError where the answer ends before its data.
    """
    try:
        while 0 < answer[at] < _POINTER:
            at += 1 + answer[at]
        at += 2 if answer[at] else 1
        kind, _, _, size = _RECORD.unpack_from(answer, at)
    except (IndexError, struct.error):
        raise ValueError("no whole record") from None
    return kind, at + _RECORD.size + size


def _word(code):
    """Return an rcode by its name, as a number in text if it has none here."""
    return RCODES[code] if code < len(RCODES) else str(code)


def check_answers(config, *, recursion=False):
    """Raise ContractError where a server does not know the zone `known_name` of its settings.

    It is asked at its `address`; OSError and ValueError as of `ask`.
    """
    zone = config["known_name"]
    rcode, records, _ = ask(config["address"], zone, recursion=recursion)
    if rcode != "NOERROR" or not records:
        raise ContractError(f"it answers {rcode} with {records} records for the SOA of {zone}")


def message(number, zone, *, flags=0, kind=SOA):
    """Return a query as it is sent; raises ValueError for what is no name."""
    labels = [label.encode("ascii") for label in zone.rstrip(".").split(".") if label]
    if any(len(label) > 63 for label in labels):
        raise ValueError(f"not a domain name: {zone}")
    asked = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    head = _HEADER.pack(number, flags, 1, 0, 0, 0)
    return head + asked + struct.pack("!HH", kind, _INTERNET)


def record(owner, kind, data, ttl_s=60):
    """Return a record as it is sent."""
    return owner + _RECORD.pack(kind, _INTERNET, ttl_s, len(data)) + data


def soa(owner, number):
    """Return an SOA with a serial number."""
    return record(owner, SOA, struct.pack("!2x5I", number, 10800, 3600, 604800, 60))


def asked(query):
    """Return the type that a query asks for, and the serial number that it has (IXFR)."""
    end = query.index(b"\0", _HEADER.size) + 5
    kind = int.from_bytes(query[end - 4 : end - 2], "big")
    return kind, _serial(query, _record(query, end)[1]) if kind == IXFR else None


def answer(query, records, count):
    """Return the answer to a query that has so many records, which are already joined."""
    end = query.index(b"\0", _HEADER.size) + 5
    head = query[:2] + _HEADER.pack(0, _IS_ANSWER | _AUTHORITATIVE, 1, count, 0, 0)[2:]
    return head + query[_HEADER.size : end] + records
