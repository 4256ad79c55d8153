"""A sweep goes on only on hosts that are tuned as they were when it began."""

import copy

import pytest
import yaml
from tests.bench_document import DOCUMENT
from tests.fake_host import FakeHost
from tests.role_modules import ROLES

from leaselab.lab.contract.remote import NOTE, check_tuned
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.model.errors import LeaselabError, Outcome


def host(noted=None):
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
        check_tuned(bench_host(**TUNED), host(noted))
    error = caught.value
    assert (error.outcome, error.where) == (Outcome.LAB, "leaselab-server")
    assert actual in str(error.found)
    assert wanted in str(error.wanted)


@pytest.mark.parametrize("facts", [{}, {"tuning": None}, TUNED])
def test_a_host_as_it_was_is_measured(facts):
    made = host(facts.get("tuning"))
    check_tuned(bench_host(**facts), made)
    assert made.asked == ([["cat", NOTE]] if facts.get("tuning") else [])


def test_the_note_is_the_one_that_the_role_writes():
    names = yaml.safe_load((ROLES / "host_tuning/vars/main.yml").read_text(encoding="utf-8"))
    assert f"{names['host_tuning_folder']}/tuned.json" == NOTE
