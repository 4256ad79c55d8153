"""What the advice reads in Kea's own language."""

import pytest

from leaselab.inputs.kea import grammar as kea

MAC = "0x001122334455"


COUNTED = {
    "Dhcp4": [
        (f"pkt4.mac == {MAC}", 1),
        (f"{MAC} == pkt4.mac", 1),
        (f"not (pkt4.mac == {MAC}) and (pkt4.mac == 0x01 or pkt4 . mac == 0x02)", 3),
        ("hexstring(pkt4.mac, ':') == '00:11:22:33:44:55'", 1),
        ("lcase(concat('x', hexstring(pkt4.mac, ''))) == lcase('X')", 1),
        ("'x' + hexstring(pkt4.mac, '') == 'x' + 'y'", 1),
        ("option[61].hex == 0x01001122334455", 1),
        ("option[ dhcp-client-identifier ].text == 'one'", 1),
        ("substring(option[61].hex,1,6) == 0x01", 1),
        ("substring(option[61].hex, 1, all) == 0x01", 1),
        ("substring(option[61].hex, -6, 6) == 0x01", 1),
        ("substring(pkt4.mac, 0, 6) == 0x01", 1),
        ("relay4[1].hex == 'port 7'", 1),
        ("option[82].option[1].hex == 'port 7'", 1),
        (f"ifelse(pkt4.mac == {MAC}, 'a', 'b') == 'a'", 1),
        # A maker, a kind of device, a part of a network: nobody can reserve anything for these.
        ("substring(pkt4.mac,0,3) == 0x001500", 0),
        ("substring(pkt4.mac,3,all) == 0x001500", 0),
        ("substring(option[61].hex,1,3) == 0x001500", 0),
        ("substring(hexstring(pkt4.mac,':'),0,8) == '00:15:00'", 0),
        ("option[60].hex == 'pkt4.mac == 0x01'", 0),
        ("option[clientid].hex == 0x01", 0),
        ("option[161].hex == 0x01 or option[6].hex == 0x02", 0),
        ("vendor[4491].option[1].hex == 'x' or relay4[2].hex == 'switch'", 0),
        ("member('pkt4.mac') or pkt4.giaddr == 192.0.2.1", 0),
        ("pkt4.mac == option[61].hex", 0),
        ("match('00:15.*', hexstring(pkt4.mac, ':'))", 0),
        ("option[61].exists", 0),
    ],
    "Dhcp6": [
        ("option[1].hex == 0x0001", 1),
        ("option[clientid].hex == 0x0001 or hexstring(option[clientid].hex, '') == '01'", 2),
        ("substring(option[1].hex, 8, 6) == 0x001122334455", 1),
        ("substring(option[1].hex, 4, all) == 0x001122334455", 1),
        ("substring(option[1].hex, 0, 2) == 0x0001", 0),
        ("substring(option[1].hex, 8, 3) == 0x001500", 0),
        ("option[61].hex == 0x01 or option[16].hex == 'x'", 0),
        ("relay6[0].option[18].hex == 'port' or relay6[0].peeraddr == fe80::1", 0),
        ("pkt6.msgtype == 1 and pkt.iface == 'eth0' or addrtotext(pkt.src) == '::1'", 0),
    ],
}


@pytest.mark.parametrize(
    ("server", "expression", "clients"),
    [(server, *row) for server, rows in COUNTED.items() for row in rows],
)
def test_clients_are_distinguished_from_makers(server, expression, clients):
    assert kea.kea_readable(expression)
    assert kea.kea_clients(expression, server) == clients


@pytest.mark.parametrize(
    "expression",
    [
        *("", "pkt4.mac", "'a' == ", "'a' = 'a'", "(pkt4.mac == 0x01", "option[1 == 'a'"),
        *("pkt5.mac == 0x01", "substring(pkt4.mac, 0) == 0x01", "member(pkt4.mac)", "\x00"),
        *("substring(pkt4.mac, 'a', all) == 0x01", "'a' == 'a' or", "'a\n' == 'a'"),
        *("'é' == 'a' é", "concat(" * 5000),
        "(" * 5000 + "'a' == 'a'" + ")" * 5000,
    ],
)
def test_what_is_no_expression_names_nobody(expression):
    assert kea.kea_readable(expression) == (expression == "pkt4.mac")  # a template's
    assert kea.kea_clients(expression, "Dhcp4") == 0


def test_long_expressions_take_no_more_time_than_they_are_long():
    many = " or ".join(f"pkt4.mac == 0x{number:012x}" for number in range(20_000))
    assert kea.kea_clients(many, "Dhcp4") == 20_000
    assert not kea.kea_readable("not " * 100_000 + "0" * 100_000 + "a" * 100_000)
