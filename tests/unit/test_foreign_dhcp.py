"""The program that finds foreign DHCP, on a network of its own with two ends."""

import ipaddress
import json
import subprocess
import sys
from contextlib import contextmanager

import pytest
from tests.foreign import PROGRAM, foreign_dhcp, reply4
from tests.role_modules import load
from tests.waiting import HANGS_S

filters = load("isolation", "isolation")

NOBODY = str(ipaddress.IPv4Address(0))
PIPES = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
MAC, OTHER = bytes.fromhex("020000000007"), bytes.fromhex("020000000008")
# Sends each frame of standard input (a line, hexadecimal) from the far end, the first one once
# it has heard a DHCPDISCOVER where it has to wait for that; prints how long each question
# was in the end.
FAR_END = """
import select, socket, sys
far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
far.bind(("far", 0x0003))
def is_question(frame):
    return frame[12:14] == b"\\x08\\x00" and frame[36:38] == b"\\0\\x43" and frame[42] == 1
if sys.argv[1] == "wait":
    print("ready", flush=True)
    while not is_question(far.recv(2048)):
        pass
for line in sys.stdin:
    far.send(bytes.fromhex(line))
"""


class Wire:
    """A link in a network namespace: `near`, where the program is, and `far`."""

    def __init__(self, pid):
        entered = ("--user", "--net", "--preserve-credentials")
        self._enter = ["nsenter", f"--target={pid}", *entered]

    def start(self, *argv):
        return subprocess.Popen([*self._enter, sys.executable, *argv], **PIPES, text=True)

    def send(self, *frames):
        """Send frames from the far end."""
        with self.start("-c", FAR_END, "now") as sender:
            _, complaint = sender.communicate("\n".join(frame.hex() for frame in frames))
        assert complaint == ""

    @contextmanager
    def answering(self, *frames):
        """Send frames from the far end once a DHCPDISCOVER has come there."""
        with self.start("-c", FAR_END, "wait") as sender:
            assert sender.stdout.readline() == "ready\n"
            sender.stdin.write("\n".join(frame.hex() for frame in frames))
            sender.stdin.close()
            yield
            sender.kill()

    def ask(self, seconds="0.4"):
        with self.start(str(PROGRAM), "ask", "near", "198.18.0.30", seconds) as asking:
            output, complaint = asking.communicate(timeout=HANGS_S)
        assert (asking.returncode, complaint) == (0, "")
        return json.loads(output)["foreign"]


def report(watching):
    """What the program has heard as it watches."""
    watching.stdin.write("\n")
    watching.stdin.flush()
    return json.loads(watching.stdout.readline())["foreign"]


@pytest.fixture(scope="module")
def wire():
    made = (
        "ip link add near type veth peer name far && ip link set near up"
        " && ip link set far up && echo ready && exec cat"
    )
    argv = ["unshare", "--map-root-user", "--net", "sh", "-c", made]
    with subprocess.Popen(argv, **PIPES, text=True) as holder:
        if holder.stdout.readline() != "ready\n":
            pytest.fail(f"no network namespace may be made here: {holder.stderr.read()}")
        yield Wire(holder.pid)
        holder.stdin.close()


@pytest.fixture
def watch(wire):
    """It knows a server with MAC and 198.18.0.10 as the bench's own."""
    own = f"{MAC.hex(':')}/198.18.0.10"
    with wire.start(str(PROGRAM), "watch", "near", "198.18.0.30", own) as process:
        assert report(process) == []
        yield process
        process.stdin.close()
        assert process.wait(HANGS_S) == 0


def reply6(mac=MAC, source="fe80::7", ports=(547, 546)):
    message = b"\x02abc" + bytes.fromhex("0002 000a 00030001 0200000000ff")
    ends = ipaddress.IPv6Address(source), ipaddress.IPv6Address("ff02::1")
    inner = foreign_dhcp.datagram(*ends, ports, message)
    header = bytes.fromhex("60000000") + len(inner).to_bytes(2, "big") + b"\x11\x01"
    ether = bytes.fromhex("333300000001") + mac + b"\x86\xdd"
    return ether + header + ends[0].packed + ends[1].packed + inner


def entry(kind, message, mac, address, server_id):
    heard = {"kind": kind, "message": message, "mac": mac.hex(":")}
    return {**heard, "address": address, "server_id": server_id, "count": 1}


def advertise(mac):
    return entry("reply", "DHCPv6 ADVERTISE", mac, "fe80::7", "000300010200000000ff")


OFFER = entry("reply", "DHCPOFFER", OTHER, "192.0.2.1", "192.0.2.1")


def foreign4(**given):
    return reply4(mac=OTHER, address="192.0.2.1", server="192.0.2.1", **given)


SOURCE6 = ipaddress.IPv6Address("fe80::8")


def discover4(client, mac=OTHER, address=NOBODY, ports=(68, 67)):
    message = foreign_dhcp.discover(client, address)
    return foreign_dhcp.frame4(mac, address, ports, message)


OURS = foreign_dhcp.MARK + b"\x01\x02"


@pytest.mark.parametrize(
    ("frames", "named"),
    [
        ((foreign4(), reply6()), [OFFER, advertise(MAC)]),
        # Silence, and the questions of other hosts of the bench, are nothing.
        (
            (
                discover4(OURS),
                discover4(OURS, address="198.18.0.10", ports=(67, 67)),
                foreign_dhcp.solicit_frame(OTHER, SOURCE6, OURS),
            ),
            [],
        ),
        (
            (discover4(OTHER), foreign_dhcp.solicit_frame(OTHER, SOURCE6, OTHER)),
            [
                entry("request", "DHCPDISCOVER", OTHER, NOBODY, ""),
                entry("request", "DHCPv6 SOLICIT", OTHER, "fe80::8", ""),
            ],
        ),
    ],
    ids=["servers", "the bench's own", "another user's clients"],
)
def test_who_answers_or_asks_beside_the_bench_is_named(wire, frames, named):
    with wire.answering(*frames):
        heard = wire.ask("4" if named else "0.4")
    assert sorted(heard, key=str) == sorted(named, key=str)


def test_an_interface_that_is_not_there_is_one_line(wire):
    with wire.start(str(PROGRAM), "ask", "nowhere", "198.18.0.30", "1") as asking:
        _, complaint = asking.communicate(timeout=HANGS_S)
    assert asking.returncode == 1
    assert complaint.startswith("foreign-dhcp: ")
    assert complaint.count("\n") == 1


TAGGED = foreign4()[:12] + bytes.fromhex("81000007") + foreign4()[12:]
FRAGMENT = foreign4()[:20] + b"\0\x10" + foreign4()[22:]
NO_DHCP = foreign_dhcp.frame4(OTHER, "192.0.2.1", (53, 5353), b"no DHCP")
GARBAGE = [
    foreign_dhcp.frame4(OTHER, "192.0.2.1", (67, 68), message)
    for message in (b"", b"\x02" * 250, reply4(MAC)[42:282] + b"\x35\x05")
]
BOTH = "198.18.0.10", "198.18.0.10"


@pytest.mark.parametrize(
    ("frames", "heard"),
    [
        ([foreign4()] * 2, OFFER),
        ([reply4(mac=OTHER)] * 2, entry("reply", "DHCPOFFER", OTHER, *BOTH)),
        (
            [reply4(MAC, address="192.0.2.1", kind=5)] * 2,
            entry("reply", "DHCPACK", MAC, "192.0.2.1", BOTH[1]),
        ),
        ([reply6(mac=OTHER)] * 2, advertise(OTHER)),
        ([discover4(MAC)] * 2, entry("request", "DHCPDISCOVER", OTHER, NOBODY, "")),
        (GARBAGE, entry("reply", "BOOTP", OTHER, "192.0.2.1", "")),
        ([*[reply4(MAC)] * 50, *[reply6()] * 50], None),
        ([TAGGED, FRAGMENT, NO_DHCP, reply6(mac=OTHER, ports=(53, 5353))], None),
    ],
    ids=[
        *("a stranger", "its address", "its hardware address", "DHCPv6", "a client"),
        *("cut short or garbage", "own", "else"),
    ],
)
def test_what_others_say_is_reported_once(wire, watch, frames, heard):
    wire.send(*frames)
    assert report(watch) == ([{**heard, "count": len(frames)}] if heard else [])
    assert report(watch) == []


def test_a_flood_of_senders_is_counted_and_not_kept(wire, watch):
    kept = foreign_dhcp.KINDS_KEPT
    wire.send(*(reply4(mac=OTHER, address=f"192.0.2.{item}") for item in range(100)))
    heard = report(watch)
    assert (len(heard), sum(row["count"] for row in heard)) == (kept, 100)


def test_a_host_is_named_with_what_it_heard():
    results = [
        {"item": {"item": name}, "stdout": json.dumps({"foreign": heard})}
        for name, heard in (("gen", [OFFER]), ("sut", []))
    ]
    said = "gen heard DHCPOFFER from 192.0.2.1 (02:00:00:00:00:08), server identifier 192.0.2.1"
    assert filters.isolation_found(results) == [said]
