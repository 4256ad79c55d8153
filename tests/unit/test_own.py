"""A user's own configuration: the lab's form of it, and the clients that fit it."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.mutations import with_other_bytes, with_other_values

from leaselab.lab.catalog import find_procedure, find_scenario, match_scenarios
from leaselab.lab.own import read_own, write_own
from leaselab.measure.generators import check_fits
from leaselab.model.errors import LeaselabError, Outcome

DATA = Path(__file__).parents[1] / "data/own"
GLOBAL = '"reservations-global": true,'
WITHOUT = {"isp": ["hook:radius"], "pair": ["hook:ha"]}


def own(name):
    return read_own(DATA / f"{name}.conf", WITHOUT.get(name, ()))


def of(tmp_path, subnet="", top="", family=4, pool=""):
    """What is made of a small configuration: one subnet, with more in and beside it."""
    prefix, range_ = {
        4: ("10.0.0.0/24", "10.0.0.100 - 10.0.0.199"),
        6: ("2001:db8::/48", "2001:db8::/64"),
    }[family]
    file = tmp_path / "small.conf"
    file.write_text(
        f'{{"Dhcp{family}": {{{top} "subnet{family}": [{{"id": 1, "subnet": "{prefix}", '
        f'{subnet} "pools": [{{{pool} "pool": "{range_}"}}]}}]}}}}',
        encoding="utf-8",
    )
    return read_own(file)


def kinds(own, word):
    return [kind for kind in own.kinds if word in kind["name"]]


def in_class(tmp_path, test, family=4):
    """The one kind of clients of a subnet that asks for a class with this test."""
    top = f'"client-classes": [{{"name": "it", "test": "{test}"}}],'
    made = of(tmp_path, '"client-class": "it",', top, family)
    [kind] = made.kinds
    return kind


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("option[60].hex == 'STB'", {"options": [60, "hex:535442"]}),
        ("substring(option[60].hex,0,3) == 'STB'", {"options": [60, "hex:535442"]}),
        ("'STB' == option[vendor-class-identifier].text", {"options": [60, "hex:535442"]}),
        (
            "option[77].exists and not option[60].exists",
            {"options": [77, "hex:6c656173656c6162"]},
        ),
        ("relay4[1].hex == 'port-1'", {"agent": [1, "hex:706f72742d31"]}),
        ("option[82].option[2].hex == 0x0a0b", {"agent": [2, "hex:0a0b"]}),
        ("substring(option[61].hex,0,2) == 'ab'", {"options": [61, "text:ab{client}"]}),
        ("uint16totext(option[93].hex) == '7'", {"options": [93, "hex:0007"]}),
        (
            "hexstring(substring(option[61].hex,0,2),':') == 'aa:bb'",
            {"options": [61, "hex:aabb"]},
        ),
        ("member('VENDOR_CLASS_MSFT 5.0')", {"options": [60, "hex:4d53465420352e30"]}),
        ("split(option[12].text,'.',2) == 'a'", {"options": [12, "hex:782e61"]}),
        (
            "ifelse(option[60].exists, option[60].hex, option[77].hex) == 'b'",
            {"options": [60, "hex:62"]},
        ),
        ("'' == ''", {}),
        ("vendor.enterprise == 4491", {"options": [125, "hex:0000118b00"]}),
        ("vendor[4491].option[2].hex == 0x0102", {"options": [125, "hex:0000118b0402020102"]}),
        ("vendor-class[9].data == 'ab'", {"options": [124, "hex:00000009026162"]}),
        ("vendor[0].exists", {"options": [125, "hex:00007ed900"]}),
        ("vendor-class[0].exists", {"options": [124, "hex:00007ed9086c656173656c6162"]}),
        (
            "vendor[*].option[2].exists",
            {"options": [125, "hex:00007ed90a02086c656173656c6162"]},
        ),
        ("option[81].exists", {"options": [81, "hex:0000006c656173656c6162"]}),
        ("option[119].exists", {"options": [119, "hex:086c656173656c616200"]}),
        ("option[124].exists", {"options": [124, "hex:00007ed9086c656173656c6162"]}),
        ("option[125].exists", {"options": [125, "hex:00007ed900"]}),
    ],
)
def test_a_client_sends_what_a_class_tests(tmp_path, test, expected):
    kind = in_class(tmp_path, test)
    for key, option in expected.items():
        assert option in kind[key]


@pytest.mark.parametrize(
    ("family", "test", "expected"),
    [
        (4, "option[93].hex == 0x00070009", "00070009"),
        (4, "substring(option[93].hex,0,1) == 0x01", "0100"),
        (4, "substring(option[94].hex,1,1) == 0x03", "000300"),
        (6, "substring(option[61].hex,2,1) == 0x01", "00000100"),
        (4, "option[93].hex == '00:07'", "option[93] of 5 bytes, which Kea drops"),
        (4, "option[57].hex == 0x05", "option[57] of 1 bytes, which Kea drops"),
        (6, "option[62].hex == 'ab'", "option[62] of 2 bytes, which Kea drops"),
    ],
)
def test_an_option_of_numbers_has_all_their_bytes(tmp_path, family, test, expected):
    if "Kea" in expected:
        with pytest.raises(LeaselabError, match=re.escape(expected)):
            in_class(tmp_path, test, family)
        return
    options = in_class(tmp_path, test, family)["options"]
    assert f"hex:{expected}" in [value for _, value in options]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("vendor[4491].option[2].hex == 'ECM'", [17, "hex:0000118b0002000345434d"]),
        ("substring(vendor-class[9].data[0],0,2) == 'ab'", [16, "hex:0000000900026162"]),
        ("vendor[*].exists", [17, "hex:00007ed9"]),
        ("vendor[0].option[2].hex == 'a'", [17, "hex:00007ed90002000161"]),
        ("member('VENDOR_CLASS_docsis3.0')", [16, "hex:00007ed90009646f63736973332e30"]),
        (
            "member('VENDOR_CLASS_ab') and vendor-class.enterprise == 9",
            [16, "hex:0000000900026162"],
        ),
        (
            "vendor-class[9].data == 'ab' and member('VENDOR_CLASS_ab')",
            [16, "hex:0000000900026162"],
        ),
        ("option[16].exists", [16, "hex:00007ed900086c656173656c6162"]),
        ("option[17].exists", [17, "hex:00007ed9"]),
        ("option[39].exists", [39, "hex:00086c656173656c616200"]),
        ("option[15].exists", [15, "hex:00086c656173656c6162"]),
        ("substring(option[15].hex,2,4) == 'iPXE'", [15, "hex:000869505845656c6162"]),
        (
            "substring(option[16].hex,6,9) == 'HTTP-boot'",
            [16, "hex:00007ed90009485454502d626f6f74"],
        ),
        (
            "substring(option[16].hex,0,4) == 0x00000de9",
            [16, "hex:00000de900086c656173656c6162"],
        ),
        ("option[16].text == 'x' or option[15].hex == 0x000161", [15, "hex:000161"]),
    ],
)
def test_a_client_of_dhcpv6_sends_the_vendor_option_of_a_class(tmp_path, test, expected):
    assert expected in in_class(tmp_path, test, family=6)["options"]


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


def test_what_the_exchange_itself_sends_is_no_class_of_clients(tmp_path):
    with pytest.raises(LeaselabError, match=r"cannot be worked out: option\[25\]"):
        in_class(tmp_path, "option[25].exists", family=6)


def test_clients_of_a_class_by_what_is_asked_for_are_where_that_is_to_be_had(tmp_path):
    top = '"client-classes": [{"name": "router", "test": "option[25].exists"}],'
    pool = (
        '"pd-pools": [{"prefix": "2001:db8:0:8000::", "prefix-len": 52, "delegated-len": 64}],'
    )
    made = of(tmp_path, pool, top, family=6)
    assert [kind["want"] for kind in kinds(made, "router")] == ["both"]
    assert all(code != 25 for kind in made.kinds for code, _ in kind["options"])
    assert not made.unserved


def test_a_class_whose_clients_are_dropped_or_served_elsewhere_is_said_so(tmp_path):
    classes = {
        "bad": "option[60].hex == 'bad'",
        "DROP": "member('bad')",
        "here": "pkt4.giaddr == 10.0.0.1",
    }
    rows = [{"name": name, "test": test} for name, test in classes.items()]
    beside = '{"id": 2, "subnet": "10.0.1.0/24", "pools": [{"pool": "10.0.1.0/28"}]}'
    made = of(
        tmp_path,
        top=f'"client-classes": {json.dumps(rows)}, "shared-networks": '
        f'[{{"name": "n", "subnet4": [{beside}]}}],',
    )
    assert kinds(made, "here")
    [why] = made.unserved
    assert why.endswith("class bad: its clients are dropped")


def test_clients_whose_identifier_is_replaced_differ_in_what_replaces_it(tmp_path):
    hook = {
        "library": "libdhcp_flex_id.so",
        "parameters": {
            "identifier-expression": "concat(relay4[1].hex,relay4[2].hex)",
            "replace-client-id": True,
        },
    }
    classes = [
        {"name": "port", "test": "substring(relay4[1].hex,0,3) == 'BIZ'"},
        {"name": "one", "test": "relay4[1].hex == 'a' and relay4[2].hex == 'b'"},
    ]
    rows = f'"hooks-libraries": {json.dumps([hook])}, "client-classes": {json.dumps(classes)},'
    made = of(tmp_path, '"reservations": [{"hw-address": "00:01:02:03:04:05"}],', rows)
    agents = {kind["name"].partition(", ")[2]: kind["agent"] for kind in made.kinds}
    usual = [2, "hex:6c656173656c61622d"]
    assert agents == {
        "": [[1, "text:leaselab-{client}"], usual],
        "port": [[1, "text:BIZselab-{client}"], usual],
        "one": [[1, "hex:61"], [2, "hex:62"]],
        "reserved": [[1, "text:leaselab-{client}"], usual],
    }
    assert [kind["clients"] for kind in kinds(made, "one")] == [1]


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


@pytest.mark.parametrize("test", ["pkt4.mac", "substring(pkt4.mac,0,6)"])
def test_a_class_of_one_hardware_address_has_one_client(tmp_path, test):
    kind = in_class(tmp_path, f"{test} == 0x1a1b1c1d1e1f")
    assert kind["macs"] == ["1a:1b:1c:1d:1e:1f"]
    assert kind["clients"] == 1


def test_clients_of_a_makers_class_have_its_prefix_and_differ(tmp_path):
    kind = in_class(tmp_path, "hexstring(substring(pkt4.mac,0,3),':') == '00:1b:78'")
    assert len(set(kind["macs"])) == kind["clients"] == 50
    assert all(mac.startswith("00:1b:78:") for mac in kind["macs"])


def test_clients_of_a_makers_class_have_it_in_their_duids(tmp_path):
    kind = in_class(tmp_path, "substring(option[1].hex,4,3) == 0x00e0fc", family=6)
    assert all(duid.startswith("0003000100e0fc") for duid in kind["duids"])
    assert len(set(kind["duids"])) == kind["clients"]


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("match('^a', option[12].text)", "its test cannot be worked out"),
        ("pkt.iface == 'eth0'", "its test cannot be worked out: pkt.iface"),
        ("option[61].text == 'a'", "its test cannot be worked out"),
        ("lcase(relay4[1].text) == 'a'", "its test cannot be worked out"),
        ("split(option[12].text,'',2) == 'a'", "its test cannot be worked out"),
        ("ifelse(member('it'),'a','b') == 'a'", "its test cannot be worked out"),
        ("vendor[1].exists and vendor[2].exists", "its test cannot be worked out"),
        ("option[54].exists", "its test cannot be worked out: option[54]"),
        ("option[50].exists", "its test cannot be worked out: option[50]"),
        ("", "it has no test: a hook or a reservation sets it"),
        ("option[60].hex == 'a' and option[60].hex == 'b'", "cannot be worked out"),
        ("member('it')", "cannot be worked out"),
        ("option[60].hex = 'a'", "its test is not an expression"),
    ],
)
def test_a_class_that_cannot_be_worked_out_is_named_with_its_place(tmp_path, test, message):
    with pytest.raises(LeaselabError) as refusal:
        in_class(tmp_path, test)
    assert refusal.value.outcome is Outcome.USAGE
    assert message in str(refusal.value)
    assert "small.conf:1:" in str(refusal.value)


def test_a_class_that_a_template_makes_is_said_to_be_one(tmp_path):
    template = '{"name": "vlan", "template-test": "option[60].hex"}'
    with pytest.raises(LeaselabError, match=r"\(SPAWN_vlan_10: a template class spawns it\)"):
        of(tmp_path, '"client-class": "SPAWN_vlan_10",', f'"client-classes": [{template}],')


@pytest.mark.parametrize("name", ["0x6162", "'ab'"])
def test_a_relay_names_its_interface_as_it_is_written(tmp_path, name):
    [kind] = of(tmp_path, f'"interface-id": "{name}",', family=6).kinds
    assert [18, "hex:" + name.encode().hex()] in kind["agent"]


def test_what_nobody_would_be_answered_of_is_said_of_each_subnet():
    with pytest.raises(LeaselabError) as refusal:
        own("wrong")
    for message in (
        "wrong.conf:9:",
        "a class that is not dropped",
        "nowhere: it is not defined",
    ):
        assert message in str(refusal.value)


def test_clients_come_through_the_relays_by_the_sizes_of_pools():
    made = own("isp")
    relays = {kind["relay"] for kind in made.kinds}
    assert relays == {"10.255.0.1", "10.3.0.1"}
    assert sum(kind["clients"] for kind in kinds(made, "10.1.0.0/20")) == 2040  # of 4081
    assert sum(kind["clients"] for kind in kinds(made, "settop")) == 512  # of 1024
    assert made.clients * 2 <= made.addresses


def test_half_of_a_pools_clients_are_in_classes_that_no_pool_asks_for():
    plain, line = (kinds(own("isp"), f"10.1.0.0/20{word}") for word in ("", ", line"))
    assert sum(kind["clients"] for kind in line) * 2 == sum(kind["clients"] for kind in plain)
    assert line[0]["agent"] == [[1, "hex:6c656173656c6162"]]


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


def test_a_pool_of_more_addresses_than_anyone_has_clients_does_not_take_all_of_them(tmp_path):
    file = tmp_path / "small.conf"
    subnets = ", ".join(
        f'{{"id": {number}, "subnet": "2001:db8:{number}::/64",'
        f' "pools": [{{"pool": "2001:db8:{number}::/{length}"}}]}}'
        for number, length in ((1, 112), (2, 64))
    )
    file.write_text(f'{{"Dhcp6": {{"subnet6": [{subnets}]}}}}', encoding="utf-8")
    assert [kind["clients"] for kind in read_own(file).kinds] == [20000, 80000]


def test_clients_have_the_reservations():
    reserved = kinds(own("isp"), "reserved")
    assert [kind.get("macs") for kind in reserved] == [["1a:1b:1c:1d:1e:1f"], None]
    assert reserved[1]["agent"] == [[1, "hex:706f72742d37"]]
    [reported] = [line for line in own("campus").unserved if "reservation" in line]
    assert "by flex-id" in reported


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


def hosts(number, *more, first=0, by="hw-address"):
    """Reservations of so many clients, each with more in it: text that may name its number."""
    return ", ".join(
        "{"
        + ", ".join([f'"{by}": "00:00:5e:00:53:{at:02x}"', *more]).replace("@", str(at))
        + "}"
        for at in range(first, first + number)
    )


def clients(made, word=""):
    return sum(kind["clients"] for kind in kinds(made, word))


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


@pytest.mark.parametrize(
    ("test", "field", "sent"),
    [
        ("option[93].hex == 0x0007 or option[93].hex == 0x0009", "options", (93, [25, 25])),
        ("relay4[1].hex == 'x' or relay4[1].hex == 'y'", "agent", (1, [25, 25])),
        ("concat(relay4[1].hex,relay4[2].hex) == 'abcd'", "agent", (1, [50])),
        ("member('a') or option[77].exists", "options", (60, [17, 17, 16])),
    ],
)
def test_each_alternative_of_a_pools_class_has_clients(tmp_path, test, field, sent):
    tests = {"a": "option[60].hex == 'a' or option[60].hex == 'b'", "it": test}
    rows = [
        {"name": name, "test": own}
        for name, own in tests.items()
        if f"'{name}'" in f"{test}'it'"
    ]
    top = f'"client-classes": {json.dumps(rows)},'
    made, (code, numbers) = of(tmp_path, '"client-class": "it",', top), sent
    assert [kind["clients"] for kind in made.kinds] == numbers
    assert len({str(dict(kind[field]).get(code)) for kind in made.kinds}) == len(numbers)


def test_each_hardware_address_of_a_class_has_a_client(tmp_path):
    test = " or ".join(f"pkt4.mac == 0x00005e0053{at:02x}" for at in range(20))
    top = f'"client-classes": [{{"name": "it", "test": "{test}"}}],'
    made = of(tmp_path, '"client-class": "it",', top)
    macs = [kind["macs"] for kind in made.kinds]
    assert macs == [[f"00:00:5e:00:53:{at:02x}"] for at in range(20)]


def test_each_class_of_a_list_has_clients(tmp_path):
    rows = [{"name": name, "test": f"option[60].hex == '{name}'"} for name in "ab"]
    top = f'"client-classes": {json.dumps(rows)},'
    made = of(tmp_path, top=top, pool='"client-classes": ["a", "b"],')
    assert [(dict(kind["options"])[60], kind["clients"]) for kind in made.kinds] == [
        ("hex:61", 25),
        ("hex:62", 25),
    ]


def test_classes_come_in_pools_of_others_where_no_pool_is_for_all(tmp_path):
    tests = {"a": "option[60].hex == 'a'", "pxe": "option[93].exists", "odd": "pkt.len == 1"}
    rows = [{"name": name, "test": test} for name, test in tests.items()]
    made = of(tmp_path, '"client-class": "a",', f'"client-classes": {json.dumps(rows)},')
    assert [(kind["name"], kind["clients"]) for kind in made.kinds] == [
        ("10.0.0.0/24, a", 25),
        ("10.0.0.0/24, a, pxe", 25),
    ]
    [why] = made.unserved
    assert "class odd: its test cannot be worked out" in why


def test_classes_for_which_pools_have_no_room_are_said(tmp_path):
    rows = [{"name": f"c{at}", "test": f"option[60].hex == '{at}'"} for at in range(30)]
    made = of(tmp_path, top=f'"client-classes": {json.dumps(rows)},')
    assert len(kinds(made, ", c")) == 25
    assert [why.partition(": ")[2] for why in made.unserved] == [
        f"class c{at}: no pool has room for it" for at in range(25, 30)
    ]


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


def test_only_where_it_runs_is_changed_and_each_change_is_listed():
    made = own("isp")
    before = read_form(DATA / "isp.conf")
    assert made.server["subnet4"][0]["pools"] == before["subnet4"][0]["pools"]
    assert made.server["client-classes"] == before["client-classes"]
    assert made.server["valid-lifetime"] == 3600
    changed = {change.split(": ")[0] for change in made.changes}
    assert changed == {
        "hooks-libraries[*].library",
        "lease-database.name",
        "control-socket",
        "interfaces-config.interfaces",
        "subnet4[*].interface",
        "loggers[*].output-options",
    }
    assert made.left_out == ["hook:radius"]


def read_form(path):
    """A configuration without its comments, as Python's own reader has it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return json.loads("\n".join(line for line in lines if not line.startswith("//")))["Dhcp4"]


@pytest.mark.parametrize(
    ("top", "word"),
    [
        ('"hooks-libraries": [{"library": "/x/libdhcp_legal.so"}],', "hook:legal"),
        ('"hosts-database": {"type": "mysql"},', "hosts-database"),
        ('"config-control": {"config-databases": []},', "config-control"),
        ('"dhcp-ddns": {"enable-updates": true},', "dhcp-ddns"),
    ],
)
def test_what_the_lab_cannot_have_is_refused_with_its_line_or_left_out(tmp_path, top, word):
    with pytest.raises(LeaselabError, match=f"--without {word}") as refusal:
        of(tmp_path, top=top)
    assert "small.conf:1:" in str(refusal.value)
    made = read_own(tmp_path / "small.conf", [word])
    assert made.left_out == [word]
    assert 'updates": true' not in json.dumps(made.server)


def test_all_that_the_lab_cannot_have_is_said_at_once(tmp_path):
    hooks = [{"library": f"libdhcp_{stem}.so"} for stem in ("ha", "radius")]
    with pytest.raises(LeaselabError) as refusal:
        of(tmp_path, top=f'"hooks-libraries": {json.dumps(hooks)}, "hosts-database": {{}},')
    words = ["hook:ha", "hook:radius", "hosts-database"]
    assert str(refusal.value).endswith(": --without " + " --without ".join(words))
    assert str(refusal.value).count("small.conf:1:") == 3
    assert read_own(tmp_path / "small.conf", words).left_out == words


def test_hooks_that_contact_no_other_host_are_kept(tmp_path):
    made = of(tmp_path, top='"hooks-libraries": [{"library": "/a/libdhcp_lease_query.so"}],')
    assert made.server["hooks-libraries"] == [{"library": "libdhcp_lease_query.so"}]


def test_loggers_beside_the_server_are_its_own_and_other_programs_are_said(tmp_path):
    file = tmp_path / "kea.conf"
    file.write_text(
        '{"Dhcp4": {"subnet4": [{"id": 1, "subnet": "10.0.0.0/24", "pools": [{"pool": '
        '"10.0.0.8/29"}]}]}, "DhcpDdns": {}, "Logging": {"loggers": [{"name": "kea-dhcp4", '
        '"severity": "DEBUG", "output_options": [{"output": "/a.log"}]}]}}'
    )
    own = read_own(file)
    assert own.server["loggers"] == [{"name": "kea-dhcp4", "severity": "DEBUG"}]
    assert own.changes[:2] == [
        "DhcpDdns: none, as it is of another program",
        "Logging.loggers: those of the server, as in Kea since 1.8",
    ]
    assert own.releases == []


def test_a_class_that_is_worked_out_too_late_for_a_pool_is_said_to_be_one(tmp_path):
    late = '{"name": "late", "test": "option[60].exists", "only-in-additional-list": true}'
    with pytest.raises(LeaselabError, match="worked out only after the subnet and the pool"):
        of(tmp_path, '"client-class": "late",', f'"client-classes": [{late}],')


def test_a_subnet_that_lacks_something_is_said_to_lack_it(tmp_path):
    pools = '"pd-pools": [{"prefix": "2001:db8:8::", "delegated-len": 56}],'
    with pytest.raises(LeaselabError, match=r"Dhcp6.subnet6\[0\]: .*found no prefix-len"):
        of(tmp_path, pools, family=6)


def test_a_word_that_leaves_out_nothing_is_refused(tmp_path):
    of(tmp_path)
    with pytest.raises(LeaselabError, match="no such part"):
        read_own(tmp_path / "small.conf", ["hook:radius"])


def test_the_pools_of_a_pair_are_for_all_when_it_is_left_out():
    made = own("pair")
    assert "HA_" not in json.dumps(made.server)
    assert "subnet4[*].pools[*].client-class: HA_a: none" in made.changes
    assert [(kind["name"], kind["clients"]) for kind in kinds(made, "phones")] == [
        ("10.0.0.0/24, phones_a", 5),
        ("10.0.0.0/24, phones_b", 5),
    ]
    assert made.unserved == []


def test_lists_of_classes_of_a_pair_are_left_out_with_it_at_every_level(tmp_path):
    text = (DATA / "pair.conf").read_text("utf-8").replace('"client-class": "HA_a"', "{}")
    text = text.replace("{}", '"client-classes": ["HA_a"]').replace(
        '"id": 2,', '"id": 2, "client-classes": ["HA_b"],'
    )
    file = tmp_path / "pair.conf"
    file.write_text(text, encoding="utf-8")
    made = read_own(file, ["hook:ha"])
    assert "HA_" not in json.dumps(made.server)
    assert "subnet4[*].client-classes: HA_b: none" in made.changes
    assert made.kinds == own("pair").kinds


def test_a_scenario_is_made_of_a_file_and_another_of_a_changed_one(tmp_path):
    scenarios, catalogue = tmp_path / "scenarios", Path(__file__).parents[2] / "scenarios"
    shutil.copytree(catalogue / "loads", scenarios / "loads")
    shutil.copy(catalogue / "hardware.yml", scenarios)
    made = own("house")
    name = write_own(made, Path("My House.conf"), scenarios)
    scenario = find_scenario(scenarios, name)
    assert name.startswith("own-my-house-")
    assert scenario.server.options["changed"] == made.changes
    assert scenario.factors == {
        "protocol": "DHCPv4",
        "configuration": name.removeprefix("own-"),
    }
    kept = tmp_path / ".leaselab/own" / f"{scenario.server.options['configuration']}.json"
    assert json.loads(kept.read_text(encoding="utf-8")) == made.server
    procedure = find_procedure(scenarios, name, {})
    check_fits(scenario, procedure)
    # Each client is served once, and keeps its lease.
    assert (procedure.keeps, procedure.warm_up_s) == (True, 1)
    assert procedure.warm_up_rate == made.clients == 75
    assert not find_procedure(scenarios, name, {"name": "duel"}).keeps
    assert match_scenarios(scenarios, [name])[0] == scenario
    other = read_own(DATA / "isp6.conf")
    assert write_own(other, Path("My House.conf"), scenarios) != name
    with pytest.raises(LeaselabError, match="perfdhcp"):
        check_fits(
            find_scenario(scenarios, name, "perfdhcp"), find_procedure(scenarios, name, {})
        )


def test_json_is_of_kea_whatever_its_comments_say(tmp_path):
    """Words of other languages are in comments of Kea's own examples."""
    file = tmp_path / "small.conf"
    kea = (DATA / "house.conf").read_text("utf-8")
    file.write_text(f"/*\n subnet number {{\ndhcp-range=1\n*/\n{kea}", encoding="utf-8")
    assert read_own(file).kind == "kea"


@pytest.mark.parametrize("named", ["", "etc", "etc/kea", "etc/kea/kea-dhcp4.conf"])
def test_files_that_kea_includes_are_looked_for_below_the_folder(tmp_path, named):
    folder = tmp_path / "etc/kea"
    (folder / "conf.d").mkdir(parents=True)
    subnet = '"subnet": "10.0.0.0/24", "pools": [{"pool": "10.0.0.100 - 10.0.0.199"}]'
    (folder / "conf.d/net.json").write_text(f'[{{"id": 1, {subnet}}}]', encoding="utf-8")
    text = '{"Dhcp4": {"subnet4": <?include "/etc/kea/conf.d/net.json"?>}}'
    (folder / "kea-dhcp4.conf").write_text(text, encoding="utf-8")
    assert read_own(tmp_path / named).clients == 50
    (folder / "conf.d/net.json").rename(folder / "conf.d/gone")
    with pytest.raises(LeaselabError, match=r"conf:1:23: .*found /etc/kea/conf.d/net.json"):
        read_own(tmp_path / named)


def test_a_folder_of_several_configurations_says_what_to_name(tmp_path):
    for family in (4, 6):
        (tmp_path / f"kea-dhcp{family}.conf").touch()
    files = rf"--config {tmp_path}/kea-dhcp4.conf or {tmp_path}/kea-dhcp6.conf"
    with pytest.raises(LeaselabError, match=f"; name the file itself: {files}$"):
        read_own(tmp_path)


def test_a_file_of_no_language_is_said_to_be_one(tmp_path):
    file = tmp_path / "small.conf"
    file.write_text("server=192.0.2.1\n", encoding="utf-8")
    with pytest.raises(LeaselabError) as refusal:
        read_own(file)
    assert refusal.value.outcome is Outcome.USAGE
    assert "not a configuration in a language" in str(refusal.value)
    assert "dnsmasq.conf" in str(refusal.value)


@pytest.mark.parametrize("name", ["isp", "isp6", "campus", "pair"])
def test_whatever_a_file_says_it_is_read_or_refused(tmp_path, name):
    """Bytes and values that are others: no traceback, and the place of what is wrong."""
    text = (DATA / f"{name}.conf").read_bytes()
    file = tmp_path / "changed.conf"
    plain = "\n".join(
        line for line in text.decode().splitlines() if not line.startswith(("//", "#"))
    )
    document, refused = json.loads(plain), []
    for seed in range(40):
        changed = with_other_bytes(text, seed)
        if seed % 2:
            changed = json.dumps(with_other_values(document, seed)).encode()
        file.write_bytes(changed)
        try:
            assert read_own(file, WITHOUT.get(name, ())).clients > 0
        except LeaselabError as refusal:
            refused.append(refusal)
    assert {message.outcome for message in refused} == {Outcome.USAGE}
    assert all("changed.conf" in str(item) or "--without" in str(item) for item in refused)
