"""Filters of role kea."""

import ipaddress
import itertools

import pytest
from tests.role_modules import load

kea = load("kea", "kea")


FIRST, LAST = "2001:2:0:100::", "2001:2:0:100:ffff:ffff:ffff:ffff"


@pytest.mark.parametrize(
    ("pool", "parts"),
    [
        ("10.0.0.0/8", ["10.0.0.0/8"]),
        (
            f"{FIRST}/64",
            [f"{FIRST} - 2001:2:0:100:7fff:ffff:ffff:ffff", f"2001:2:0:100:8000:: - {LAST}"],
        ),
        (
            "10.0.0.1 - 10.0.0.10",
            ["10.0.0.1 - 10.0.0.3", "10.0.0.4 - 10.0.0.6", "10.0.0.7 - 10.0.0.10"],
        ),
    ],
)
def test_a_pool_is_split_without_a_gap_or_an_overlap(pool, parts):
    assert kea.FilterModule().filters()["kea_parts"](pool, len(parts)) == parts


@pytest.mark.parametrize("family", [4, 6])
def test_subnets_that_serve_nobody_overlap_neither_each_other_nor_those_of_a_network(family):
    network = kea.kea_other_subnets([2, 3], family)
    beside = kea.kea_other_subnets([1, *range(4, 10_004)], family, before=2)
    prefixes = [ipaddress.ip_network(row["subnet"]) for row in [*network, *beside]]
    assert len(set(prefixes)) == 10_003
    ordered = sorted(prefixes)
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(ordered))
    served = ipaddress.ip_network({4: "10.0.0.0/8", 6: "2001:2::/48"}[family])
    assert not any(prefix.overlaps(served) for prefix in prefixes)
    assert [row["id"] for row in beside][:2] == [1, 4]


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("kind", ["empty", "simple", "substring"])
def test_there_are_as_many_classes_as_are_asked_for(kind, family):
    result = kea.kea_classes(kind, 100, family)
    assert len({row["name"] for row in result}) == 100
    assert len({item.get("test") for item in result}) == 1
    assert ("test" in result[0]) == (kind != "empty")
    assert kea.kea_classes("none", 0, family) == []
    (of_members,) = kea.kea_classes("members", 2, 4)
    assert of_members["test"] == "pkt4.mac == 0x020000000000 or pkt4.mac == 0x020000000001"


def reserved(count, share, **fields):
    known = {"clients": 1000, "first_client": "00:0c:01:02:03:04", "scope": "in-subnet"}
    known |= {"pool": "10.0.0.1 - 10.0.255.254", "by": "hw-address"}
    return kea.kea_reservations(count, share, **{**known, **fields})


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_the_clients_has_a_reservation_and_strangers_have_the_others(share):
    macs = [int(row["hw-address"].replace(":", ""), 16) for row in reserved(2000, share)]
    assert len(set(macs)) == 2000
    begin = 0x000C01020304
    coming = sorted(mac - begin for mac in macs if begin <= mac < begin + 1000)
    assert len(coming) == 1000 * share
    assert all(b - a in (1, 3, 4) for a, b in itertools.pairwise(coming)), "spread evenly"


def test_addresses_are_in_the_pool_above_it_or_none():
    inside, above, name = (
        reserved(2, 1.0, clients=2, scope=scope)
        for scope in ("in-subnet", "out-of-pool", "global")
    )
    assert [row["ip-address"] for row in inside] == ["10.0.255.254", "10.0.255.253"]
    assert [row["ip-address"] for row in above] == ["10.0.255.255", "10.1.0.0"]
    assert name[1] == {"hw-address": "00:0c:01:02:03:05", "hostname": "host-1"}
    flexible = reserved(1, 1.0, clients=1, by="flex-id")
    assert flexible == [{"flex-id": "000c01020304", "ip-address": "10.0.255.254"}]
    with pytest.raises(ValueError, match="3 reservations in a pool of fewer addresses"):
        reserved(3, 0.0, pool="10.0.0.1 - 10.0.0.3")


def test_reservations_are_written_to_a_database_some_at_a_time():
    sql = kea.kea_host_rows(reserved(2500, 0.0), "mysql", 1)
    assert sql.startswith("USE kea;\nINSERT INTO hosts (dhcp_identifier,")
    assert (sql.count("INSERT"), sql.count("0x02")) == (3, 2500)
    assert "(0x020000000000, 0, 1, 167837694, NULL)" in sql
    named = kea.kea_host_rows(reserved(1, 0.0, scope="global"), "postgresql", 0)
    assert named.startswith("\\connect kea\n")
    assert "('\\x020000000000', 0, 0, NULL, 'host-0');" in named


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("/etc/kea/a.json:6:13", "Dhcp4.subnet4[1]"),
        ("/etc/kea/a.json:7.17-21", "Dhcp4.subnet4[1]"),
        ("/etc/kea/a.json:8.31-40", "Dhcp4.subnet4[1].pools[1]"),
        ("/etc/kea/a.json:2.14", "Dhcp4"),
        ("/usr/lib/libdhcp_a.so", "/usr/lib/libdhcp_a.so"),
    ],
)
def test_a_refusal_names_a_path_for_a_place_in_a_file_of_the_lab(place, path):
    text = """{
    "Dhcp4": {
        "a": "{[,",
        "subnet4": [
            {},
            {
                "id": 1,
                "pools":  [{}, {}] } ] } }"""
    assert kea.kea_named_place(f"wrong ({place})", text) == f"wrong ({path})"
