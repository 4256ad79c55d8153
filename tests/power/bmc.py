"""A BMC that speaks IPMI 2.0 (pyghmi's own), on a loopback port, until it is ended.

Its power state is in a file; a change takes a moment, as that of a real machine does.

    python bmc.py PORT STATE_FILE USER PASSWORD_FILE
"""

import struct
import sys
import threading
from pathlib import Path

from pyghmi.ipmi.bmc import Bmc

SETTLE_S = 0.3
OPEN, OPENED, SHA1, NO_SUCH_SUITE = 0x10, 0x11, 1, 0x11
"""Tables 13-10 and 13-15 to 13-17 of IPMI 2.0."""


class FileBmc(Bmc):
    """A machine that is a file."""

    def __init__(self, state, user, password, port):
        super().__init__({user: password}, port=port, address="::ffff:127.0.0.1")
        self._state = state

    def sessionless_data(self, data, sockaddr):
        """Refuse what the library would answer by SHA-1, as a BMC with SHA-1 alone does."""
        if len(data) > 28 and data[4:6] == bytes([6, OPEN]) and data[28] != SHA1:
            body = bytes([data[16], NO_SUCH_SUITE, 0, 0]) + data[20:24]
            head = b"\x06\x00\xff\x07" + struct.pack("<BBIIH", 6, OPENED, 0, 0, len(body))
            self.serversocket.sendto(head + body, sockaddr)
            return
        super().sessionless_data(data, sockaddr)

    def get_power_state(self):
        return self._state.read_text("ascii").strip()

    def power_on(self):
        self._become("on")

    def power_off(self):
        self._become("off")

    def _become(self, state):
        sys.stdout.write(f"{state}\n")
        sys.stdout.flush()
        threading.Timer(SETTLE_S, self._state.write_text, (state,)).start()


if __name__ == "__main__":
    port, state, user, password = sys.argv[1:]
    secret = Path(password).read_text("utf-8").strip()
    FileBmc(Path(state), user, secret, int(port)).listen()
