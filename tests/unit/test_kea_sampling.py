"""What Kea's contract makes of Kea's own counters."""

import pytest
from tests.contracts import contract_module


@pytest.fixture(scope="module")
def sampling():
    """The module that takes samples, found where the contract finds it."""
    with contract_module("kea", "kea_contract.sampling") as sampling:
        yield sampling


def test_what_the_lease_cache_saved_was_not_written(sampling):
    counters = {"pkt4-ack-sent": 1000, "v4-lease-reuses": 998}
    assert sampling.written(counters, "pkt4-ack-sent", "v4-lease-reuses") == 2


@pytest.mark.parametrize("missing", ["pkt4-ack-sent", "v4-lease-reuses"])
def test_a_counter_that_kea_had_no_time_to_tell_makes_what_was_written_unknown(
    sampling, missing
):
    counters = {"pkt4-ack-sent": 1000, "v4-lease-reuses": 998}
    del counters[missing]
    assert sampling.written(counters, "pkt4-ack-sent", "v4-lease-reuses") is None
