"""The pool that clients get their addresses from."""

import pytest
from tests.refusals import refused

from leaselab.model.pool import check_pool, pool_size

LOAD = {"family": 4, "subnet": "10.0.0.0/8", "pool": "10.0.0.1 - 10.255.255.254"}


@pytest.mark.parametrize(
    ("pool", "size"),
    [
        ("10.0.0.1 - 10.255.255.254", 16_777_214),
        ("10.1.2.3 - 10.1.2.3", 1),
        ("10.1.0.0/16", 65_536),
        ("2001:2:0:100::/64", 2**64),
    ],
)
def test_the_size_of_a_pool(pool, size):
    assert pool_size(pool) == size
    six = ":" in pool
    subnet = "2001:2::/32" if six else "10.0.0.0/8"
    check_pool({"family": 6 if six else 4, "subnet": subnet, "pool": pool}, "scenario x")
    check_pool({"family": 4}, "scenario x")  # such as of a generator that needs no pool


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"family": 6}, "pool does not fit the address family"),
        ({"family": 5}, "pool does not fit the address family"),
        ({"pool": "10.0.0.9 - 10.0.0.1"}, "pool does not fit"),
        ({"pool": "here - there"}, "pool is not usable"),
        ({"subnet": "10.0.0.1/8"}, "has host bits set"),
    ],
)
def test_a_pool_that_no_server_could_serve_is_refused(fields, match):
    with refused(match, where="scenario v4-example"):
        check_pool({**LOAD, **fields}, "scenario v4-example")
    with refused(r"key missing .wanted subnet"):
        check_pool({"family": 4, "pool": LOAD["pool"]}, "scenario x")
