"""Filters of role dnsmasq."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "roles/dnsmasq/filter_plugins/dnsmasq.py"
SPEC = importlib.util.spec_from_file_location("dnsmasq_filters", FILE)
dnsmasq = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(dnsmasq)


@pytest.mark.parametrize(
    ("pool", "subnet", "expected"),
    [
        (
            "10.0.0.1 - 10.255.255.254",
            "10.0.0.0/8",
            "10.0.0.1,10.255.255.254,255.0.0.0",
        ),
        (
            "2001:2:0:100::/64",
            "2001:2:0:100::/64",
            "2001:2:0:100::,2001:2:0:100:ffff:ffff:ffff:ffff,64",
        ),
    ],
)
def test_a_pool_is_written_as_dnsmasq_wants_it(pool, subnet, expected):
    assert dnsmasq.dnsmasq_range(pool, subnet) == expected
