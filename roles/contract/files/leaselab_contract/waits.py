"""Waits: what the threads of a variant wait for while they serve.

Each thread is looked at many times a second, in /proc: it runs, or waits in a system call.
Nothing is traced: that would cost the server some time for each call, and need a right and a
file system that containers lack.  How long a thread ran, and was ready without a processor, the
kernel has counted; the looks only divide what is left of the time.
"""

import collections
import contextlib
import ctypes
import ipaddress
import os
import platform
import random
import select
import socket
import struct
import time
from functools import partial
from pathlib import Path

from leaselab_contract.errors import ContractError

PERIOD_S = 0.002
"""Mean time between two looks (s); a random one, so that no timer of a server keeps step."""
PRICE = 30
"""Many threads are looked at more seldom: a look may take this part of the time between two."""
FIRST = 100
"""The price begins as if so many looks had been cheap: the first do not decide alone."""
FIND_S = 0.5
"""How often threads and connections are searched (s)."""
LEAST_SHARE = 0.01
"""A thread with less of the server's CPU time serves none, such as one that keeps time."""
IDLE, SYNC, LOCK, SLEEP, PROCESSOR = "", "sync", "lock", "sleep", "processor"
STOPPED, FAULT, FILE = "stopped by a signal", "page fault", "file"
CALLS = {
    "x86_64": {
        "read": (0, 17, 19),
        "write": (1, 18, 20),
        "send": (44, 46, 307),
        "receive": (45, 47, 299),
        "connect": (42,),
        "poll": (7, 271),
        "select": (23, 232, 270, 281, 441),
        "wait": (34, 43, 61, 128, 130, 247, 288),
        "fsync": (26, 74, 75, 162, 277, 306),
        "futex": (202,),
        "sleep": (35, 230),
        "restart": (219,),
    },
    "aarch64": {
        "read": (63, 65, 67),
        "write": (64, 66, 68),
        "send": (206, 211, 269),
        "receive": (207, 212, 243),
        "connect": (203,),
        "poll": (73,),
        "select": (22, 72, 441),
        "wait": (95, 133, 137, 202, 242, 260),
        "fsync": (81, 82, 83, 84, 227, 267),
        "futex": (98,),
        "sleep": (101, 115),
        "restart": (128,),
    },
}
"""Numbers of system calls by their kind, by processor; others are named by their number."""
KINDS = {
    number: kind
    for kind, numbers in CALLS.get(platform.machine(), {}).items()
    for number in numbers
}
ON_ONE = frozenset({"read", "write", "connect", "send", "receive"})
"""Kinds whose first argument is the descriptor."""
ALONE = {"select": IDLE, "wait": IDLE, "fsync": SYNC, "sleep": SLEEP}
"""What is waited for in calls whose arguments do not matter."""
FUTEX_OF_LOCK = frozenset({0, 6, 13})
"""Operations of a futex by which a mutex is waited for: a condition variable has others."""
_LISTENS = "0A"
_PIDFD_GETFD = 438
_UNACKED, _SENT_MS, _RECEIVED_MS = 24, 44, 52
"""Places in the kernel's tcp_info: segments, and times since the last data."""
_libc = ctypes.CDLL(None, use_errno=True)


def cause(words, single, descriptor):
    """Return what a thread waits for: None where it runs, IDLE for something to do.

    `words` are those of /proc/PID/task/TID/syscall, `single(address, count)` the descriptor
    of a poll of one, None of several, and `descriptor(number)` says what is waited for at one.
    A condition variable is something to do, too: what comes by it is another thread's time.
    """
    if words[0] == "running":
        return None
    number, *arguments = words
    if int(number) < 0:
        return FAULT
    kind = KINDS.get(int(number), f"system call {number}")
    first, second = (int(word, 16) for word in arguments[:2])
    if kind == "futex":
        return LOCK if second & 127 in FUTEX_OF_LOCK else IDLE
    # Arguments are those of the interrupted call: of all that restart, a poll of one has these.
    if kind == "poll" or (kind == "restart" and second == 1):
        polled_one = single(first, second)
        return IDLE if polled_one is None else descriptor(polled_one)
    return descriptor(first) if kind in ON_ONE else ALONE.get(kind, kind)


def divided(threads, elapsed_s, looked_s, beside):
    """Return the seconds of each cause, over all threads that serve.

    `threads` have `ran_s`, `ready_s`, `lived_s` and `looks`, how long each cause was seen;
    `beside` are causes that no thread waits for itself, by how long each was seen of all
    `looked_s`.
    """
    least = LEAST_SHARE * sum(thread.ran_s for thread in threads)
    seconds = collections.Counter()
    for thread in threads:
        if thread.ran_s < least:
            continue
        seconds[PROCESSOR] += thread.ready_s
        waited_s = max(0.0, thread.lived_s - thread.ran_s - thread.ready_s)
        seen = sum(thread.looks.values())
        for name, seen_s in thread.looks.items():
            seconds[name] += waited_s * seen_s / seen
    for name, seen_s in beside.items():
        seconds[name] += elapsed_s * seen_s / looked_s
    del seconds[IDLE]
    return dict(seconds)


class Thread:
    """A thread that is looked at."""

    def __init__(self, pid, folder):
        self.pid, self.last, self.link = pid, IDLE, ""
        self.looks = collections.Counter()
        self._call = os.open(folder / "syscall", os.O_RDONLY)
        self._state = os.open(folder / "stat", os.O_RDONLY)
        self._times = os.open(folder / "schedstat", os.O_RDONLY)
        self._first = self._latest = self._read()

    def _read(self):
        return time.monotonic(), *map(int, os.pread(self._times, 99, 0).split()[:2])

    def update(self):
        """Read its times: once it has ended, they can be read no more."""
        with contextlib.suppress(ProcessLookupError, ValueError):
            self._latest = self._read()

    def words(self):
        """Return what it does; raises where it has ended."""
        text = os.pread(self._call, 300, 0).decode("ascii")
        if not text:
            raise ProcessLookupError
        return text.split()

    def stopped(self):
        """Whether a signal has stopped it."""
        return os.pread(self._state, 99, 0).rpartition(b") ")[2][:1] in (b"T", b"t")

    def close(self):
        """Close its files."""
        os.close(self._call)
        os.close(self._state)
        os.close(self._times)

    @property
    def lived_s(self):
        """How long it was looked at (s)."""
        return self._latest[0] - self._first[0]

    @property
    def ran_s(self):
        """CPU time (s)."""
        return (self._latest[1] - self._first[1]) / 1e9

    @property
    def ready_s(self):
        """How long it was ready to run without a processor (s)."""
        return (self._latest[2] - self._first[2]) / 1e9


class Watch:
    """Looks at all threads of processes, whose peers `name` names by their address."""

    def __init__(self, pids, name):
        self._pids = list(pids)
        self._threads, self._ended, self._find_at = {}, [], 0.0
        self._connections = Connections(name)
        self._beside, self._looked_s = collections.Counter(), 0.0
        self._began = time.monotonic()
        self._find()
        try:
            why = "" if [each.words() for each in self._threads.values()] else "no such file"
        except OSError as error:
            why = error.strerror
        if why or not KINDS:
            raise ContractError(
                f"it cannot be seen what the server waits for (found {platform.machine()}, "
                f"/proc/PID/task/TID/syscall: {why or 'there'}; wanted {' or '.join(CALLS)}, "
                "and the capability SYS_PTRACE)"
            )

    def until(self, closed):
        """Look until `closed(seconds)`, which waits for so long, says that it is the end."""
        looks, wait_s = FIRST, PERIOD_S
        spent_s = looks * wait_s / PRICE
        while not closed(wait_s * random.uniform(0.5, 1.5)):  # noqa: S311
            if time.monotonic() > self._find_at:
                self._find()
            began_s = time.thread_time()
            self._look(wait_s)
            spent_s += time.thread_time() - began_s
            looks += 1
            # By the mean: what is seen in one look must not decide when the next one comes.
            wait_s = max(PERIOD_S, PRICE * spent_s / looks)

    def _look(self, wait_s):
        """Look at each thread once; what is seen counts as long as the mean wait for it.

        Looks are cheap, and so frequent, until the server serves.
        """
        for tid, thread in list(self._threads.items()):
            try:
                what = self._cause(thread)
            except ProcessLookupError:
                self._ended.append(self._threads.pop(tid))
            except (OSError, struct.error):
                pass  # it went on meanwhile, and has closed what it waited at
            else:
                thread.looks.update({} if what is None else {what: wait_s})
        for what in self._connections.waiting():
            self._beside[what] += wait_s
        self._looked_s += wait_s

    def _cause(self, thread):
        """Return what a thread waits for."""
        thread.link = ""
        named = partial(self._connections.named, thread)
        what = cause(thread.words(), partial(polled, thread.pid), named)
        if what == "restart":  # it was interrupted, and waits on
            what = thread.last
        thread.last = what or IDLE
        # A stopped thread is still shown in the call that the signal interrupted.
        if what and thread.stopped() and not self._connections.is_awaited(thread.link):
            return STOPPED
        return what

    def _find(self):
        """Find new threads and connections."""
        for pid in self._pids:
            for folder in Path(f"/proc/{pid}/task").glob("[0-9]*"):
                if folder.name not in self._threads:
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                        self._threads[folder.name] = Thread(pid, folder)
            self._connections.find(pid)
        for thread in self._threads.values():
            thread.update()
        self._find_at = time.monotonic() + FIND_S

    def taken(self):
        """End; return the seconds of each cause."""
        threads = [*self._threads.values(), *self._ended]
        for thread in threads:
            thread.update()
            thread.close()
        self._connections.close()
        elapsed_s = time.monotonic() - self._began
        return divided(threads, elapsed_s, self._looked_s, self._beside)


class Connections:
    """Sockets of the processes, by what is at their other end."""

    def __init__(self, name):
        self._name = name
        self._by_link = {}
        self._copies, self._blocked = {}, set()

    def named(self, thread, number):
        """Return what a thread's wait at a descriptor is for; IDLE where it is for a client."""
        link = Path(f"/proc/{thread.pid}/fd/{number}").readlink().as_posix()
        if link.startswith("/"):
            return IDLE if link.startswith("/dev/") else FILE
        if not link.startswith("socket:"):
            return IDLE
        if link not in self._by_link:
            self._learn(thread.pid, [link])
        what = self._by_link[link]
        if what:
            self._blocked.add(link)
            thread.link = link
        return what

    def is_awaited(self, link):
        """Whether nothing has come yet on a connection of which there is a copy."""
        if link not in self._copies:
            return False
        poll = select.poll()
        poll.register(self._copies[link][1], select.POLLIN)
        return not poll.poll(0)

    def find(self, pid):
        """Copy the connections that the process has opened, to see what is sent on them."""
        there = {}
        with contextlib.suppress(OSError):
            for path in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    there[path.readlink().as_posix()] = int(path.name)
        self._learn(pid, there)
        for link, (owner, copy) in list(self._copies.items()):
            if owner == pid and link not in there:
                copy.close()
                del self._copies[link]
        for link, number in there.items():
            if link not in self._copies and self._by_link.get(link):
                with contextlib.suppress(OSError):
                    self._copies[link] = pid, copied(pid, number)

    def _learn(self, pid, links):
        """Learn what is at the other end of these, but for what is no such socket: IDLE."""
        unknown = [
            link for link in links if link.startswith("socket:") and link not in self._by_link
        ]
        if unknown:
            self._by_link |= dict.fromkeys(unknown, IDLE) | sockets(pid, self._name)

    def waiting(self):
        """Yield whose answers are awaited without a thread that waits.

        Not of connections at which threads do wait.
        """
        for link in self._copies.keys() - self._blocked:
            with contextlib.suppress(OSError):
                if is_asked(self._copies[link][1]):
                    yield self._by_link[link]

    def close(self):
        """Give the copies back."""
        for _, copy in self._copies.values():
            copy.close()


def copied(pid, number):
    """Return a copy of a socket of a process; raises OSError where that may not be."""
    handle = os.pidfd_open(pid)
    copy = _libc.syscall(_PIDFD_GETFD, handle, number, 0)
    os.close(handle)
    if copy < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return socket.socket(fileno=copy)


def is_asked(connection):
    """Whether the other end of a TCP connection has still to answer.

    An answer acknowledges the question; where that takes more than some 40 ms, the kernel does,
    and the last data of both ways have times (in steps of some ms).
    """
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED_MS + 4)
    unacknowledged, sent_ms, received_ms = (
        struct.unpack_from("I", info, place)[0] for place in (_UNACKED, _SENT_MS, _RECEIVED_MS)
    )
    return unacknowledged > 0 or sent_ms < received_ms


def polled(pid, address, count):
    """Return the descriptor that a process polls; None where it polls several, or none."""
    if count != 1:
        return None
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        memory.seek(address)
        return struct.unpack("i", memory.read(4))[0]


def sockets(pid, name):
    """Return what is at the other end of a process's sockets, by their links in /proc/PID/fd.

    IDLE stands for clients: they have connected to a port that is listened on.
    """
    peers = {}
    for table in Path(f"/proc/{pid}/net").glob("[tu]*"):
        if table.name in ("tcp", "tcp6", "udp", "udp6", "unix"):
            rows = [line.split() for line in table.read_text(encoding="utf-8").splitlines()[1:]]
            peers |= of_unix(rows, name) if table.name == "unix" else of_internet(rows, name)
    return peers


def of_internet(rows, name):
    """Return those of a table such as /proc/net/tcp."""
    listened = {row[1].rpartition(":")[2] for row in rows if row[3] == _LISTENS}
    peers = {}
    for row in rows:
        there, port = row[2].split(":")
        of_client = int(port, 16) == 0 or row[1].rpartition(":")[2] in listened
        peers[f"socket:[{row[9]}]"] = IDLE if of_client else name(address_of(there))
    return peers


def of_unix(rows, name):
    """Return those of /proc/net/unix: a path has only what was listened on."""
    return {f"socket:[{row[6]}]": IDLE if row[7:] else name("") for row in rows}


def address_of(digits):
    """Return an address as people write it, from the digits of /proc/net."""
    words = [bytes.fromhex(digits[place : place + 8]) for place in range(0, len(digits), 8)]
    return str(ipaddress.ip_address(b"".join(word[::-1] for word in words)))
