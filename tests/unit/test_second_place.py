"""The device of a host's second place: what is made of it, and when it is refused."""

import copy

import pytest
from tests.role_modules import load

second_place = load("lab_host", "second_place")

DEVICE = "leaselab2"
ADDRESSES = ["198.18.0.11/24", "2001:2:0:1::11/64"]
PARENT = {
    "ifname": "eth1",
    "address": "02:42:c6:12:00:0a",
    "flags": ["UP"],
    "addr_info": [{"local": "198.18.0.10", "prefixlen": 24}],
}
MADE = {
    "ifname": DEVICE,
    "link": "eth1",
    "flags": ["BROADCAST", "UP"],
    "linkinfo": {"info_kind": "macvlan", "info_data": {"mode": "bridge"}},
    "addr_info": [
        {"local": local, "prefixlen": bits}
        for local, bits in (("198.18.0.11", 24), ("2001:2:0:1::11", 64), ("fe80::411", 64))
    ],
}


def missing(*links):
    result = second_place.commands(list(links), "eth1", DEVICE, ADDRESSES)
    return [" ".join(argv) for argv in result]


def test_a_host_without_it_gets_it_whole_and_what_it_lost_comes_back():
    own = second_place.hardware_address(PARENT["address"], DEVICE)
    up, four, six = (
        "link set leaselab2 up",
        *(f"address add {address} dev leaselab2 metric 512" for address in ADDRESSES),
    )
    made = f"link add link eth1 name leaselab2 address {own} type macvlan mode bridge"
    assert missing(PARENT) == [made, up, four, six]
    assert missing(PARENT, MADE) == []
    lost = {**MADE, "flags": ["BROADCAST"], "addr_info": MADE["addr_info"][:1]}
    assert missing(PARENT, lost) == [up, six]


@pytest.mark.parametrize(
    ("change", "actual"),
    [
        ({"linkinfo": {"info_kind": "veth"}}, "veth on eth1"),
        ({"linkinfo": {}}, "no virtual device on eth1"),
        ({"link": "eth0"}, "macvlan bridge on eth0"),
        (
            {"linkinfo": {"info_kind": "macvlan", "info_data": {"mode": "vepa"}}},
            "macvlan vepa on eth1",
        ),
    ],
)
def test_another_device_of_that_name_is_refused(change, actual):
    with pytest.raises(ValueError, match=f"^{actual}$"):
        missing(PARENT, {**MADE, **change})


def test_its_hardware_address_is_its_own_and_stays():
    own = second_place.hardware_address(PARENT["address"], DEVICE)
    assert own == second_place.hardware_address(PARENT["address"], DEVICE)
    assert own != second_place.hardware_address("02:42:c6:12:00:14", DEVICE)
    first, *others = (int(part, 16) for part in own.split(":"))
    assert len(others) == 5
    assert (first & 0b10, first & 0b01) == (0b10, 0)  # locally administered, of one host
    assert not own.startswith("02:4c:53:4c")  # what foreign-dhcp marks its questions with


def test_an_address_on_another_device_is_reported():
    """As where an administrator gave it to the test interface."""
    parent = copy.deepcopy(PARENT)
    parent["addr_info"].append({"local": "198.18.0.11", "prefixlen": 24})
    assert second_place.misplaced([parent, MADE], DEVICE, ADDRESSES) == ["198.18.0.11 on eth1"]
    assert second_place.misplaced([PARENT, MADE], DEVICE, ADDRESSES) == []


BOTH, RIGHT = ("eth1", DEVICE), {"all/arp_ignore": 1, "all/arp_announce": 2}
"""The devices, and how a lab's container has their settings."""


@pytest.mark.parametrize(
    ("values", "changed"),
    [
        # A host as Debian has it: no filter, and every device answers for all addresses.
        (
            {},
            {f"{at}/arp_ignore": 1 for at in BOTH} | {f"{at}/arp_announce": 2 for at in BOTH},
        ),
        (
            {"eth1/arp_ignore": 1, "all/arp_announce": 1},
            {"leaselab2/arp_ignore": 1, "eth1/arp_announce": 2, "leaselab2/arp_announce": 2},
        ),
        (RIGHT, {}),
        ({**RIGHT, "all/arp_ignore": 2, "all/rp_filter": 2}, {}),
        ({**RIGHT, "all/rp_filter": 1}, {"eth1/rp_filter": 2, "leaselab2/rp_filter": 2}),
        ({**RIGHT, "leaselab2/rp_filter": 1}, {"leaselab2/rp_filter": 2}),
    ],
)
def test_the_kernel_answers_and_takes_what_comes_in_at_each_device(tmp_path, values, changed):
    for device in ("all", *BOTH):
        folder = tmp_path / "sys/net/ipv4/conf" / device
        folder.mkdir(parents=True)
        for name in ("arp_ignore", "arp_announce", "rp_filter"):
            value = values.get(f"{device}/{name}", 0)
            (folder / name).write_text(f"{value}\n", encoding="ascii")
    wanted = {f"net/ipv4/conf/{name}": value for name, value in changed.items()}
    assert second_place.settings("eth1", DEVICE, tmp_path) == wanted
