"""Users' own files of thousands of parts: the work to read them grows as they do."""

import re
import sys

import pytest
from tests.own import read_served

from leaselab.model.errors import LeaselabError


def ip(number):
    return ".".join(str((10 << 24) + number >> shift & 255) for shift in (24, 16, 8, 0))


def mac(number):
    return f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"


def repeated(text, count):
    """Lines with numbers: names, MAC addresses, and addresses of a subnet each."""
    if not re.search("AA|BB|MM|NN", text):
        return text
    lines = []
    for number in range(count):
        words = {
            "AA": ip(256 * number),
            "BB": ip(256 * number + 10),
            "CC": ip(256 * number + 29),
        }
        words |= {"MM": mac(number), "NN": f"n{number}"}
        lines.append(re.sub("AA|BB|CC|MM|NN", lambda match: words[match[0]], text))  # noqa: B023
    return "\n".join(lines)


KEA = [
    '{"Dhcp4": {"client-classes": [',
    """{"name": "NN", "test": "option[60].hex == 'NN'"},""",
    '], "subnet4": [',
    '{"subnet": "AA/24", "client-class": "NN", "pools": [{"pool": "BB - CC"}]},',
    "]}}",
]
DHCPD = "subnet 172.16.0.0 netmask 255.255.0.0 { range 172.16.0.10 172.16.99.9; }\n"
SUBNETS = "subnet AA netmask 255.255.255.0 { range BB CC; }"
EMPTY = "subnet AA netmask 255.255.255.0 { }"
HOSTS = "host NN { hardware ethernet MM; fixed-address BB; }"
ROAMING = "host NN { hardware ethernet MM; }"
CLASSES = 'class "NN" { match if option user-class = "NN"; }'
ALLOWED = 'subnet AA netmask 255.255.255.0 { pool { allow members of "NN"; range BB CC; } }'
POOL = "subnet 10.0.0.0 netmask 255.0.0.0 { pool { range 10.0.0.1 10.9.0.0;"
HARDWARE = 'class "a" { match hardware; }'
DNSMASQ = "dhcp-range=172.16.0.10,172.16.99.9,255.255.0.0\ndhcp-lease-max=50000\n"
RANGES = "dhcp-range=BB,CC,255.255.255.0"
TAGGED = RANGES.replace("=", "=tag:NN,")
VENDORS = "dhcp-vendorclass=set:NN,NN."
FILES = {
    ("kea-dhcp4.conf", "classes and subnets"): KEA,
    ("dhcpd.conf", "subnets and hosts"): [SUBNETS, HOSTS],
    ("dhcpd.conf", "hosts in no subnet"): [DHCPD, HOSTS],
    ("dhcpd.conf", "hosts that roam"): [SUBNETS, ROAMING],
    ("dhcpd.conf", "a network"): ["shared-network a {", EMPTY, "pool { range BB CC; }", "}"],
    ("dhcpd.conf", "classes"): [DHCPD, CLASSES],
    ("dhcpd.conf", "classes and subnets"): [SUBNETS, CLASSES],
    ("dhcpd.conf", "classes and hosts"): [DHCPD, CLASSES, ROAMING],
    ("dhcpd.conf", "classes of pools"): [ALLOWED, CLASSES],
    ("dhcpd.conf", "classes of a pool"): [POOL, 'allow members of "NN";', "} }", CLASSES],
    ("dhcpd.conf", "rules"): ["deny booting; allow booting; # NN", SUBNETS],
    ("dhcpd.conf", "subclasses"): [SUBNETS, HARDWARE, 'subclass "a" 1:MM;'],
    ("dnsmasq.conf", "ranges and hosts"): [RANGES, "dhcp-host=MM,BB"],
    ("dnsmasq.conf", "hosts that roam"): [RANGES, "dhcp-host=MM,set:NN"],
    ("dnsmasq.conf", "vendors and ranges"): [DNSMASQ, VENDORS, RANGES],
    ("dnsmasq.conf", "vendors of ranges"): [VENDORS, TAGGED, "dhcp-lease-max=50000"],
    ("dnsmasq.conf", "tags"): [
        DNSMASQ,
        VENDORS,
        "tag-if=set:NN+,tag:NN",
        "dhcp-ignore=tag:NN+",
    ],
    ("dnsmasq.conf", "makers"): [DNSMASQ, "dhcp-mac=set:NN,MM", "dhcp-host=MM,set:NN,NN"],
    ("dnsmasq.conf", "routers"): [RANGES, "dhcp-option=tag:NN,3,AA"],
}


def steps(folder, name, count):
    """How many steps of Python it takes to read a file with so many of each part."""
    file = folder / name[0]
    file.write_text("\n".join(repeated(part, count) for part in FILES[name]))
    taken = 0

    def step(_frame, event, _argument):
        nonlocal taken
        taken += event == "line"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        read_served(file)
    except LeaselabError as error:
        raise AssertionError(error) from error
    finally:
        sys.settrace(before)
    return taken


def test_a_list_is_looked_at_once_however_often_it_is_named(tmp_path):
    """The number of ways through the lists grows without a bound."""
    (tmp_path / "zone").write_text("@ 1 SOA a. b. 1 1 1 1 1\n@ 1 NS a.\n", encoding="utf-8")
    file, zone = tmp_path / "named.conf", 'zone "a" { type primary; file "zone"; };'
    lists = [
        f"acl a{at} {{ a{at - 1}; a{at - 1}; a{at - 1}; a{at - 1}; }};" for at in range(1, 18)
    ]
    views = f"view x {{ match-clients {{ a17; }}; {zone} }}; view y {{ {zone} }};"
    file.write_text("\n".join(["acl a0 { 10.0.0.0/8; };", *lists, views]), encoding="utf-8")
    assert list(read_served(file).zones) == ["a."]


@pytest.mark.parametrize("name", FILES, ids="-".join)
def test_twice_the_file_is_twice_the_work(tmp_path, name):
    least = 40 if name[0].startswith("kea") else 150
    steps(tmp_path, name, 2)
    once, twice = (steps(tmp_path, name, count) for count in (least, 2 * least))
    assert twice < 2.3 * once
