"""A sweep goes on only on hosts that are tuned as they were when it began."""

import copy
import json

import pytest
import yaml
from tests.bench_document import DOCUMENT
from tests.role_modules import ROLES

from leaselab.lab.contract.remote import NOTE, check_tuned
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.lab.hosts.transport import Completed
from leaselab.model.errors import LeaselabError, Outcome


class Host:
    """A host on which role host_tuning has left its note, or none."""

    def __init__(self, *, noted=None):
        self.noted, self.asked = noted, []

    def run(self, argv, *, timeout_s):
        assert timeout_s > 0
        self.asked.append(argv)
        if self.noted is None:
            return Completed(1, b"", "cat: no such file")
        return Completed(0, json.dumps(self.noted).encode(), "")


def bench_host(**facts):
    document = copy.deepcopy(DOCUMENT)
    document["hosts"]["server"]["facts"] |= facts
    return parse_bench(document, "bench.json").hosts["server"]


TUNED = {"tuning": {"governor": {"asked": "performance", "found": "performance", "why": None}}}
OTHERWISE = {"governor": {"asked": "powersave", "found": "powersave", "why": None}}


def test_a_host_that_was_rebooted_is_not_measured_untuned():
    with pytest.raises(LeaselabError, match="no longer tuned") as caught:
        check_tuned(bench_host(**TUNED), Host())
    assert caught.value.outcome is Outcome.LAB
    assert caught.value.where == "leaselab-server"
    assert "leaselab step tune" in caught.value.todo


@pytest.mark.parametrize(
    "noted", [OTHERWISE, {**TUNED["tuning"], "smt": OTHERWISE["governor"]}]
)
def test_a_host_that_another_scenario_has_set_since_is_not_measured(noted):
    with pytest.raises(LeaselabError, match="no longer tuned") as caught:
        check_tuned(bench_host(**TUNED), Host(noted=noted))
    assert caught.value.outcome is Outcome.LAB


def test_what_was_set_since_is_named():
    with pytest.raises(LeaselabError) as caught:
        check_tuned(bench_host(**TUNED), Host(noted=OTHERWISE))
    assert caught.value.found == "governor powersave"
    assert caught.value.wanted == "governor performance"
    also = {**TUNED["tuning"], "smt": {"asked": "off", "found": "off", "why": None}}
    with pytest.raises(LeaselabError) as caught:
        check_tuned(bench_host(**TUNED), Host(noted=also))
    assert (caught.value.found, caught.value.wanted) == ("smt off", "smt not set")


@pytest.mark.parametrize("noted", [[], {"governor": "performance"}])
def test_a_note_of_another_release_is_a_broken_lab(noted):
    with pytest.raises(LeaselabError, match="not the note of this release") as caught:
        check_tuned(bench_host(**TUNED), Host(noted=noted))
    assert caught.value.outcome is Outcome.LAB


@pytest.mark.parametrize("facts", [{}, {"tuning": None}, TUNED])
def test_a_host_as_it_was_is_measured(facts):
    host = Host(noted=facts.get("tuning"))
    check_tuned(bench_host(**facts), host)
    assert host.asked == ([["cat", NOTE]] if facts.get("tuning") else [])


def test_the_note_is_the_one_that_the_role_writes():
    names = yaml.safe_load((ROLES / "host_tuning/vars/main.yml").read_text(encoding="utf-8"))
    assert f"{names['host_tuning_folder']}/tuned.json" == NOTE
