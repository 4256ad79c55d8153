"""ISC dhcpd's leases, read from its lease file: it has no counters."""

import os
import re
from pathlib import Path

_STATE = re.compile(
    rb"^(?:lease| +ia(?:addr|prefix)) (\S+) \{\n(?:.*\n)*?  +binding state (\w+);", re.MULTILINE
)
_END = b"\n}\n"


class Leases:
    """The leases of a file that grows: each reading goes on where the last one ended."""

    def __init__(self, path):
        self._path = Path(path)
        self._file, self._read, self._active = None, 0, set()

    def held(self):
        """Return how many addresses and prefixes are leased.

        Raises OSError without a file.
        """
        # an open file keeps its inode number, so that no other file can get it
        if self._file is None or not os.path.samestat(
            os.fstat(self._file.fileno()), self._path.stat()
        ):
            self._open()  # dhcpd has started, or left out what is over
        self._file.seek(self._read)
        new = self._file.read()
        # what is being written ends later
        whole = new[: new.rfind(_END) + len(_END)] if _END in new else b""
        self._read += len(whole)
        for address, state in _STATE.findall(whole):
            (self._active.add if state == b"active" else self._active.discard)(address)
        return len(self._active)

    def _open(self):
        """Begin with the file that there is now."""
        if self._file is not None:
            self._file.close()
        self._file, self._read, self._active = self._path.open("rb"), 0, set()
