"""Clients that fit the relays, pools and classes of a user's configuration of Kea."""

import json
import re

import pytest
from tests.own_kea import clients, in_class, kinds, of, own

from leaselab.inputs.kea import expressions
from leaselab.inputs.own import read_own
from leaselab.model.errors import LeaselabError, Outcome


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


def test_the_first_relay_is_the_last_too(tmp_path):
    kind = in_class(tmp_path, "relay6[-1].option[37].hex == 'a'", 6)
    assert kind["agent"] == [[37, "hex:61"]]
    assert in_class(tmp_path, "relay6[-1].linkaddr == 2001:db8::1", 6)


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


@pytest.mark.parametrize("test", ["pkt4.mac", "substring(pkt4.mac,0,6)"])
def test_a_class_of_one_hardware_address_has_one_client(tmp_path, test):
    kind = in_class(tmp_path, f"{test} == 0x1a1b1c1d1e1f")
    assert kind["macs"] == ["1a:1b:1c:1d:1e:1f"]
    assert kind["clients"] == 1


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
        ("pkt4.giaddr == 0.0.0.0", "its clients come by another relay"),
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


VLAN = '{"name": "vlan", "template-test": "substring(relay4[1].hex,0,3)"}'


def test_a_client_sends_the_value_of_the_class_that_a_template_spawns(tmp_path):
    two = '{"name": "two", "test": "member(\'SPAWN_vlan_v30\')"}'
    more = f'{{"name": "SPAWN_vlan_v20"}}, {{"name": "SPAWN_vlan_v30"}}, {two}'
    top = f'"client-classes": [{VLAN}, {more}],'
    made = of(tmp_path, '"client-classes": ["SPAWN_vlan_v10", "two"],', top)
    sent = [bytes.fromhex(kind["agent"][0][1].removeprefix("hex:")) for kind in made.kinds]
    assert sent == [b"v10", b"v30"]
    # No client has two values: that of a class for options alone, and that of the pool's.
    assert [reason.partition(": ")[2] for reason in made.unserved] == [
        "class SPAWN_vlan_v20: no pool has room for it"
    ]


@pytest.mark.parametrize(
    ("more", "values"),
    [
        ("", {b"31"}),
        (', {"name": "SPAWN_vlan_v10"}, {"name": "SPAWN_vlan_v20"}', {b"v10", b"v20"}),
    ],
)
def test_half_of_the_clients_have_values_of_a_template_that_no_pool_asks_for(
    tmp_path, more, values
):
    made = of(tmp_path, top=f'"client-classes": [{VLAN}{more}],')
    sent = [kind for kind in made.kinds if "agent" in kind]
    of_agents = {kind["agent"][0][1].removeprefix("hex:") for kind in sent}
    assert {bytes.fromhex(value) for value in of_agents} == values
    some = sum(kind["clients"] for kind in sent)
    assert some == pytest.approx(clients(made) / 2, abs=len(made.kinds))
    assert made.unserved == []


def test_a_class_that_no_template_spawns_is_said_to_be_one(tmp_path):
    with pytest.raises(LeaselabError, match=r"\(SPAWN_lan_10: no template class spawns it\)"):
        of(tmp_path, '"client-class": "SPAWN_lan_10",', f'"client-classes": [{VLAN}],')


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


def test_a_pool_of_more_addresses_than_anyone_has_clients_does_not_take_all_of_them(tmp_path):
    file = tmp_path / "small.conf"
    subnets = ", ".join(
        f'{{"id": {number}, "subnet": "2001:db8:{number}::/64",'
        f' "pools": [{{"pool": "2001:db8:{number}::/{length}"}}]}}'
        for number, length in ((1, 112), (2, 64))
    )
    file.write_text(f'{{"Dhcp6": {{"subnet6": [{subnets}]}}}}', encoding="utf-8")
    assert [kind["clients"] for kind in read_own(file).kinds] == [20000, 80000]


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


ASKS = {"client-class": "it"}


def test_classes_come_in_pools_of_others_where_those_for_all_have_no_room(tmp_path):
    """Each pool has the next of them, as many as it has room for."""
    rows = [{"name": name, "test": f"option[60].hex == '{name}'"} for name in "abcd"]
    rows = [*rows, {"name": "it", "test": "option[77].exists"}]
    ranges = {0: {"10.0.0.8/29": ASKS}, 1: {"10.1.0.8/29": ASKS}, 2: {"10.2.0.5/32": {}}}
    subnets = [
        {
            "id": at + 1,
            "subnet": f"10.{at}.0.0/24",
            "pools": [{"pool": pool, **asks} for pool, asks in pools.items()],
        }
        for at, pools in ranges.items()
    ]
    file, server = tmp_path / "small.conf", {"client-classes": rows, "subnet4": subnets}
    file.write_text(json.dumps({"Dhcp4": server}), encoding="utf-8")
    made = read_own(file)
    assert [(kind["name"], kind["clients"]) for kind in made.kinds] == [
        ("10.0.0.0/24, it", 2),
        ("10.0.0.0/24, it, a", 1),
        ("10.0.0.0/24, it, b", 1),
        ("10.1.0.0/24, it", 2),
        ("10.1.0.0/24, it, c", 1),
        ("10.1.0.0/24, it, d", 1),
        ("10.2.0.0/24", 1),
    ]
    assert made.unserved == []


@pytest.mark.parametrize(
    ("last", "network", "counts"),
    # Clients of the class may have all of its 80 addresses, and those of the open pool first.
    [(100, False, [50, 40]), (50, False, [10, 40]), (20, False, [40]), (50, True, [10, 40])],
)
def test_a_pool_has_room_for_its_clients_when_those_of_others_come_first(
    tmp_path, last, network, counts
):
    rows = [{"name": "it", "test": "option[77].exists"}]
    subnets = [
        {"id": 1, "subnet": "10.0.0.0/24", "pools": [{"pool": f"10.0.0.1-10.0.0.{last}"}]},
        {"id": 2, "subnet": "10.0.1.0/24", "pools": [{"pool": "10.0.1.1-10.0.1.80", **ASKS}]},
    ]
    server = {"client-classes": rows, "shared-networks": [{"name": "n", "subnet4": subnets}]}
    if not network:
        subnets[0] |= {"subnet": "10.0.0.0/16"}
        subnets[0]["pools"] += subnets.pop()["pools"]
        server = {"client-classes": rows, "subnet4": subnets}
    file = tmp_path / "small.conf"
    file.write_text(json.dumps({"Dhcp4": server}), encoding="utf-8")
    made = read_own(file)
    assert [kind["clients"] for kind in made.kinds] == counts
    assert len(made.unserved) == 2 - len(counts)
    assert all("clients of other pools may have all" in why for why in made.unserved)


def test_classes_for_which_pools_have_no_room_are_said(tmp_path):
    rows = [{"name": f"c{at}", "test": f"option[60].hex == '{at}'"} for at in range(30)]
    made = of(tmp_path, top=f'"client-classes": {json.dumps(rows)},')
    assert len(kinds(made, ", c")) == 25
    assert [why.partition(": ")[2] for why in made.unserved] == [
        f"class c{at}: no pool has room for it" for at in range(25, 30)
    ]


def test_clients_of_a_makers_class_have_its_prefix_and_differ(tmp_path):
    kind = in_class(tmp_path, "hexstring(substring(pkt4.mac,0,3),':') == '00:1b:78'")
    assert len(set(kind["macs"])) == kind["clients"] == 50
    assert all(mac.startswith("00:1b:78:") for mac in kind["macs"])


@pytest.mark.parametrize(
    ("family", "test", "option"),
    [
        (6, "substring(option[17].option[2].hex,0,3) == 'NOD'", "00007ed9000200034e4f44"),
        (6, "option[vendor-opts].option[2].exists", "00007ed9000200086c656173656c6162"),
        (6, "option[17].option[2].hex == 'A' and vendor[4491].exists", "0000118b0002000141"),
        (4, "option[125].option[1].hex == 'NODE'", "00007ed90601044e4f4445"),
        (4, "option[vivso-suboptions].option[1].hex == 'A'", "00007ed903010141"),
    ],
)
def test_a_part_of_the_vendors_option_is_of_any_enterprise(tmp_path, family, test, option):
    kind = in_class(tmp_path, test, family)
    assert [17 if family == 6 else 125, f"hex:{option}"] in kind["options"]


@pytest.mark.parametrize(
    "test", ["option[43].option[2].hex == 'A'", "option[17].option[2].exists"]
)
def test_a_part_of_another_option_is_not_worked_out(tmp_path, test):
    with pytest.raises(LeaselabError, match="its test cannot be worked out"):
        in_class(tmp_path, test, 4)


@pytest.mark.parametrize(
    ("family", "test", "relay"),
    [
        (4, "pkt4.giaddr == 10.0.0.77", "10.0.0.77"),
        (4, "substring(pkt4.giaddr,3,1) == 0x4d", "10.0.0.77"),
        (6, "relay6[0].linkaddr == 2001:db8::77", "2001:db8::77"),
    ],
)
def test_a_relay_may_have_any_address_of_its_subnet(tmp_path, family, test, relay):
    assert in_class(tmp_path, test, family)["relay"] == relay


def test_a_relay_that_is_named_has_that_address_alone(tmp_path):
    top = '"client-classes": [{"name": "it", "test": "pkt4.giaddr == 10.0.0.77"}],'
    subnet = '"client-class": "it", "relay": {"ip-addresses": ["10.0.0.9"]},'
    with pytest.raises(LeaselabError, match="its clients come by another relay"):
        of(tmp_path, subnet, top)


def test_classes_that_ask_for_each_other_are_followed_to_a_depth(tmp_path):
    tests = ["option[60].hex == 'a'", *(f"member('c{at}')" for at in range(3000))]
    classes = [{"name": f"c{at}", "test": test} for at, test in enumerate(tests)]
    top = f'"client-classes": {json.dumps(classes)},'
    assert of(tmp_path, '"client-class": "c20",', top).clients
    with pytest.raises(LeaselabError, match="its test cannot be worked out: c29"):
        of(tmp_path, '"client-class": "c3000",', top)


def test_a_class_by_a_value_is_found_by_it_however_many_there_are(tmp_path, monkeypatch):
    """Each of some classes has a subnet: their tests are not tried one by one."""
    names = [f"c{at}" for at in range(250)]
    content = {
        "client-classes": [
            {"name": name, "test": f"option[60].hex == '{name}'"} for name in names
        ],
        "subnet4": [
            {
                "id": at + 1,
                "subnet": f"10.0.{at}.0/24",
                "client-class": name,
                "pools": [{"pool": f"10.0.{at}.8/29"}],
            }
            for at, name in enumerate(names)
        ],
    }
    file = tmp_path / "many.conf"
    file.write_text(json.dumps({"Dhcp4": content}))

    tried = []
    holds = expressions.Classes._holds
    monkeypatch.setattr(
        expressions.Classes, "_holds", lambda *given: tried.append(1) or holds(*given)
    )
    assert len(read_own(file).kinds) == len(names)
    assert len(tried) <= 4 * len(names)
