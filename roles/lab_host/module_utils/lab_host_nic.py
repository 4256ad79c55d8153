"""What an interface is: driver, firmware, link, rings, channels, coalescing, offloads.

Read by the kernel's SIOCETHTOOL requests, whose structures are fixed (linux/ethtool.h), and
not by the program ``ethtool``: it would have to be installed on a host before anything may
be read there, and half of what it prints is text whose words move with its version.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from pathlib import Path

_SIOCETHTOOL = 0x8946
_GDRVINFO, _GCOALESCE, _GRINGPARAM = 0x03, 0x0E, 0x10
_GSTRINGS, _GSSET_INFO, _GFEATURES, _GCHANNELS = 0x1B, 0x37, 0x3A, 0x3C
_FEATURES_SET = 4
_NAME_BYTES = 32
_DRIVER_FORMAT = "=I32s32s32s32s32s12s5I"

# The kernel of user-mode Linux (seen: 7.2.7) panics when its driver is asked for rings: it has
# no receive queue on a tap device.
_RINGS_PANIC = ("uml-vector",)

# Positions in the structures of what is kept, counted in 32-bit words.
_RINGS = {"rx_max": 1, "tx_max": 4, "rx": 5, "tx": 8}
_CHANNELS = {"rx_max": 1, "tx_max": 2, "combined_max": 4, "rx": 5, "tx": 6, "combined": 8}
_COALESCING = {
    "rx_usecs": 1,
    "rx_frames": 2,
    "tx_usecs": 5,
    "tx_frames": 6,
    "adaptive_rx": 10,
    "adaptive_tx": 11,
}


def nic(name: str, sys: Path = Path("/sys")) -> dict:
    """Return facts of an interface; None for what the kernel or the driver does not report.

    driver, firmware; speed_mbps, duplex (``full``, ``half``), mtu; numa_node; rings, channels
    and coalescing (numbers by name, microseconds and frames); offloads (whether each is on,
    by the kernel's name for it, of those that are on or can be).
    """
    folder = sys / "class/net" / name
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        request = struct.pack(_DRIVER_FORMAT, _GDRVINFO, *[b""] * 6, *[0] * 5)
        driver = _driver(_ask(link, name, request))
        has_rings = driver["driver"] not in _RINGS_PANIC
        return {
            **driver,
            "speed_mbps": _positive(folder / "speed"),
            "duplex": _known(_text(folder / "duplex")),
            "mtu": _positive(folder / "mtu"),
            "numa_node": _positive(folder / "device/numa_node", least=0),
            "rings": _words(_ask(link, name, _request(_GRINGPARAM, 9)), _RINGS)
            if has_rings
            else None,
            "channels": _words(_ask(link, name, _request(_GCHANNELS, 9)), _CHANNELS),
            "coalescing": _words(_ask(link, name, _request(_GCOALESCE, 23)), _COALESCING),
            "offloads": _offloads(link, name),
        }


def features(names: list[str], blocks: list[tuple[int, int, int, int]]) -> dict[str, bool]:
    """Whether each offload is on, of those that are on or can be switched.

    `blocks` are the kernel's words of 32 features each: available, requested, active and
    never changed, a bit each.
    """
    found = {}
    for position, name in enumerate(names):
        available, _, active, _ = blocks[position // 32]
        bit = 1 << position % 32
        if name and (available | active) & bit:
            found[name] = bool(active & bit)
    return found


def _request(command: int, words: int) -> bytes:
    return struct.pack(f"={words}I", command, *[0] * (words - 1))


def _ask(link: socket.socket, name: str, request: bytes) -> bytes | None:
    """The structure as the driver filled it in; None where it does not know the request."""
    buffer = array.array("B", request)
    packed = struct.pack("16sP16x", name.encode(), buffer.buffer_info()[0])
    try:
        fcntl.ioctl(link, _SIOCETHTOOL, packed)
    except OSError:
        return None
    return buffer.tobytes()


def _driver(answer: bytes | None) -> dict[str, str | None]:
    fields = struct.unpack(_DRIVER_FORMAT, answer) if answer else (0, b"", b"", b"")
    words = [field.split(b"\0")[0].decode(errors="replace").strip() for field in fields[1:4]]
    return {"driver": words[0] or None, "firmware": _known(words[2])}


def _words(answer: bytes | None, positions: dict[str, int]) -> dict[str, int] | None:
    if answer is None:
        return None
    words = struct.unpack(f"={len(answer) // 4}I", answer)
    return {name: words[position] for name, position in positions.items()}


def _offloads(link: socket.socket, name: str) -> dict[str, bool] | None:
    answer = _ask(link, name, struct.pack("=IIQI", _GSSET_INFO, 0, 1 << _FEATURES_SET, 0))
    count = struct.unpack("=IIQI", answer)[3] if answer else 0
    if not count:
        return None
    head = struct.pack("=III", _GSTRINGS, _FEATURES_SET, count)
    strings = _ask(link, name, head + bytes(count * _NAME_BYTES))
    size = (count + 31) // 32
    bits = _ask(link, name, struct.pack("=II", _GFEATURES, size) + bytes(size * 16))
    if strings is None or bits is None:
        return None
    text = strings[len(head) :]
    names = [
        text[place : place + _NAME_BYTES].split(b"\0")[0].decode(errors="replace")
        for place in range(0, len(text), _NAME_BYTES)
    ]
    blocks = list(struct.iter_unpack("=4I", bits[8:]))
    return features(names, blocks)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:  # not there, or of a link that is down
        return ""


def _known(text: str) -> str | None:
    return text if text not in ("", "unknown", "N/A", "n/a") else None


def _positive(path: Path, least: int = 1) -> int | None:
    """A number that is one: the kernel says -1 for what it does not know."""
    text = _text(path)
    return int(text) if text.isdigit() and int(text) >= least else None
