"""``leaselab leases``: whether a capture shows a lease lost or given twice."""

import ipaddress
import json
import struct
from random import Random

import pytest
from tests import captures
from tests.captures import DAY, SERVER4, Capture, mac, message4, message6, option6, relayed6
from tests.lease_servers import BROKEN, Server, history_of

from leaselab.cli.main import main
from leaselab.inputs.clients.dialogue import Dialogue
from leaselab.leases.check import check
from leaselab.leases.history import NEVER, SECOND, Kind

DISCOVER, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE = range(1, 8)
SERVER_DUID = b"\0\3\0\1server"


def packed(address):
    return ipaddress.ip_address(address).packed


def answer4(kind, number, xid, address, *, relay=captures.NOWHERE, valid_s=3600):
    valid = [(51, valid_s.to_bytes(4, "big"))] if kind != NAK else []
    more = [(54, packed(SERVER4)), *valid]
    head = {"op": 2, "yiaddr": captures.NOWHERE if kind == NAK else address}
    return message4(kind, mac(number), xid, more, relay, **head)


def lease4(capture, at, number, address, *, relay=captures.NOWHERE, own=()):
    """A client gets an address in four messages of a transaction."""
    xid = int(at * 10) & 0xFFFFFFFF
    asked = [(50, packed(address)), (54, packed(SERVER4)), *own]
    for step, (kind, more) in enumerate(((DISCOVER, own), (REQUEST, asked))):
        asks = message4(kind, mac(number), xid, more, relay)
        if relay == captures.NOWHERE:
            capture.broadcast4(at + step / 5, asks)
        else:
            capture.from_relay4(at + step / 5, asks, relay)
        answer = answer4((OFFER, ACK)[step], number, xid, address, relay=relay)
        capture.answer4(at + step / 5 + 0.1, answer)


def renew4(capture, at, number, address, kind=ACK):
    asks = message4(REQUEST, mac(number), int(at), ciaddr=address)
    capture.direct4(at, asks, address)
    capture.answer4(at + 0.01, answer4(kind, number, int(at), address), address)


def ia(lease, code, valid_s=3600):
    """An association with an address (3) or a prefix (25)."""
    if code == 3:
        inside = option6(5, packed(lease) + struct.pack("!II", valid_s, valid_s))
    else:
        net = ipaddress.ip_network(lease)
        times = struct.pack("!IIB", valid_s, valid_s, net.prefixlen)
        inside = option6(26, times + net.network_address.packed)
    return code, struct.pack("!III", 1, 0, 0) + inside


def exchange6(capture, at, number, kinds, lease, *, code=3):
    """A client's message behind two relays, and its answer."""
    duid, xid = b"\0\3\0\1" + mac(number), int(at * 10) & 0xFFFFFF
    asks = message6(kinds[0], duid, xid, [ia(lease, code)], want=())
    says = message6(kinds[1], duid, xid, [(2, SERVER_DUID), ia(lease, code)], want=())
    capture.from_relay6(at, relayed6(relayed6(asks, "2001:db8::1"), "::"), "2001:db8:1::1")
    inside = b"\x0d" + relayed6(says, "2001:db8::1")[1:]
    capture.answer6(at + 0.05, b"\x0d" + relayed6(inside, "::")[1:], "2001:db8:1::1")


def said(tmp_path, capsys, capture, *words):
    """What the command says of a capture, and its exit code."""
    (tmp_path / "a.pcap").write_bytes(capture.pcap())
    code = main(["leases", f"{tmp_path}/a.pcap", *words])
    return code, capsys.readouterr()


def test_a_day_without_a_fault_is_said_so(tmp_path, capsys):
    capture = Capture()
    for number in range(20):
        lease4(capture, DAY + number, number, f"10.0.0.{number}", relay=f"10.1.{number % 2}.1")
        renew4(capture, DAY + 1800 + number, number, f"10.0.0.{number}")
        prefix = f"2001:db8:{number:x}::/56"
        exchange6(capture, DAY + 2000 + number, number, (3, 7), prefix, code=25)
    code, out = said(tmp_path, capsys, capture)
    assert code == 0
    assert out.out.splitlines() == [
        "60 leases and renewals of 40 clients, from 2026-09-21T14:13:20+00:00",
        "none was lost or given twice",
    ]


def test_an_address_of_two_clients_has_its_counter_example_and_exit_code(tmp_path, capsys):
    capture = Capture()
    lease4(capture, DAY, 1, "10.0.0.7")
    renew4(capture, DAY + 1800, 1, "10.0.0.7")
    lease4(capture, DAY + 2000, 2, "10.0.0.7")
    code, out = said(tmp_path, capsys, capture)
    assert code == 1
    assert out.out.splitlines()[1:] == [
        "an address had two clients at once (1 case)",
        "  1800.000000 s  client ac:de:48:00:00:01 renews 10.0.0.7",
        "  1800.010000 s  client ac:de:48:00:00:01 has 10.0.0.7 until 5400.000000 s, "
        "by server 198.18.0.10",
        "  2000.200000 s  client ac:de:48:00:00:02 asks for 10.0.0.7",
        "  2000.300000 s  client ac:de:48:00:00:02 gets 10.0.0.7 until 5600.200000 s, "
        "by server 198.18.0.10",
        "  both have it for 3398.7 s",
    ]
    code, out = said(tmp_path, capsys, capture, "--mode", "hot-standby-partition")
    assert code == 0
    assert "at once (1 case), by design: each server takes the other for dead" in out.out
    code, out = said(tmp_path, capsys, capture, "--json")
    (violation,) = json.loads(out.out)["violations"]
    assert (code, violation["rule"], violation["count"]) == (1, "twice", 1)


def test_a_refused_renewal_a_declined_address_and_a_shared_prefix_are_found(tmp_path, capsys):
    capture = Capture()
    lease4(capture, DAY, 1, "10.0.0.7")
    renew4(capture, DAY + 1800, 1, "10.0.0.7", NAK)
    exchange6(capture, DAY, 2, (3, 7), "2001:db8::7")
    exchange6(capture, DAY + 9, 2, (9, 7), "2001:db8::7")
    exchange6(capture, DAY + 60, 3, (1, 2), "2001:db8::7")
    for number in (4, 5):
        exchange6(capture, DAY + 90 + number, number, (3, 7), "2001:db8:2::/56", code=25)
    code, out = said(tmp_path, capsys, capture)
    assert code == 1
    assert "a renewal was refused within its time (1 case)" in out.out
    assert "a declined address was offered again before its time (1 case)" in out.out
    assert out.out.count("gets 2001:db8:2::/56 until") == 2, "a prefix of two clients"


def test_one_client_may_have_two_identifiers_and_two_places(tmp_path, capsys):
    """As a machine that boots from the network, and one that moves behind another relay."""
    capture = Capture()
    lease4(capture, DAY, 1, "10.0.0.7")
    lease4(capture, DAY + 60, 1, "10.0.0.7", own=[(61, b"\xff1234")])
    lease4(capture, DAY + 90, 2, "10.1.0.7", relay="10.1.0.1")
    lease4(capture, DAY + 120, 2, "10.2.0.7", relay="10.2.0.1")
    assert said(tmp_path, capsys, capture)[0] == 0
    lease4(capture, DAY + 150, 2, "10.2.0.8", relay="10.2.0.1")
    code, out = said(tmp_path, capsys, capture)
    assert (code, out.out.count("is offered 10.2.0.8")) == (1, 1)


def test_a_message_that_is_broken_or_of_no_time_is_counted_and_not_read(tmp_path, capsys):
    capture = Capture()
    lease4(capture, DAY, 1, "10.0.0.7")
    exchange6(capture, DAY + 9, 2, (3, 7), "2001:db8::/56", code=25)
    good, chance = capture.frames, Random(1)  # noqa: S311  # no secret
    for at, frame in good * 60:
        place = chance.randrange(42, len(frame))
        broken = frame[:place] + bytes([chance.randrange(256)]) + frame[place + 1 :]
        capture.frames = [*capture.frames, (at, broken)]
    (tmp_path / "b.pcapng").write_bytes(Capture(frames=[(2.0**43, good[0][1])]).pcapng())
    (tmp_path / "a.pcap").write_bytes(capture.pcap())
    assert main(["leases", f"{tmp_path}/a.pcap", f"{tmp_path}/b.pcapng"]) in (0, 1)
    out = capsys.readouterr().out
    assert "malformed" in out
    assert "1 without a time" in out


def test_a_capture_without_answers_is_bad_input(tmp_path, capsys):
    code, out = said(tmp_path, capsys, captures.isp())
    assert (code, "no lease that a server gave in it" in out.err) == (2, True)


MESSAGES = {
    Kind.OFFERED: (DISCOVER, OFFER),
    Kind.GRANTED: (REQUEST, ACK),
    Kind.RENEWED: (REQUEST, ACK),
    Kind.REFUSED: (REQUEST, NAK),
    Kind.RELEASED: (RELEASE, None),
    Kind.DECLINED: (DECLINE, None),
}


def captured(history):
    """A history of DHCPv4 as a capture."""
    capture, frames = Capture(), []
    for event in range(len(history)):
        kind = Kind(history.kind[event])
        number = int(history.clients[history.owner[event]])
        asked, given = (
            history.addresses[column[event]] if column[event] != NEVER else "0.0.0.0"  # noqa: S104
            for column in (history.asked, history.address)
        )
        sends, answers = MESSAGES[kind]
        renews = kind in (Kind.RENEWED, Kind.REFUSED)
        more = {"ciaddr": asked} if renews else {"ciaddr": given} if sends == RELEASE else {}
        options = [(54, packed(SERVER4))] if sends in (REQUEST, DECLINE) and not renews else []
        if sends in (REQUEST, DECLINE) and not renews:
            options.append((50, packed(asked if kind is Kind.GRANTED else given)))
        at = DAY + history.sent[event] / SECOND
        frames.append((at, message4(sends, mac(number), event, options, **more)))
        if answers and history.answered[event] != NEVER:
            at = DAY + history.answered[event] / SECOND
            frames.append((at, answer4(answers, number, event, given, valid_s=60)))
    for at, payload in sorted(frames):
        (capture.answer4 if payload[0] == 2 else capture.broadcast4)(at, payload)
    return capture


@pytest.mark.parametrize("kind", [Server, *BROKEN], ids=lambda kind: kind.__name__)
def test_a_capture_says_what_its_clients_would(kind, tmp_path):
    """Of all that servers do, right or wrong, behind a network that loses messages."""
    for seed in range(3):
        chance = Random(seed)  # noqa: S311  # no secret
        history = history_of(kind(), chance, lost=0.05, actions=150, answers_all=False)
        path = tmp_path / "a.pcap"
        path.write_bytes(captured(history).pcap())
        dialogue = Dialogue()
        dialogue.read(path)
        read = [(each.rule, each.count) for each in check(dialogue.history())]
        assert read == [(each.rule, each.count) for each in check(history)]
