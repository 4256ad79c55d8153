"""A dhcpd.conf of the user's own: the lab's form of it, and the clients that fit it."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.own import DATA, catalogue_in, measurable, refusals_of

from leaselab.lab.own import read_own
from leaselab.model.errors import LeaselabError

SUBNET = "subnet 10.0.0.0 netmask 255.255.255.0 { range 10.0.0.10 10.0.0.209; MORE }"


CIRCUITS = [1, "text:leaselab-{client}"]
"""A sub-option of option 82, other for each client."""


def of(tmp_path, more="", top="", without=()):
    """What is made of a small configuration: one subnet, with more in it and before it."""
    file = tmp_path / "small.conf"
    file.write_text(f"{top}\n{SUBNET.replace('MORE', more)}\n", encoding="utf-8")
    return read_own(file, without)


refusal = refusals_of(of)


def test_a_campus_keeps_what_is_its_own():
    own = read_own(DATA / "dhcpd.conf")
    text = own.server["text"]
    for kept in (
        "log-facility local7;",
        "deny unknown-clients;",
        "{ unsigned integer 8 , text }",
    ):
        assert kept in text
    cached = "dhcp-cache-threshold: 0, as clients come back sooner than they would renew"
    assert own.changes.count(cached) == 1
    for gone in ("ping-check", "server-identifier", "omapi", "lease-file-name", "interface"):
        assert gone not in text
        assert any(change.startswith(gone) for change in own.changes)
    assert own.options == {"sync": True, "lease_lifetime_s": 7200}


def test_clients_come_from_the_subnets_with_pools_for_them():
    """The relay has the lab's address, and names the subnet as link selection does."""
    own = read_own(DATA / "dhcpd.conf")
    seen = [(kind["name"], kind["clients"], kind["agent"]) for kind in own.kinds]
    reserved, link = "10.20.9.0/24, reserved", [[5, "hex:0a140901"]]
    assert seen == [
        ("10.20.4.0/22", 504, [[5, "hex:0a140401"]]),
        ("10.20.8.0/24, phones", 45, [[5, "hex:0a140801"]]),
        ("10.20.8.0/24", 50, [[5, "hex:0a140801"]]),
        (reserved, 2, link),
        (reserved, 1, link),
    ]
    assert own.kinds[3]["macs"] == ["00:0c:29:aa:00:01", "00:0c:29:aa:00:02"]
    assert own.kinds[4]["options"][1] == [61, "hex:7363616e"]


def test_whom_nothing_answers_is_named_with_the_line():
    reported = "\n".join(read_own(DATA / "dhcpd.conf").unserved)
    assert re.search(
        r"dhcpd.conf:49: 10\.20\.\S+: its pool is .*deny unknown-clients", reported
    )
    assert "dhcpd.conf:45: host elsewhere: in no subnet" in reported
    assert "phones" not in reported


@pytest.mark.parametrize(
    ("test", "sent"),
    [
        (
            'match if option vendor-class-identifier = "MSFT 5.0";',
            ("options", [60, b"MSFT 5.0"]),
        ),
        ('match if substring(option user-class, 1, 4) = "iPXE";', ("options", [77, b".iPXE"])),
        ("match if option agent.circuit-id = 0a:b;", ("agent", [1, b"\n\x0b"])),
        ('match if option host-name = "a" or option host-name = "b";', ("options", [12, b"a"])),
        ("match if exists user-class;", ("options", [77, b"leaselab"])),
        ("Match IF(Exists User-Class);", ("options", [77, b"leaselab"])),
        (
            'match if (option user-class = "a and b") and exists agent.remote-id;',
            ("agent", [2, "text:leaselab-{client}"]),
        ),
        ('match if lcase(option host-name) = "kiosk";', ("options", [12, b"kiosk"])),
        (
            'match if lcase(substring(option vendor-class-identifier, 0, 3)) = "stb";',
            ("options", [60, b"stb"]),
        ),
        (
            'match if (option vendor-class-identifier = "PXE") and not exists user-class;',
            ("options", [60, b"PXE"]),
        ),
        (
            'match if not (option user-class = "a") and exists host-name;',
            ("options", [12, b"leaselab"]),
        ),
        ('match if suffix(option host-name, 2) = "ap";', ("options", [12, b"ap"])),
        ('match if option user-class ~= "^iPXE$";', ("options", [77, b"iPXE"])),
        ("spawn with option agent.circuit-id; lease limit 4;", ("agent", CIRCUITS)),
        (
            'match if lcase(substring(option vendor-class-identifier, 0, 5)) = "cisco";',
            ("options", [60, b"cisco"]),
        ),
        (
            'match if substring(option vendor-class-identifier, 0, 20) = "MSFT 5.0";',
            ("options", [60, b"MSFT 5.0"]),
        ),
        (
            'match if substring(option agent.circuit-id, 2, 3) = "olt";',
            ("agent", [1, "text:..olt{client}"]),
        ),
        (
            'match if option user-class != "a" and exists user-class;',
            ("options", [77, b"leaselab"]),
        ),
        (
            'match if not (not (option host-name = "b" and not exists user-class));',
            ("options", [12, b"b"]),
        ),
        (
            "match if exists user-class and not exists nothing.known;",
            ("options", [77, b"leaselab"]),
        ),
        ('match option user-class; } subclass "it" "iPXE" {', ("options", [77, b"iPXE"])),
        (
            'match lcase(substring(option host-name, 1, 9)); } subclass "it" "kiosk" {',
            ("options", [12, b".kiosk"]),
        ),
        (
            'spawn with concat("x", option agent.circuit-id); lease limit 1;',
            ("agent", CIRCUITS),
        ),
        (
            'spawn with option agent.circuit-id; match if option host-name = "a";',
            ("agent", CIRCUITS),
        ),
        (
            'match if exists user-class and option user-class = "iPXE";',
            ("options", [77, b"iPXE"]),
        ),
    ],
)
def test_a_client_sends_what_a_class_tests(tmp_path, test, sent):
    """Half of a pool's clients are in a class that no pool asks for."""
    key, (code, value) = sent
    own = of(tmp_path, top=f'class "it" {{ {test} }}')
    member, plain = own.kinds
    value = value if isinstance(value, str) else f"hex:{value.hex()}"
    assert [code, value] in member[key]
    assert (member["name"], member["clients"], plain["clients"]) == ("10.0.0.0/24, it", 50, 50)
    assert own.unserved == []


@pytest.mark.parametrize(
    "test",
    [
        "substring(hardware, 1, 3) = 0:1b:78",
        'binary-to-ascii(16, 8, ":", substring (hardware, 0, 4)) = "1:0:1b:78"',
    ],
)
def test_clients_of_a_class_by_maker_have_its_prefix_and_differ(tmp_path, test):
    macs = of(tmp_path, top=f'class "a" {{ match if {test}; }}').kinds[0]["macs"]
    assert all(mac.startswith("00:1b:78:") for mac in macs)
    assert len(set(macs)) == 50


def small(own, key="clients"):
    """What kinds of clients there are, without their subnet: names and one key."""
    return [
        (kind["name"].removeprefix("10.0.0.0/24").strip(", "), kind[key]) for kind in own.kinds
    ]


def reported_of(own):
    """What is said of clients without an answer, without the place."""
    return [line.partition(": ")[2].removeprefix("10.0.0.0/24: ") for line in own.unserved]


IN_A = 'pool { allow members of "a"; range 10.0.0.220 10.0.0.239; }'


@pytest.mark.parametrize(
    ("top", "ids"),
    [
        (
            'class "a" { match if substring(option dhcp-client-identifier, 1, 3) = "RAS"; }',
            [(10, "text:.RAS{client}")],
        ),
        (
            'class "a" { match if substring(option dhcp-client-identifier, 0, 2) = 00:61; }',
            [(10, "text:\0a{client}")],
        ),
        (
            'class "a" { match if exists dhcp-client-identifier; }',
            [(10, "text:leaselab-{client}")],
        ),
        ('class "a" { match if option dhcp-client-identifier = "one"; }', [(1, "hex:6f6e65")]),
        (
            """class "a" { match option dhcp-client-identifier; lease limit 1; }
subclass "a" "b"; subclass "a" 1:2; subclass "a" "c" { deny booting; }""",
            [(1, "hex:62"), (1, "hex:0102")],
        ),
    ],
)
def test_a_client_identifier_is_that_of_one_client(tmp_path, top, ids):
    kinds = [kind for kind in of(tmp_path, IN_A, top).kinds if kind["name"].endswith(", a")]
    assert [(kind["clients"], dict(kind["options"])[61]) for kind in kinds] == ids


VENDOR = "option vendor-class-identifier"


@pytest.mark.parametrize(
    ("top", "kinds", "refused"),
    [
        (  # a class within another
            f"""class "a" {{ match if substring({VENDOR}, 0, 5) = "Cisco"; }}
class "b" {{ match if substring({VENDOR}, 0, 8) = "Cisco AP"; }}""",
            [("", 100)],
            "ab",
        ),
        (
            f"""class "a" {{ match if exists vendor-class-identifier; }}
class "b" {{ match if {VENDOR} = "PXE"; }}
class "c" {{ match if option user-class = "iPXE"; }}""",
            [("c", 50), ("", 50)],
            "ab",
        ),
        (  # clients that send nothing of their own are in it
            'class "a" { match if not exists agent.remote-id; }',
            [("not a", 100)],
            "a",
        ),
        (
            """class "a" { match hardware; } subclass "a" 1:0:0:5e:0:53:7;
class "b" { match if hardware = 1:0:0:5e:0:53:7; }
class "c" { match hardware; } subclass "c" 1:0:0:5e:0:53:7; subclass "c" 1:0:0:5e:0:53:8;""",
            [("c", 1), ("", 99)],
            "ab",
        ),
    ],
)
def test_clients_in_a_class_that_a_pool_denies_do_not_come(tmp_path, top, kinds, refused):
    file = tmp_path / "small.conf"
    pool = 'pool { deny members of "a"; range 10.0.0.10 10.0.0.209; }'
    file.write_text(
        f"subnet 10.0.0.0 netmask 255.255.255.0 {{ {pool} }}\n{top}", encoding="utf-8"
    )
    own = read_own(file)
    assert small(own) == kinds
    by = "its clients are refused, by 'deny members of \"a\"' of line 1"
    assert reported_of(own) == [f'class "{name}": {by}' for name in refused]


@pytest.mark.parametrize(
    ("top", "kinds", "reported"),
    [
        (
            """class "a" { match if exists agent.circuit-id; lease limit 2; }
class "b" { match if exists agent.circuit-id; }""",
            [("", 100)],
            [
                'class "a": its clients share 2 leases',
                'class "b": its clients are refused, by \'class "a"\' of line 1',
            ],
        ),
        (  # each circuit has its own leases; all clients of the other class have one circuit
            """class "a" { spawn with option agent.circuit-id; lease limit 4; }
class "b" { match if option agent.circuit-id = "p1"; }""",
            [("a", 50), ("", 50)],
            ['class "b": its clients are refused, by \'class "a"\' of line 1'],
        ),
        ('class "a" { spawn with hardware; lease limit 4; }', [("a", 50), ("", 50)], []),
        (
            """class "a" { match if option user-class = "a"; deny booting; }
class "b" { match if substring(option user-class, 0, 1) = "a"; }
host c { host-identifier option agent.circuit-id "c"; fixed-address 10.0.0.5; }
class "d" { match if option agent.circuit-id = "c"; ignore booting; }""",
            [("", 100)],
            [
                "host c: its client is ignored, by 'class \"d\"' of line 4",
                'class "a": its clients are ignored',
                'class "b": its clients are refused, by \'class "a"\' of line 1',
                'class "d": its clients are ignored',
            ],
        ),
    ],
)
def test_a_class_with_a_limit_or_ignored_holds_everywhere(tmp_path, top, kinds, reported):
    own = of(tmp_path, top=top)
    assert (small(own), reported_of(own)) == (kinds, reported)


@pytest.mark.parametrize("test", ["known", "option user-class = a and known or known"])
def test_a_refusal_that_is_not_worked_out_is_not_clear(tmp_path, test):
    """No option that no client sends is such a test."""
    pool = 'pool { deny members of "a"; range 10.0.0.220 10.0.0.229; }'
    own = of(tmp_path, pool, f'class "a" {{ match if {test}; }}')
    assert small(own) == [("", 100)]
    by = "by 'deny members of \"a\"' of line 2"
    assert reported_of(own)[0] == f"it is not clear whether its pool is for other clients, {by}"
    own = of(tmp_path, pool, f'class "a" {{ match if exists nothing.known and ({test}); }}')
    assert small(own) == [("", 105)]
    for body in ("lease limit 3;", "deny booting;"):
        top = f'class "a" {{ match if {test}; {body} }}'
        assert "would answer no client" in refusal(tmp_path, top=top)


@pytest.mark.parametrize(
    ("classes", "rules", "kinds"),
    [
        (
            'class "b" { match if option user-class = "b"; } class "a" { match if known; }',
            'allow members of "a"; allow members of "b";',
            [("b", 10)],
        ),
        (
            'class "a" { match if option user-class = "a"; }'
            'class "b" { match if option user-class = "b"; }',
            'allow members of "a"; allow members of "b";',
            [("a", 5), ("b", 5)],
        ),
        (  # what one class has no clients for is the other's
            'class "a" { match if option user-class = "a"; }'
            'class "b" { match hardware; } subclass "b" 1:0:0:5e:0:53:7;',
            'allow members of "a"; allow members of "b";',
            [("b", 1), ("a", 9)],
        ),
        (
            'class "a" { match if option user-class = "a"; }',
            'allow known-clients; allow members of "a";',
            [("a", 10)],
        ),
        (
            'class "a" { match if option user-class = "a"; }',
            'allow unknown-clients; allow members of "a";',
            [("a", 5), ("", 5)],
        ),
        (
            'class "a" { match if not exists agent.circuit-id; }',
            'allow members of "a";',
            [("a", 5), ("", 5)],
        ),
        (
            'class "a" { match if not (substring(option vendor-class-identifier, 0, 6)'
            ' = "docsis"); }',
            'allow members of "a";',
            [("a", 5), ("", 5)],
        ),
    ],
)
def test_a_pool_is_divided_among_the_classes_that_it_allows(tmp_path, classes, rules, kinds):
    file = tmp_path / "small.conf"
    pool = f"pool {{ {rules} range 10.0.0.10 10.0.0.29; }}"
    file.write_text(
        f"subnet 10.0.0.0 netmask 255.255.255.0 {{ {pool} }}\n{classes}\n", encoding="utf-8"
    )
    own = read_own(file)
    assert small(own) == kinds
    assert not any("its pool" in line for line in own.unserved)


def test_a_host_comes_where_no_class_has_it_refused(tmp_path):
    """Of two with a hardware address, one is of a maker whose phones a pool denies."""
    top = """class "phones" { match if substring(hardware, 1, 3) = 00:15:65; }
host a { hardware ethernet 0:15:65:0:0:1; }
host b { hardware ethernet 0:15:66:0:0:1; }"""
    file = tmp_path / "small.conf"
    pool = 'pool { deny members of "phones"; range 10.0.0.10 10.0.0.29; }'
    file.write_text(
        f"{top}\nsubnet 10.0.0.0 netmask 255.255.255.0 {{ {pool} }}", encoding="utf-8"
    )
    own = read_own(file)
    assert own.kinds[-1]["macs"] == ["00:15:66:00:00:01"]
    assert "host a: 1 hosts without fixed-address are beyond half" in reported_of(own)[0]


@pytest.mark.parametrize(
    ("test", "host"),
    [
        ('match hardware; } subclass "a" 1:0:0:5e:0:53:7 {', "hardware ethernet 0:0:5e:0:53:7"),
        (
            'match if option dhcp-client-identifier = "x";',
            'option dhcp-client-identifier "x"',
        ),
        (
            "match if substring(hardware, 1, 5) = 0:0:5e:0:53;",
            "hardware ethernet 0:0:5e:0:53:7",
        ),
    ],
)
def test_a_client_of_a_class_that_has_a_reservation_comes_once(tmp_path, test, host):
    top = f'class "a" {{ {test} }} host h {{ {host}; fixed-address 10.0.0.5; }}'
    own = of(tmp_path, top=top)
    macs = [mac for kind in own.kinds for mac in kind.get("macs", ())]
    assert len(macs) == len(set(macs))
    assert (
        str(own.kinds).count(dict(own.kinds[-1]["options"]).get(61, "00:00:5e:00:53:07")) == 1
    )
    assert own.kinds[-1]["name"] == "10.0.0.0/24, reserved"


def test_clients_that_differ_in_an_option_have_at_most_1024_kinds(tmp_path):
    subclasses = "".join(f'subclass "a" "{at}";' for at in range(1030))
    top = f'class "a" {{ match option dhcp-client-identifier; }} {subclasses}'
    top += 'subnet 10.1.0.0 netmask 255.255.0.0 { pool { allow members of "a";'
    own = of(tmp_path, top=f"{top} range 10.1.0.10 10.1.99.9; }} }}")
    assert [kind["name"] for kind in own.kinds].count("10.1.0.0/16, a") == 1024


def test_a_test_of_many_parts_is_read(tmp_path):
    parts = " or ".join(f'option user-class = "{at}"' for at in range(2000))
    member = of(tmp_path, top=f'class "a" {{ match if {parts}; }}').kinds[0]
    assert [77, "hex:30"] in member["options"]
    parts = "(" * 2000 + "known" + ")" * 2000
    assert len(of(tmp_path, top=f'class "a" {{ match if {parts}; }}').kinds) == 1


def test_subclasses_by_makers_divide_the_clients(tmp_path):
    top = """class "a" { match substring(hardware, 1, 3); }
subclass "a" 00:15:65; subclass "a" 0:1b:78; subclass "a" 0:1b:79 { deny booting; }"""
    macs = of(tmp_path, IN_A, top).kinds[0]["macs"]
    assert [mac[:8] for mac in macs] == ["00:15:65"] * 5 + ["00:1b:78"] * 5
    assert len(set(macs)) == 10


def test_an_address_that_dhcpd_writes_in_another_form_is_said(tmp_path):
    text = 'binary-to-ascii(16, 8, ":", substring(hardware, 1, 3)) = "{}"'
    own = of(tmp_path, top=f'class "a" {{ match if {text.format("00:15:65")}; }}')
    assert reported_of(own) == ['class "a": dhcpd writes no leading zeros']
    own = of(tmp_path, top=f'class "a" {{ match if {text.format("0:15:65")}; }}')
    assert own.kinds[0]["macs"][0] == "00:15:65:00:00:00"
    own = of(tmp_path, top=f'class "a" {{ match if not ({text.format("0:c:2")}); }}')
    assert own.unserved == []


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("exists dhcp6.vendor-class", []),
        (
            "option dhcp6.client-id = 0:1",
            [
                "2001:db8::/64: it is not clear whether its pool is for other clients, "
                "by 'deny members of \"a\"' of line 3"
            ],
        ),
    ],
)
def test_a_client_of_dhcpv6_sends_its_identifier_and_no_class(tmp_path, test, said):
    file = tmp_path / "dhcpd6.conf"
    file.write_text(
        f'class "a" {{ match if {test}; }}\nsubnet6 2001:db8::/64 {{ pool6 {{\n'
        'deny members of "a"; range6 2001:db8::100 2001:db8::163; } }\n'
        "subnet6 2001:db8:1::/64 { range6 2001:db8:1::100 2001:db8:1::163; }",
        encoding="utf-8",
    )
    own = read_own(file)
    assert own.clients == (50 if said else 100)
    assert [line.partition(": ")[2] for line in own.unserved][:-1] == said


def test_an_option_that_a_file_defines_has_its_code(tmp_path):
    top = """option arch code 93 = unsigned integer 16;
option a.arch code 3 = text;
class "it" { match if option arch = 00:07; }"""
    member, _ = of(tmp_path, top=top).kinds
    assert [93, "hex:0007"] in member["options"]


def test_a_class_has_the_values_of_its_subclasses(tmp_path):
    top = (
        'class "a" { match hardware; } subclass "a" 1:2:3:4:5:6:7; subclass "a" 1:2:3:4:5:6:8;'
    )
    own = of(tmp_path, 'pool { allow members of "a"; range 10.0.0.220 10.0.0.229; }', top)
    assert own.kinds[0]["macs"] == ["02:03:04:05:06:07", "02:03:04:05:06:08"]
    own = of(tmp_path, 'pool { allow members of "a"; range 10.0.0.220; }', top)
    assert own.kinds[0]["macs"] == ["02:03:04:05:06:07"]


@pytest.mark.parametrize(
    "test",
    [
        'match if option host-name = "a" and option host-name = "b";',
        "match if option nothing.known = 1;",
        "match if exists user-class and not exists user-class;",
        "match if known;",
        "match if option user-class ~= known;",
        "match if exists nothing.known;",
        "match if option nothing.known = 1:2;",
        "match if substring(option user-class) = 1:2;",
        'match if not option user-class = "a";',
        'match if lcase(option user-class) = "A";',
        'match if binary-to-ascii(16, 8, ":", substring(hardware, 1, 2)) = "0:1B";',
        "match if substring(hardware, 1, 3) = 1:2;",
        "match if substring(hardware, 4, 9) = 1:2:3:4;",
        "match if;",
        "match if (((;",
        'match if option user-class ~= "a.*";',
    ],
)
def test_a_class_that_is_not_worked_out_is_named(tmp_path, test):
    [reported] = of(tmp_path, top=f'class "it" {{ {test} }}').unserved
    assert reported.endswith('small.conf:1: class "it": no client was worked out for its test')


def test_pools_of_a_shared_network_are_those_of_the_subnets_with_their_ranges(tmp_path):
    file = tmp_path / "small.conf"
    file.write_text(
        'class "a" { match if option user-class = "a"; }\n'
        "shared-network n { subnet 10.1.0.0 netmask 255.255.255.0 { }\n"
        "subnet 10.2.0.0 netmask 255.255.255.0 { }\n"
        'pool { allow members of "a"; range 10.1.0.10 10.1.0.49; }\n'
        "pool { range 10.2.0.10 10.2.0.29; } }",
        encoding="utf-8",
    )
    seen = [(kind["name"], kind["clients"]) for kind in read_own(file).kinds]
    assert seen == [("10.1.0.0/24, a", 20), ("10.2.0.0/24", 10)]


def test_an_inner_rule_holds_instead_of_an_outer_one(tmp_path):
    own = of(tmp_path, "allow unknown-clients;", "deny unknown-clients;")
    assert (own.clients, own.unserved) == (100, [])


def test_hosts_without_an_address_are_in_the_pools_that_admit_them(tmp_path):
    """By the sizes of the pools, half of each; those beyond that are named."""
    hosts = "".join(
        f"host h{number} {{ hardware ethernet 0:0:0:0:0:{number:x}; }}\n"
        for number in range(40)
    )
    top = f"{hosts}subnet 10.1.0.0 netmask 255.255.255.0 {{"
    top += "pool { allow known-clients; range 10.1.0.1 10.1.0.60; }"
    closed = "pool { deny known-clients; range 10.0.0.230 10.0.0.239; }"
    own = of(tmp_path, closed, f"deny unknown-clients;\n{top} }}")
    assert [(kind["name"], kind["clients"]) for kind in own.kinds] == [
        ("10.1.0.0/24, reserved", 10),
        ("10.0.0.0/24, reserved", 30),
    ]
    assert [line.partition(": ")[2] for line in own.unserved] == [
        "10.0.0.0/24: its pool is for other clients, by 'deny unknown-clients' of line 1"
    ]


def test_a_host_does_not_take_the_only_address_of_a_pool(tmp_path):
    top = "host a { hardware ethernet 0:0:0:0:0:1; }\n"
    top += "subnet 10.1.0.0 netmask 255.255.255.0 { range 10.1.0.1; }"
    file = tmp_path / "small.conf"
    file.write_text(top, encoding="utf-8")
    own = read_own(file)
    assert own.clients == 1
    assert "1 hosts without fixed-address are beyond half" in own.unserved[0]


@pytest.mark.parametrize("word", ["deny", "ignore"])
def test_who_is_ignored_does_not_come(tmp_path, word):
    top = f"""{word} unknown-clients;
class "a" {{ match if option user-class = "a"; {word} booting; }}
class "b" {{ match hardware; }}
subclass "b" 1:0:0:5e:0:53:7 {{ {word} booting; }}
host c {{ hardware ethernet 0:1:2:3:4:5; fixed-address 10.0.0.5; {word} booting; }}
host d {{ hardware ethernet 0:1:2:3:4:6; fixed-address 10.0.0.6; }}"""
    own = of(tmp_path, "", top)
    assert [(kind["name"], kind["clients"]) for kind in own.kinds] == [
        ("10.0.0.0/24, reserved", 1)
    ]
    assert [line.partition(": ")[2] for line in own.unserved] == [
        f"10.0.0.0/24: its pool is for other clients, by '{word} unknown-clients' of line 1",
        "host c: no client is known to have it",
        'class "a": its clients are ignored',
        'class "b": its clients are ignored',
    ]


@pytest.mark.parametrize(
    ("around", "own", "hosts"),
    [
        ("deny booting;", "", 0),
        ("deny booting;", "allow booting;", 2),
        ("", "ignore booting;", 0),
    ],
)
def test_a_rule_of_a_group_is_one_of_its_hosts(tmp_path, around, own, hosts):
    line = "host {0} {{ hardware ethernet 0:1:2:3:4:{1}; fixed-address 10.0.0.{1}; {2} }}"
    lines = "".join(line.format(name, at, own) for at, name in enumerate("ab", 5))
    made = of(tmp_path, top=f"group {{ {around} group {{ {lines} }} }}")
    assert [kind["clients"] for kind in made.kinds] == [100, hosts][: 1 + bool(hosts)]
    refused = [line.partition(": ")[2] for line in made.unserved]
    assert refused == [f"host {name}: no client is known to have it" for name in "ab"[hosts:]]


def test_hosts_come_that_are_allowed_where_all_are_denied(tmp_path):
    top = """deny booting;
host a { hardware ethernet 0:1:2:3:4:5; allow booting; }
host b { hardware ethernet 0:1:2:3:4:6; }"""
    own = of(tmp_path, top=top)
    assert [kind["macs"] for kind in own.kinds] == [["00:01:02:03:04:05"]]
    assert reported_of(own) == ["host b: no client is known to have it"]


@pytest.mark.parametrize(
    ("fixed", "want"),
    [
        ("fixed-address6 2001:db8::9;", None),
        ("fixed-prefix6 2001:db8:b000::/56;", "prefix"),
        ("fixed-prefix6 2001:db8:b000::/56; fixed-address6 2001:db8::9;", "both"),
        ("", None),
    ],
)
def test_a_reserved_client_asks_for_what_is_reserved(tmp_path, fixed, want):
    file = tmp_path / "dhcpd6.conf"
    file.write_text(
        "subnet6 2001:db8::/64 { range6 2001:db8::100 2001:db8::163; }\n"
        f"host a {{ host-identifier option dhcp6.client-id 0:3:0:1:2:3; {fixed} }}",
        encoding="utf-8",
    )
    plain, reserved = read_own(file).kinds
    assert (plain["clients"], reserved["clients"], reserved.get("want")) == (50, 1, want)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\000foo", "00666f6f"),
        (r"\x0afoo\x0A", "0a666f6f0a"),
        (r"\001\x1b\0789", "011b00373839"),
        (r"a\"b\\c\t", "6122625c6309"),
    ],
)
def test_escapes_of_a_text_are_bytes(tmp_path, text, value):
    top = f"""class "it" {{ match if option user-class = "{text}"; }}
host a {{ option dhcp-client-identifier "{text}"; fixed-address 10.0.0.5; }}"""
    member, _, reserved = of(tmp_path, top=top).kinds
    assert [77, f"hex:{value}"] in member["options"]
    assert [61, f"hex:{value}"] in reserved["options"]


def test_a_client_waits_for_no_answer_to_a_later_message(tmp_path):
    own = of(tmp_path, "min-secs 3;")
    assert "min-secs: 0, as clients take the first answer that they get" in own.changes
    assert "min-secs" not in own.server["text"]


def test_a_setting_without_a_value_is_left_to_dhcpd(tmp_path):
    own = of(tmp_path, top="default-lease-time;\ndont-use-fsync;")
    assert own.options == {"sync": True}


def test_a_client_has_an_address_and_a_prefix_where_pools_apart_have_them(tmp_path):
    file = tmp_path / "dhcpd6.conf"
    file.write_text(
        "subnet6 2001:db8::/64 { prefix6 2001:db8:b000:: 2001:db8:b0ff:: /56;\n"
        "pool6 { range6 2001:db8::100 2001:db8::163; } }\n",
        encoding="utf-8",
    )
    [kind] = read_own(file).kinds
    assert (kind["want"], kind["clients"]) == ("both", 50)


def test_numbers_and_words_are_those_that_dhcpd_reads(tmp_path):
    file = tmp_path / "small.conf"
    file.write_text(
        "SUBNET 010.001.000.000 NETMASK 255.255.255.0 { Pool { Deny Unknown-Clients;\n"
        "  Range 010.001.000.099 010.001.000.080; } RANGE 10.1.0.9 10.1.0.8; }\n"
        "Host a { Hardware Ethernet 0:1:2:3:4:5; Fixed-Address 010.001.000.200; }\n",
        encoding="utf-8",
    )
    own = read_own(file)
    assert [(kind["name"], kind["clients"]) for kind in own.kinds] == [
        ("10.1.0.0/24", 1),
        ("10.1.0.0/24, reserved", 1),
    ]
    assert own.addresses == 22
    assert "Range 10.1.0.99 10.1.0.80;" in own.server["text"]


def test_temporary_addresses_are_no_room_for_clients(tmp_path):
    file = tmp_path / "dhcpd6.conf"
    file.write_text(
        "subnet6 2001:db8::/64 {\nrange6 2001:db8::/80 temporary;\n"
        "range6 2001:db8:0:0:1::100 2001:db8:0:0:1::163;\n}\n",
        encoding="utf-8",
    )
    own = read_own(file)
    assert own.clients == 50
    assert own.unserved == [
        f"{file}:2: range6 2001:db8::/80 temporary: no client asks for one of these"
    ]


def test_more_hosts_without_an_address_than_half_of_the_pools_are_counted(tmp_path):
    hosts = "".join(
        f"host h{number} {{ hardware ethernet 0:0:0:0:{number // 256:x}:{number % 256:x}; }}\n"
        for number in range(110)
    )
    [reported] = of(tmp_path, top=hosts).unserved
    assert "small.conf:101: host h100: 10 hosts without fixed-address are beyond" in reported


def test_a_host_by_a_name_of_dns_is_said_to_be_one(tmp_path):
    top = "host a { hardware ethernet 0:1:2:3:4:5; fixed-address a.example.org; }"
    [reported] = of(tmp_path, top=top).unserved
    assert reported.endswith("host a: its address is a name, and none is asked of DNS")


def test_two_hosts_with_one_client_have_it_once_in_each_network(tmp_path):
    """It gets the address of one of them there, which is no address that two clients have."""
    subnets = "".join(
        f"subnet 10.{number}.0.0 netmask 255.255.255.0 {{ range 10.{number}.0.10; }}"
        for number in (1, 2, 3)
    )
    first, shared = subnets.split("}", 1)
    top = f"{first}}} shared-network all {{ {shared} }}"
    hosts = [
        f"host h{number} {{ hardware ethernet 0:1:2:3:4:5; fixed-address {address}; }}"
        for number, address in enumerate(("10.1.0.2", "10.1.0.3", "10.2.0.2", "10.3.0.2"))
    ]
    hosts += [f"host w{number} {{ hardware ethernet 0:1:2:3:4:6; }}" for number in (1, 2)]
    own = of(tmp_path, top="\n".join([top, *hosts]))
    held = [(kind["name"], len(kind["macs"])) for kind in own.kinds if "macs" in kind]
    names = ("10.1.0.0/24, reserved", "10.2.0.0/24, reserved", "10.0.0.0/24, reserved")
    assert held == [(name, 1) for name in names]
    [said] = own.unserved
    assert "small.conf:3: host h1: the first of 2 hosts with the client of an earlier" in said


@pytest.mark.parametrize(
    ("rule", "clients"),
    [
        ("deny unknown-clients; deny booting;", 69),
        ("pool6 { deny unknown-clients; range6 2001:db8::a0 2001:db8::ff; }", 69),
        ("pool6 { range6 2001:db8::a0 2001:db8::ff; }", 117),
    ],
)
def test_of_dhcpv6_only_rules_of_pools_hold(tmp_path, rule, clients):
    file = tmp_path / "small.conf"
    inner = f"{rule} range6 2001:db8::10 2001:db8::99;"
    host = "host a { deny booting; hardware ethernet 0:1:2:3:4:5; fixed-address6 2001:db8::5; }"
    file.write_text(f"deny booting;\nsubnet6 2001:db8::/64 {{ {inner} }}\n{host}\n", "utf-8")
    assert [kind["clients"] for kind in read_own(file).kinds] == [clients, 1]


@pytest.mark.parametrize(("outer", "inner"), [("off", ""), ("true", "false"), ("off", "on")])
def test_unknown_clients_may_be_refused_by_a_statement_of_its_own(tmp_path, outer, inner):
    flags = [f"boot-unknown-clients {flag};" if flag else "" for flag in (outer, inner)]
    top = f"host a {{ hardware ethernet 0:1:2:3:4:5; fixed-address 10.0.0.5; }} {flags[0]}"
    names = [kind["name"] for kind in of(tmp_path, flags[1], top=top).kinds]
    assert names == ["10.0.0.0/24"] * (inner == "on") + ["10.0.0.0/24, reserved"]


def test_a_host_by_uid_is_one_by_its_client_identifier(tmp_path):
    top = 'host a { uid "desk"; fixed-address 10.0.0.5; }'
    own = of(tmp_path, top=top)
    assert not own.unserved
    assert [61, "hex:6465736b"] in own.kinds[1]["options"]


def test_prefixes_are_asked_for_where_there_are_pools_of_them():
    first, second, reserved = read_own(DATA / "dhcpd6.conf").kinds
    assert (first["want"], first["clients"], first["relay"]) == ("both", 2048, "2001:db8:1::1")
    assert "want" not in second
    assert reserved["duids"] == ["000100012abbccdd000c29aa0001"]


@pytest.mark.parametrize(
    ("word", "top"),
    [
        ("failover", 'failover peer "two" { primary; }'),
        ("ddns", "ddns-update-style interim;"),
        ("ddns", "zone example.org. { primary 192.0.2.1; }"),
        ("execute", 'on commit { execute ("/usr/bin/logger", "x"); }'),
        ("ldap", 'ldap-server "ldap.example.org";'),
    ],
)
def test_what_speaks_to_others_is_refused_with_its_line_or_left_out(tmp_path, word, top):
    message = refusal(tmp_path, top=f"\n{top}")
    assert "small.conf:2: " in message
    assert f"--without {word}" in message
    own = of(tmp_path, top=top, without=[word])
    assert own.left_out == [word]
    assert own.server["text"].startswith("subnet ")


@pytest.mark.parametrize(
    ("call", "left"),
    [
        ('execute("/bin/log", "x");', "subnet "),
        ('if(exists user-class) { execute("/bin/log"); } else { max-lease-time 60; }', "if("),
    ],
)
def test_a_program_that_is_run_anywhere_is_left_out_alone(tmp_path, call, left):
    """Where a condition runs it, what else that has stays: an else without its if is none."""
    assert "small.conf:1: execute: " in refusal(tmp_path, top=call)
    text = of(tmp_path, top=call, without=["execute"]).server["text"]
    assert text.startswith(left)
    assert "execute" not in text
    assert text.count("else {") == text.count("if(")


def test_no_dns_is_asked_for_names_in_options(tmp_path):
    """As it replies dhcpd waits for DNS, once a minute for a name that is not there."""
    top = """
    option domain-name-servers ns1.example.org, 10.0.0.2, gate;
    option my-servers code 200 = text;
    option my-servers "one.example.org";
    option log-servers = encode-int(1, 32);
    next-server boot.example.org;
    get-lease-hostnames true;
    """
    own = of(tmp_path, "option routers gate.example.org;", top=top)
    for kept in (
        "option domain-name-servers 192.0.2.1 , 10.0.0.2 , 192.0.2.1;\n",
        "option my-servers code 200 = text;\n",
        'option my-servers "one.example.org";\n',
        "option log-servers = encode-int(1 , 32);\n",
        "next-server 192.0.2.1;\n",
        "option routers 192.0.2.1;\n",
    ):
        assert kept in own.server["text"]
    assert "get-lease-hostnames" not in own.server["text"]
    said = "192.0.2.1 instead of a name, as no DNS is asked"
    for name in ("option domain-name-servers", "next-server", "option routers"):
        assert own.changes.count(f"{name}: {said}") == 1
    assert len([change for change in own.changes if "no DNS" in change]) == 4


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ("hardware ethernet 0:C:29:aa:0:1;", ("macs", ["00:0c:29:aa:00:01"])),
        (
            "hardware ethernet 0:C:29:aa:0:1; "
            "host-identifier option dhcp6.client-id 0:2:0:0:0:9;",
            ("duids", ["000200000009"]),
        ),
        ("hardware ethernet 0:C:29:aa:0:1; uid 0:4:1:2;", ("duids", ["00040102"])),
    ],
)
def test_a_host_of_dhcpv6_is_known_by_its_duid_or_the_address_in_one(tmp_path, known, expected):
    file = tmp_path / "small.conf"
    file.write_text(
        "subnet6 2001:db8::/64 { range6 2001:db8::10 2001:db8::99; }\n"
        f"host a {{ {known} fixed-address6 2001:db8::5; }}\n",
        encoding="utf-8",
    )
    own = read_own(file)
    assert not own.unserved
    kind, values = expected
    assert own.kinds[1][kind] == values


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("range 10.0.0.9;;;", ""),
        ("} }", "small.conf:2: not a dhcpd.conf: a } that belongs to no statement"),
        ("{", "small.conf:2: not a dhcpd.conf: a { that belongs to no statement"),
        (
            "range 10.0.0.9 }",
            "small.conf:2: not a dhcpd.conf: a } that belongs to no statement",
        ),
        ('include "more.conf";', "small.conf:2: a file that it names is not here"),
        ("range 10.0.0.9 10.0.0.800;", "small.conf:2: not a subnet as dhcpd has them"),
        ("range;", "small.conf:2: not a subnet as dhcpd has them"),
        ("deny unknown-clients;", "the server would answer no client"),
        ("subnet6 2001:db8::/64 { }", "subnets of both families"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, more, message):
    if message:
        assert message in refusal(tmp_path, more)
    else:
        assert of(tmp_path, more).addresses == 201


def test_included_files_are_read_beside_it(tmp_path):
    (tmp_path / "more.conf").write_text('\n failover peer "x";\n', encoding="utf-8")
    assert "more.conf:2: failover" in refusal(tmp_path, 'include "more.conf";')
    (tmp_path / "more.conf").write_text("range 10.0.0.220 10.0.0.229;", encoding="utf-8")
    assert of(tmp_path, 'include "more.conf";').addresses == 210
    (tmp_path / "more.conf").write_text('include "more.conf";', encoding="utf-8")
    assert "included too deeply" in refusal(tmp_path, 'include "more.conf";')


def test_files_that_are_not_here_are_left_out_when_asked(tmp_path):
    top = 'include "/nowhere/a.key";\ninclude "/nowhere/b.key";'
    reported = refusal(tmp_path, top=top)
    assert ":1: a file that it names is not here (found /nowhere/a.key; " in reported
    assert "small.conf:2: /nowhere/b.key); " in reported
    assert reported.endswith("--config FOLDER, or leave it out: --without unread-files")
    own = of(tmp_path, top=top, without=["unread-files"])
    assert own.left_out == ["unread-files"]
    assert "/nowhere/b.key: not read, and left out" in own.changes


def test_a_file_in_latin_1_is_read_and_a_byte_order_mark_said(tmp_path):
    of(tmp_path)
    file = tmp_path / "small.conf"
    text = file.read_bytes()
    file.write_bytes(b"# caf\xe9, \x93new\x94\n" + text)
    own = read_own(file)
    assert own.changes[-1] == f"{file}: UTF-8 instead of Windows-1252 or Latin-1"
    assert own.kinds
    file.write_bytes(b"\xef\xbb\xbf" + text)
    with pytest.raises(LeaselabError, match=r"small.conf:1: begins with a byte-order mark"):
        read_own(file)


def test_an_absolute_name_is_looked_for_beside_the_file(tmp_path):
    """Where two files of one folder are servers' own, neither can be named by the folder."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys/more.conf").write_text("range 10.0.0.220 10.0.0.229;", encoding="utf-8")
    assert of(tmp_path, 'include "/etc/dhcp/keys/more.conf";').addresses == 210


def test_keys_of_other_hosts_are_in_no_file_of_the_lab(tmp_path):
    top = 'key "k" { algorithm hmac-md5; secret c2VjcmV0; }; omapi-key k;'
    own = of(tmp_path, top=top)
    assert own.server["text"].startswith("subnet")
    assert "key: none, as no other host is contacted" in own.changes


def test_subclasses_of_an_identifier_or_an_address_have_clients(tmp_path):
    top = """class "it" { match pick-first-value (option dhcp-client-identifier, hardware); }
subclass "it" 1:0:0:5e:0:53:7;"""
    member, _ = of(tmp_path, top=top).kinds
    assert member["macs"] == ["00:00:5e:00:53:07"]


def test_a_client_that_a_class_lists_is_in_one_subnet(tmp_path):
    """In two of a shared network it would have one address twice."""
    top = """class "it" { match hardware; } subclass "it" 1:0:0:5e:0:53:7;
subnet 10.1.0.0 netmask 255.255.255.0 { range 10.1.0.10 10.1.0.209; }"""
    listed = [kind["name"] for kind in of(tmp_path, top=top).kinds if "macs" in kind]
    assert listed == ["10.1.0.0/24, it"]


def test_a_reservation_by_what_the_relay_says_has_a_client(tmp_path):
    top = 'host a { host-identifier option agent.circuit-id "p1"; fixed-address 10.0.0.5; }'
    reserved = of(tmp_path, top=top).kinds[-1]
    assert reserved["agent"] == [[5, "hex:0a000001"], [1, "hex:7031"]]
    hosts = [
        f'host h{at} {{ option dhcp-client-identifier "{at}"; '
        f"fixed-address 10.1.{at // 250}.{at % 250 + 1}; }}"
        for at in range(1030)
    ]
    places = "subnet 10.1.0.0 netmask 255.255.0.0 { }"
    made = of(tmp_path, top="\n".join([places, *hosts]))
    assert made.unserved == ["10.1.0.0/16: 6 more reservations have no client"]


def test_hosts_of_one_address_are_one_client_at_a_time(tmp_path):
    """A laptop by cable and by radio: two clients at once would have one address."""
    line = "host {} {{ hardware ethernet 0:1:2:3:4:{}; fixed-address 10.0.0.5; }}"
    made = of(tmp_path, top="\n".join(line.format(name, at) for at, name in enumerate("abc")))
    assert made.kinds[-1]["macs"] == ["00:01:02:03:04:00"]
    (said,) = made.unserved
    assert said.endswith(
        ":2: host b: the first of 2 hosts with the address or prefix of an earlier host, which "
        "one client at a time may have"
    )


def test_a_host_with_an_address_of_a_range_has_no_client(tmp_path):
    """Dhcpd gives such an address to a client of the range as well, unless it has none."""
    hosts = "host {0} {{ hardware ethernet 0:1:2:3:4:{1}; fixed-address 10.0.0.{1}; }}"
    made = of(tmp_path, top="\n".join(hosts.format(f"h{at}", at) for at in (9, 10, 11)))
    assert made.kinds[-1]["macs"] == ["00:01:02:03:04:09"]
    (said,) = made.unserved
    assert ":2: host h10: the first of 2 hosts with an address of a range" in said
    top = "\n".join(hosts.format(f"h{at}", at) for at in (9, 10))
    made = of(tmp_path, "deny unknown-clients;", top)
    assert [kind["macs"] for kind in made.kinds] == [["00:01:02:03:04:09", "00:01:02:03:04:10"]]
    top += "\nhost b { hardware ethernet 0:1:2:3:4:5; }"
    made = of(tmp_path, "deny unknown-clients;", top)
    assert [kind["macs"] for kind in made.kinds] == [["00:01:02:03:04:09", "00:01:02:03:04:05"]]


def test_nothing_is_left_out_that_is_not_there(tmp_path):
    assert "--without ddns: the configuration has no such part" in refusal(
        tmp_path, without=["ddns"]
    )


def test_a_file_without_a_wait_for_the_disk_is_of_another_durability(tmp_path):
    assert of(tmp_path, top="dont-use-fsync true;").options["sync"] is False


def test_the_file_is_a_scenario_that_the_lab_can_measure(tmp_path):
    catalogue = catalogue_in(tmp_path)
    for file in ("dhcpd.conf", "dhcpd6.conf"):
        assert measurable(DATA / file, catalogue).server.kind == "isc_dhcpd"


WORDS = """
not and or ( ) , = != ~= ~~ exists option hardware substring( suffix( lcase( concat(
binary-to-ascii(16,8,":", pick-first-value( "ab" "0:1b" "^a.*[b" "\\000x" 1:2:3 0:15:65 1 0 16
user-class agent.circuit-id dhcp-client-identifier foo.bar host-name known
"""


@given(
    st.lists(st.sampled_from(re.findall(r"\S+", WORDS)), min_size=1, max_size=9).map(" ".join),
    st.sampled_from(
        ["match if {};", "match {}; deny booting;", "spawn with {}; lease limit 3;"]
    ),
)
def test_any_test_of_a_class_is_read(tmp_path_factory, test, body):
    top = f'class "a" {{ {body.format(test)} }} subclass "a" 0:15:65; subclass "a" "ab";'
    with contextlib.suppress(LeaselabError):
        pool = 'pool { deny members of "a"; range 10.0.0.220 10.0.0.229; }'
        assert 0 < of(tmp_path_factory.mktemp("read"), pool, top).clients <= 105


@given(data=st.data())
def test_a_changed_file_is_read_or_refused(tmp_path_factory, data):
    text = (DATA / "dhcpd.conf").read_text("utf-8")
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 40))
    put = data.draw(st.text(alphabet='{}; "\\,/#=09az.:\n', max_size=8))
    file = tmp_path_factory.mktemp("changed") / "small.conf"
    file.write_text(text[:at] + put + text[at + length :], encoding="utf-8")
    with contextlib.suppress(LeaselabError):
        assert read_own(file).kinds
