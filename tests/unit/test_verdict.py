"""The verdict on two results, and what keeps them from being compared."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import (
    MAX_RATES,
    PROCEDURE,
    START,
    built,
    edited,
    example_result,
    invalid_result,
)
from tests.refusals import refused

from leaselab.analysis.comparison.incompatibilities import incompatibilities
from leaselab.analysis.comparison.verdict import Limit, compare, verdict
from leaselab.analysis.duels.duel import Answer
from leaselab.model.errors import Outcome
from leaselab.model.record import Reason
from leaselab.report.verdict.words import two_digits

BASE = example_result()


def later(factor=1.0, rates=MAX_RATES, **fields):
    """A result of a later hour whose runs are `factor` times those of BASE."""
    made = {"started": START + timedelta(hours=1), "token": "0002", **fields}
    return example_result([factor * rate for rate in rates], **made)


def failed(outcome, text, **fields):
    record = later(rates=(), outcome=outcome, reasons=[{"word": outcome, "text": text}])
    server = replace(record.server, version=None, durability=None, **fields)
    return replace(record, servers={"server": server})


def where(better, record):
    """The same with a figure of which more is better, less, or neither."""
    return replace(record, metrics=(replace(record.figure, better=better),))


@pytest.mark.parametrize(
    ("better", "factor", "threshold", "answer"),
    [
        ("higher", 0.94, 5, Answer.SLOWER),
        ("higher", 0.96, 5, Answer.SAME),
        ("higher", 0.96, 3, Answer.SLOWER),
        ("higher", 0.94, 7, Answer.SAME),
        ("higher", 1.06, 5, Answer.FASTER),
        ("higher", 1.04, 5, Answer.SAME),
        ("higher", 0.999, 0, Answer.SAME),
        ("higher", 0.99, 0, Answer.SLOWER),
        ("lower", 1.06, 5, Answer.SLOWER),
        ("lower", 1.04, 5, Answer.SAME),
        ("lower", 0.96, 5, Answer.SAME),
        ("lower", 0.94, 5, Answer.FASTER),
    ],
)
def test_a_change_is_one_beyond_the_threshold_and_beyond_chance(
    better, factor, threshold, answer
):
    judgement = verdict(where(better, BASE), where(better, later(factor)), threshold)
    assert (judgement.answer, judgement.ratio) == (answer, pytest.approx(factor))
    assert judgement.threshold_percent == threshold


@pytest.mark.parametrize(("better", "worse"), [("higher", -1), ("lower", 1)])
def test_a_large_change_that_may_be_chance_is_none_and_what_would_be_one_is_said(better, worse):
    wild = [rate * (1 + 0.15 * (-1) ** place) for place, rate in enumerate(MAX_RATES)]

    def judged(factor):
        return verdict(where(better, BASE), where(better, later(factor, wild)))

    judgement = judged(factor := 1 + 0.08 * worse)
    assert worse * (judgement.ratio - 1) > 0.05
    assert (judgement.answer, judgement.sees_threshold) == (Answer.SAME, False)
    # runs of the same scatter that are worse by more than this do show
    for part, seen in ((0.99, False), (1.01, True)):
        change = 1 + worse * part * judgement.smallest_seen
        assert judged(factor / judgement.ratio * change).differs == seen


def test_where_nothing_is_better_there_is_nothing_to_judge():
    with refused("no verdict on max rate"):
        verdict(where("neither", BASE), where("neither", later(0.5)))


@settings(max_examples=30)
@given(st.floats(0.8, 1.25), st.floats(0, 20))
def test_a_regression_is_an_improvement_the_other_way_round(factor, threshold):
    other = later(factor)
    there, back = verdict(BASE, other, threshold), verdict(other, BASE, threshold)
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.p == pytest.approx(there.p)
    if there.answer is Answer.SLOWER:
        assert back.answer is Answer.FASTER
    if back.answer is Answer.SLOWER:
        assert there.answer is Answer.FASTER


@settings(max_examples=30)
@given(st.floats(0.8, 1.25), st.tuples(st.floats(0, 30), st.floats(0, 30)).map(sorted))
def test_what_counts_at_a_threshold_counts_at_every_lower_one(factor, thresholds):
    strict, loose = (verdict(BASE, later(factor), threshold) for threshold in thresholds)
    if loose.answer is not Answer.SAME:
        assert strict.answer is loose.answer
    assert strict.p == loose.p


def _set(place, value):
    """A change of one field of a document, named by its place."""
    *parts, name = place.split(".")

    def change(document):
        for part in parts:
            document = document[part]
        document[name] = value

    return change


def _database(version, durable):
    return {"database": {"version": version, "variables": {"sync_binlog": durable}}}


QUEUE, BESIDE = "server.options.queue_size", "servers.server.beside"


@pytest.mark.parametrize(
    ("place", "value", "name", "actual", "wanted"),
    [
        ("bench.environment", "2", "environment of the lab", "2", "1"),
        ("bench.name", "rack", "bench", "rack", "docker"),
        ("scenario.name", "v6-memfile", "scenario", "v6-memfile", "v4-memfile"),
        (f"scenario.{QUEUE}", 32, f"scenario {QUEUE}", "32", "64"),
        ("scenario.load.pool.subnet", "x", "scenario load.pool.subnet", "x", "10.0.0.0/8"),
        ("scenario.partner", True, "scenario partner", "true", "false"),
        ("procedure.trial_s", 2, "procedure trial_s", "2", "3"),
        ("procedure.loss_ratio", 0.05, "procedure loss_ratio", "0.05", "0.025"),
        ("procedure.late_s", 1.0, "procedure late_s", "1.0", "2.0"),
        ("procedure.relative_width", 0.02, "procedure relative_width", "0.02", "0.01"),
        ("procedure.wait_s", 2.0, "procedure wait_s", "2.0", "4.0"),
        ("procedure.scout_s", 2, "procedure scout_s", "2", "1"),
        ("procedure.warm_up_s", 0, "procedure warm_up_s", "0", "1"),
        ("generator.version", "3.0.4", "generator version", "3.0.4", "2.6.3"),
        ("generator.options.threading", "multi", "generator threading", "multi", "-"),
        ("servers.server.durability", "memory", "durability", "memory", "written"),
        (BESIDE, _database("11.8.7", "0"), "tuning database.sync_binlog", "0", "-"),
        (
            *("servers.server.tuning.memfile_persist", False),
            *("tuning memfile_persist", "false", "true"),
        ),
    ],
)
def test_what_has_to_be_the_same_is_refused_by_name_with_both_values(
    place, value, name, actual, wanted
):
    other = edited(later(0.5), _set(place, value))
    *_, last = incompatibilities(BASE, other)
    assert (last.name, last.found, last.wanted) == (name, actual, wanted)
    with refused(name) as caught:
        verdict(BASE, other)
    assert actual in caught.value.found
    assert wanted in caught.value.wanted


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("scenario.description", "in other words"),
        ("scenario.factors", {"backend": "files"}),
        ("scenario.across", []),
        ("procedure.start_rate", 6900),
        ("procedure.max_trials", 60),
        ("procedure.confirm_s", 0),
        ("servers.server.version", "2.6.4"),
        ("generator.host", "server"),
    ],
)
def test_what_may_differ_is_no_incompatibility(place, value):
    assert incompatibilities(BASE, edited(later(), _set(place, value))) == []


@pytest.mark.parametrize(
    ("defaulted", "names"), [(["hooks"], []), ([], ["scenario server.options.hooks"])]
)
def test_an_option_that_an_older_result_lacks_was_at_its_default(defaulted, names):
    """And nothing is known of one that the newer result's scenario sets."""

    def change(document):
        server = document["scenario"]["server"]
        server["options"]["hooks"] = ["lease_cmds"]
        server["defaulted"] = defaulted

    newer = edited(later(), change)
    assert [incompatibility.name for incompatibility in incompatibilities(BASE, newer)] == names
    assert [incompatibility.name for incompatibility in incompatibilities(newer, BASE)] == names


def test_another_version_of_the_database_with_the_same_settings_is_no_incompatibility():
    first, other = (
        edited(later(), _set(BESIDE, _database(version, "0")))
        for version in ("11.8.7", "11.8.6")
    )
    assert incompatibilities(first, other) == []


def test_sweeps_of_other_lengths_compare_as_long_as_one_share_drops_the_same_of_both():
    five = later(0.9, MAX_RATES[:5], procedure=replace(PROCEDURE, rounds=5))
    assert verdict(BASE, five).answer is Answer.SLOWER
    untrimmed = later(0.9, procedure=replace(PROCEDURE, trim=0))
    (differs,) = incompatibilities(BASE, untrimmed)
    assert (differs.found, differs.wanted) == ("0 of 9 at each end", "1 of 9 at each end")


def test_a_result_is_not_compared_with_itself():
    with refused("with itself"):
        verdict(BASE, replace(BASE))


@pytest.mark.parametrize(
    ("other", "outcome", "said"),
    [
        (failed("build-failed", "it does not compile"), Outcome.BUILD, "it does not compile"),
        (failed("lab-broken", "no host"), Outcome.INVALID, "no host"),
        (
            later(rates=MAX_RATES[:3], procedure=replace(PROCEDURE, rounds=3)),
            Outcome.INVALID,
            "found 1 of 3, 1 dropped at each end, wanted 2 or more); measure again with more",
        ),
    ],
)
def test_what_has_no_figure_ends_with_its_reason_whatever_it_is_compared_with(
    other, outcome, said
):
    for base in (BASE, example_result(scenario="v6-memfile"), None):
        comparison = compare(base, other)
        assert (comparison.outcome, comparison.word) == (outcome, outcome.label)
        assert said in str(comparison.error)


def limited(rate, word="generator-limited", **fields):
    """A result without figure, whose every run passed this rate."""
    record = later(
        rates=MAX_RATES[:3],
        outcome="invalid",
        reasons=[{"word": word, "text": "the server said so"}],
        **fields,
    )
    assert record.figure.value is None
    return replace(record, at_least=rate)


NEW = later(token="0003")
NOISY = (Reason(word="noisy", text="it is noisy"),)


@pytest.mark.parametrize(
    ("base", "other", "word", "limit"),
    [
        (limited(12_000.0), NEW, "slower", Limit.AT_MOST),
        (limited(6400.0), NEW, "slower", Limit.AT_MOST),
        (limited(6100.0), NEW, "invalid", None),
        (BASE, limited(12_000.0), "faster", Limit.AT_LEAST),
        (BASE, limited(6000.0), "equal", Limit.AT_LEAST),
        (BASE, limited(5800.0), "equal", Limit.AT_LEAST),
        (BASE, limited(5000.0), "invalid", None),
        (BASE, limited(None), "invalid", None),
        (BASE, limited(9000.0, "noisy"), "invalid", None),
        (BASE, replace(invalid_result(token="0003"), reasons=NOISY), "invalid", None),
    ],
)
def test_one_that_is_faster_than_its_bench_is_judged_where_that_is_enough(
    base, other, word, limit
):
    """BASE and NEW have 6006/s: half of what came before is no first of its kind."""
    comparison = compare(base, other)
    assert comparison.word == word
    assert (comparison.outcome is Outcome.REGRESSION) is (word == "slower")
    assert (comparison.verdict and comparison.verdict.limit) is limit
    if word == "slower":
        assert comparison.verdict.ratio == pytest.approx(6006 / base.at_least, rel=0.001)
    elif limit is None and other is not NEW:
        assert other.reasons[0].text in str(comparison.error)


@pytest.mark.parametrize("word", ["loses-at-any-load", "below-min-rate", "not-sustained"])
@pytest.mark.parametrize("base", [BASE, limited(5000.0)])
def test_a_server_that_sustains_no_load_is_a_regression_and_no_fault_of_the_lab(base, word):
    other = limited(None, word, token="0003")
    comparison = compare(base, other)
    assert comparison.outcome is Outcome.REGRESSION
    assert comparison.verdict.limit is Limit.NO_LOAD
    assert compare(None, other).outcome is Outcome.INVALID


@pytest.mark.parametrize(
    ("base", "other", "outcome", "word"),
    [
        (None, BASE, Outcome.OK, "first"),
        (BASE, later(0.9), Outcome.REGRESSION, "slower"),
        (BASE, later(1.1), Outcome.OK, "faster"),
        (BASE, later(), Outcome.OK, "equal"),
        # a baseline that does not build is no fault of the other
        (failed("build-failed", "it does not compile"), BASE, Outcome.INVALID, "invalid"),
    ],
)
def test_a_verdict_is_its_comparisons_outcome_and_a_first_of_its_kind_has_none(
    base, other, outcome, word
):
    comparison = compare(base, other)
    assert (comparison.outcome, comparison.word) == (outcome, word)
    assert (comparison.verdict is None) is (word in ("first", "invalid"))


def test_runs_that_may_be_anything_are_an_invalid_measurement():
    two = replace(PROCEDURE, rounds=2, trim=0)
    base = example_result([1000.0, 1800.0], procedure=two)
    comparison = compare(base, later(0.1, MAX_RATES[:2], procedure=two))
    assert comparison.outcome is Outcome.INVALID
    assert "found 1000, 1800 exchanges/s" in str(comparison.error)


def test_a_build_is_identified_by_its_files_its_commit_or_its_package():
    first, changed, again = (
        built(BASE, made * 40, tree=tree * 40).server.made_of
        for made, tree in (("a", "b"), ("a", "c"), ("d", "b"))
    )
    alone = replace(example_result(commit="a" * 40).server, build=None).made_of
    other = example_result(version="2.6.2").server.made_of
    assert len({BASE.server.made_of, alone, first, changed, other}) == 5
    assert again == first


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0024, "+0.24 %"), (-0.031, "-3.1 %"), (0.998, "+100 %"), (25.61, "+2561 %")],
)
def test_a_share_has_two_digits_and_no_exponent(share, words):
    assert two_digits(share, "+") == words
