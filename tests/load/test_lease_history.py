"""What leaseload's clients see of their leases, and what the checker finds in it."""

import json
import subprocess

import pytest
from tests.load_programs import load_programs
from tests.rooted import network_of
from tests.tools import run
from tests.waiting import until

from leaselab.leases.check import check
from leaselab.leases.history import Kind
from leaselab.measure.generators.leaseload.history import history_of

SERVERS = {
    "dhcp4": ("198.18.0.10", "198.18.0.30"),
    "dhcp6": ("2001:2:0:1::10", "2001:2:0:1::30"),
}
RATE = "--rate 300 --seconds 1 --late 1 --grace 0 --quiet 1"
RETURNING = f"{RATE} --clients 80 --fill --mix"


@pytest.fixture(scope="module")
def network():
    addresses = [
        f"{end}/{128 if ':' in end else 32}" for ends in SERVERS.values() for end in ends
    ]
    with network_of("history", *addresses) as words:
        yield [str(word) for word in words]


def seen(network, folder, protocol, words):
    """What clients see before a responder with faults of a load, and the load's report."""
    faults, load = words
    server, relay = SERVERS[protocol]
    counts = folder / "counts.json"
    listen = [protocol, "--listen", server, "--interface", "lo", "--counts", counts]
    responder = subprocess.Popen(
        [*network, load_programs() / "leaserespond", *listen, *faults.split()]
    )
    try:
        until(counts.exists, bool)
        ends = ["--interface", "lo", "--server", server, "--relay", relay]
        words = [load_programs() / "leaseload", protocol, *ends, "--history", *load.split()]
        status, said = run(*network, *words)
        assert status == 0, said
    finally:
        responder.terminate()
        responder.wait()
    *lines, report = said.encode().splitlines()
    return history_of(lines), json.loads(report)


@pytest.mark.parametrize("protocol", SERVERS)
@pytest.mark.parametrize(
    "words",
    [
        ("", f"{RETURNING} new=3,renew=3,rebind=1,reboot=1,rapid=1,release=1"),
        ("", "--clients 30 --window 8 --transactions 200"),
        (
            "--drop-first 0.1 --drop-second 0.1 --duplicate 0.1 --foreign 0.1 --malformed 0.1",
            f"{RETURNING} new=3,renew=3,rebind=1,release=1 --retransmit",
        ),
    ],
)
def test_a_right_server_breaks_no_promise(protocol, words, network, tmp_path):
    history, report = seen(network, tmp_path, protocol, words)
    assert check(history) == ()
    given = (history.kind == Kind.GRANTED) & history.is_answered
    assert given.sum() >= report["kinds"]["new"]["completed"] > 0


@pytest.mark.parametrize(
    ("protocol", "words", "rule"),
    [
        ("dhcp4", ("--same-address 1", RATE), "twice"),
        ("dhcp6", ("--same-address 1", f"{RATE} --want both"), "twice"),
        ("dhcp4", ("--early 50", RATE), "twice"),
        ("dhcp6", ("--early 50", f"{RATE} --want prefix"), "twice"),
        ("dhcp4", ("--early 5000", f"{RATE} --clients 80 --fill"), "forgotten"),
        ("dhcp4", ("--forget 0.1", f"{RETURNING} renew=1,rebind=1"), "refused"),
        ("dhcp6", ("--forget 0.1", f"{RETURNING} renew=1,rebind=1"), "refused"),
        # The responder gives each client its own address, whatever it has declined.
        ("dhcp6", ("", f"{RETURNING} decline=1,new=4"), "declined"),
    ],
)
def test_what_a_server_does_wrong_is_found(protocol, words, rule, network, tmp_path):
    history, _ = seen(network, tmp_path, protocol, words)
    (violation,) = check(history)
    assert violation.rule == rule
    assert len(violation.lines) <= 5
