"""Clients that fit the classes of a user's dhcpd.conf."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.own_dhcpd import CIRCUITS, IN_A, VENDOR, made_of, of, refusal, reported_of, small

from leaselab.model.errors import LeaselabError


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


TEXT = 'binary-to-ascii(16, 8, ":", hardware)'
"""A hardware address as a text, of which a class tests a part."""


@pytest.mark.parametrize(
    ("test", "mac"),
    [
        ("substring(hardware, 1, 3) = 0:1b:78", "00:1b:78:"),
        ('binary-to-ascii(16, 8, ":", substring (hardware, 0, 4)) = "1:0:1b:78"', "00:1b:78:"),
        ('binary-to-ascii(16, 8, "-", substring(hardware, 1, 3)) = "0-1b-78"', "00:1b:78:"),
        ('binary-to-ascii(16, 8, "", substring(hardware, 1, 2)) = "1b78"', "1b:78:"),
        (
            'binary-to-ascii(10, 16, ".", substring(hardware, 1, 4)) = "27.30720"',
            "00:1b:78:00:",
        ),
        (f'substring({TEXT}, 0, 9) = "1:0:1b:78"', "00:1b:78:"),
        (f'substring({TEXT}, 2, 7) = "0:1b:78"', "00:1b:78:"),
        (f'lcase(substring({TEXT}, 5, 2)) = "1b"', ".*:1b:"),
        (f'{TEXT} ~= "^1:0:1b:78"', "00:1b:78:"),
        (f'substring({TEXT}, 2, 17) ~~ "^(0:1B|0:1C):[0-9a-f]"', "00:1b:"),
        ("substring(hardware, 4, 2) = 5:6", ".{9}05:06"),
        ("suffix(hardware, 2) = 1b:78", ".{12}1b:78"),
        ("substring(suffix(hardware, 3), 0, 1) = 1b", ".{9}1b:"),
        ("reverse(1, substring(hardware, 1, 3)) = 78:1b:0", "00:1b:78:"),
        ("packet(28, 3) = 0:1b:78", "00:1b:78:"),
        ("not (not (substring(hardware, 1, 2) = 0:1b))", "00:1b:"),
    ],
)
def test_clients_of_a_class_have_the_part_of_an_address_and_differ(tmp_path, test, mac):
    own = of(tmp_path, top=f'class "a" {{ match if {test}; }}')
    assert own.unserved == []
    macs = own.kinds[0]["macs"]
    assert [held for held in macs if not re.match(mac, held)] == []
    assert len(set(macs)) == 50


@pytest.mark.parametrize(
    ("body", "clients", "values"),
    [
        ("spawn with substring(hardware, 1, 3); lease limit 2;", 50, 50),
        ("spawn with substring(hardware, 6, 1); lease limit 2;", 50, 50),
        ("spawn with substring(option agent.circuit-id, 2, 4); lease limit 4;", 50, 50),
        ("spawn with substring(option agent.circuit-id, 0, 1); lease limit 1;", 50, 50),
        ("spawn with suffix(option agent.remote-id, 2); lease limit 1;", 50, 50),
        ('spawn with binary-to-ascii(16, 8, ":", hardware); lease limit 1;', 50, 0),
        ("match if exists user-class; lease limit 7;", 7, 7),
        ('match hardware; } subclass "a" 1:2:3:4:5:6:7 { lease limit 1;', 1, 1),
        (
            'match substring(hardware, 1, 1); lease limit 3; } subclass "a" 2;subclass "a" 4 {',
            6,
            6,
        ),
        (
            'match option user-class; lease limit 3; } subclass "a" "x"; subclass "a" "y" {',
            6,
            6,
        ),
        (
            """match option user-class; } subclass "a" "x" { lease limit 1; }
subclass "a" "y" { lease limit 2;""",
            3,
            3,
        ),
    ],
)
def test_clients_of_a_class_share_no_more_leases_than_it_has(tmp_path, body, clients, values):
    """Those of each subclass, also of one that dhcpd makes for a short value."""
    own = of(tmp_path, top=f'class "a" {{ {body} }}')
    held = [kind for kind in own.kinds if kind["name"].endswith(", a")]
    assert (sum(kind["clients"] for kind in held), own.unserved) == (clients, [])
    if values:
        sent = [kind.get("macs", kind["agent"] + kind["options"]) for kind in held]
        assert len(set(map(str, sent))) == len(held)


def test_circuits_of_two_subnets_are_not_the_same(tmp_path):
    """Each circuit has one lease."""
    more = "subnet 10.1.0.0 netmask 255.255.255.0 { range 10.1.0.10 10.1.0.209; }"
    spawned = 'class "a" { spawn with option agent.circuit-id; lease limit 1; }'
    own = of(tmp_path, top=spawned + more)
    circuits = [dict(kind["agent"]).get(1) for kind in own.kinds]
    assert circuits == ["text:leaselab-{client}", None, "text:leaselab-32-{client}", None]


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
    pool = 'pool { deny members of "a"; range 10.0.0.10 10.0.0.209; }'
    own = made_of(tmp_path, f"subnet 10.0.0.0 netmask 255.255.255.0 {{ {pool} }}\n{top}")
    assert small(own) == kinds
    by = "its clients are refused, by 'deny members of \"a\"' of line 1"
    assert reported_of(own) == [f'class "{name}": {by}' for name in refused]


@pytest.mark.parametrize(
    ("top", "kinds", "reported"),
    [
        (
            """class "a" { match if exists agent.circuit-id; lease limit 2; }
class "b" { match if exists agent.circuit-id; }""",
            [("a", 2), ("", 98)],
            ['class "b": its clients are refused, by \'class "a"\' of line 1'],
        ),
        (  # each circuit has its own leases; all clients of the other class have one circuit
            """class "a" { spawn with option agent.circuit-id; lease limit 4; }
class "b" { match if option agent.circuit-id = "p1"; }""",
            [("a", 25), ("b", 4), ("", 71)],
            [],
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
    pool = f"pool {{ {rules} range 10.0.0.10 10.0.0.29; }}"
    own = made_of(tmp_path, f"subnet 10.0.0.0 netmask 255.255.255.0 {{ {pool} }}\n{classes}\n")
    assert small(own) == kinds
    assert not any("its pool" in line for line in own.unserved)


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


TOP6 = "option dhcp6.mine code 200 = text;\n"


@pytest.mark.parametrize(
    ("test", "sent"),
    [
        ("exists dhcp6.vendor-class", {"options": [16, "hex:6c656173656c6162"]}),
        ("substring(option dhcp6.client-arch-type, 0, 2) = 0:7", {"options": [61, "hex:0007"]}),
        ('option dhcp6.mine = "ab"', {"options": [200, "hex:6162"]}),
        ('v6relay(1, option dhcp6.interface-id) = "e1"', {"agent": [18, "hex:6531"]}),
        ('v6relay(33, option dhcp6.remote-id) = "e1"', {"agent": [37, "hex:6531"]}),
        ("option dhcp6.client-id = 0:3:0:1:2:3", {"duids": "000300010203"}),
        ("substring(option dhcp6.client-id, 4, 2) = 5:6", {"duids": "00030001050600000000"}),
        ('v6relay(2, option dhcp6.remote-id) = "e1"', None),
        ("v6relay(1)", None),
        ("hardware = 1:2", None),
        ("exists agent.circuit-id", None),
        ("exists dhcp6.ia-na", None),
    ],
)
def test_a_client_of_dhcpv6_sends_what_a_class_tests(tmp_path, test, sent):
    text = (
        f'{TOP6}class "a" {{ match if {test}; ignore booting; lease limit 1; }}\n'
        'subnet6 2001:db8::/64 { pool6 { allow members of "a"; '
        "range6 2001:db8::100 2001:db8::163; prefix6 2001:db8:1:: 2001:db8:1:ff00:: /56; } }\n"
        "subnet6 2001:db8:2::/64 { range6 2001:db8:2::100 2001:db8:2::163; }"
    )
    own = made_of(tmp_path, text)
    held = [kind for kind in own.kinds if kind["name"] == "2001:db8::/64, a"]
    assert [kind["want"] for kind in held] == (["both"] if sent else [])
    for key, value in (sent or {}).items():
        assert value in held[0][key]
    assert bool(own.unserved) == (sent is None)


def test_a_host_of_dhcpv6_is_known_by_its_relay(tmp_path):
    host = "host a { host-identifier v6relopt 1 dhcp6.remote-id 0:9:61; IT }\n"
    subnet = "subnet6 2001:db8::/64 { range6 2001:db8::10 2001:db8::19; }"
    address = "fixed-address6 2001:db8::5;"
    own = made_of(tmp_path, host.replace("IT", address) + subnet)
    assert own.kinds[1]["agent"] == [[37, "hex:000961"]]
    for wrong in ("v6relopt 1", "v6relopt 2 dhcp6.remote-id 0:9", "v6relopt"):
        own = made_of(tmp_path, f"host a {{ host-identifier {wrong}; {address} }}\n{subnet}")
        assert "no client is known to have it" in own.unserved[0]


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
        'match if option user-class ~= "a(b(c))?";',
        'match if suffix(hardware, 3) = "0:1b:78";',
        "match if " + "not " * 100_000 + "exists user-class;",
        "match if " + "(" * 100_000 + "exists user-class" + ")" * 100_000 + ";",
    ],
)
def test_a_class_that_is_not_worked_out_is_named(tmp_path, test):
    [reported] = of(tmp_path, top=f'class "it" {{ {test} }}').unserved
    assert reported.endswith('small.conf:1: class "it": no client was worked out for its test')


@pytest.mark.parametrize(
    "test",
    [
        "packet(24, 4) = 0a:01:00:01",
        'exists user-class and binary-to-ascii(10, 8, ".", packet(24, 4)) = "10.1.0.1"',
        "substring(packet(26, 2), 1, 1) = 01",
    ],
)
def test_a_class_by_the_relays_address_is_said_to_be_so(tmp_path, test):
    [reported] = of(tmp_path, top=f'class "it" {{ match if {test}; }}').unserved
    assert 'class "it": relays of the lab have other addresses' in reported


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
