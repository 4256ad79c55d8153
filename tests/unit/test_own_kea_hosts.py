"""Clients that fit the reservations and limits of a user's configuration of Kea."""

import json
from collections import Counter

import pytest
from tests.own_kea import GLOBAL, clients, hosts, kinds, of, own

from leaselab.inputs.own import read_own
from leaselab.model.errors import LeaselabError

MAC = "0x00005e005301"


def test_a_client_has_one_address_in_a_shared_network(tmp_path):
    subnets = ", ".join(
        f'{{"id": {number}, "subnet": "10.{number}.0.0/24", "reservations": ['
        f'{{"hw-address": "00:0c:29:00:00:01", "ip-address": "10.{number}.0.5"}}]}}'
        for number in (2, 3)
    )
    networks = f'"shared-networks": [{{"name": "all", "subnet4": [{subnets}]}}],'
    alone = '"reservations": [{"hw-address": "00:0c:29:00:00:01", "ip-address": "10.0.0.5"}],'
    made = of(tmp_path, alone, networks)
    assert [kind["name"] for kind in kinds(made, "reserved")] == [
        "10.0.0.0/24, reserved",
        "10.2.0.0/24, reserved",
    ]
    [said] = made.unserved
    assert ": 1 reservations are of a client that has an earlier one in the shared" in said


def test_reservations_that_have_no_client_are_counted(tmp_path):
    hosts = [
        {
            "duid": f"00:03:00:01:00:00:00:00:{number:04x}",
            "ip-address": f"10.8.{number // 256}.{number % 256}",
        }
        for number in range(1030)
    ]
    made = of(tmp_path, f'"reservations": {json.dumps(hosts)},')
    reserved = kinds(made, "reserved")
    assert len(reserved) == 1024
    assert reserved[1]["options"][-1] == [61, "hex:ff0000000100030001000000000001"]
    assert made.unserved[0].endswith("10.0.0.0/24: 6 more reservations have no client")


def test_reservations_of_one_address_are_one_client_at_a_time(tmp_path):
    """Kea takes them where `ip-reservations-unique` is false."""
    hosts = [
        {"hw-address": f"00:00:5e:00:53:{at:02x}", "ip-address": "10.0.0.5"} for at in range(3)
    ]
    made = of(tmp_path, f'"reservations": {json.dumps(hosts)},')
    assert kinds(made, "reserved")[0]["macs"] == ["00:00:5e:00:53:00"]
    assert "2 reservations have the address of an earlier one" in made.unserved[0]


def test_a_client_with_an_address_and_a_prefix_has_two_leases():
    """Kea counts both; with half of the pool taken a trial would not count."""
    made = own("isp6")
    wanted = sum(kind["clients"] for kind in made.kinds if kind.get("want") == "both")
    assert wanted > 30_000
    assert made.addresses >= 2 * 2 * wanted


def test_a_reservation_that_gives_a_class_comes_where_a_pool_is_for_it(tmp_path):
    file = tmp_path / "small.conf"
    host = '"hw-address": "aa:bb:cc:00:00:0'
    file.write_text(
        '{"Dhcp4": {"client-classes": [{"name": "vip"}], "reservations-global": true, '
        '"reservations": ['
        f'{{{host}1", "client-classes": ["vip"]}}, {{{host}2", "hostname": "b"}}],'
        '"subnet4": [{"id": 1, "subnet": "10.1.0.0/24", "pools": [{"pool": "10.1.0.9/32"}]},'
        '{"id": 2, "subnet": "10.2.0.0/24", "pools": [{"pool": "10.2.0.16/28", '
        '"client-class": "vip"}]}]}}',
        encoding="utf-8",
    )
    made = read_own(file)
    assert [(kind["name"], kind.get("macs"), kind["clients"]) for kind in made.kinds] == [
        ("10.1.0.0/24", None, 1),
        ("10.2.0.0/24, reserved", ["aa:bb:cc:00:00:01"], 1),
    ]
    # The other would take the only address of a pool from the client that has it.
    [reported] = made.unserved
    assert "1 reservations of no subnet are beyond half of the pools" in reported


def test_reservations_by_a_flexible_identifier_have_clients_that_send_it(tmp_path):
    """Where its expression is one field's; of others a client is named."""
    hook = '"host-reservation-identifiers": ["flex-id"], "hooks-libraries": '
    hook += '[{"library": "libdhcp_flex_id.so", "parameters": {'
    subnet = '"reservations": [{"flex-id": "\'a1\'", "ip-address": "10.0.0.5"}],'
    for expression, expected in (
        ("substring(relay4[2].hex,0,2)", [[2, "hex:6131"]]),
        ("concat(relay4[1].hex,relay4[2].hex)", [[1, "hex:61"], [2, "hex:31"]]),
        ("concat(relay4[1].hex,concat('/',relay4[2].hex))", None),
        ("pkt4.mac", None),
        ("nothing", None),
    ):
        made = of(tmp_path, subnet, f'{hook}"identifier-expression": "{expression}"}}}}],')
        agents = [kind["agent"] for kind in kinds(made, "reserved")]
        assert agents == ([expected] if expected else [])
        assert bool(made.unserved) is (expected is None)


def test_pools_of_all_without_a_reservation_are_divided_among_classes_too(tmp_path):
    top = '"client-classes": [{"name": "a", "test": "option[77].exists"}],'
    made = of(tmp_path, top=top, pool='"client-class": "UNKNOWN",')
    assert [(kind["name"], kind["clients"]) for kind in made.kinds] == [
        ("10.0.0.0/24, UNKNOWN", 25),
        ("10.0.0.0/24, a", 25),
    ]


def test_clients_have_the_reservations():
    reserved = kinds(own("isp"), "reserved")
    assert [kind.get("macs") for kind in reserved] == [None, ["1a:1b:1c:1d:1e:1f"]]
    assert reserved[0]["agent"] == [[1, "hex:706f72742d37"]]
    [reported] = [line for line in own("campus").unserved if "reservation" in line]
    assert "by flex-id" in reported


@pytest.mark.parametrize(
    ("family", "test", "by", "names"),
    [
        (4, "substring(pkt4.mac,0,3) == 0x0004f2", "hw-address", ["0004f2000001", "02"]),
        (6, "substring(option[1].hex,4,3) == 0x0004f2", "hw-address", ["0004f2000001", "02"]),
        (6, "substring(option[1].hex,0,2) == 0x0002", "duid", ["000200000de90001", "0003"]),
    ],
)
def test_a_class_of_addresses_has_reserved_clients_by_their_own(
    tmp_path, family, test, by, names
):
    """That of a reservation alone decides, and no client without one has it."""
    rows = ", ".join(f'{{"{by}": "{name:0<12}"}}' for name in names)
    top = f'"client-classes": [{{"name": "it", "test": "{test}"}}],'
    own = f'"client-class": "it", "reservations": [{rows}],'
    made = of(tmp_path, own, top, family)
    word = {"hw-address": "macs", "duid": "duids"}[by]
    [reserved] = kinds(made, "reserved")
    assert [name.replace(":", "") for name in reserved[word]] == names[:1]
    assert "1 of its reserved clients are in no class that it serves" in made.unserved[0]


def test_no_client_of_a_class_of_addresses_has_a_reservation_too(tmp_path):
    tests = {"maker": "substring(pkt4.mac,0,3) == 0x00005e", "one": f"pkt4.mac == {MAC}"}
    rows = [{"name": name, "test": test} for name, test in tests.items()]
    own = f'"reservations": [{{"hw-address": "{MAC[2:]}", "ip-address": "10.0.0.5"}}],'
    made = of(tmp_path, own, f'"client-classes": {json.dumps(rows)},')
    macs = [mac for kind in made.kinds for mac in kind.get("macs", [])]
    assert len(macs) == len(set(macs)) > 1
    assert made.unserved[0].endswith("10.0.0.0/24, one: its clients have reservations")


def test_a_reserved_client_that_is_dropped_by_its_address_has_no_load(tmp_path):
    top = f'"client-classes": [{{"name": "DROP", "test": "pkt4.mac == {MAC}"}}],'
    made = of(tmp_path, f'"reservations": [{{"hw-address": "{MAC[2:]}"}}],', top)
    assert kinds(made, "reserved") == []


def test_reservations_that_give_a_class_are_in_all_pools_for_it_by_their_sizes(tmp_path):
    pools = ("10.0.1.0/28", "10.0.2.0/27")
    beside = [
        {
            "id": at,
            "subnet": f"10.0.{at}.0/24",
            "pools": [{"pool": pool, "client-class": "vip"}],
        }
        for at, pool in enumerate(pools, 1)
    ]
    hosts = [
        {"hw-address": f"00:01:02:03:04:{at:02x}", "client-classes": ["vip"]}
        for at in range(30)
    ]
    top = (
        f'{GLOBAL} "client-classes": [{{"name": "vip"}}], "reservations": {json.dumps(hosts)},'
    )
    made = of(
        tmp_path,
        top=top
        + ' "shared-networks": '
        + json.dumps([{"name": str(net["id"]), "subnet4": [net]} for net in beside])
        + ",",
    )
    assert [(kind["name"], kind["clients"]) for kind in kinds(made, "reserved")] == [
        ("10.0.1.0/24, reserved", 8),
        ("10.0.2.0/24, reserved", 16),
    ]
    assert any("6 reservations of no subnet are beyond half" in why for why in made.unserved)


def test_reservations_of_no_subnet_are_where_their_pools_and_addresses_are(tmp_path):
    """Those beyond half of the pools that admit them are counted; their class is known."""
    hosts = [
        '"ip-address": "10.1.0.9"',
        '"client-classes": ["gold"]',
        *('"user-context": {}',) * 5,
    ]
    top = ", ".join(
        f'{{"hw-address": "0:0:0:0:0:{number}", {more}}}' for number, more in enumerate(hosts)
    )
    file = tmp_path / "small.conf"
    file.write_text(
        f'{{"Dhcp4": {{{GLOBAL} "client-classes": [{{"name": "gold"}}],'
        f'"reservations": [{top}],\n'
        '"subnet4": [{"id": 1, "subnet": "10.0.0.0/24", "pools": [{"pool": "10.0.0.8/30"},'
        '{"pool": "10.0.0.16/28", "client-classes": ["gold"]}]}, {"id": 2, "subnet":'
        '"10.1.0.0/24", "pools": [{"pool": "10.1.0.8/30", "client-class": "KNOWN"}]}]}}',
        encoding="utf-8",
    )
    made, clients = read_own(file), Counter()
    for kind in made.kinds:
        clients[kind["name"]] += kind["clients"]
    assert clients == {
        "10.0.0.0/24": 1,
        "10.0.0.0/24, reserved": 2,
        "10.1.0.0/24, reserved": 3,
    }
    [reported] = made.unserved
    assert "small.conf:1:" in reported
    assert "2 reservations of no subnet are beyond half" in reported


ADDRESS = '"ip-address": "10.0.0.@"'


@pytest.mark.parametrize(
    ("more", "free"),
    [
        ("", 19),
        ('"reservations-out-of-pool": true,', 100),
        ('"reservation-mode": "out-of-pool",', 100),
    ],
)
def test_reserved_addresses_of_a_pool_are_not_free(tmp_path, more, free):
    reserved = f'{more} "reservations": [{hosts(101, ADDRESS, first=80)}],'
    made = of(tmp_path, reserved)
    assert clients(made, "reserved") == 101
    assert clients(made) - 101 == free // 2
    everywhere = f'{GLOBAL} "reservations": [{hosts(101, ADDRESS, first=80)}],'
    assert clients(of(tmp_path, top=everywhere)) - 101 == 9


def test_reserved_prefixes_are_not_free_either(tmp_path):
    pool = '"pd-pools": [{"prefix": "2001:db8:8::", "prefix-len": 56, "delegated-len": 64}],'
    for reserved, wanted in ((0, 128), (6, 125)):
        own = hosts(reserved, '"prefixes": ["2001:db8:8:@::/64"]', by="duid")
        made = of(tmp_path, f'{pool} "reservations": [{own}],', family=6)
        assert [kind["clients"] for kind in made.kinds if kind.get("want") == "both"] == [
            wanted
        ]


def test_reservations_without_an_address_take_a_part_of_a_pools_half(tmp_path):
    for number, served, others in ((30, 30, 20), (180, 49, 1)):
        made = of(tmp_path, f'"reservations": [{hosts(number)}],')
        assert (clients(made, "reserved"), clients(made) - served) == (served, others)
    [why] = made.unserved
    assert "131 reservations without an address are beyond half of the pools" in why


@pytest.mark.parametrize(
    ("host", "want"),
    [
        ('"prefixes": ["2001:db8:8::/56"]', "prefix"),
        ('"ip-addresses": ["2001:db8::5"]', "address"),
        ('"ip-addresses": ["2001:db8::5"], "prefixes": ["2001:db8:8::/56"]', "both"),
    ],
)
def test_clients_ask_for_what_is_reserved_for_them(tmp_path, host, want):
    own = f'"reservations": [{hosts(1, host, by="duid")}],'
    [kind] = kinds(of(tmp_path, own, family=6), "reserved")
    assert kind.get("want", "address") == want


@pytest.mark.parametrize(
    ("subnet", "top", "reserved", "why"),
    [
        ("", "", 3, ""),
        ('"reservations-in-subnet": false,', "", 0, "3 reservations are not looked up"),
        ('"reservation-mode": "disabled",', "", 0, "3 reservations are not looked up"),
        ("", '"reservations-in-subnet": false,', 0, "3 reservations are not looked up"),
        (
            "",
            '"host-reservation-identifiers": ["duid"],',
            0,
            "3 reservations are by hw-address, which host-reservation-identifiers lacks",
        ),
        ("", '"host-reservation-identifiers": ["auto"],', 3, ""),
    ],
)
def test_reservations_that_kea_does_not_look_up_have_no_clients(
    tmp_path, subnet, top, reserved, why
):
    made = of(tmp_path, f'{subnet} "reservations": [{hosts(3, ADDRESS)}],', top)
    assert clients(made, "reserved") == reserved
    assert clients(made) - reserved == 50
    assert why in "".join(made.unserved)
    assert bool(why) is bool(made.unserved)


@pytest.mark.parametrize(
    ("subnet", "top", "reserved"),
    [
        ("", "", 0),
        ("", GLOBAL, 3),
        (GLOBAL, "", 3),
        ('"reservation-mode": "global",', "", 3),
        ('"reservations-global": false,', GLOBAL, 0),
    ],
)
def test_reservations_of_no_subnet_have_clients_where_they_are_looked_up(
    tmp_path, subnet, top, reserved
):
    made = of(tmp_path, subnet, f'{top} "reservations": [{hosts(3)}],')
    assert (clients(made), clients(made, "reserved")) == (50, reserved)
    unseen = [
        why for why in made.unserved if "are not looked up, by reservations-global" in why
    ]
    assert bool(unseen) is not bool(reserved)


def test_reservations_that_give_the_class_of_dropped_clients_have_none(tmp_path):
    own = [hosts(2, ADDRESS), hosts(3, ADDRESS, '"client-classes": ["DROP"]', first=2)]
    made = of(tmp_path, f'"reservations": [{", ".join(own)}],')
    assert clients(made, "reserved") == 2
    assert made.unserved[0].endswith("3 reservations give class DROP")


def test_clients_without_a_reservation_may_be_dropped(tmp_path):
    top = """"client-classes": [{"name": "DROP", "test": "not member('KNOWN')"}],"""
    made = of(tmp_path, f'"reservations": [{hosts(2, ADDRESS)}],', top)
    assert (clients(made), clients(made, "reserved"), made.unserved) == (2, 2, [])


@pytest.mark.parametrize(
    "test", ["member('KNOWN')", "member('vip')", "member('vip') and option[60].hex == 'a'"]
)
def test_a_pool_of_a_class_of_reserved_clients_has_these(tmp_path, test):
    top = f'"client-classes": [{{"name": "vip"}}, {{"name": "staff", "test": "{test}"}}],'
    own = f'"reservations": [{hosts(9, """"client-classes": ["vip"]""")}],'
    made = of(tmp_path, own, top, pool='"client-class": "staff",')
    assert (clients(made), clients(made, "reserved"), made.unserved) == (9, 9, [])
    sent = dict(made.kinds[0]["options"]).get(60)
    assert sent == ("hex:61" if "option[60]" in test else None)


def test_global_reservations_choose_a_subnet_where_they_are_looked_up_early(tmp_path):
    top = f'{GLOBAL} "client-classes": [{{"name": "vip"}}], "reservations": '
    top += f'[{hosts(4, """"client-classes": ["vip"]""")}],'
    with pytest.raises(LeaselabError, match="needs vip"):
        of(tmp_path, '"client-class": "vip",', top)
    early = f'"early-global-reservations-lookup": true, {top}'
    made = of(tmp_path, '"client-class": "vip",', early)
    assert (clients(made), clients(made, "reserved"), made.unserved) == (4, 4, [])


def test_reservations_of_a_shared_network_give_their_classes_too_late_for_a_pool(tmp_path):
    own = f'"reservations": [{hosts(5, """"client-classes": ["vip"]""")}],'
    pools = (
        '"pools": [{"pool": "10.0.1.0/25", "client-class": "vip"}, {"pool": "10.0.1.128/28"}]'
    )
    subnet = f'{{"id": 2, "subnet": "10.0.1.0/24", {own} {pools}}}'
    top = '"client-classes": [{"name": "vip"}],'
    network = f'"shared-networks": [{{"name": "n", "subnet4": [{subnet}]}}],'
    made = of(tmp_path, top=f"{top} {network}")
    assert (clients(made, "10.0.1.0/24"), clients(made, "reserved")) == (8, 5)
    assert any("a client of its pool needs vip" in why for why in made.unserved)
    alone = network.replace(', {"pool": "10.0.1.128/28"}', "")
    made = of(tmp_path, top=f"{top} {alone}")
    assert any(
        "5 reservations without an address are in no pool" in why for why in made.unserved
    )
    made = of(tmp_path, own, top, pool='"client-class": "vip",')
    assert (clients(made), clients(made, "reserved"), made.unserved) == (5, 5, [])


@pytest.mark.parametrize("name", ["UNKNOWN", "guests"])
def test_the_lookup_of_reservations_chooses_no_subnet(tmp_path, name):
    top = """"client-classes": [{"name": "guests", "test": "member('UNKNOWN')"}],"""
    guard = f'"client-class": "{name}",'
    why = "its clients are known only after Kea has chosen the subnet"
    with pytest.raises(LeaselabError, match=f"{name}.*: {why}"):
        of(tmp_path, guard, top)
    assert clients(of(tmp_path, top=top, pool=guard)) == 50
    # In a shared network it does, once another of its subnets is chosen.
    pools = (("10.0.1", ""), ("10.0.2", guard))
    subnets = ", ".join(
        f'{{"id": {at}, "subnet": "{net}.0/24", {more} "pools": [{{"pool": "{net}.0/25"}}]}}'
        for at, (net, more) in enumerate(pools, 2)
    )
    network = '"shared-networks": [{"name": "n", "relay": {"ip-addresses": ["10.9.0.1"]},'
    made = of(tmp_path, top=f'{top} {network} "subnet4": [{subnets}]}}],')
    assert clients(made, "10.0.2.0/24") == 64


LIMITED = '"user-context": {"limits": {"address-limit": 20, "rate-limit": "9 packets per day"}}'


def test_limits_of_the_hook_hold_for_subnets_and_classes(tmp_path):
    hook = '"hooks-libraries": [{"library": "/a/libdhcp_limits.so"}],'
    own = f'{LIMITED}, "reservations": [{hosts(3, ADDRESS)}],'
    made = of(tmp_path, own, hook)
    assert (clients(made), clients(made, "reserved")) == (20, 3)
    assert [why.partition(": ")[2] for why in made.unserved] == [
        "10.0.0.0/24: address-limit 20: 33 more clients get no lease",
        "10.0.0.0/24: rate-limit 9 packets per day: what is beyond it gets no answer",
    ]
    classes = f"""{{"name": "a", "test": "option[60].hex == 'a'", {LIMITED}}}"""
    made = of(tmp_path, top=f'{hook} "client-classes": [{classes}],')
    assert (clients(made), clients(made, ", a")) == (45, 20)
    assert "a: address-limit 20: 5 more clients get no lease" in made.unserved[0]
    assert clients(of(tmp_path, own)) == 53


def test_a_limit_of_prefixes_holds_for_clients_that_ask_for_them(tmp_path):
    pool = '"pd-pools": [{"prefix": "2001:db8:8::", "prefix-len": 56, "delegated-len": 64}],'
    limits = '"user-context": {"limits": {"prefix-limit": 7}},'
    hook = '"hooks-libraries": [{"library": "libdhcp_limits.so"}],'
    made = of(tmp_path, pool + limits, hook, family=6)
    assert [(kind["want"], kind["clients"]) for kind in made.kinds] == [("both", 7)]


def test_prefixes_are_asked_for_where_there_are_pools_of_them():
    wanted = {kind["name"]: kind["want"] for kind in own("isp6").kinds}
    assert wanted["2001:db8:1::/48"] == "both"
    assert wanted["2001:db8:2::/48, huawei"] == "prefix"
