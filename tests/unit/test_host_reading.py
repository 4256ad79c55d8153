"""What is read of a host, by the program that runs there."""

import pytest
from tests.fake_host import FakeHost
from tests.here import ConnectionHere

from leaselab.lab.contract.remote import RemoteHost
from leaselab.model.errors import LeaselabError, Outcome


def test_a_host_is_read_in_some_milliseconds_of_work():
    host = RemoteHost(ConnectionHere(), "lo")
    before, after = host.read(), host.read()
    assert before.work_s > 0
    assert before.throttled_s is None or before.throttled_s >= 0
    for name in ("steal_s", "receive_errors", "interface_drops", "backlog_drops"):
        assert getattr(after, name) >= getattr(before, name) >= 0


@pytest.mark.parametrize("answer", [(127, "sh: python3: not found"), {}, "no", {"work_s": -1}])
def test_a_reading_that_is_none_is_a_broken_lab(answer):
    """As of a host without Python."""
    with pytest.raises(LeaselabError) as caught:
        RemoteHost(FakeHost("here", others=answer), "lo").read()
    assert (caught.value.outcome, caught.value.where) == (Outcome.LAB, "here")
    assert "python3: not found" in str(caught.value) or not isinstance(answer, tuple)


def test_a_link_may_change_as_often_as_it_was_made_to():
    changes = iter([2, 4, 6, 8])
    usual = {"work_s": 0.1, "steal_s": 0.0, "throttled_s": None, "receive_errors": 0}
    answer = lambda _: {**usual, "carrier_changes": next(changes)}  # noqa: E731
    host = RemoteHost(FakeHost("here", others=answer), "eth1")
    host.read()
    host.read(2)
    for made in (0, 4):
        with pytest.raises(LeaselabError, match="the link of eth1 has changed") as caught:
            host.read(made)
        assert caught.value.outcome is Outcome.LAB
