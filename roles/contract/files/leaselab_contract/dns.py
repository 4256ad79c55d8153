"""A query for the SOA of a zone: a name server is ready when it answers, not when it runs."""

import secrets
import socket
import struct

from leaselab_contract.errors import ContractError

SOA = 6
RCODES = ("NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED")
UDP_BYTES = 4096
_HEADER = struct.Struct("!HHHHHH")
_POINTER = 0xC0
"""A length from here on is a pointer to the rest of a name."""
_IS_ANSWER, _RECURSION_DESIRED, _RCODE = 0x8000, 0x0100, 0x000F
_INTERNET = 1


def ask(address, zone, *, port=53, seconds=1.0, recursion=False):
    """Ask a server for the SOA of a zone over UDP.

    Return the rcode by its name (as a number in text if it has none here), how many records
    the answer has, and what follows the question, as bytes.  Raises OSError where no answer to
    this query comes in time, ValueError where what comes is no DNS message.
    """
    number = secrets.randbelow(1 << 16)
    query = message(number, zone, recursion=recursion)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.settimeout(seconds)
        asking.connect((address, port))
        asking.send(query)
        answer = asking.recv(UDP_BYTES)
    if len(answer) < _HEADER.size:
        raise ValueError(f"not a DNS message: {len(answer)} bytes")
    found, flags, _, records, _, _ = _HEADER.unpack_from(answer)
    if found != number or not flags & _IS_ANSWER:
        raise ValueError("not the answer to this query")
    code = flags & _RCODE
    rcode = RCODES[code] if code < len(RCODES) else str(code)
    return rcode, records, answer[len(query) :]  # the question is as it was sent


def serial(address, zone, *, port=53, seconds=1.0, recursion=False):
    """Return the serial number of a zone's SOA; raises as `ask`, ValueError without an SOA."""
    _, records, answer = ask(address, zone, port=port, seconds=seconds, recursion=recursion)
    if not records:
        raise ValueError(f"no SOA of {zone}")
    at = 0
    while 0 < answer[at] < _POINTER:
        at += 1 + answer[at]
    at += 2 if answer[at] else 1
    kind, size = (int.from_bytes(answer[place : place + 2], "big") for place in (at, at + 8))
    end = at + 10 + size
    if kind != SOA or end > len(answer):
        raise ValueError(f"no SOA of {zone}")
    # Behind two names, five numbers end it.
    return int.from_bytes(answer[end - 20 : end - 16], "big")


def check_answers(config, *, recursion=False):
    """Raise ContractError where a server does not know the zone `known_name` of its settings.

    It is asked at its `address`; OSError and ValueError as of `ask`.
    """
    zone = config["known_name"]
    rcode, records, _ = ask(config["address"], zone, recursion=recursion)
    if rcode != "NOERROR" or not records:
        raise ContractError(f"it answers {rcode} with {records} records for the SOA of {zone}")


def message(number, zone, *, recursion=False):
    """Return a query as it is sent; raises ValueError for what is no name."""
    flags = _RECURSION_DESIRED if recursion else 0
    labels = [label.encode("ascii") for label in zone.rstrip(".").split(".") if label]
    if any(len(label) > 63 for label in labels):
        raise ValueError(f"not a domain name: {zone}")
    asked = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    head = _HEADER.pack(number, flags, 1, 0, 0, 0)
    return head + asked + struct.pack("!HH", SOA, _INTERNET)
