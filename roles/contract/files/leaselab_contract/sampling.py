"""Samples of a running server, about one a second, and what each sample is made of."""

import contextlib
import os
import select
import time
from pathlib import Path

from leaselab_contract.errors import ContractError, LabError
from leaselab_contract.process import (
    TICKS,
    last_reason,
    refuse_shutdown,
    running_pid,
    stat_fields,
)
from leaselab_contract.verbs import emit

PAGE = os.sysconf("SC_PAGE_SIZE")
SOCKET = "socket:["
ROOM = 1 << 20
"""Least room on a disk that the server may write to (bytes)."""


class Rising:
    """Counts that begin again with a process, as they would be without its restarts."""

    def __init__(self):
        self._last, self._ended = {}, {}

    def of(self, name, count):
        """Return a count, with what those of its name had come to that ended before."""
        if count is None:
            return None
        if count < self._last.get(name, 0):
            self._ended[name] = self._ended.get(name, 0) + self._last[name]
        self._last[name] = count
        return self._ended.get(name, 0) + count

    def of_each(self, counts):
        """Return the same of counts by their names."""
        return {name: self.of(name, count) for name, count in counts.items()}


def follow(take, files=()):
    """Print what `take` returns until standard input is closed, and once for each line on it.

    Raises LabError once the disk of `files`, patterns of the server's files, is full: the
    server does not store what it serves from then on.

    Standard input is read past Python's buffer: select() cannot see that.
    """
    tick = time.monotonic()
    while True:
        reading = take()
        refuse_full_disk(files)
        try:
            emit(reading)
        except BrokenPipeError:
            os._exit(0)  # the reader is gone; a flush at exit would fail again
        now = time.monotonic()
        while tick <= now:
            tick += 1.0
        asked, _, _ = select.select([0], [], [], tick - now)
        if asked and not os.read(0, 4096):
            return


def refuse_full_disk(files):
    """Raise LabError where a disk has no room for files of some patterns."""
    for folder in {Path(pattern).parent for pattern in files}:
        there = next(path for path in (folder, *folder.parents) if path.is_dir())
        disk = os.statvfs(there)
        free = disk.f_bfree * disk.f_frsize
        # A file system without blocks is no disk, such as /proc.
        if disk.f_blocks and free < ROOM and not disk.f_flag & os.ST_RDONLY:
            raise LabError(
                f"the disk is full (found {free >> 10} KiB free in {there}, wanted "
                f"{ROOM >> 10} KiB)"
            )


def used(processes, explain_death=lambda: None):
    """Return CPU time (s) and resident memory (bytes) of processes together.

    When one has gone, `explain_death` may raise why; else its last log line is raised.
    """
    ticks = rss = 0
    for process in processes:
        try:
            fields = stat_fields(running_pid(process))
        except (FileNotFoundError, ProcessLookupError):
            fields = ["Z"]
        if fields[0] == "Z":
            refuse_shutdown()
            explain_death()
            name = Path(process["argv"][0]).name
            raise ContractError(f"{name} is gone: {last_reason(process)}")
        ticks += int(fields[11]) + int(fields[12])
        rss += int(fields[21]) * PAGE
    return ticks / TICKS, rss


def udp_drops(process, port):
    """Datagrams dropped at a process's own sockets of one port, in both families.

    None without a port.
    """
    if not port:
        return None
    return sum(int(row[-1]) for row in udp_sockets(process, port))


def check_serves(process, port):
    """Raise ContractError where a process has no UDP socket of a port.

    Another process answers there then, such as a server that is not the lab's.
    """
    if not udp_sockets(process, port):
        raise ContractError(f"{Path(process['argv'][0]).name} does not serve UDP port {port}")


def udp_sockets(process, port):
    """Return the rows of /proc/net/udp of a process's own sockets of one port."""
    own = own_sockets(running_pid(process))
    found = []
    for path in ("/proc/net/udp", "/proc/net/udp6"):
        try:
            lines = Path(path).read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            continue
        rows = [line.split() for line in lines[1:]]
        found += [
            row for row in rows if int(row[1].rpartition(":")[2], 16) == port and row[9] in own
        ]
    return found


def own_sockets(pid):
    """Return the inodes of a process's sockets, as text.

    Another variant may have sockets of the same port, at another address of the host.
    """
    found = set()
    for path in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):  # closed meanwhile
            name = str(path.readlink())
            if name.startswith(SOCKET):
                found.add(name.removeprefix(SOCKET).rstrip("]"))
    return found
