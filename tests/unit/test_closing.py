"""The sentence that a comparison ends with."""

from tests.examples import MAX_RATES, example_result

from leaselab.analysis.verdict import compare
from leaselab.report.verdict import closing

BASE = example_result()


def test_a_server_that_loses_at_any_load_keeps_the_goal_at_none():
    other = example_result(
        MAX_RATES[:3],
        token="0003",
        outcome="invalid",
        reasons=[{"word": "loses-at-any-load", "text": "the server said so"}],
    )
    told = closing(compare(BASE, other))
    assert told.startswith("Regression: ")
    assert "keeps the goal at no load" in told


def test_an_unsteady_machine_is_told_before_the_verdict():
    slower = [0.9 * rate for rate in MAX_RATES]
    reasons = [{"word": "unsteady", "text": "it moved"}]
    other = example_result(slower, token="0002", reasons=reasons)
    told = closing(compare(BASE, other))
    assert told.startswith("On a machine that was unsteady while B was measured: Regression: ")
