"""A count: what a server does for each transaction, as numbers that no clock takes part in.

The server is started for it, and stopped at its end.  The first line of standard input says
what counts it; each further line is a command, whose answer is one JSON object:

settle    answers once all threads of the server sleep
begin     counts what it does from now on, which is not to be counted yet
zero      forgets what was counted so far
take      answers with what was counted since, and counts nothing further
held      answers with how many entries it holds, null where that is not known

The caller has the generator send a message only while the server sleeps: so no message meets
another, and what the server does for each is the same on a busy machine.
"""

import contextlib
import sys
import tempfile
import time
from pathlib import Path

from leaselab_contract.callgrind import Callgrind
from leaselab_contract.errors import ContractError
from leaselab_contract.process import TICKS, stat_fields
from leaselab_contract.system_calls import Strace, read
from leaselab_contract.verbs import emit

FOLDER = "/dev/shm"  # noqa: S108  # private files in it; no disk takes part in a count
SLOWER = 30
"""How much longer than else a start may take under valgrind."""
SETTLE_S = 60.0
"""A server that has not slept for so long does not wait for a packet (s): Kea needs 0.01 s for
one under valgrind."""
POLL_S = 0.0002
"""How often threads are looked at (s): the server has the processor meanwhile."""
STATES = frozenset("SI")
"""States of a thread that sleeps, in /proc.  One that strace has stopped is in the midst of a
system call."""


def count(server):
    """Start a server under what standard input names, and carry out its commands."""
    with tempfile.TemporaryDirectory(prefix="leaselab-count.", dir=FOLDER) as folder:
        # Servers write there as the users that they have become.
        Path(folder).chmod(0o1777)
        named = sys.stdin.readline().strip()
        if named not in COUNTERS:
            known = ", ".join(COUNTERS)
            raise ContractError(f"nothing counts by that name (found {named}; wanted {known})")
        own = server.config["process"]
        argv = [*own["argv"], *own.get("counted_argv", ())]
        server.config["process"] = {**own, "argv": argv}
        counter = COUNTERS[named](server, folder)
        server.ANSWER_S = SETTLE_S  # nothing waits for its counters, and it is slower by far
        try:
            started = server.start()
            emit(started)
            for line in sys.stdin:
                emit(carried_out(line.strip(), server, counter, started["pid"]))
        finally:
            counter.end()
            server.stop()


def carried_out(command, server, counter, pid):
    """Carry out a command; return its answer."""
    if command == "settle":
        return settled(pid)
    if command == "held":
        return {"held": server.counted()[1]}
    if command == "zero":
        server.rest()
    if command in ("begin", "zero", "take"):
        return getattr(counter, command)(server.serving(pid)) or {}
    raise ContractError(f"no command of a count: {command}")


def settled(pid):
    """Return once all threads of a process and those below it sleep, seen twice in a row."""
    pids = below(pid)
    deadline, calm = time.monotonic() + SETTLE_S, 0
    while calm < 2:
        awake = sorted(set(states(pids)) - STATES)
        calm = 0 if awake else calm + 1
        # Between two looks, too: one that only waits for the kernel goes on then.
        time.sleep(POLL_S * (calm < 2))
        if time.monotonic() > deadline:
            raise ContractError(
                f"the server does not come to rest (found threads in state {', '.join(awake)} "
                f"for {SETTLE_S:.0f} s; wanted all to sleep)"
            )
    return {}


def below(pid):
    """Return the pids of a process and of those below it.

    This is asked for each message, and `process.tree` takes ten times as long: it reads the
    state of all processes of the host.
    """
    pids = [pid]
    for one in pids:
        pids.extend(int(word) for text in of_threads(one, "children") for word in text.split())
    return pids


def states(pids):
    """Yield the state of each thread of processes."""
    for one in pids:
        for text in of_threads(one, "stat"):
            yield text.rpartition(") ")[2][0]


def of_threads(pid, name):
    """Yield what a file of /proc has of each thread of a process, but of those that end."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for path in Path(f"/proc/{pid}/task").glob(f"*/{name}"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                yield path.read_text(encoding="ascii", errors="replace")


class ByInstructions:
    """Runs the server under valgrind."""

    SIMULATED = False

    def __init__(self, server, folder):
        self._callgrind = Callgrind(folder, simulated=self.SIMULATED)
        own = server.config["process"]
        server.config["program"] = str(Path(own["argv"][0]).resolve())
        server.config["process"] = {**own, "launcher": self._callgrind.launcher()}
        server.config["start_s"] = SLOWER * server.config.get("start_s", server.START_S)

    def begin(self, pids):
        """Count from now on: of code that ran before, it does not know the callers."""
        self._callgrind.tell(pids, "instrumentation", "on")

    def zero(self, pids):
        """Forget what was counted."""
        self._callgrind.forget(pids)

    def take(self, pids):
        """Return the functions that did anything, and count nothing further."""
        found = self._callgrind.take(pids)
        self._callgrind.tell(pids, "instrumentation", "off")
        return found

    def end(self):
        """It ends with the server."""


class WithCaches(ByInstructions):
    """The same, where valgrind simulates caches and predicts branches: twice as slow."""

    SIMULATED = True


class BySystemCalls:
    """Runs the server as always, and counts what it has the kernel do."""

    def __init__(self, server, _folder):
        self._server, self._strace = server, Strace()
        self._before = {}
        server.config["counted"] = True

    def begin(self, pids):
        """Note what was done before: this is not traced, so its times are the usual ones."""
        self._before = of_kernel(pids)

    def zero(self, pids):
        """Count from now on."""
        # The second time shows what it is to ask.
        once, self._beside = self._server.beside_counts(), self._server.beside_counts()
        self._asking = {name: self._beside[name] - count for name, count in once.items()}
        spent = of_kernel(pids)
        self._spent = {name: spent[name] - self._before[name] for name in TIMES}
        self._strace.attach(pids, "-c", "-U", "calls,name")
        self._before = of_kernel(pids)

    def take(self, pids):
        """Return calls by name, what the kernel counted, and times from `begin` to `zero`."""
        after = of_kernel(pids)
        found = {name: after[name] - self._before[name] for name in after}
        calls = read(self._strace.detach())
        beside = {
            name: count - self._beside[name] - self._asking[name]
            for name, count in self._server.beside_counts().items()
        }
        return {**found, **self._spent, "system_calls": calls, "database": beside}

    def end(self):
        """End what still counts."""
        self._strace.detach()


COUNTERS = {
    "instructions": ByInstructions,
    "instructions,caches": WithCaches,
    "system-calls": BySystemCalls,
}
TIMES = ("user_s", "system_s")


def of_kernel(pids):
    """Return what the kernel has counted of processes."""
    found = {"written_bytes": 0, "page_faults": 0, **dict.fromkeys(TIMES, 0.0)}
    for one in pids:
        fields = stat_fields(one)
        rows = Path(f"/proc/{one}/io").read_text(encoding="ascii").splitlines()
        found["written_bytes"] += int(dict(row.split(": ") for row in rows)["wchar"])
        found["page_faults"] += int(fields[7]) + int(fields[9])
        found["user_s"] += int(fields[11]) / TICKS
        found["system_s"] += int(fields[12]) / TICKS
    return found
