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
    return "\n".join(
        text.replace("AA", ip(256 * number))
        .replace("BB", ip(256 * number + 10))
        .replace("CC", ip(256 * number + 29))
        .replace("MM", mac(number))
        .replace("NN", f"n{number}")
        for number in range(count)
    )


DHCPD = "subnet 172.16.0.0 netmask 255.255.0.0 { range 172.16.0.10 172.16.99.9; }\n"
SUBNETS = "subnet AA netmask 255.255.255.0 { range BB CC; }"
CLASSES = 'class "NN" { match if option user-class = "NN"; }'
ALLOWED = 'subnet AA netmask 255.255.255.0 { pool { allow members of "NN"; range BB CC; } }'
DNSMASQ = "dhcp-range=172.16.0.10,172.16.99.9,255.255.0.0\ndhcp-lease-max=50000\n"
RANGES = "dhcp-range=BB,CC,255.255.255.0"
VENDORS = "dhcp-vendorclass=set:NN,NN."
FILES = {
    "kea-dhcp4.conf": {
        "classes and subnets": [
            '{"Dhcp4": {"client-classes": [',
            """{"name": "NN", "test": "option[60].hex == 'NN'"},""",
            '], "subnet4": [',
            '{"subnet": "AA/24", "client-class": "NN", "pools": [{"pool": "BB - CC"}]},',
            "]}}",
        ],
    },
    "dhcpd.conf": {
        "subnets and hosts": [
            SUBNETS,
            "host NN { hardware ethernet MM; fixed-address BB; }",
        ],
        "hosts in no subnet": [DHCPD, "host NN { hardware ethernet MM; fixed-address BB; }"],
        "hosts that roam": [SUBNETS, "host NN { hardware ethernet MM; }"],
        "a shared network": [
            "shared-network a {",
            "subnet AA netmask 255.255.255.0 { }",
            "pool { range BB CC; }",
            "}",
        ],
        "classes": [DHCPD, CLASSES],
        "classes and subnets": [SUBNETS, CLASSES],
        "classes and hosts": [DHCPD, CLASSES, "host NN { hardware ethernet MM; }"],
        "classes of pools": [ALLOWED, CLASSES],
        "classes of one pool": [
            "subnet 10.0.0.0 netmask 255.0.0.0 { pool { range 10.0.0.1 10.9.0.0;",
            'allow members of "NN";',
            "} }",
            CLASSES,
        ],
        "rules": ["deny booting; allow booting; # NN", SUBNETS],
        "subclasses": [
            SUBNETS,
            'class "a" { match hardware; }',
            'subclass "a" 1:MM;',
        ],
    },
    "dnsmasq.conf": {
        "ranges and hosts": [RANGES, "dhcp-host=MM,BB"],
        "hosts that roam": [RANGES, "dhcp-host=MM,set:NN"],
        "vendors and ranges": [DNSMASQ, VENDORS, RANGES],
        "vendors of ranges": [VENDORS, RANGES.replace("=", "=tag:NN,"), "dhcp-lease-max=50000"],
        "tags of tags": [DNSMASQ, VENDORS, "tag-if=set:NN+,tag:NN", "dhcp-ignore=tag:NN+"],
        "makers": [DNSMASQ, "dhcp-mac=set:NN,MM", "dhcp-host=MM,set:NN,NN"],
        "routers": [RANGES, "dhcp-option=tag:NN,3,AA"],
    },
}  # fmt: skip


def steps(folder, name, parts, count):
    """How many steps of Python it takes to read a file with so many of each part."""
    file = folder / name
    file.write_text("\n".join(repeated(part, count) for part in parts))
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


@pytest.mark.parametrize(
    ("name", "what"), [(name, what) for name, held in FILES.items() for what in held]
)
def test_twice_the_file_is_twice_the_work(tmp_path, name, what):
    parts, least = FILES[name][what], 40 if name.startswith("kea") else 150
    steps(tmp_path, name, parts, 2)
    once, twice = (steps(tmp_path, name, parts, count) for count in (least, 2 * least))
    assert twice < 2.3 * once
