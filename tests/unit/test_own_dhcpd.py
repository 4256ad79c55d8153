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
        "match if not exists user-class;",
        'match if option host-name = "a" and option host-name = "b";',
        'match if option vendor-class-identifier = "a"; lease limit 4;',
        "match if option nothing.known = 1;",
        'spawn with option agent.circuit-id; match if option host-name = "a";',
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
        ("range 10.0.0.9 10.0.0.8;", "small.conf:2: not a subnet as dhcpd has them"),
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
    assert ":1: a file that it names is not here (found /nowhere/a.key, and 1 more such); " in (
        reported := refusal(tmp_path, top=top)
    )
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
        ":2: host b: the first of 2 hosts with the address of an earlier host, which one "
        "client at a time may have"
    )


def test_a_host_with_an_address_of_a_range_has_no_client(tmp_path):
    """Dhcpd gives such an address to a client of the range as well."""
    hosts = "host {0} {{ hardware ethernet 0:1:2:3:4:{1}; fixed-address 10.0.0.{1}; }}"
    made = of(tmp_path, top="\n".join(hosts.format(f"h{at}", at) for at in (9, 10, 11)))
    assert made.kinds[-1]["macs"] == ["00:01:02:03:04:09"]
    (said,) = made.unserved
    assert ":2: host h10: the first of 2 hosts with an address of a range" in said


def test_nothing_is_left_out_that_is_not_there(tmp_path):
    assert "--without ddns: nothing of that name" in refusal(tmp_path, without=["ddns"])


def test_a_file_without_a_wait_for_the_disk_is_of_another_durability(tmp_path):
    assert of(tmp_path, top="dont-use-fsync true;").options["sync"] is False


def test_the_file_is_a_scenario_that_the_lab_can_measure(tmp_path):
    catalogue = catalogue_in(tmp_path)
    for file in ("dhcpd.conf", "dhcpd6.conf"):
        assert measurable(DATA / file, catalogue).server.kind == "isc_dhcpd"


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
