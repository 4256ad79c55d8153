"""The one query by which contracts see that a server of names answers."""

import socket
import struct
import threading

import pytest
from tests.contracts import contract_module


@pytest.fixture(scope="module")
def dns():
    """The module, found where the contract finds it."""
    with contract_module("contract", "leaselab_contract.dns") as dns:
        yield dns


@pytest.fixture
def server():
    """A socket on loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(10)
        yield listening


def answering(server, answer_to):
    """Answer one query in the background."""

    def act():
        query, asker = server.recvfrom(512)
        server.sendto(answer_to(query), asker)

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_a_query_is_written_as_the_wire_format_says(dns):
    """RFC 1035: header, labels with their lengths, type and class."""
    assert dns.message(0x1234, "www.z1.test.", "AAAA", recursion=True) == (
        b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
        b"\x03www\x02z1\x04test\x00\x00\x1c\x00\x01"
    )
    assert dns.message(1, ".", "NS").endswith(b"\x00\x00\x00\x02\x00\x01")


@pytest.mark.parametrize(
    ("flags", "rcode"),
    [(0x8400, "NOERROR"), (0x8403, "NXDOMAIN"), (0x8005, "REFUSED"), (0x800B, "11")],
)
def test_an_answer_reports_its_rcode_and_how_many_records_it_has(dns, server, flags, rcode):
    def answer(query):
        return query[:2] + struct.pack("!HHHHH", flags, 1, 2, 3, 0) + query[12:]

    thread = answering(server, answer)
    result = dns.ask("127.0.0.1", "z1.test", port=server.getsockname()[1], seconds=10)
    thread.join()
    assert result == (rcode, 2, 3)


NUMBERS = struct.pack("!5I", 4711, 2, 3, 4, 5)
NAMES = b"\x02ns\xc0\x0c\x01h\xc0\x0c"


def soa(owner, kind=6, data=NAMES + NUMBERS):
    """A record of a type with data, which is at an owner."""
    return owner + struct.pack("!HHIH", kind, 1, 60, len(data)) + data


@pytest.mark.parametrize("owner", [b"\xc0\x0c", b"\x02z1\x04test\x00"])
def test_a_serial_number_is_that_of_the_zone(dns, server, owner):
    """Whether the server repeats the name or points to it."""

    def answer(query):
        return query[:2] + struct.pack("!HHHHH", 0x8400, 1, 1, 0, 0) + query[12:] + soa(owner)

    thread = answering(server, answer)
    port = server.getsockname()[1]
    assert dns.serial("127.0.0.1", "z1.test", port=port, seconds=10) == 4711
    thread.join()


@pytest.mark.parametrize(
    ("count", "record"), [(0, b""), (1, soa(b"\xc0\x0c", kind=2)), (1, soa(b"\xc0\x0c")[:-1])]
)
def test_an_answer_without_a_serial_number_has_none(dns, server, count, record):
    def answer(query):
        return query[:2] + struct.pack("!HHHHH", 0x8400, 1, count, 0, 0) + query[12:] + record

    thread = answering(server, answer)
    with pytest.raises(ValueError, match=r"no SOA of z1\.test"):
        dns.serial("127.0.0.1", "z1.test", port=server.getsockname()[1], seconds=10)
    thread.join()


@pytest.mark.parametrize("wrong", [b"short", None])
def test_what_is_no_answer_to_the_query_is_not_taken_for_one(dns, server, wrong):
    """The query itself, sent back, is none either."""
    thread = answering(server, lambda query: wrong or query)
    with pytest.raises(ValueError, match="not "):
        dns.ask("127.0.0.1", "z1.test", port=server.getsockname()[1], seconds=10)
    thread.join()


def test_a_server_that_says_nothing_is_none(dns, server):
    with pytest.raises(OSError, match="timed out"):
        dns.ask("127.0.0.1", "z1.test", port=server.getsockname()[1], seconds=0.05)


def test_a_label_that_is_too_long_is_refused(dns):
    with pytest.raises(ValueError, match="not a domain name"):
        dns.message(1, f"{'a' * 64}.test", "A")
