"""A closed window: a server gets the same bytes in the same order each time."""

import subprocess
import sys

import pytest
from tests.load_programs import load_programs
from tests.rooted import network_of
from tests.tools import run
from tests.waiting import HANGS_S, until

SERVER, RELAY = "198.18.0.10", "198.18.0.30"
SERVER_6, RELAY_6 = "2001:2:0:1::10", "2001:2:0:1::30"
EXCHANGES = 60
CAPTURE = """
import signal, socket, struct, sys
addresses = [socket.inet_pton(socket.AF_INET6 if ":" in word else socket.AF_INET, word)
             for word in sys.argv[1:]]
taken = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
SO_RCVBUFFORCE = 33
taken.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 25)
taken.bind(("lo", 3))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("ready", flush=True)
signal.sigwait([signal.SIGTERM])
taken.setblocking(False)
while True:
    try:
        packet, (_, _, direction, *_) = taken.recvfrom(65536)
    except BlockingIOError:
        break
    if packet[0] >> 4 == 6:
        protocol, to, rest = packet[6], packet[24:40], packet[40:]
    else:
        protocol, to, rest = packet[9], packet[16:20], packet[4 * (packet[0] & 15):]
    if direction != socket.PACKET_OUTGOING or to not in addresses:
        continue
    header = 8 if protocol == socket.IPPROTO_UDP else 4 * (rest[12] >> 4)
    if protocol in (socket.IPPROTO_UDP, socket.IPPROTO_TCP) and rest[header:]:
        print(rest[header:].hex())
"""
"""Prints what goes to some addresses, a message a line, once it is ended."""
LOADS = {
    "dhcp4": ["dhcp4", "--server", SERVER, "--relay", RELAY, "--mix", "new=2,inform=1,rapid=1"],
    "dhcp6": ["dhcp6", "--server", SERVER_6, "--relay", RELAY_6, "--mix", "new=2,rapid=1"],
    "dns-udp": ["dns", "--server", SERVER],
    "dns-tcp": ["dns", "--server", SERVER, "--transport", "tcp"],
}


@pytest.fixture(scope="module")
def network():
    with network_of("window", f"{SERVER}/32", f"{RELAY}/32", SERVER_6, RELAY_6) as words:
        yield [str(word) for word in words]


def received(network, load, folder):
    """What a responder that is started for it gets of a load, and the load's report."""
    protocol, _, server, *_ = load
    counts, queries = folder / "counts.json", folder / "queries.txt"
    queries.write_text("a.lab.test A\nb.lab.test AAAA\nc.lab.test TXT\n")
    listen = [protocol, "--listen", server, "--interface", "lo", "--counts", counts]
    responder = subprocess.Popen([*network, load_programs() / "leaserespond", *listen])
    capture = subprocess.Popen(
        [*network, sys.executable, "-c", CAPTURE, SERVER, SERVER_6],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert capture.stdout.readline() == "ready\n"
        until(counts.exists, bool)
        status, output = run(
            *(*network, load_programs() / "leaseload", *load, "--interface", "lo"),
            *(["--queries", queries] if protocol == "dns" else ["--clients", "20"]),
            *("--window", "1", "--transactions", str(EXCHANGES), "--late", "60"),
        )
        assert status == 0, output
    finally:
        capture.terminate()
        said, _ = capture.communicate(timeout=HANGS_S)
        responder.terminate()
        responder.wait(timeout=HANGS_S)
        counts.unlink(missing_ok=True)
    return said.splitlines(), output


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_a_server_gets_the_same_messages_each_time(load, network, tmp_path):
    first, report = received(network, load, tmp_path)
    second, _ = received(network, load, tmp_path)
    assert len(first) >= EXCHANGES, report
    assert first == second
    other, _ = received(network, [*load, "--seed", "2"], tmp_path)
    assert other != first
