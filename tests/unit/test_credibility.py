"""Which flags a result has."""

import pytest
from tests.examples import MAX_RATES, example_result, invalid_result

from leaselab.analysis.credibility import flags


def words(document, level=None):
    return {flag.word for flag in flags(document) if level in (None, flag.level)}


def test_a_good_sweep_has_nothing_to_doubt():
    assert words(example_result(), "doubt") == words(example_result(), "refused") == set()
    assert words(example_result()) == {"traffic", "not confirmed"}


def test_an_invalid_one_is_refused_with_its_reason_first():
    found = flags(invalid_result())
    assert (found[0].level, found[0].word) == ("refused", "generator-limited")
    assert "5702 of 6000" in found[0].text
    assert "trials not counted" in words(invalid_result(), "known")


def test_three_runs_leave_one_and_no_interval():
    document = example_result(MAX_RATES[:3], goal={"runs": 3})
    assert "no interval" in words(document, "doubt")


def test_runs_that_scatter_are_told():
    document = example_result([rate * (1 + 0.1 * (n % 3)) for n, rate in enumerate(MAX_RATES)])
    assert "wide spread" in words(document, "doubt")


def _widen(document):
    document["runs"][0]["lower_bound"] *= 0.9


def _refuse_most(document):
    for run in document["runs"]:
        for trial in run["trials"][:2]:
            trial |= {"valid": False, "reason": "generator-limited"}


def _change_checkout(document):
    document["provenance"]["leaselab_dirty"] = True


def _change_server(document):
    document["server"]["build"] = {"source": {"dirty": True}}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (_widen, "wide bracket"),
        (_refuse_most, "trials not counted"),
        (_change_checkout, "changed leaselab"),
        (_change_server, "changed server"),
    ],
)
def test_what_makes_a_figure_doubtful_is_said(change, word):
    document = example_result()
    change(document)
    assert word in words(document, "doubt")


def test_lost_packets_shared_processors_and_slow_clocks_are_known():
    document = example_result()
    document["runs"][0]["trials"][1]["samples"][-1]["udp_drops"] = 12
    document["bench"]["hosts"]["server"] |= {"cpus_allowed": "0-2", "governor": "powersave"}
    found = {flag.word: flag.text for flag in flags(document) if flag.level == "known"}
    assert found["receive buffer full"].startswith("12 packets")
    assert "shared processor" in found
    assert found["clock"] == "CPU governor performance, powersave"
