"""A sweep goes on only on hosts that are tuned as they were when it began."""

import copy

import pytest
import yaml
from tests.bench_document import DOCUMENT
from tests.role_modules import ROLES

from leaselab.lab.bench_file import parse_bench
from leaselab.lab.host_tuning import NOTE, check_tuned
from leaselab.lab.transport import Completed
from leaselab.model.errors import LeaselabError, Outcome


class Host:
    """A host in whose boot something was tuned, or not."""

    def __init__(self, *, noted):
        self.noted, self.asked = noted, []

    def run(self, argv, *, timeout_s):
        assert timeout_s > 0
        self.asked.append(argv)
        return Completed(0 if self.noted else 1, b"", "")


def bench_host(**facts):
    document = copy.deepcopy(DOCUMENT)
    document["hosts"]["server"]["facts"] |= facts
    return parse_bench(document, "bench.json").hosts["server"]


TUNED = {"tuning": {"governor": {"asked": "performance", "found": "performance", "why": None}}}


def test_a_host_that_was_rebooted_is_not_measured_untuned():
    with pytest.raises(LeaselabError, match="no longer tuned") as caught:
        check_tuned(bench_host(**TUNED), Host(noted=False))
    assert caught.value.outcome is Outcome.LAB
    assert caught.value.where == "leaselab-server"
    assert "leaselab tune" in caught.value.todo


@pytest.mark.parametrize("facts", [{}, {"tuning": None}, TUNED])
def test_a_host_as_it_was_is_measured(facts):
    host = Host(noted=bool(facts.get("tuning")))
    check_tuned(bench_host(**facts), host)
    assert host.asked == ([["test", "-e", NOTE]] if facts.get("tuning") else [])


def test_the_note_is_the_one_that_the_role_writes():
    names = yaml.safe_load((ROLES / "host_tuning/vars/main.yml").read_text(encoding="utf-8"))
    assert f"{names['host_tuning_folder']}/before.json" == NOTE
