"""Filters of role kea."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "roles/kea/filter_plugins/kea.py"
SPEC = importlib.util.spec_from_file_location("kea_filters", FILE)
kea = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(kea)


@pytest.mark.parametrize(
    ("pool", "halves"),
    [
        (
            "10.0.0.1 - 10.255.255.254",
            ["10.0.0.1 - 10.127.255.255", "10.128.0.0 - 10.255.255.254"],
        ),
        (
            "2001:2:0:100::/64",
            [
                "2001:2:0:100:: - 2001:2:0:100:7fff:ffff:ffff:ffff",
                "2001:2:0:100:8000:: - 2001:2:0:100:ffff:ffff:ffff:ffff",
            ],
        ),
    ],
)
def test_a_pool_is_split_without_a_gap_or_an_overlap(pool, halves):
    assert kea.FilterModule().filters()["kea_halves"](pool) == halves
