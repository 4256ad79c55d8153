"""What reports say of a duel: its page, its test report, and several in a table."""

import json
import random
import re

import pytest
from junitparser import Error, JUnitXml
from msgspec.structs import replace
from tests.examples import PROCEDURE, built, example_result, invalid_result, trial_of
from tests.past import fought

from leaselab.analysis.comparison.verdict import Limit, compare
from leaselab.archive.store import Store
from leaselab.model.errors import Outcome
from leaselab.model.trial import Second
from leaselab.report.export.junit import junit_of_comparisons
from leaselab.report.site.experiment import experiment
from leaselab.report.verdict.document import comparison_document
from leaselab.report.verdict.sentence import closing, closings
from leaselab.report.verdict.table import figures


@pytest.fixture
def duel(tmp_path):
    """Make a duel of this true ratio; its two results."""

    def make(ratio, **fields):
        first, second = (
            built(example_result(token=letter * 4), letter * 40) for letter in "ab"
        )
        store = Store(tmp_path / str(ratio))
        return [store.load(item) for item in fought(store.root, first, second, ratio, **fields)]

    return make


def with_rounds(both, changed):
    """The same duel with changed rounds, by side (0, 1) and round."""
    return [
        replace(record, rounds=tuple(changed(side, round_) for round_ in record.rounds))
        for side, record in enumerate(both)
    ]


def with_metric(both, name, value_of):
    """The same duel with a figure in each round, by side (0, 1) and round."""

    def changed(side, round_):
        return replace(round_, metrics={**round_.metrics, name: value_of(side, round_)})

    return with_rounds(both, changed)


def test_the_page_judges_by_the_same_rounds_as_the_command(duel):
    """Its tables show losses in per cent; a round that lost 0.5 % was too light."""
    both = with_metric(
        duel(0.95), "loss_ratio", lambda _, round_: 0.05 if round_.index % 5 else 0.005
    )
    comparison = compare(*both)
    output, _ = experiment(both)
    assert comparison.verdict.duel.rounds == 16
    assert output["duel"]["word"] == comparison.word
    assert any(line.endswith("; 16 rounds count") for line in output["duel"]["lines"])


def test_a_figure_that_is_little_known_does_not_hide_the_others(duel):
    """Starts of 10 to 300 ms, as on a busy machine, beside 5 % of the rate."""
    chance = random.Random(4)  # noqa: S311  # made up
    both = with_metric(duel(0.95), "start_s", lambda *_: chance.choice([0.01, 0.3]))
    judged = {other.name: other.ci95 for other in compare(*both).verdict.duel.others}
    assert judged["start_s"][1] - judged["start_s"][0] > 1
    _, (moved, *_) = experiment(both)
    drawn = json.dumps(moved.spec)
    assert "server CPU" in drawn
    assert "start" not in drawn


def test_an_undecided_duel_is_an_error_in_a_test_report_and_says_how_long_it_would_take(duel):
    comparison = compare(*duel(0.99, noise=0.06))
    assert comparison.outcome is Outcome.INVALID
    (suite,) = JUnitXml.fromstring(junit_of_comparisons([comparison]))
    (case,) = [item for item in suite if item.name.endswith("verdict")]
    assert [type(item) for item in case.result] == [Error]
    assert re.search(r"Give --budget \d{2,},", closing(comparison))


def test_no_change_names_the_smallest_one_that_is_excluded_and_what_is_seen_all_the_same(duel):
    both = with_metric(duel(0.99, noise=0.002), "cpu_us", lambda *_: 0.2)
    closing_text = closing(compare(*both))
    assert closing_text.startswith("Equal: no change bigger than ")
    assert "It is slower by about 1.0 %, which is less than is looked for." in closing_text
    (closing_text,) = closings([compare(*duel(1.0))])
    assert "Equal: no change bigger than " in closing_text
    assert "by about" not in closing_text


@pytest.mark.parametrize(
    ("name", "ratio", "words"),
    [
        ("p99_s", 1.5, "50.0 % more p99 latency"),
        ("memory_mib", 1.2, "20.0 % more memory"),
        ("start_s", 1.5, "50.0 % more start time"),
    ],
)
def test_what_got_worse_beside_the_rate_is_a_regression_and_named(duel, name, ratio, words):
    both = with_metric(duel(1.0), name, lambda side, _: 0.2 * (ratio if side else 1))
    comparison = compare(*both)
    assert comparison.outcome is Outcome.REGRESSION
    assert closing(comparison).startswith("Worse: ")
    assert words in closing(comparison)
    assert any(": worse; a rise of" in line for line in figures(comparison))
    judged = comparison_document(comparison)["duel"]["judged"]
    assert [row["name"] for row in judged] == ["cpu_us", name]


def with_seconds(both):
    """The same duel, with a trial in each round whose seconds scatter by 1 %."""
    chance = random.Random(5)  # noqa: S311  # made up

    def second(at, rate):
        completed = round(rate * (1 + chance.gauss(0, 0.01)))
        return Second(t=at, attempted=9000, completed=completed, p50_s=None, p99_s=None)

    def changed(_, round_):
        rate = round_.metrics["completed_rate"]
        seconds = tuple(second(float(place), rate) for place in range(3))
        return replace(round_, trials=(trial_of(9000, 3, 9000, per_second=seconds),))

    return with_rounds(both, changed)


def test_the_share_of_the_starts_stands_beside_the_power_where_the_rounds_show_it(duel):
    both = duel(1.0, noise=0.02)
    assert comparison_document(compare(*both))["duel"]["starts"] is None
    comparison = compare(*with_seconds(both))
    lines = [*figures(comparison)]
    (at,) = (place for place, line in enumerate(lines) if line.startswith("power: "))
    assert re.match(
        r"the servers' starts make at most 9\d % \(95 % interval \d\d to 9\d %\)", lines[at + 1]
    )
    starts = comparison_document(comparison)["duel"]["starts"]
    assert (starts["rounds"], starts["by_trials"]) == (20, False)
    output, _ = experiment(with_seconds(both))
    assert any("servers' starts make" in line for line in output["duel"]["lines"])


def test_what_scatters_by_more_than_itself_has_no_bound(duel):
    both = with_metric(
        duel(1.0), "start_s", lambda side, round_: 0.03 * 40 ** (round_.index % (2 + side))
    )
    (line,) = (line for line in figures(compare(*both)) if line.startswith("start time"))
    assert ": too few rounds; " in line
    assert "bigger than" not in line


def test_a_server_that_was_not_at_its_limit_is_faster_by_at_least_so_much(duel):
    """B served all that was offered."""
    comparison = compare(*duel(1.1, served_all=True))
    assert comparison.verdict.limit is Limit.AT_LEAST
    assert "completes at least 10." in closing(comparison)
    assert any("B served nearly all" in line for line in figures(comparison))


def test_an_interval_without_an_upper_end_is_null_there():
    base = example_result([5e3, 6e3], procedure=replace(PROCEDURE, rounds=2, trim=0))
    comparison = compare(base, replace(invalid_result(token="0003"), at_least=5400.0))
    assert comparison.verdict.limit is Limit.AT_LEAST
    low, high = comparison_document(comparison)["ci95"]
    assert low < 1
    assert high is None
