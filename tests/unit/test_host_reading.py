"""What is read of a host, by the program that runs there, and whether it is tuned as it was."""

import copy

import pytest
import yaml
from tests.bench_document import DOCUMENT
from tests.fake_host import FakeHost
from tests.here import ConnectionHere
from tests.role_modules import ROLES

from leaselab.lab.contract.remote import NOTE, RemoteHost, check_tuned
from leaselab.lab.deploy.bench_file import parse_bench
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


def noting(noted=None):
    """A host on which role host_tuning has left its note, or none."""
    return FakeHost(cat=(1, "no such file") if noted is None else noted)


def bench_host(**facts):
    document = copy.deepcopy(DOCUMENT)
    document["hosts"]["server"]["facts"] |= facts
    return parse_bench(document, "bench.json").hosts["server"]


TUNED = {"tuning": {"governor": {"asked": "performance", "found": "performance", "why": None}}}
OFF = {"asked": "off", "found": "off", "why": None}
OTHERWISE = {"governor": {"asked": "powersave", "found": "powersave", "why": None}}


@pytest.mark.parametrize(
    ("noted", "actual", "wanted"),
    [
        (None, "", ""),  # it was booted since
        (OTHERWISE, "governor powersave", "governor performance"),
        ({**TUNED["tuning"], "smt": OFF}, "smt off", "smt not set"),
        *(([], "", ""), ({"governor": "performance"}, "", "")),  # of another release
    ],
)
def test_a_host_that_is_not_tuned_as_it_was_is_not_measured(noted, actual, wanted):
    with pytest.raises(LeaselabError) as caught:
        check_tuned(bench_host(**TUNED), noting(noted))
    error = caught.value
    assert (error.outcome, error.where) == (Outcome.LAB, "leaselab-server")
    assert actual in str(error.found)
    assert wanted in str(error.wanted)


@pytest.mark.parametrize("facts", [{}, {"tuning": None}, TUNED])
def test_a_host_as_it_was_is_measured(facts):
    made = noting(facts.get("tuning"))
    check_tuned(bench_host(**facts), made)
    assert made.asked == ([["cat", NOTE]] if facts.get("tuning") else [])


def test_the_note_is_the_one_that_the_role_writes():
    names = yaml.safe_load((ROLES / "host_tuning/vars/main.yml").read_text(encoding="utf-8"))
    assert f"{names['host_tuning_folder']}/tuned.json" == NOTE
