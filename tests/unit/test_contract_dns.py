"""The one query by which contracts see that a server of names answers."""

import socket
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.contracts import contract_fixture

dns = contract_fixture("contract", "leaselab_contract.dns")


def asked(act, answer_to):
    """What an act returns of a server at its port, whose answers are these, made of queries."""

    def answer(listening):
        query, asker = listening.recvfrom(512)
        listening.sendto(answer_to(query), asker)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(10)
        with ThreadPoolExecutor(1) as pool:
            answered = pool.submit(answer, listening)
            try:
                return act("127.0.0.1", "z1.test", port=listening.getsockname()[1], seconds=10)
            finally:
                answered.result()


def test_a_query_is_written_as_the_wire_format_says(dns):
    """RFC 1035: header, labels with their lengths, type and class."""
    assert dns.message(0x1234, "www.z1.test.", flags=0x0100) == (
        b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
        b"\x03www\x02z1\x04test\x00\x00\x06\x00\x01"
    )
    assert dns.message(1, ".").endswith(b"\x00\x00\x00\x06\x00\x01")
    with pytest.raises(ValueError, match="not a domain name"):
        dns.message(1, f"{'a' * 64}.test")


def header(query, flags=0x8400, records=1):
    return query[:2] + struct.pack("!HHHHH", flags, 1, records, 0, 0) + query[12:]


@pytest.mark.parametrize(
    ("flags", "rcode"), [(0x8400, "NOERROR"), (0x8005, "REFUSED"), (0x800B, "11")]
)
def test_an_answer_reports_its_rcode_and_how_many_records_it_has(dns, flags, rcode):
    assert asked(dns.ask, lambda query: header(query, flags, 2)) == (rcode, 2, b"")


NUMBERS = struct.pack("!5I", 4711, 2, 3, 4, 5)
NAMES = b"\x02ns\xc0\x0c\x01h\xc0\x0c"


def soa(owner=b"\xc0\x0c", kind=6, data=NAMES + NUMBERS):
    """A record of a type with data, which is at an owner."""
    return owner + struct.pack("!HHIH", kind, 1, 60, len(data)) + data


@pytest.mark.parametrize("owner", [b"\xc0\x0c", b"\x02z1\x04test\x00"])
def test_a_serial_number_is_that_of_the_zone(dns, owner):
    """Whether the server repeats the name or points to it."""
    assert asked(dns.serial, lambda query: header(query) + soa(owner)) == 4711


@pytest.mark.parametrize(
    ("records", "record", "why"),
    [
        *((records, it, r"no SOA of z1\.test") for records, it in ((0, b""), (1, soa(kind=2)))),
        (1, soa()[:-1], r"no SOA of z1\.test"),
        *((1, soa()[:kept], "no whole record") for kept in (0, 1, 5, 11)),
    ],
)
def test_an_answer_without_a_whole_serial_number_has_none(dns, records, record, why):
    with pytest.raises(ValueError, match=why):
        asked(dns.serial, lambda query: header(query, records=records) + record)


@pytest.mark.parametrize("wrong", [b"short", None])
def test_what_is_no_answer_to_the_query_is_not_taken_for_one(dns, wrong):
    """The query itself, sent back, is none either."""
    with pytest.raises(ValueError, match="not "):
        asked(dns.ask, lambda query: wrong or query)


def transferred(dns, answers_to):
    """What a transfer returns of a server that sends these messages, made of the query."""

    def answer(listening):
        asking, _ = listening.accept()
        with asking:
            query = asking.recv(512)[2:]
            for message in answers_to(query):
                asking.sendall(struct.pack("!H", len(message)) + message)

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        answered = pool.submit(answer, listening)
        try:
            return dns.transfer("127.0.0.1", "z1.test", port=listening.getsockname()[1])
        finally:
            answered.result()


def test_a_transfer_ends_with_the_second_soa(dns):
    """Only its first message need repeat the question."""

    def answers(query):
        rest = query[:2] + struct.pack("!HHHHH", 0x8400, 0, 2, 0, 0)
        first = header(query, records=2) + soa() + soa(kind=2, data=b"\xc0\x0c")
        return first, rest + soa(b"\x01h\xc0\x0c", 1, b"\xc0\x00\x02\x01") + soa(), b"unread"

    assert transferred(dns, answers) == 4


def test_what_is_no_transfer_is_said(dns):
    with pytest.raises(dns.ContractError, match="it refuses the transfer: REFUSED"):
        transferred(dns, lambda query: [header(query, 0x8005, 0)])
    for wrong in (
        lambda query: [header(query, records=2) + soa()],
        lambda query: [header(query, records=0)],
        lambda _query: [b"short"],
        lambda query: [header(query) + soa()],  # and then it ends
    ):
        with pytest.raises(ValueError, match=r"transfer|query|record"):
            transferred(dns, wrong)
