"""Clients that fit the subnets, pools and hosts of a user's dhcpd.conf."""

import re

import pytest
from tests.own import DATA
from tests.own_dhcpd import made_of, of, reported_of

from leaselab.inputs.own import read_own


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


def test_a_host_comes_where_no_class_has_it_refused(tmp_path):
    """Of two with a hardware address, one is of a maker whose phones a pool denies."""
    top = """class "phones" { match if substring(hardware, 1, 3) = 00:15:65; }
host a { hardware ethernet 0:15:65:0:0:1; }
host b { hardware ethernet 0:15:66:0:0:1; }"""
    pool = 'pool { deny members of "phones"; range 10.0.0.10 10.0.0.29; }'
    own = made_of(tmp_path, f"{top}\nsubnet 10.0.0.0 netmask 255.255.255.0 {{ {pool} }}")
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


def test_pools_of_a_shared_network_are_those_of_the_subnets_with_their_ranges(tmp_path):
    text = (
        'class "a" { match if option user-class = "a"; }\n'
        "shared-network n { subnet 10.1.0.0 netmask 255.255.255.0 { }\n"
        "subnet 10.2.0.0 netmask 255.255.255.0 { }\n"
        'pool { allow members of "a"; range 10.1.0.10 10.1.0.49; }\n'
        "pool { range 10.2.0.10 10.2.0.29; } }"
    )
    seen = [(kind["name"], kind["clients"]) for kind in made_of(tmp_path, text).kinds]
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
    own = made_of(tmp_path, top)
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
    text = (
        "subnet6 2001:db8::/64 { range6 2001:db8::100 2001:db8::163; }\n"
        f"host a {{ host-identifier option dhcp6.client-id 0:3:0:1:2:3; {fixed} }}"
    )
    plain, reserved = made_of(tmp_path, text).kinds
    assert (plain["clients"], reserved["clients"], reserved.get("want")) == (50, 1, want)


def test_a_client_waits_for_no_answer_to_a_later_message(tmp_path):
    own = of(tmp_path, "min-secs 3;")
    assert "min-secs: 0, as clients take the first answer that they get" in own.changes
    assert "min-secs" not in own.server["text"]


def test_a_client_has_an_address_and_a_prefix_where_pools_apart_have_them(tmp_path):
    text = (
        "subnet6 2001:db8::/64 { prefix6 2001:db8:b000:: 2001:db8:b0ff:: /56;\n"
        "pool6 { range6 2001:db8::100 2001:db8::163; } }\n"
    )
    [kind] = made_of(tmp_path, text).kinds
    assert (kind["want"], kind["clients"]) == ("both", 50)


def test_temporary_addresses_are_no_room_for_clients(tmp_path):
    text = (
        "subnet6 2001:db8::/64 {\nrange6 2001:db8::/80 temporary;\n"
        "range6 2001:db8:0:0:1::100 2001:db8:0:0:1::163;\n}\n"
    )
    own = made_of(tmp_path, text)
    assert own.clients == 50
    assert own.unserved == [
        f"{tmp_path}/small.conf:2: "
        "range6 2001:db8::/80 temporary: no client asks for one of these"
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
    inner = f"{rule} range6 2001:db8::10 2001:db8::99;"
    host = "host a { deny booting; hardware ethernet 0:1:2:3:4:5; fixed-address6 2001:db8::5; }"
    text = f"deny booting;\nsubnet6 2001:db8::/64 {{ {inner} }}\n{host}\n"
    assert [kind["clients"] for kind in made_of(tmp_path, text).kinds] == [clients, 1]


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
    text = (
        "subnet6 2001:db8::/64 { range6 2001:db8::10 2001:db8::99; }\n"
        f"host a {{ {known} fixed-address6 2001:db8::5; }}\n"
    )
    own = made_of(tmp_path, text)
    assert not own.unserved
    kind, values = expected
    assert own.kinds[1][kind] == values


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
