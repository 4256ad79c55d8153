"""Captures as tests make them: messages of DHCP in datagrams, frames and files."""

import ipaddress
import struct
import subprocess
import sys
from dataclasses import dataclass, field

import yaml

from leaselab.cli.main import main

ETHERNET, RAW, SLL, SLL2 = 1, 101, 113, 276
NOWHERE, EVERYBODY = "0.0.0.0", "255.255.255.255"  # noqa: S104  # of DHCP
COOKIE = b"\x63\x82\x53\x63"
SERVER4, SERVER6 = "198.18.0.10", "2001:2:0:1::10"
MULTICAST = "ff02::1:2"
DAY = 1_790_000_000
"""A time at which captures begin (s)."""
LEASES = """\
address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state
10.0.0.5,ac:de:48:00:00:05,01:ac:de:48:00:00:05,3600,1790003600,1,0,0,anna.example,0
10.0.0.6,ac:de:48:00:00:06,,3600,1790003660,2,0,0,bert.example,0
10.0.0.5,ac:de:48:00:00:05,01:ac:de:48:00:00:05,3600,1790005400,1,0,0,anna.example,0
10.0.0.6,ac:de:48:00:00:06,,0,1790001000,2,0,0,bert.example,0
"""
DEVICE = "hardware address: hwtype=1 ac:de:48:00:00:05, client-id: 01:ac:de:48:00:00:05"
RELAY = "connected via relay at address: 10.0.0.1"
LOG = f"""\
2026-09-21 08:00:01 CET Address: 10.0.0.5 has been assigned for 1 hrs 0 mins 0 secs to a \
device with {DEVICE} {RELAY}, identified by circuit-id: 6f:6c:74 (olt)
2026-09-21 08:30:01 CET Address: 10.0.0.5 has been renewed for 1 hrs 0 mins 0 secs to a \
device with {DEVICE} {RELAY}
2026-09-21 08:31:01 CET Prefix: 2001:db8:1::/56 has been assigned for 1 hrs to a device with \
DUID: 00:03:00:01:ac:de:48:00:00:05 connected via relay at address: fe80::1 for client on \
link address: 2001:db8::1, hop count: 1
"""
"""What Kea writes of leases: a memfile, and a forensic log."""


def option4(code, value):
    return bytes([code, len(value)]) + value


def option6(code, value):
    return struct.pack("!HH", code, len(value)) + value


def message4(kind, mac, xid, options=(), giaddr=NOWHERE, **head):
    """A message of a client, of a relay where it has `giaddr`."""
    op, hardware, agent = head.get("op", 1), head.get("hardware", 1), head.get("agent", ())
    hops, secs = giaddr != NOWHERE, head.get("secs", 0)
    fixed = struct.pack("!BBBBIHH", op, hardware, len(mac), hops, xid, secs, 0)
    fixed += ipaddress.ip_address(head.get("ciaddr", NOWHERE)).packed
    fixed += ipaddress.ip_address(head.get("yiaddr", NOWHERE)).packed + bytes(4)
    fixed += ipaddress.ip_address(giaddr).packed
    fixed = (fixed + mac).ljust(236, b"\0") + COOKIE
    body = option4(53, bytes([kind])) + b"".join(option4(*each) for each in options)
    if agent:
        body += option4(82, b"".join(option4(*each) for each in agent))
    return fixed + body + b"\xff"


def message6(kind, duid, xid, options=(), want=(3,)):
    body = b"".join(option6(*each) for each in options)
    body += b"".join(option6(code, struct.pack("!III", 1, 0, 0)) for code in want)
    return struct.pack("!I", kind << 24 | xid) + option6(1, duid) + body


def relayed6(inside, link, peer="fe80::1", agent=(), hops=0):
    head = bytes([12, hops]) + ipaddress.ip_address(link).packed
    head += ipaddress.ip_address(peer).packed
    return head + b"".join(option6(*each) for each in agent) + option6(9, inside)


def datagram(payload, source, target, ports, **broken):
    """An IP packet of UDP."""
    size = broken.get("size", len(payload) + 8)
    udp = struct.pack("!HHHH", *ports, size, 0) + payload
    source, target = ipaddress.ip_address(source), ipaddress.ip_address(target)
    if source.version == 6:
        head = struct.pack("!IHBB", 6 << 28, len(udp), 17, 64)
        return head + source.packed + target.packed + udp
    fragment = broken.get("fragment", 0)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, fragment, 64, 17, 0)
    return head + source.packed + target.packed + udp


def segment(payload, number, flags=0x18, ports=(40_000, 53), ends=("192.0.2.7", "192.0.2.53")):
    """An IP packet of TCP."""
    tcp = struct.pack("!HHIIBBHHH", *ports, number % 2**32, 0, 0x60, flags, 1024, 0, 0)
    tcp += bytes(4) + payload
    source, target = map(ipaddress.ip_address, ends)
    if source.version == 6:
        head = struct.pack("!IHBB", 6 << 28, len(tcp), 6, 64)
    else:
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0)
    return head + source.packed + target.packed + tcp


def _of_ppp(kind):
    return b"\0\x57" if kind == b"\x86\xdd" else b"\0\x21"


def _wireless(kind, control=b"\x08\1"):
    return control + bytes(22) + b"\xaa\xaa\3\0\0\0" + kind


HEADS = {
    0: lambda _: b"\2\0\0\0",
    9: _of_ppp,
    50: lambda kind: b"\xff\3" + _of_ppp(kind),
    51: lambda kind: b"\x11\0\0\1\0\0" + _of_ppp(kind),
    104: lambda kind: b"\x0f\0" + kind,
    105: _wireless,
    127: lambda kind: b"\0\0\x08\0\0\0\0\0" + _wireless(kind, b"\x08\3" + bytes(6)),
    108: lambda _: b"\0\0\0\2",
    SLL: lambda kind: b"\0\0\0\1\0\6" + bytes(8) + kind,
    SLL2: lambda kind: kind + b"\0\0\0\0\0\2\0\1\0\6" + bytes(8),
}
"""Heads of packets by the link's type: loopback, PPP, HDLC, Wi-Fi, Linux cooked."""


def framed(packet, link=ETHERNET, vlans=()):
    protocol = 0x86DD if packet[0] >> 4 == 6 else 0x0800
    if link == RAW:
        return packet
    if link in HEADS:
        return HEADS[link](struct.pack("!H", protocol)) + packet
    tags = b"".join(struct.pack("!HH", 0x8100, vlan) for vlan in vlans)
    return b"\2\0\0\0\0\2\2\0\0\0\0\1" + tags + struct.pack("!H", protocol) + packet


def outer(kind, payload):
    """A packet that carries another between the ends of a tunnel."""
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, kind, 0)
    return head + b"\x0a\0\0\1\x0a\0\0\2" + payload


def _tagged(protocol, payload):
    return b"\2\0\0\0\0\2\2\0\0\0\0\1" + struct.pack("!H", protocol) + payload


def tunnelled(port, head, payload):
    """A frame of a tunnel of UDP."""
    udp = struct.pack("!HHHH", 4000, port, 8 + len(head + payload), 0)
    return framed(outer(17, udp + head + payload))


def _is_six(packet):
    return packet[0] >> 4 == 6


LINKS = {
    "QinQ": lambda ip: framed(ip, vlans=(5, 6, 7)),
    "QinQ of 0x9200": lambda ip: _tagged(0x9200, b"\0\5" + framed(ip, vlans=(6,))[12:]),
    "PPPoE": lambda ip: _tagged(
        0x8864, b"\x11\0\0\1\0\0\0" + (b"\x57" if _is_six(ip) else b"\x21") + ip
    ),
    "MPLS": lambda ip: _tagged(0x8847, b"\0\1\0\x40\0\2\1\x40" + ip),
    "IEEE 802.3": lambda ip: _tagged(8 + len(ip), b"\xaa\xaa\3\0\0\0" + framed(ip)[12:]),
}
"""Frames around a packet, by what carries it."""
TUNNELS = {
    "(MPLS, EtherType 0x8847)": lambda ip: _tagged(0x8847, b"\0\2\1\x40\0\0\0\0" + framed(ip)),
    "(PBB, EtherType 0x88e7)": lambda ip: _tagged(0x88E7, b"\0\0\0\5" + framed(ip)),
    "(MACsec, EtherType 0x88e5)": lambda ip: _tagged(0x88E5, b"\x2c" + bytes(5) + ip),
    "(IP, protocol 4)": lambda ip: framed(outer(4, ip)),
    "(GRE, protocol 47)": lambda ip: framed(outer(47, b"\0\0\x08\0" + ip)),
    "(IPsec, protocol 50)": lambda ip: framed(outer(50, ip)),
    "(VXLAN, port 4789)": lambda ip: tunnelled(4789, b"\x08" + bytes(7), framed(ip)),
    "(Geneve, port 6081)": lambda ip: tunnelled(6081, b"\0\0\x65\x58" + bytes(4), framed(ip)),
    "(CAPWAP, port 5247)": lambda ip: tunnelled(5247, bytes(8), framed(ip)),
}
"""Frames of a tunnel around a packet, by the words for it."""


@dataclass
class Capture:
    """Packets with their times, written as pcap or pcapng."""

    link: int = ETHERNET
    vlans: tuple = ()
    frames: list = field(default_factory=list)

    def add(self, at, packet):
        self.frames.append((at, framed(packet, self.link, self.vlans)))

    def from_relay4(self, at, payload, relay):
        self.add(at, datagram(payload, relay, SERVER4, (67, 67)))

    def broadcast4(self, at, payload):
        self.add(at, datagram(payload, NOWHERE, EVERYBODY, (68, 67)))

    def direct4(self, at, payload, source):
        self.add(at, datagram(payload, source, SERVER4, (68, 67)))

    def from_relay6(self, at, payload, relay):
        self.add(at, datagram(payload, relay, SERVER6, (547, 547)))

    def on_link6(self, at, payload, source="fe80::2"):
        self.add(at, datagram(payload, source, MULTICAST, (546, 547)))

    def answer4(self, at, payload, target=EVERYBODY):
        self.add(at, datagram(payload, SERVER4, target, (67, 68)))

    def answer6(self, at, payload, target="fe80::2"):
        self.add(at, datagram(payload, SERVER6, target, (547, 546)))

    def ask(self, at, payload, source="192.0.2.7", target="192.0.2.53", ports=(40_000, 53)):
        self.add(at, datagram(payload, source, target, ports))

    def pcap(self, most=262144):
        """The file; of each packet are `most` bytes."""
        head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, most, self.link)
        packets = ((at, frame[:most], len(frame)) for at, frame in self.frames)
        return head + b"".join(
            struct.pack("<IIII", int(at), round(at % 1 * 1e6), len(held), size) + held
            for at, held, size in packets
        )

    def pcapng(self, *others):
        """The file; interfaces of `others`, by their links, have no packets."""
        blocks = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
        links = (self.link, *others)
        blocks += [block(1, struct.pack("<HHI", link, 0, 262144)) for link in links]
        for at, frame in self.frames:
            ticks = round(at * 1e6)
            sizes = (0, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame))
            body = struct.pack("<IIIII", *sizes) + frame
            blocks.append(block(6, body + bytes(-len(body) % 4)))
        return b"".join(blocks)


def block(kind, body):
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def mac(number, vendor=b"\xac\xde\x48"):
    return vendor + number.to_bytes(3, "big")


WINDOWS = ((60, b"MSFT 5.0"), (55, bytes([1, 3, 6, 15, 31, 33, 43, 44, 46, 47, 119, 121, 249])))
PHONE = ((57, b"\x05\xdc"), (60, b"android-dhcp-13"), (55, bytes([1, 3, 6, 15, 26, 28, 51])))
CPE = ((60, b"docsis3.0"), (55, bytes([1, 3, 6, 7, 12, 15, 42, 66, 67])))


def lease4(capture, at, number, options, **more):
    """A client that gets a lease through a relay, and renews it half an hour later."""
    relay, agent = more["relay"], more["agent"]
    own = [*options, (61, b"\1" + mac(number)), (12, b"anna-%d" % number)]
    for step, kind in ((0, 1), (1, 3)):
        asked = [(54, ipaddress.ip_address(SERVER4).packed), (50, b"\x0a\0\0\7")] * step
        payload = message4(kind, mac(number), number, [*own, *asked], relay, agent=agent)
        capture.from_relay4(at + step / 10, payload, relay)
    payload = message4(3, mac(number), 1 << 20 | number, own, ciaddr="10.0.0.7")
    capture.direct4(at + 1800, payload, "10.0.0.7")


def isp(link=ETHERNET):
    """Subscribers with option 82 of their own, and prefixes behind nested relays."""
    capture = Capture(link)
    for number in range(40):
        relay = f"10.{number % 2}.0.1"
        circuit = ((1, b"olt1/%d" % number), (2, b"subscriber-%d" % number))
        lease4(capture, DAY + number, number, CPE, relay=relay, agent=circuit)
        duid = b"\0\3\0\1" + mac(number)
        asked = [(8, b"\0\0"), (6, b"\0\x17\0\x18"), (16, b"\0\0\1\x11\0\5docsis"[:11])]
        inside = message6(1, duid, number, asked, want=(3, 25))
        near = relayed6(inside, "::", agent=[(18, b"ge-%d" % number), (37, b"\0\0\0\1x")])
        outer = relayed6(near, f"2001:db8:{number % 2}::1", hops=1)
        capture.from_relay6(DAY + number, outer, "2001:db8:ffff::1")
    return capture


def campus():
    """Several kinds of clients in VLANs: many come in one minute; some release or resend."""
    capture = Capture(vlans=(120,))
    for number in range(90):
        options = WINDOWS if number < 60 else PHONE
        minute = 1 if number < 70 else number - 65
        relay = "172.16.0.1" if number < 60 else "172.17.0.1"
        lease4(capture, DAY + 60 * minute, number, options, relay=relay, agent=[(1, b"vlan")])
    for number in range(5):
        payload = message4(1, mac(number), 7, WINDOWS, "172.16.0.1")
        for again in range(3):
            capture.from_relay4(DAY + 4000 + 4 * again, payload, "172.16.0.1")
        payload = message4(7, mac(number), 8, WINDOWS[:1], ciaddr="172.16.0.9")
        capture.direct4(DAY + 4100, payload, "172.16.0.9")
    return capture


def house():
    """A few clients of a house, without a relay."""
    capture = Capture()
    for number, options in enumerate((WINDOWS, PHONE, PHONE)):
        own = [*options, (12, b"anna-laptop")]
        for kind in (1, 3):
            more = [(54, b"\xc0\xa8\1\1")] if kind == 3 else []
            capture.broadcast4(DAY + number, message4(kind, mac(number), number, own + more))
        duid = b"\0\1\0\1\1\2\3\4" + mac(number)
        capture.on_link6(DAY + 5, message6(1, duid, number, [(6, b"\0\x17\0\x18"), (14, b"")]))
    return capture


def wrong():
    """Hardly anything as it should be, and one good client."""
    capture = Capture()
    good = message4(1, mac(1), 1, WINDOWS)
    capture.broadcast4(DAY, good)
    capture.broadcast4(DAY + 1, message4(2, mac(1), 1, WINDOWS, op=2))
    capture.broadcast4(DAY + 1, good[:236])
    capture.broadcast4(DAY + 1, good[:-5])
    capture.add(DAY, datagram(good, NOWHERE, EVERYBODY, (68, 67), size=4000))
    for fragment in (0x2000, 0x0010):
        ends = (NOWHERE, EVERYBODY, (68, 67))
        capture.add(DAY, datagram(good, *ends, fragment=fragment))
    capture.add(DAY, datagram(b"query", "10.0.0.1", "10.0.0.2", (4000, 53)))
    capture.frames.append((DAY, b"\0" * 60))
    capture.frames.append((DAY, b"\0" * 5))
    deep = message6(1, b"\0\3\0\1abcdef", 1)
    for hops in range(40):
        deep = relayed6(deep, "::", hops=hops)
    capture.from_relay6(DAY, deep, "2001:db8::1")
    return capture


def memory_of(words, limits):
    """KiB by which memory grows as a command reads a capture, and what it says of it.

    `limits` are statements that set bounds lower, to be reached sooner.
    """
    code = (
        f"import sys, resource; from leaselab.cli.main import main; {limits}; "
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        "status = main(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before); sys.exit(status)"
    )
    argv = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout), done.stderr


def counted(tmp_path, capture, *words):
    """The file that the command writes of a capture."""
    (tmp_path / "a.pcap").write_bytes(capture)
    assert main(["clients", f"{tmp_path}/a.pcap", "-o", f"{tmp_path}/c.yml", *words]) == 0
    return yaml.safe_load((tmp_path / "c.yml").read_text(encoding="utf-8"))
