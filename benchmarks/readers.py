"""`leaselab dev bench readers`: time and memory that each reader of people's files takes.

Each reads a large file in a process of its own, and has a budget for its size.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.checkout import checkout_root
from leaselab.inputs.clients.file import read_clients
from leaselab.inputs.clients.sources import Reader, read_source
from leaselab.inputs.leases import read_leases
from leaselab.inputs.queries.capture import Names, Read
from leaselab.inputs.queries.file import read_queries
from leaselab.inputs.queries.of_zones import queries_of
from leaselab.inputs.queries.zones import keep_zones, read_zone
from leaselab.inputs.user_configuration import add_scenario, read_served
from leaselab.leases.check import check
from leaselab.measure.generators.leaseload.history import history_of

OK, OVER = 0, 1
_LINK_RAW = 101


class Row(NamedTuple):
    """A reader, a file for it, and what it may take."""

    file: str
    make: Callable[[int], Iterable[bytes]]
    """The parts of a file of so many pieces."""
    read: Callable[[Path], object]
    pieces: int
    seconds: float
    """Of a processor."""
    megabytes: float
    """Peak of the process, of which Python and the modules are 70."""


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 when every budget is kept, 1 when one is not."""
    parser = argparse.ArgumentParser(prog="leaselab dev bench readers", description=__doc__)
    parser.add_argument("--only", default="*", help="readers of this pattern")
    parser.add_argument("--share", type=float, default=1.0, help="of the pieces (1)")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.read:
        ROWS[options.only].read(options.read)
        used = os.times()
        print(used.user + used.system, _peak_bytes())
        return OK
    over = []
    print(f"{'reader':22} {'pieces':>9} {'MB':>6} {'s':>7} {'budget':>7} {'peak MB':>8} budget")
    for name, row in ROWS.items():
        if fnmatch(name, options.only):
            pieces = max(1, round(row.pieces * options.share))
            size, seconds, peak = _measured(name, row, pieces)
            print(
                f"{name:22} {pieces:9} {size:6.1f} {seconds:7.1f} {row.seconds:7g} {peak:8.0f} "
                f"{row.megabytes:6g}",
                flush=True,
            )
            over += [name] if seconds > row.seconds or peak > row.megabytes else []
    print(f"over: {', '.join(over)}" if over else "all kept")
    return OVER if over else OK


def _measured(name: str, row: Row, pieces: int) -> tuple[float, float, float]:
    """Size of the file (MB), seconds of a processor, and peak memory (MB)."""
    with tempfile.TemporaryDirectory(prefix="leaselab-readers-") as folder:
        path = Path(folder) / row.file
        with path.open("wb") as file:
            file.writelines(row.make(pieces))
        words = [
            sys.executable,
            "-m",
            "benchmarks.readers",
            "--only",
            name,
            "--read",
            str(path),
        ]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"bench readers: {name} failed")
        seconds, peak = map(float, done.stdout.splitlines()[-1].split())
        return path.stat().st_size / 1e6, seconds, peak / 1e6


def _peak_bytes() -> int:
    """Most memory of this process; what `getrusage` has is also that of the one it is from."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def _capture(packets: Iterable[bytes]) -> Iterable[bytes]:
    yield struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, _LINK_RAW)
    for number, packet in enumerate(packets):
        at = 1_790_000_000 + number / 1000
        head = struct.pack("<IIII", int(at), int(at % 1 * 1e6), len(packet), len(packet))
        yield head + packet


def _datagram(payload: bytes, source: bytes, target: bytes, ports: tuple[int, int]) -> bytes:
    udp = struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0)
    return head + source + target + udp


def _dhcp(count: int, clients: int) -> Iterable[bytes]:
    """Messages of so many clients in turn; each sends every second one again."""

    def message(number: int) -> bytes:
        client = number % clients
        mac = b"\2\0" + client.to_bytes(4, "big")
        fixed = struct.pack("!BBBBI", 1, 1, 6, 0, number // (2 * clients)) + bytes(20) + mac
        options = b"\x35\1\1\x37\3\1\3\6\x3d\7\1" + mac + b"\xff"
        return fixed.ljust(236, b"\0") + b"\x63\x82\x53\x63" + options

    broadcast = b"\xff\xff\xff\xff"
    return _capture(
        _datagram(message(number), bytes(4), broadcast, (68, 67)) for number in range(count)
    )


def _dns(count: int) -> Iterable[bytes]:
    def query(number: int) -> bytes:
        label = f"host{number % 200_000}".encode()
        name = bytes([len(label)]) + label + b"\7example\0"
        return struct.pack("!HH4H", number & 0xFFFF, 0x100, 1, 0, 0, 0) + name + b"\0\1\0\1"

    def packet(number: int) -> bytes:
        source = b"\x0a" + (number % 5000).to_bytes(3, "big")
        return _datagram(query(number), source, b"\xc0\0\2\x35", (40_000, 53))

    return _capture(map(packet, range(count)))


def _read_capture(path: Path) -> object:
    read_source(reader := Reader(), path)
    return reader.clients()


def _read_queries(path: Path) -> object:
    read = Read(Names())
    read.add(path)
    return read.counted()


def _clients(kinds: int) -> Iterable[bytes]:
    yield (
        b"dhcpv4:\n  clients: 1000000\n  relays: 0\n  seconds: 60.0\n  messages: 1000000\n"
        b"  exchanges: 1000000\n  shares: {new: 1}\n  resent: 0.0\n  begins: '00:00'\n"
        b"  peak: null\n  minutes: {new: [1000000]}\n  notes: []\n  kinds:\n"
    )
    options = "".join(f"    - [{code}, 'hex:{'00' * 12}']\n" for code in range(100, 120))
    for kind in range(kinds):
        yield f"  - name: kind {kind}\n    clients: 200\n    options:\n{options}".encode()


def _lines(count: int) -> Iterable[bytes]:
    return (f"host{number}.example.com A\n".encode() for number in range(count))


def _zone(count: int) -> Iterable[bytes]:
    yield b"$TTL 60\n@ SOA a. b. 1 2 3 4 5\n@ NS a.\n"
    for number in range(count):
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        yield f"host{number} 3600 IN A {address}\n".encode()


def _read_zone(path: Path) -> object:
    zones = [read_zone(f"example.com={path}")]
    keep_zones(path.parent, zones)
    return queries_of(zones)


def _leases(count: int) -> Iterable[bytes]:
    yield (
        b"address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,"
        b"state\n"
    )
    for number in range(count):
        mac = (number % 500_000).to_bytes(6, "big").hex(":")
        address = f"10.{number % 500_000 >> 16}.{number >> 8 & 255}.{number & 255}"
        yield f"{address},{mac},,3600,{1_790_000_000 + number},1,0,0,,0\n".encode()


def _history(count: int) -> Iterable[bytes]:
    """Grants to half as many clients, with their offers; each tenth client releases its lease.

    Each client that comes back has the same address; one of a thousand has that of another.
    """
    for number in range(count):
        client = number % (count // 2 or 1)
        who = f"02:00:{client >> 16:02x}:{client >> 8 & 255:02x}:{client & 255:02x}:00"
        lent = client - (client % 1000 == 2)
        address = f"10.{lent >> 16}.{lent >> 8 & 255}.{lent & 255}"
        at = 100 * number
        words = f"{at + 60} {at + 90} - 3600 192.0.2.1"
        yield f"offered {who} {address} - {at} {at + 50} - 3600 192.0.2.1\n".encode()
        yield f"granted {who} {address} {address} {words}\n".encode()
        if client % 10 == 0:
            yield f"released {who} {address} {address} {at + 95} - - 3600 -\n".encode()


def _check_history(path: Path) -> object:
    with path.open("rb") as file:
        (violation,) = check(history_of(file))
    if violation.rule != "twice":
        raise AssertionError(violation)
    return violation


def _read_served(path: Path) -> object:
    """Read it, and keep the scenario that it makes."""
    (path.parent / "scenarios").symlink_to(checkout_root() / "scenarios")
    return add_scenario(read_served(path), path, Catalogue(path.parent))


def _read_named(path: Path) -> object:
    """Read a named.conf with this zone."""
    path.with_name("named.conf").write_text(
        f'zone "example.com" {{ type primary; file "{path}"; }};\n', "utf-8"
    )
    return _read_served(path.with_name("named.conf"))


def _net(number: int) -> str:
    return f"10.{number >> 8 & 255}.{number & 255}"


def _kea(count: int) -> Iterable[bytes]:
    def subnet(number: int) -> dict[str, object]:
        net = _net(number)
        mac = f"02:00:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
        hosts = range(201, 203)
        return {
            "id": number + 1,
            "subnet": f"{net}.0/24",
            "pools": [{"pool": f"{net}.10 - {net}.200"}],
            "option-data": [{"name": "routers", "data": f"{net}.1"}],
            "reservations": [
                {"hw-address": f"{mac}:{host:02x}", "ip-address": f"{net}.{host}"}
                for host in hosts
            ],
        }

    subnets = list(map(subnet, range(count)))
    yield json.dumps({"Dhcp4": {"subnet4": subnets}}, indent=1).encode()


def _dhcpd(count: int) -> Iterable[bytes]:
    for number in range(count):
        net = _net(number)
        yield (
            f"subnet {net}.0 netmask 255.255.255.0 {{\n  range {net}.10 {net}.200;\n"
            f"  option routers {net}.1;\n}}\n"
        ).encode()


def _dnsmasq(count: int) -> Iterable[bytes]:
    for number in range(count):
        yield f"dhcp-range={_net(number)}.10,{_net(number)}.200,255.255.255.0,1h\n".encode()


ROWS = {
    "clients of a capture": Row(
        "a.pcap", lambda count: _dhcp(count, 100_000), _read_capture, 500_000, 40, 150
    ),
    "equal messages": Row(
        "a.pcap", lambda count: _dhcp(count, 1), _read_capture, 1_000_000, 60, 100
    ),
    "queries of a capture": Row("a.pcap", _dns, _read_queries, 500_000, 40, 200),
    "leases of a history": Row("h", _history, _check_history, 1_000_000, 20, 1000),
    "clients": Row("c.yml", _clients, read_clients, 4096, 15, 300),
    "queries": Row("q", _lines, read_queries, 1_000_000, 20, 500),
    "zone": Row("z", _zone, _read_zone, 1_000_000, 60, 350),
    "named": Row("z", _zone, _read_named, 1_000_000, 60, 500),
    "leases": Row("l.csv", _leases, lambda path: read_leases([path]), 1_000_000, 30, 450),
    "clients of leases": Row("l.csv", _leases, _read_capture, 1_000_000, 60, 400),
    "kea": Row("kea-dhcp4.conf", _kea, _read_served, 50_000, 90, 1000),
    "dhcpd": Row("dhcpd.conf", _dhcpd, _read_served, 50_000, 40, 500),
    "dnsmasq": Row("dnsmasq.conf", _dnsmasq, _read_served, 50_000, 40, 500),
}
"""The budgets are those of one core of 2020 or later; about twice what was measured on it."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
