"""A primary of one large zone, on the loopback address, from which a server takes it.

It is no name server: that would want files and rights of its own, and the processor under the
load.  Here all messages are made before, and what follows is to send them.
"""

import contextlib
import socket
import socketserver
import struct
import threading
import time

from leaselab_contract import dns

ZONE = "secondary.operate."
RECORDS, CHANGED = 100_000, 1_000
MESSAGE_RECORDS = 2000
"""Records of a message, of 24 bytes: 65535 bytes are its limit."""
POLL_S = 0.05
_NAME = b"\xc0\x0c"
"""A pointer to the zone's name: each message repeats the question."""


def _hosts(count, network):
    """Return the records of hosts, with addresses in 10.0.0.0/8 (10) or the like."""
    addresses = struct.Struct("!I")
    return [
        dns.record(b"\x07n%06d" % host + _NAME, dns.A, addresses.pack(network << 24 | host))
        for host in range(count)
    ]


def _messages(*records):
    """Return what messages have of records: these joined, and how many they are."""
    firsts = range(0, len(records), MESSAGE_RECORDS)
    parts = (records[first : first + MESSAGE_RECORDS] for first in firsts)
    return [(b"".join(part), len(part)) for part in parts]


class Primary:
    """What it answers; `sent` are the types of its transfers since the last change."""

    def __init__(self, address):
        """Be at the loopback address of the family of a server's."""
        is_six = ":" in address
        self.family = socket.AF_INET6 if is_six else socket.AF_INET
        self.address, self.port = "::1" if is_six else "127.0.0.1", 0
        self.serial, self.sent, self.sent_at = 1, [], 0.0
        self.hosts, self.changes = _hosts(RECORDS, 10), None
        self.whole = self._whole()

    def _whole(self):
        end = dns.soa(_NAME, self.serial)
        servers = dns.record(_NAME, dns.NS, b"\x07n000000" + _NAME)
        return _messages(end, servers, *self.hosts, end)

    def change(self):
        """Change 1000 records."""
        old, new = (dns.soa(_NAME, self.serial + more) for more in (0, 1))
        hosts = _hosts(CHANGED, 11)
        self.changes = _messages(new, old, *self.hosts[:CHANGED], new, *hosts, new)
        self.hosts[:CHANGED] = hosts
        self.serial, self.sent = self.serial + 1, []
        self.whole = self._whole()

    def answers(self, query):
        """Return the messages that answer a query over TCP."""
        kind, known = dns.asked(query)
        if kind == dns.SOA or known == self.serial:
            return [self.head(query)]
        changes = self.changes if known == self.serial - 1 else None
        self.sent.append("IXFR" if changes else "AXFR")
        self.sent_at = time.monotonic()
        return [dns.answer(query, *part) for part in changes or self.whole]

    def head(self, query):
        """Return the answer to a query over UDP, whatever it asks: the SOA."""
        return dns.answer(query, dns.soa(_NAME, self.serial), 1)


class _Stream(socketserver.StreamRequestHandler):
    """A connection: queries, each behind its length."""

    def handle(self):
        """Answer them."""
        primary = self.server.primary
        with contextlib.suppress(ConnectionError):
            while length := self.rfile.read(2):
                query = self.rfile.read(int.from_bytes(length, "big"))
                for message in primary.answers(query):
                    self.wfile.write(len(message).to_bytes(2, "big") + message)
                primary.sent_at = time.monotonic()


class _Datagram(socketserver.BaseRequestHandler):
    """A query over UDP."""

    def handle(self):
        """Answer it."""
        query, asked = self.request
        asked.sendto(self.server.primary.head(query), self.client_address)


class _OfPrimary:
    """Server of a primary, at its address and port."""

    daemon_threads = True  # a secondary may keep its connection

    def __init__(self, primary, handler):
        self.primary, self.address_family = primary, primary.family
        super().__init__((primary.address, primary.port), handler)
        primary.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(POLL_S,)).start()

    def server_close(self):
        """End it."""
        self.shutdown()
        super().server_close()


class _Tcp(_OfPrimary, socketserver.ThreadingTCPServer):
    pass


class _Udp(_OfPrimary, socketserver.UDPServer):
    pass


@contextlib.contextmanager
def serving(address):
    """Have a primary on the host of a server with an address, for the context."""
    primary = Primary(address)
    with _Tcp(primary, _Stream), _Udp(primary, _Datagram):
        yield primary
