"""The pool that clients get their addresses from."""

import pytest

from leaselab.model.errors import LeaselabError, Outcome
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


@pytest.mark.parametrize(
    "load",
    [
        LOAD,
        {"family": 6, "subnet": "2001:2::/32", "pool": "2001:2:0:100::/64"},
        {"family": 4},  # such as one of a generator that needs no pool
    ],
)
def test_a_load_whose_pool_fits_is_taken(load):
    check_pool(load, "scenario x")


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
    with pytest.raises(LeaselabError, match=match) as caught:
        check_pool({**LOAD, **fields}, "scenario v4-example")
    assert caught.value.outcome is Outcome.USAGE
    assert caught.value.where == "scenario v4-example"


def test_a_pool_needs_its_subnet():
    with pytest.raises(LeaselabError, match=r"key missing .wanted subnet"):
        check_pool({"family": 4, "pool": LOAD["pool"]}, "scenario x")
