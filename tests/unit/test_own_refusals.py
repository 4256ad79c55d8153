"""What the lab cannot have of a user's own configuration is refused at once, of each server."""

import re

import pytest
from tests.own import refusals_of

from leaselab.inputs.own import read_own

OF_KEA = """
{ "DhcpF": { "subnetF": [ { "id": 1, "subnet": "PREFIX", "pools": [ { "pool": "PREFIX" } ] } ],
  "hooks-libraries": [ { "library": "libdhcp_radius.so" } ],
  "option-data": [ <?include "options.json"?> ],
  "client-classes": <?include "classes.json"?>,
  "hosts-database": { "type": "mysql" } } }
"""
UNREAD = "unread-files"
REFUSED = {
    "kea-dhcp4.conf": (
        OF_KEA.replace("F", "4").replace("PRE4IX", "10.0.0.0/24"),
        {"hook:radius": 3, UNREAD: 4, "hosts-database": 6},
        ("options.json", "5:21: classes.json"),
    ),
    "kea-dhcp6.conf": (
        OF_KEA.replace("F", "6").replace("PRE6IX", "2001:db8::/64"),
        {"hook:radius": 3, UNREAD: 4, "hosts-database": 6},
        ("options.json", "5:21: classes.json"),
    ),
    "dhcpd.conf": (
        """
        include "keys.conf";
        failover peer "a" { primary; }
        subnet 10.0.0.0 netmask 255.255.255.0 { range 10.0.0.10 10.0.0.99; }
        include "hosts.conf";
        ddns-update-style interim;
        """,
        {UNREAD: 2, "failover": 3, "ddns": 6},
        ("keys.conf", "5: hosts.conf"),
    ),
    "dnsmasq.conf": (
        """
        conf-file=/nowhere/names.conf
        dhcp-range=10.0.0.10,10.0.0.99
        dhcp-range=2001:db8::10,2001:db8::99
        read-ethers
        dhcp-hostsfile=hosts
        enable-tftp
        """,
        {UNREAD: 2, "dhcpv6": 4, "read-ethers": 5, "tftp": 7},
        ("/nowhere/names.conf", "6: hosts"),
    ),
    "named.conf": (
        """
        include "keys/*.conf";
        options { forwarders { 192.0.2.1; }; };
        zone "a" { type secondary; file "a"; };
        zone "b" { type primary; file "b"; };
        zone "." { type primary; file "root"; };
        """,
        {UNREAD: 2, "forwarders": 3, "secondary": 4},
        ("keys", "5: b"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_all_that_the_lab_cannot_have_is_refused_in_one_message(tmp_path, name):
    text, lines, files = REFUSED[name]
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    (tmp_path / "root").write_text(". 1 SOA a. b. 1 1 1 1 1\n. 1 NS a.\n", encoding="utf-8")
    reported = refusals_of(read_own)(file)
    line = reported.rpartition(": ")[2]
    assert sorted(line.split()[1::2]) == sorted(lines)
    for each, number in lines.items():
        assert f"{name}:{number}:" in reported, each
    assert f"found {files[0]}; {tmp_path}/" in reported
    assert f"{files[1]})" in reported
    words = re.findall(r"--without (\S+)", line)
    assert sorted(read_own(file, words).left_out) == sorted(lines)
    # What has been asked for is in the line, too.
    assert refusals_of(read_own)(file, words[:1]).endswith(line)
