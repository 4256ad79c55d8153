"""Operations of real servers that give leases, as their roles run them."""

import json
import sys

import pytest
from tests import deployed
from tests.contracts import ROLES
from tests.rooted import cabled
from tests.tools import run

OF_ALL = {"link-down", "pause-100ms", "pause-1s"}


@pytest.fixture(scope="module")
def hosts():
    with cabled("operations") as prefixes:
        yield prefixes


@pytest.mark.parametrize(
    ("role", "options", "own"),
    [
        ("dnsmasq", {"backend": "memory"}, {"reload"}),
        (
            *("kea", {"backend": "memfile"}),
            {
                "add-subnets",
                "config-set",
                "lease-cleanup",
                "reclaim",
                "reload",
                "remove-subnets",
            },
        ),
    ],
)
def test_its_operations_take_effect_and_leave_its_files_as_they_were(
    hosts, tmp_path, role, options, own
):
    root = deployed.leases(hosts[0], tmp_path, role, 4, **options)
    try:
        started = [json.loads(root.verb("start")[1])]
        assert root.operated().keys() == OF_ALL | own
        assert json.loads(root.verb("sample")[1].splitlines()[0])["held"] == 0
        started.append(json.loads(root.verb("start")[1]))
    finally:
        root.verb("stop")
    assert started[0]["config_sha256"] == started[1]["config_sha256"]


@pytest.mark.night
def test_a_recursor_takes_a_response_policy_zone_of_a_million_names(hosts, tmp_path):
    options = {"role": "recursive", "data": "hierarchy", "threads": 1}
    root = deployed.recursor(hosts[0], tmp_path, "bind9", **options)
    with deployed.hierarchy(hosts[0], tmp_path):
        try:
            started = [json.loads(root.verb("start")[1])]
            assert root.operated().keys() == OF_ALL | {"blocklist", "flush"}
            started.append(json.loads(root.verb("start")[1]))
        finally:
            root.verb("stop")
    assert started[0]["config_sha256"] == started[1]["config_sha256"]


def test_a_link_that_is_down_comes_back_with_its_addresses(hosts):
    code = f"""
import sys
sys.path.insert(0, {str(ROLES / "contract/files")!r})
from leaselab_contract import address
both = ("198.18.0.10", "2001:2:0:1::10")
assert [*map(address.having_address, both)] == [["s0"]] * 2
assert [address.is_cable(name) for name in ("s0", "lo", "none")] == [True, False, False]
with address.down("s0"):
    assert not address.is_up("s0")
    assert address.having_address(both[1]) == []
assert address.is_up("s0")
assert [*map(address.having_address, both)] == [["s0"]] * 2
"""
    status, said = run(*hosts[0], sys.executable, "-c", code)
    assert status == 0, said


@pytest.mark.parametrize("other", ["198.18.0.30", "2001:2:0:1::30"])
def test_a_host_that_is_cut_off_from_another_sends_it_nothing_until_it_rejoins(hosts, other):
    code = f"""
import socket, sys
sys.path.insert(0, {str(ROLES / "contract/files")!r})
from leaselab_contract import address
family = socket.AF_INET6 if ":" in {other!r} else socket.AF_INET
def sends():
    with socket.socket(family, socket.SOCK_DGRAM) as sending:
        try:
            return sending.sendto(b"x", ({other!r}, 9)) == 1
        except OSError:
            return False
assert sends()
for change, expected in ((address.cut_off, False), (address.rejoin, True)):
    for _ in range(2):  # the second time it has no effect
        change({other!r})
        assert sends() is expected
"""
    status, said = run(*hosts[0], sys.executable, "-c", code)
    assert status == 0, said
