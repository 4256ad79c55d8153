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
    edited,
    example_result,
    invalid_result,
)

from leaselab.analysis.comparison.incompatibilities import incompatibilities
from leaselab.analysis.comparison.verdict import Limit, compare, verdict
from leaselab.analysis.duels.duel import Answer
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.record import Reason
from leaselab.model.server import Build
from leaselab.model.source import Commit
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


@pytest.mark.parametrize(
    ("factor", "threshold", "answer"),
    [
        (0.94, 5, Answer.SLOWER),
        (0.96, 5, Answer.SAME),
        (0.96, 3, Answer.SLOWER),
        (0.94, 7, Answer.SAME),
        (1.06, 5, Answer.FASTER),
        (1.04, 5, Answer.SAME),
        (0.999, 0, Answer.SAME),
        (0.99, 0, Answer.SLOWER),
    ],
)
def test_a_change_is_one_beyond_the_threshold_and_beyond_chance(factor, threshold, answer):
    judgement = verdict(BASE, later(factor), threshold)
    assert judgement.answer is answer
    assert judgement.ratio == pytest.approx(factor)
    assert judgement.threshold_percent == threshold


def test_a_large_drop_that_may_be_chance_is_no_regression_and_what_would_be_one_is_said():
    wild = [rate * (1 + 0.15 * (-1) ** place) for place, rate in enumerate(MAX_RATES)]
    judgement = verdict(BASE, later(0.93, wild))
    assert judgement.ratio < 0.95
    assert judgement.answer is Answer.SAME
    assert not judgement.sees_threshold
    assert judgement.smallest_seen > 0.05
    # runs of the same scatter that are lower by more than this do show
    for less, seen in ((0.99, False), (1.01, True)):
        factor = 0.93 / judgement.ratio * (1 - less * judgement.smallest_seen)
        assert verdict(BASE, later(factor, wild)).differs == seen


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
    return _set(
        "servers.server.beside",
        {"database": {"version": version, "variables": {"sync_binlog": durable}}},
    )


@pytest.mark.parametrize(
    ("change", "name", "actual", "wanted"),
    [
        (_set("bench.environment", "2"), "environment of the lab", "2", "1"),
        (_set("bench.name", "rack"), "bench", "rack", "docker"),
        (_set("scenario.name", "v6-memfile"), "scenario", "v6-memfile", "v4-memfile"),
        (
            _set("scenario.server.options.queue_size", 32),
            "scenario server.options.queue_size",
            "32",
            "64",
        ),
        (
            _set("scenario.load.pool.subnet", "x"),
            "scenario load.pool.subnet",
            "x",
            "10.0.0.0/8",
        ),
        (_set("scenario.partner", True), "scenario partner", "true", "false"),
        (_set("procedure.trial_s", 2), "procedure trial_s", "2", "3"),
        (_set("procedure.loss_ratio", 0.05), "procedure loss_ratio", "0.05", "0.025"),
        (_set("procedure.late_s", 1.0), "procedure late_s", "1.0", "2.0"),
        (
            _set("procedure.relative_width", 0.02),
            "procedure relative_width",
            "0.02",
            "0.01",
        ),
        (_set("servers.server.durability", "memory"), "durability", "memory", "written"),
        (
            _set("servers.server.tuning.memfile_persist", False),
            "tuning memfile_persist",
            "false",
            "true",
        ),
        (_database("11.8.7", "0"), "tuning database.sync_binlog", "0", "-"),
    ],
)
def test_what_has_to_be_the_same_is_refused_by_name_with_both_values(
    change, name, actual, wanted
):
    other = edited(later(0.5), change)
    (incompatibility,) = incompatibilities(BASE, other)[-1:]
    assert (incompatibility.name, incompatibility.found, incompatibility.wanted) == (
        name,
        actual,
        wanted,
    )
    with pytest.raises(LeaselabError, match=name) as caught:
        verdict(BASE, other)
    assert caught.value.outcome is Outcome.USAGE
    assert actual in caught.value.found
    assert wanted in caught.value.wanted


@pytest.mark.parametrize(
    "change",
    [
        _set("scenario.description", "in other words"),
        _set("scenario.factors", {"backend": "files"}),
        _set("scenario.across", []),
        _set("procedure.start_rate", 6900),
        _set("procedure.max_trials", 60),
        _set("procedure.confirm_s", 0),
        _set("servers.server.version", "2.6.4"),
        _set("generator.host", "server"),
    ],
)
def test_what_may_differ_is_no_incompatibility(change):
    assert incompatibilities(BASE, edited(later(), change)) == []


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
        edited(later(), _database(version, "0")) for version in ("11.8.7", "11.8.6")
    )
    assert incompatibilities(first, other) == []


def test_sweeps_of_other_lengths_compare_as_long_as_one_share_drops_the_same_of_both():
    five = later(0.9, MAX_RATES[:5], procedure=replace(PROCEDURE, rounds=5))
    assert verdict(BASE, five).answer is Answer.SLOWER
    untrimmed = later(0.9, procedure=replace(PROCEDURE, trim=0))
    (incompatibility,) = incompatibilities(BASE, untrimmed)
    assert (incompatibility.found, incompatibility.wanted) == (
        "0 of 9 at each end",
        "1 of 9 at each end",
    )


def test_a_result_is_not_compared_with_itself():
    with pytest.raises(LeaselabError, match="with itself") as caught:
        verdict(BASE, replace(BASE))
    assert caught.value.outcome is Outcome.USAGE


@pytest.mark.parametrize(
    ("other", "outcome", "said"),
    [
        (failed("build-failed", "it does not compile"), Outcome.BUILD, "it does not compile"),
        (failed("lab-broken", "no host"), Outcome.INVALID, "no host"),
        (
            later(rates=MAX_RATES[:3], procedure=replace(PROCEDURE, rounds=3)),
            Outcome.INVALID,
            "found 1 of 3, 1 dropped at each end, wanted 2 or more); measure again with more "
            "rounds (--set rounds=N), or with a lower trim",
        ),
    ],
)
def test_what_has_no_figure_ends_with_its_reason_whatever_it_is_compared_with(
    other, outcome, said
):
    foreign = example_result(scenario="v6-memfile")
    for base in (BASE, foreign, None):
        comparison = compare(base, other)
        assert comparison.outcome is outcome
        assert said in str(comparison.error)
        assert comparison.word == outcome.label


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


@pytest.mark.parametrize(
    ("at_least", "outcome"),
    [(12_000.0, Outcome.REGRESSION), (6400.0, Outcome.REGRESSION), (6100.0, Outcome.INVALID)],
)
def test_a_baseline_that_was_faster_than_its_bench_still_shows_a_regression(at_least, outcome):
    """BASE has 6006/s: at half the speed of what came before, it is no first of its kind."""
    comparison = compare(limited(at_least), later(token="0003"))
    assert comparison.outcome is outcome
    if outcome is Outcome.REGRESSION:
        assert comparison.verdict.limit is Limit.AT_MOST
        assert comparison.verdict.ratio == pytest.approx(6006 / at_least, rel=0.001)


@pytest.mark.parametrize(
    ("at_least", "answer"),
    [(12_000.0, Answer.FASTER), (6000.0, Answer.SAME), (5800.0, Answer.SAME)],
)
def test_one_that_is_faster_than_its_bench_is_no_regression(at_least, answer):
    judgement = verdict(BASE, limited(at_least))
    assert (judgement.answer, judgement.limit) == (answer, Limit.AT_LEAST)


@pytest.mark.parametrize(
    "other",
    [
        limited(5000.0),
        limited(None),
        limited(9000.0, "noisy"),
        replace(
            invalid_result(token="0003"), reasons=(Reason(word="noisy", text="it is noisy"),)
        ),
    ],
)
def test_where_that_is_not_enough_there_is_no_verdict(other):
    comparison = compare(BASE, other)
    assert comparison.outcome is Outcome.INVALID
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
    ("change", "name"),
    [
        (_set("generator.version", "3.0.4"), "generator version"),
        (_set("generator.options.threading", "multi"), "generator threading"),
        (_set("procedure.wait_s", 2.0), "procedure wait_s"),
        (_set("procedure.scout_s", 2), "procedure scout_s"),
        (_set("procedure.warm_up_s", 0), "procedure warm_up_s"),
    ],
)
def test_another_ruler_is_not_compared(change, name):
    with pytest.raises(LeaselabError, match=name) as caught:
        verdict(BASE, edited(later(), change))
    assert caught.value.outcome is Outcome.USAGE


def test_a_baseline_that_does_not_build_is_no_fault_of_the_other():
    base = failed("build-failed", "it does not compile")
    assert compare(base, BASE).outcome is Outcome.INVALID


def test_runs_that_may_be_anything_are_an_invalid_measurement():
    two = replace(PROCEDURE, rounds=2, trim=0)
    base = example_result([1000.0, 1800.0], procedure=two)
    other = later(0.1, MAX_RATES[:2], procedure=two)
    comparison = compare(base, other)
    assert comparison.outcome is Outcome.INVALID
    assert "found 1000, 1800 exchanges/s" in str(comparison.error)


def test_a_first_of_its_kind_is_well_and_is_no_verdict():
    comparison = compare(None, BASE)
    assert (comparison.outcome, comparison.word, comparison.verdict) == (
        Outcome.OK,
        "first",
        None,
    )


def test_a_verdict_is_its_comparisons_outcome():
    assert compare(BASE, later(0.9)).outcome is Outcome.REGRESSION
    assert compare(BASE, later(1.1)).outcome is Outcome.OK
    assert compare(BASE, later(1.1)).word == "faster"
    assert compare(BASE, later()).word == "equal"


def lower_is_better(record, better="lower"):
    return replace(record, metrics=(replace(record.figure, better=better),))


@pytest.mark.parametrize(
    ("factor", "answer"),
    [
        (1.06, Answer.SLOWER),
        (1.04, Answer.SAME),
        (0.96, Answer.SAME),
        (0.94, Answer.FASTER),
    ],
)
def test_where_lower_is_better_a_rise_is_a_regression(factor, answer):
    judgement = verdict(lower_is_better(BASE), lower_is_better(later(factor)))
    assert (judgement.answer, judgement.ratio) == (answer, pytest.approx(factor))


def test_where_lower_is_better_the_least_rise_that_would_show_is_said():
    wild = [rate * (1 + 0.15 * (-1) ** place) for place, rate in enumerate(MAX_RATES)]
    judgement = verdict(lower_is_better(BASE), lower_is_better(later(1.0, wild)))
    assert not judgement.sees_threshold
    for more, seen in ((0.99, False), (1.01, True)):
        factor = (1 + more * judgement.smallest_seen) / judgement.ratio
        other = lower_is_better(later(factor, wild))
        assert verdict(lower_is_better(BASE), other).differs == seen


def test_where_nothing_is_better_there_is_nothing_to_judge():
    base, other = (lower_is_better(item, "neither") for item in (BASE, later(0.5)))
    with pytest.raises(LeaselabError, match="no verdict on max rate") as caught:
        verdict(base, other)
    assert caught.value.outcome is Outcome.USAGE


def commit(tree):
    return Commit(
        repository="https://example.invalid/kea.git",
        ref="master",
        hash="a" * 40,
        tree=tree * 40,
        described="",
        author_date="2026-11-20T10:00:00+01:00",
        subject="Change something",
    )


def test_a_build_is_identified_by_its_files_its_commit_or_its_package():
    package = example_result().server
    alone = replace(example_result(commit="a" * 40).server, build=None)
    built = replace(alone, build=Build(source=commit("b")))
    changed = replace(alone, build=Build(source=commit("c")))
    again = replace(alone, commit="d" * 40, build=built.build)
    assert len({item.made_of for item in (package, alone, built, changed)}) == 4
    assert again.made_of == built.made_of
    assert example_result(version="2.6.2").server.made_of != package.made_of


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0024, "+0.24 %"), (-0.031, "-3.1 %"), (0.998, "+100 %"), (25.61, "+2561 %")],
)
def test_a_share_has_two_digits_and_no_exponent(share, words):
    assert two_digits(share, "+") == words
