"""A disk that is full or slow for a while, as one server sees it.

The disk of a shared host may not be filled, and a small file system for each start would change
what a sync costs.  So the kernel limits the size of a server's files to that of its file of
leases: a write beyond it fails (EFBIG, where a full disk says ENOSPC), and nothing else takes
longer.  Syncs have no such limit: strace delays them.
"""

import contextlib
import os
import resource
import socket
import time
from pathlib import Path

from leaselab_contract import process
from leaselab_contract.errors import ContractError
from leaselab_contract.operations import operation
from leaselab_contract.system_calls import traced

FULL_S, SLOW_S = 10.0, 5.0
LONGER_US = 50_000
WRITES = "write,writev,pwrite64,pwritev"
SYNCS = "fsync,fdatasync,msync,sync_file_range"
LIMITED, LINE = b"limited", 200
"""What the process says that limits files, and the most that is read of it (bytes)."""
LOOKS = 50
"""How often the size of a file is read: a server may be writing it again, from its begin."""


class WithLeaseFile:
    """Mixin of a server whose settings have the file of its leases (`lease_file`)."""

    def writes_leases(self):
        """Whether it writes its leases into that."""
        return Path(self.config["lease_file"]).exists()

    def syncs(self):
        """Whether it, or its database on this host, syncs its leases."""
        return self.writes_leases()

    def syncing(self):
        """Return the pid of the process that syncs them."""
        return self.running()

    @operation(
        "full-disk",
        "a write to the file fails for its size (EFBIG)",
        lambda server: server.writes_leases(),
    )
    def fill_disk(self):
        """Let the file of its leases not grow for 10 s, as on a full disk."""
        return full(self.running(), self.config["lease_file"])

    @operation("slow-disk", "a sync takes longer", lambda server: server.syncs())
    def slow_disk(self):
        """Have each sync of its leases take 50 ms longer for 5 s."""
        return slow(self.syncing())


def full(pid, path):
    """Have no file of a process become larger than one that it writes."""
    size = 0
    for _ in range(LOOKS):
        size = max(size, Path(path).stat().st_size)
        time.sleep(process.LEAST_POLL_S)
    failed = (f"trace={WRITES}", "status=failed")
    yield
    until = time.monotonic() + FULL_S
    with _limited(pid, size):
        yield from _seen(until, f"{Path(path).resolve()}>", pid, failed)
        time.sleep(max(0.0, until - time.monotonic()))


def slow(pid):
    """Have each sync of a process, and of those below it, take longer."""
    delayed = (f"trace={SYNCS}", f"inject={SYNCS}:delay_enter={LONGER_US}")
    yield
    until = time.monotonic() + SLOW_S
    yield from _seen(until, "(DELAYED)", pid, delayed, keeps=True)


def _seen(until, word, pid, expressions, *, keeps=False):
    """Yield whether strace says a word; trace on until a time if it `keeps`."""
    options = [option for one in expressions for option in ("-e", one)]
    with traced(process.tree(pid), "-y", *options) as said:
        while time.monotonic() < until and word not in said():
            yield False
        yield word in said()
        if keeps:
            time.sleep(max(0.0, until - time.monotonic()))


@contextlib.contextmanager
def _limited(pid, size):
    """Limit the size of a process's files for the context, or until this process ends."""
    here, there = socket.socketpair()
    if not (keeper := os.fork()):
        here.close()
        try:
            _keep_limited(there, pid, size)
        finally:
            os._exit(0)
    there.close()
    try:
        if (said := here.recv(LINE)) != LIMITED:
            found = said.decode() or "no answer"
            raise ContractError(f"its files cannot be limited (found {found})")
        yield
    finally:
        here.close()
        os.waitpid(keeper, 0)


def _keep_limited(other, pid, size):
    """Limit them until the other end is closed, also by a kill; say that, or why not.

    In a container root may not limit others, so this process becomes the server's user.
    """
    os.setsid()  # what ends the other's group does not end this one
    of_files = resource.RLIMIT_FSIZE
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        ids = {row.split()[0]: row.split()[1:4] for row in status.splitlines()}
        os.setresgid(*map(int, ids["Gid:"]))
        os.setresuid(*map(int, ids["Uid:"]))
        before = resource.prlimit(pid, of_files)
        resource.prlimit(pid, of_files, (size, before[1]))
    except OSError as error:
        other.send(str(error).encode())
        return
    try:  # from here on the other may be killed
        other.send(LIMITED)
        other.recv(1)
    finally:
        resource.prlimit(pid, of_files, before)
