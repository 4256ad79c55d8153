"""What a server's threads wait for: causes by /proc, their division, and a real process."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts import contract_fixture
from tests.waiting import until

SHARES = st.dictionaries(
    st.sampled_from(["", "database", "sync", "page fault"]), st.integers(1, 900), max_size=4
)
TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout
   0: 0100007F:0043 00000000:0000 0A 00000000:00000000 00:00000000 00000000   0        0 11 1
   1: 0100007F:0043 0200A8C0:9C40 01 00000000:00000000 00:00000000 00000000   0        0 12 1
   2: 0100007F:9C40 0A0000C6:1538 01 00000000:00000000 00:00000000 00000000   0        0 13 1
"""
SERVER = """
import ctypes, json, select, socket, sys, time
address, beside = sys.argv[1:]
database = socket.create_connection(("127.0.0.1", int(address)))
partner = socket.create_connection(("127.0.0.2", int(beside)))
futex, word = ctypes.CDLL(None).syscall, ctypes.c_int(0)
class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
def lock():
    futex(FUTEX, ctypes.byref(word), 128, 0, ctypes.byref(Time(0, 20_000_000)), None, 0)
def ask(connection):
    connection.sendall(b"q")
    select.select([connection], [], []) if connection is partner else None
    connection.recv(9)
spent = dict.fromkeys(("database", "partner", "lock", "sleep"), 0.0)
def used():
    ran, ready, _ = open("/proc/thread-self/schedstat").read().split()
    return (int(ran) + int(ready)) / 1e9
def timed(name, act):
    began, before = time.monotonic(), used()
    act()
    spent[name] += time.monotonic() - began - (used() - before)
ask(partner)
print("serves", flush=True)
while select.select([sys.stdin], [], [], 0.005) == ([], [], []):
    timed("database", lambda: ask(database))
    timed("partner", lambda: ask(partner))
    timed("lock", lock)
    timed("sleep", lambda: time.sleep(0.020))
    while used() % 0.01 < 0.002: pass
print(json.dumps(spent))
"""


contract = contract_fixture("contract", "leaselab_contract.waits")


def cause(contract, kind, first=0, second=0, **at):
    """What a thread waits for in the first system call of a kind."""
    number = min(number for number, known in contract.KINDS.items() if known == kind)
    words = [str(number), hex(first), hex(second), "0x0", "0x0", "0x0", "0x0", "0x7f", "0x40"]
    polled, descriptors = at.get("polled"), {7: "database", 8: ""}
    return contract.cause(words, lambda *_: polled, descriptors.get)


def test_a_thread_runs_or_waits_in_a_call_that_says_for_what(contract):
    assert contract.cause(["running"], None, None) is None
    assert contract.cause(["-1", "0x7f", "0x40"], None, None) == "page fault"
    assert contract.cause(["999", *["0x0"] * 8], None, None) == "system call 999"
    assert [cause(contract, kind) for kind in ("select", "wait")] == ["", ""]
    assert [cause(contract, kind) for kind in ("fsync", "sleep")] == ["sync", "sleep"]
    for kind in ("read", "write", "send", "receive", "connect"):
        assert [cause(contract, kind, number) for number in (7, 8)] == ["database", ""]


def test_a_poll_of_several_and_a_condition_variable_are_for_something_to_do(contract):
    """A poll of one is a wait at it, and a mutex is a lock."""
    assert [cause(contract, "poll", polled=it) for it in (7, None)] == ["database", ""]
    for operation, what in ((128, "lock"), (134, "lock"), (393, "")):
        assert cause(contract, "futex", 0x1000, operation) == what


def test_what_goes_on_after_a_stop_is_known_if_it_is_a_poll_of_one(contract):
    for count, what in ((1, "database"), (2, "restart")):
        assert cause(contract, "restart", 0x1000, count, polled=7) == what


def test_what_a_server_has_connected_to_is_no_client(contract):
    rows = [line.split() for line in TCP.splitlines()[1:]]
    seconds = contract.of_internet(rows, lambda address: f"to {address}")
    assert seconds == {"socket:[11]": "", "socket:[12]": "", "socket:[13]": "to 198.0.0.10"}
    assert contract.address_of("B80D01200000000000000000" + "01000000") == "2001:db8::1"


def thread(looks, ran_s, ready_s, lived_s):
    return SimpleNamespace(looks=looks, ran_s=ran_s, ready_s=ready_s, lived_s=lived_s)


@given(
    threads=st.lists(
        st.tuples(SHARES, st.floats(1, 2), st.floats(0, 3), st.floats(0, 3)), min_size=1
    )
)
def test_what_threads_waited_is_divided_without_a_rest(contract, threads):
    made = [
        thread({**looks, "": 1}, ran, ready, ran + ready + slept)
        for looks, ran, ready, slept in threads
    ]
    seconds = contract.divided(made, 10.0, 100, {})
    idle = sum(
        (each.lived_s - each.ran_s - each.ready_s) * each.looks[""] / sum(each.looks.values())
        for each in made
    )
    whole = sum(each.lived_s - each.ran_s for each in made)
    assert sum(seconds.values()) + idle == pytest.approx(whole)
    assert min(seconds.values()) >= 0.0
    beside = contract.divided(made, 10.0, 100, {"partner": 25})
    assert beside == {**seconds, "partner": 2.5}


def test_a_thread_that_does_nothing_for_clients_does_not_count(contract):
    serves = thread({"sync": 5}, 1.0, 0.5, 2.0)
    keeps_time = thread({"sleep": 9}, 0.009, 0.0, 2.0)
    seconds = contract.divided([serves, keeps_time], 2.0, 9, {})
    assert seconds == {"processor": 0.5, "sync": 0.5}


def test_what_may_not_be_seen_is_refused_with_what_is_wanted(contract):
    with pytest.raises(contract.ContractError, match=r"wanted .*capability SYS_PTRACE"):
        contract.Watch([], str)


def answering(address, after_s):
    """A listener that answers each question after some time; its port."""
    listener = socket.create_server((address, 0))

    def answer():
        connection, _ = listener.accept()
        with connection, listener:
            while connection.recv(9):
                time.sleep(after_s)
                connection.sendall(b"r")

    threading.Thread(target=answer, daemon=True).start()
    return listener.getsockname()[1]


def test_the_waits_of_a_real_process_are_those_that_it_measures_itself(contract):
    """Within what so many looks can say, by their weights: four standard deviations.

    All waits of threads are of one length: on a busy machine a look comes when the process has
    just begun to wait, which favours short ones.
    """
    number = min(number for number, known in contract.KINDS.items() if known == "futex")
    waited_s = {"127.0.0.1": 0.020, "127.0.0.2": 0.060}  # the kernel acknowledges after 40 ms
    ports = [str(answering(*each)) for each in waited_s.items()]
    argv = [sys.executable, "-c", SERVER.replace("FUTEX", str(number)), *ports]
    names = {"127.0.0.1": "database", "127.0.0.2": "partner"}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"serves\n"
        watch, looked = contract.Watch([server.pid], names.get), []

        def ends(seconds):
            looked.append(seconds)
            time.sleep(seconds)
            return len(looked) > 1000

        watch.until(ends)
        waits = watch.taken()
        spent = json.loads(server.communicate(b"\n")[0])
    looks = sum(looked) ** 2 / sum(seconds**2 for seconds in looked)
    whole_s = sum(waits[name] for name in spent)
    for name, wanted_s in spent.items():
        share = wanted_s / sum(spent.values())
        spread = (share * (1 - share) / looks) ** 0.5
        assert waits[name] / whole_s == pytest.approx(share, abs=4 * spread), name


def test_a_process_that_a_signal_stops_stands_still_for_as_long(contract):
    """On a busy machine it stops later than the signal says, and that is seen later still."""
    looked, stopped_at = [], []

    def ends(seconds):
        looked.append(time.sleep(seconds))
        if len(looked) == 200:
            stopped_at.append(time.monotonic())
            os.kill(server.pid, signal.SIGSTOP)
            stat = Path(f"/proc/{server.pid}/stat")
            until(stat.read_text, lambda text: text.rpartition(") ")[2].startswith("T"))
            stopped_at.append(time.monotonic())
        return len(looked) > 500

    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as server:
        try:
            watch, began = contract.Watch([server.pid], str), time.monotonic()
            watch.until(ends)
            waits, ended = watch.taken(), time.monotonic()
        finally:
            server.kill()
    share = waits["stopped by a signal"] / (ended - began)
    reach = 4 * (share * (1 - share) / len(looked)) ** 0.5
    most, least = ((ended - at) / (ended - began) for at in stopped_at)
    assert least - reach < share < most + reach
