"""The verdict on two results, and what keeps them from being compared."""

import copy
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import MAX_RATES, START, example_result, invalid_result

from leaselab.analysis.hindrances import hindrances
from leaselab.analysis.verdict import Change, Limit, check_threshold, compare, verdict
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.source import build_of
from leaselab.report.verdict import closing

BASE = example_result()


def later(factor=1.0, rates=MAX_RATES, **fields):
    """A result of a later hour whose runs are `factor` times those of BASE."""
    made = {"started": START + timedelta(hours=1), "token": "0002", **fields}
    return example_result([factor * rate for rate in rates], **made)


def failed(outcome, text, **fields):
    document = later(rates=(), outcome=outcome, reasons=[{"word": outcome, "text": text}])
    document["server"] |= {"version": None, "durability": None, **fields}
    return document


@pytest.mark.parametrize(
    ("factor", "threshold", "change"),
    [
        (0.94, 5, Change.REGRESSION),
        (0.96, 5, Change.NONE),
        (0.96, 3, Change.REGRESSION),
        (0.94, 7, Change.NONE),
        (1.06, 5, Change.IMPROVEMENT),
        (1.04, 5, Change.NONE),
        (0.999, 0, Change.NONE),
        (0.99, 0, Change.REGRESSION),
    ],
)
def test_a_change_is_one_beyond_the_threshold_and_beyond_chance(factor, threshold, change):
    found = verdict(BASE, later(factor), threshold)
    assert found.change is change
    assert found.ratio == pytest.approx(factor)
    assert found.threshold_percent == threshold


def test_a_large_drop_that_may_be_chance_is_no_regression_and_what_would_be_one_is_said():
    wild = [rate * (1 + 0.15 * (-1) ** place) for place, rate in enumerate(MAX_RATES)]
    found = verdict(BASE, later(0.93, wild))
    assert found.ratio < 0.95
    assert found.change is Change.NONE
    assert not found.sees_threshold
    assert found.smallest_drop > 0.05
    # runs of the same scatter that are lower by more than this do show
    for less, seen in ((0.99, False), (1.01, True)):
        factor = 0.93 / found.ratio * (1 - less * found.smallest_drop)
        assert verdict(BASE, later(factor, wild)).differs == seen


@settings(max_examples=30)
@given(st.floats(0.8, 1.25), st.floats(0, 20))
def test_a_regression_is_an_improvement_the_other_way_round(factor, threshold):
    other = later(factor)
    there, back = verdict(BASE, other, threshold), verdict(other, BASE, threshold)
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.p == pytest.approx(there.p)
    if there.change is Change.REGRESSION:
        assert back.change is Change.IMPROVEMENT
    if back.change is Change.REGRESSION:
        assert there.change is Change.IMPROVEMENT


@settings(max_examples=30)
@given(st.floats(0.8, 1.25), st.tuples(st.floats(0, 30), st.floats(0, 30)).map(sorted))
def test_what_counts_at_a_threshold_counts_at_every_lower_one(factor, thresholds):
    strict, loose = (verdict(BASE, later(factor), threshold) for threshold in thresholds)
    if loose.change is not Change.NONE:
        assert strict.change is loose.change
    assert strict.p == loose.p


def _set(part, name, value):
    def change(document):
        document[part][name] = value

    return change


def _tuned(document):
    document["provenance"]["tuning"]["database"] = {
        "version": "11.8.7",
        "variables": {"sync_binlog": "0"},
    }


def _another_version_of_the_database(document):
    _tuned(document)
    document["provenance"]["tuning"]["database"]["version"] = "11.8.6"


@pytest.mark.parametrize(
    ("change", "name", "found", "wanted"),
    [
        (_set("bench", "environment", "2"), "environment of the lab", "2", "1"),
        (_set("bench", "name", "rack"), "bench", "rack", "docker"),
        (_set("scenario", "name", "v6-memfile"), "scenario", "v6-memfile", "v4-memfile"),
        (_set("scenario", "queue_size", 32), "scenario queue_size", "32", "64"),
        (_set("goal", "trial_s", 2), "goal trial_s", "2", "5"),
        (_set("goal", "loss_ratio", 0.05), "goal loss_ratio", "0.05", "0.025"),
        (_set("goal", "late_s", 1.0), "goal late_s", "1.0", "2.0"),
        (_set("goal", "relative_width", 0.02), "goal relative_width", "0.02", "0.01"),
        (_set("server", "durability", "memory"), "durability", "memory", "written"),
        (_tuned, "tuning database.sync_binlog", "0", "-"),
    ],
)
def test_what_has_to_be_the_same_is_refused_by_name_with_both_values(
    change, name, found, wanted
):
    other = later(0.5)
    change(other)
    (one,) = hindrances(BASE, other)[-1:]
    assert (one.name, one.found, one.wanted) == (name, found, wanted)
    with pytest.raises(LeaselabError, match=name) as caught:
        verdict(BASE, other)
    assert caught.value.outcome is Outcome.USAGE
    assert found in caught.value.found
    assert wanted in caught.value.wanted


@pytest.mark.parametrize(
    "change",
    [
        _set("scenario", "description", "in other words"),
        _set("goal", "start_rate", 6900),
        _set("goal", "max_trials", 60),
        _set("server", "version", "2.6.4"),
    ],
)
def test_what_may_differ_is_no_hindrance(change):
    other = later()
    change(other)
    assert hindrances(BASE, other) == []


def test_another_version_of_the_database_with_the_same_settings_is_no_hindrance():
    one, other = later(), later()
    _tuned(one)
    _another_version_of_the_database(other)
    assert hindrances(one, other) == []


def test_sweeps_of_other_lengths_compare_as_long_as_one_share_drops_the_same_of_both():
    five = later(0.9, MAX_RATES[:5], goal={"runs": 5})
    assert verdict(BASE, five).change is Change.REGRESSION
    untrimmed = later(0.9, goal={"trim": 0})
    (one,) = hindrances(BASE, untrimmed)
    assert (one.found, one.wanted) == ("0 of 9 at each end", "1 of 9 at each end")


def test_a_result_is_not_compared_with_itself():
    with pytest.raises(LeaselabError, match="with itself") as caught:
        verdict(BASE, copy.deepcopy(BASE))
    assert caught.value.outcome is Outcome.USAGE


@pytest.mark.parametrize(
    ("other", "outcome", "said"),
    [
        (failed("build-failed", "it does not compile"), Outcome.BUILD, "it does not compile"),
        (failed("lab-broken", "no host"), Outcome.INVALID, "no host"),
        (
            later(rates=MAX_RATES[:3], goal={"runs": 3}),
            Outcome.INVALID,
            "found 1 of 3, 1 dropped at each end, wanted 2 or more); measure again with more "
            "--runs, or with a lower --trim",
        ),
    ],
)
def test_what_has_no_figure_ends_with_its_reason_whatever_it_is_compared_with(
    other, outcome, said
):
    foreign = example_result(scenario="v6-memfile")
    for base in (BASE, foreign, None):
        found = compare(base, other)
        assert found.outcome is outcome
        assert said in str(found.error)
        assert found.word == outcome.label


def limited(rate, word="generator-limited", **fields):
    """A result without figure, whose every run passed this rate."""
    document = later(
        rates=MAX_RATES[:3],
        outcome="invalid",
        reasons=[{"word": word, "text": "the server said so"}],
        **fields,
    )
    document["summary"] |= {"max_rate": None, "at_least": rate}
    return document


@pytest.mark.parametrize(
    ("at_least", "outcome"),
    [(12_000.0, Outcome.REGRESSION), (6400.0, Outcome.REGRESSION), (6100.0, Outcome.INVALID)],
)
def test_a_baseline_that_was_faster_than_its_bench_still_shows_a_regression(at_least, outcome):
    """BASE has 6006/s: at half the speed of what came before, it is no first of its kind."""
    found = compare(limited(at_least), later(token="0003"))
    assert found.outcome is outcome
    if outcome is Outcome.REGRESSION:
        assert found.verdict.limit is Limit.AT_MOST
        assert found.verdict.ratio == pytest.approx(6006 / at_least, rel=0.001)


@pytest.mark.parametrize(
    ("at_least", "change"),
    [(12_000.0, Change.IMPROVEMENT), (6000.0, Change.NONE), (5800.0, Change.NONE)],
)
def test_one_that_is_faster_than_its_bench_is_no_regression(at_least, change):
    found = verdict(BASE, limited(at_least))
    assert (found.change, found.limit) == (change, Limit.AT_LEAST)


@pytest.mark.parametrize(
    "other",
    [limited(5000.0), limited(None), limited(9000.0, "noisy"), invalid_result(token="0003")],
)
def test_where_that_is_not_enough_there_is_no_verdict(other):
    if other["summary"]["at_least"] and other["summary"]["at_least"] > 5800:
        other["reasons"][0]["word"] = "noisy"
    found = compare(BASE, other)
    assert found.outcome is Outcome.INVALID
    assert other["reasons"][0]["text"] in str(found.error)


@pytest.mark.parametrize("base", [BASE, limited(5000.0)])
def test_a_server_that_loses_at_any_load_is_a_regression_and_no_fault_of_the_lab(base):
    other = limited(None, "loses-at-any-load", token="0003")
    found = compare(base, other)
    assert found.outcome is Outcome.REGRESSION
    assert found.verdict.limit is Limit.NO_LOAD
    assert closing(found).startswith("Regression: ")
    assert "keeps the goal at no load" in closing(found)
    assert compare(None, other).outcome is Outcome.INVALID


def test_an_unsteady_machine_is_told_before_the_verdict():
    other = later(0.9)
    other["reasons"] = [{"word": "unsteady", "text": "it moved"}]
    told = closing(compare(BASE, other))
    assert told.startswith("On a machine that was unsteady while B was measured: Regression: ")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (_set("generator", "version", "3.0.4"), "generator version"),
        (_set("generator", "threading", "multi"), "generator threading"),
        (_set("goal", "wait_s", 2.0), "goal wait_s"),
        (_set("goal", "scout_s", 2), "goal scout_s"),
        (_set("goal", "warm_up_s", 0), "goal warm_up_s"),
    ],
)
def test_another_ruler_is_not_compared(change, name):
    other = later()
    change(other)
    with pytest.raises(LeaselabError, match=name) as caught:
        verdict(BASE, other)
    assert caught.value.outcome is Outcome.USAGE


def test_a_baseline_that_does_not_build_is_no_fault_of_the_other():
    base = failed("build-failed", "it does not compile")
    assert compare(base, BASE).outcome is Outcome.INVALID


def test_runs_that_may_be_anything_are_an_invalid_measurement():
    base = example_result([1000.0, 1800.0], goal={"runs": 2, "trim": 0})
    other = later(0.1, MAX_RATES[:2], goal={"runs": 2, "trim": 0})
    found = compare(base, other)
    assert found.outcome is Outcome.INVALID
    assert "found 1000, 1800 exchanges/s" in str(found.error)


def test_a_first_of_its_kind_is_well_and_is_no_verdict():
    found = compare(None, BASE)
    assert (found.outcome, found.word, found.verdict) == (Outcome.OK, "first", None)


def test_a_verdict_is_its_comparisons_outcome():
    assert compare(BASE, later(0.9)).outcome is Outcome.REGRESSION
    assert compare(BASE, later(1.1)).outcome is Outcome.OK
    assert compare(BASE, later(1.1)).word == "improvement"
    assert compare(BASE, later()).word == "no change"


@pytest.mark.parametrize("percent", [-1.0, 100.0, float("nan"), float("inf")])
def test_what_is_no_threshold_is_refused(percent):
    with pytest.raises(LeaselabError, match="threshold") as caught:
        check_threshold(percent)
    assert caught.value.outcome is Outcome.USAGE


def test_a_build_is_told_by_its_files_its_commit_or_its_package():
    package = example_result()["server"]
    commit = example_result(commit="a" * 40)["server"]
    built = {**commit, "build": {"source": {"hash": "a" * 40, "tree": "b" * 40}}}
    changed = {**commit, "build": {"source": {"hash": "a" * 40, "tree": "c" * 40}}}
    again = {**commit, "commit": "d" * 40, "build": built["build"]}
    assert len({build_of(one) for one in (package, commit, built, changed)}) == 4
    assert build_of(again) == build_of(built)
    assert build_of(example_result(version="2.6.2")["server"]) != build_of(package)
