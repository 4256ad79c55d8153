"""ISC dhcpd's leases, in its lease file: it has no counters."""

import os
import re
import time
from pathlib import Path

from leaselab_contract.filled import LIFETIME_S

_STATE = re.compile(
    rb"^(?:lease| +ia(?:addr|prefix)) (\S+) \{\n(?:.*\n)*?  +binding state (\w+);", re.MULTILINE
)
_END = b"\n}\n"
_OF_4 = re.compile(rb"^lease (\S+) \{\n((?:  .*\n)*)\}\n", re.MULTILINE)
_OF_6 = re.compile(rb'^ia-\w+ "((?:[^"\\]|\\.)*)" \{\n((?:  .*\n)*)\}\n', re.MULTILINE)
_HARDWARE = re.compile(rb"^  hardware \S+ (\S+);", re.MULTILINE)
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_IAID_BYTES = 4
"""What is before the DUID in the name of an `ia`."""


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


def holders(text):
    """Return the client of each address that a file of leases has as active.

    Clients by MAC (v4) or DUID (v6), in hexadecimal digits without colons.
    """
    held = {}
    for address, inner in _OF_4.findall(text):
        mac = _HARDWARE.search(inner)
        client = mac[1].decode().replace(":", "") if mac else ""
        held[address] = client if b"binding state active" in inner else None
    for name, inner in _OF_6.findall(text):
        client = _ESCAPED.sub(_byte, name)[_IAID_BYTES:].hex()
        for address, state in _STATE.findall(inner):
            held[address.partition(b"/")[0]] = client if state == b"active" else None
    return {address.decode(): client for address, client in held.items() if client}


def _byte(escaped):
    return bytes([int(escaped[1], 8)]) if len(escaped[1]) == 3 else escaped[1]


def text_of(leases):
    """Return the file of leases with which it begins."""
    now = time.time()
    since, until = (
        time.strftime("%w %Y/%m/%d %H:%M:%S", time.gmtime(at)) for at in (now, now + LIFETIME_S)
    )
    return "".join(
        (_of_6 if ":" in lease.address else _of_4)(number, lease, since, until)
        for number, lease in enumerate(leases)
    )


def _of_4(_number, lease, since, until):
    return (
        f"lease {lease.address} {{\n  starts {since};\n  ends {until};\n  cltt {since};\n"
        f"  binding state {_word(lease)};\n  next binding state free;\n"
        f"  hardware ethernet {lease.mac.hex(':')};\n}}\n"
    )


def _of_6(number, lease, since, until):
    is_address = lease.length == 128
    what, inner = ("ia-na", "iaaddr") if is_address else ("ia-pd", "iaprefix")
    place = lease.address if is_address else f"{lease.address}/{lease.length}"
    who = "".join(f"\\{byte:03o}" for byte in number.to_bytes(4, "little") + lease.duid)
    return (
        f'{what} "{who}" {{\n  cltt {since};\n  {inner} {place} {{\n'
        f"    binding state {_word(lease)};\n    preferred-life {LIFETIME_S};\n"
        f"    max-life {LIFETIME_S};\n    ends {until};\n  }}\n}}\n"
    )


def _word(lease):
    return "abandoned" if lease.declined else "active"
