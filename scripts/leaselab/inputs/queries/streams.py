"""Messages of DNS in streams of TCP, in bounded memory (RFC 1035, 4.2.2).  Pure."""

from __future__ import annotations

from leaselab.inputs.clients.frames import Datagram

PART = "segments of TCP that end no query"
_SERVER = 53
_MOST_STREAMS = 4096
"""Connections of which a part of a message is kept; the one that was silent longest goes."""
_SMALLEST, _LARGEST = 12, 4096
"""Bytes of a query: what says that it has others is none."""
_NUMBERS, _SENT_AGAIN = 1 << 32, 1 << 20
"""How many there are, and how far back bytes may be that are sent again."""


class Streams:
    """What clients sent in connections, as far as no message has ended."""

    def __init__(self) -> None:
        self._parts: dict[tuple[bytes, bytes, int], tuple[int, bytes]] = {}
        """Number of the next byte, and the bytes before it, by the connection."""

    def add(self, datagram: Datagram) -> list[bytes]:
        """Return the messages that end in a segment; none for one of a server.

        A connection whose beginning was not seen, or of which a segment is missing, is taken
        to go on with a message.
        """
        segment = datagram.segment
        if segment is None or segment.ports[1] != _SERVER:
            return []
        key = datagram.source, datagram.target, segment.ports[0]
        number = (segment.number + segment.begins) % _NUMBERS
        expected, part = self._parts.pop(key, (number, b""))
        seen = (expected - number) % _NUMBERS
        if segment.begins or seen > _SENT_AGAIN:  # another connection, or bytes are missing
            expected, part, seen = number, b"", 0
        new = datagram.payload[seen:]
        messages, rest = _whole(part + new)
        if rest is not None:
            self._parts[key] = (expected + len(new)) % _NUMBERS, rest
            if len(self._parts) > _MOST_STREAMS:
                del self._parts[next(iter(self._parts))]
        return messages


def _whole(data: bytes) -> tuple[list[bytes], bytes | None]:
    """The messages in bytes of a stream, and the rest; None where that begins no message."""
    messages = list[bytes]()
    while len(data) > 1:
        size = int.from_bytes(data[:2], "big")
        if not _SMALLEST <= size <= _LARGEST:
            return messages, None
        if len(data) < 2 + size:
            break
        messages.append(data[2 : 2 + size])
        data = data[2 + size :]
    return messages, data
