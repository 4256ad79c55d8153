"""The history of a scenario: series by build, what moved, and what a duel says of it."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import START, archive_result, built, example_result
from tests.formula import archived_profiles
from tests.past import ANCHOR, copied, fought, name_of, past

from leaselab.analysis.history.series import State
from leaselab.archive.store import Store
from leaselab.report.review.document import review_document
from leaselab.report.review.reading import review_of
from leaselab.report.review.review import Period, month
from leaselab.report.review.table import cells, markdown_of_review, notes

STEP = [1.02] * 14 + [0.97] * 8


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """A store in which the build after the 14th is 5 % slower, and the builds of it."""
    root = tmp_path_factory.mktemp("results")
    return Store(root), past(root, STEP)


@pytest.fixture
def records(moved, tmp_path):
    """The builds of a copy in `tmp_path`, for a test that adds to it."""
    store, builds = moved
    copied(store.root, tmp_path)
    return builds


def test_a_ratio_to_the_anchor_has_no_drift_of_the_machine(moved):
    store, records = moved
    (series,) = review_of(store).series
    assert series.anchor == f"kea 2.6.3 ({ANCHOR[:10]})"
    assert [point.commit for point in series.points] == [
        record.server.commit for record in records
    ]
    (change,) = series.changes
    assert (change.before.commit, change.after.commit) == (name_of(13), name_of(14))
    assert change.worse
    assert change.ci95[0] < 0.97 / 1.02 < change.ci95[1]
    values = [record.figure.value for record in records]
    assert max(values) / min(values) > 1.15, "the machine drifts by far more than that"


def test_without_an_anchor_what_is_worse_says_so_in_the_same_cell(tmp_path):
    past(tmp_path, [1.0] * 8 + [0.9] * 4, anchor=False, drift=0.002)
    review = review_of(Store(tmp_path))
    ((series, change),) = review.of(State.SUSPECTED)
    assert cells(series, change)[3] == "worse across sessions"
    assert any(line.startswith("across sessions: no anchor") for line in notes(review))
    (entry,) = review_document(review)["changes"]
    assert entry["anchor"] is None


def test_without_an_anchor_the_figures_are_of_one_environment_and_say_that_drift_is_in_them(
    tmp_path,
):
    past(tmp_path, [1.0] * 16, anchor=False, drift=0.002)
    for record in past(tmp_path / "b", [0.9] * 25, anchor=False, seed=3)[17:]:
        bench = replace(record.bench, environment="2")
        archive_result(tmp_path, replace(record, bench=bench))
    review = review_of(Store(tmp_path))
    assert sorted(len(item.points) for item in review.series) == [8, 16]
    assert {item.anchor for item in review.series} == {""}
    assert {item.environment for item in review.series} == {"1", "2"}
    assert review.of(*State) == [], "another environment is not another server"


@pytest.mark.parametrize("slow", [(), (14, 15, 16)])
def test_nights_of_a_slow_anchor_are_no_change_of_the_builds(tmp_path, slow):
    past(tmp_path, [1.0] * 22, drift=0.002, noise=0.005, slow=slow)
    (series,) = review_of(Store(tmp_path)).series
    assert series.changes == ()
    assert [point.reading.error > 0.03 for point in series.points] == [
        place in slow for place in range(22)
    ]


def test_several_results_of_a_build_are_one_point(tmp_path):
    past(tmp_path, [1.0] * 3)
    again = past(tmp_path / "again", [1.0] * 3, seed=8)
    for record in again:
        clone = record.id.replace("bbbb", "bb22")
        anchor = Store(tmp_path / "again").load(record.experiment.anchor)
        other = anchor.id.replace("aaaa", "aa22")
        session = replace(record.experiment, id=other, points=(other, clone), anchor=other)
        archive_result(tmp_path, replace(anchor, id=other, experiment=session))
        archive_result(tmp_path, replace(record, id=clone, experiment=session))
    (series,) = review_of(Store(tmp_path)).series
    assert [len(point.ids) for point in series.points] == [2, 2, 2]
    assert not series.enough


def test_a_rebased_commit_stands_where_it_came_into_the_branch(tmp_path):
    """Here the one that was written last came in first, by the clock of another zone."""
    for number, record in enumerate(past(tmp_path / "made", [1.0] * 8, anchor=False)):
        came = "16:00:00+00:00" if number == 7 else f"1{number}:30:00+01:00"
        days = {
            "author_date": f"2026-11-{20 - number}T12:00:00+00:00",
            "committer_date": f"2026-11-25T{came}",
        }
        source = record.source
        archive_result(tmp_path, built(record, source.hash, subject=source.subject, **days))
    (series,) = review_of(Store(tmp_path)).series
    assert [point.subject for point in series.points] == [
        f"Change number {n}" for n in range(8)
    ]


@pytest.mark.parametrize(
    ("duels", "state"),
    [
        ([(13, 14, 0.95)], State.CONFIRMED),
        ([(13, 14, 1.0)], State.REFUTED),
        ([(13, 14, 1.05)], State.REFUTED),
        ([(13, 14, 1.0), (12, 15, 0.95)], State.CONFIRMED),
        ([(12, 13, 0.95)], State.SUSPECTED),
    ],
)
def test_the_newest_duel_of_builds_around_a_change_confirms_or_refutes_it(
    records, tmp_path, duels, state
):
    assert len(review_of(Store(tmp_path)).of(State.SUSPECTED)) == 1
    for day, (before, after, ratio) in enumerate(duels, start=60):
        ids = fought(tmp_path, records[before], records[after], ratio, days=day)
    ((_, change),) = review_of(Store(tmp_path)).of(*State)
    assert change.state is state
    if state is State.SUSPECTED:
        assert change.duel is None
        return
    assert change.duel.ids == ids
    assert change.duel.ratio == pytest.approx(ratio, abs=0.01)


def against_the_anchor(folder, root, ratios, *, slowdown=None, served_all=()):
    """Archive a duel of each build with the anchor; some have `served_all` of the load."""
    records = past(folder, ratios, drift=0.0)
    for number, (record, ratio) in enumerate(zip(records, ratios, strict=True)):
        anchor = Store(folder).load(record.experiment.anchor)
        fought(
            root,
            anchor,
            record,
            ratio,
            days=number,
            seed=number,
            slowdown=slowdown,
            served_all=number in served_all,
        )


def test_duels_with_one_build_are_a_history_with_that_as_the_anchor(tmp_path):
    root = tmp_path / "results"
    against_the_anchor(tmp_path / "made", root, STEP)
    (series,) = review_of(Store(root)).series
    assert series.anchor == f"kea 2.6.3 ({ANCHOR[:10]})"
    assert (series.metric, len(series.points)) == ("completed_rate", len(STEP))
    assert all(0.0002 < point.reading.error < 0.004 for point in series.points)
    (change,) = series.changes
    assert (change.before.commit, change.after.commit) == (name_of(13), name_of(14))
    assert (change.state, change.worse) == (State.SUSPECTED, True)
    assert change.ci95[0] < 0.97 / 1.02 < change.ci95[1]


def test_a_ratio_that_is_only_a_limit_is_no_point_of_a_history(tmp_path):
    root = tmp_path / "results"
    against_the_anchor(tmp_path / "made", root, [1.0] * 6 + [1.08], served_all=[6])
    assert [len(each.points) for each in review_of(Store(root)).series] == [6]


@pytest.mark.parametrize(("builds", "slowdown"), [(5, None), (8, 0.0)])
def test_few_duels_those_that_calibrate_and_profiles_are_no_history(tmp_path, builds, slowdown):
    root = tmp_path / "results"
    against_the_anchor(tmp_path / "made", root, STEP[:builds], slowdown=slowdown)
    archived_profiles(root, {})
    assert review_of(Store(root)).series == ()


def test_a_change_is_of_the_month_in_which_it_was_found_and_reported_when_it_is_settled(
    records, tmp_path
):
    """A review is written after its month, and measures again what it suspects."""

    def states_in(name):
        return [
            change.state
            for _, change in review_of(Store(tmp_path), period=month(name)).of(*State)
        ]

    assert (states_in("2026-11"), states_in("2026-12")) == ([], [State.SUSPECTED])
    assert states_in("2027-03") == [State.SUSPECTED], "until it is settled"
    fought(tmp_path, records[13], records[14], 0.95)  # in January
    assert (states_in("2026-11"), states_in("2026-12")) == ([], [State.CONFIRMED])
    assert (states_in("2027-01"), states_in("2027-02")) == ([State.CONFIRMED], [])
    months = [item.period.words for item in review_of(Store(tmp_path)).months]
    assert months == ["2026-12"]


@pytest.mark.parametrize("text", ["2026-13", "2026", "26-1", "2026-00", "x-y"])
def test_a_month_ends_where_the_next_begins_and_what_is_none_is_refused(text):
    assert month("2026-12") == Period("2026-12-01", "2027-01-01", "2026-12")
    with pytest.raises(ValueError, match=f"not a month: {text}"):
        month(text)


def test_only_confirmed_changes_are_reported_as_changes(records, tmp_path):
    past(tmp_path, STEP, scenario="v6-memfile", seed=4)
    fought(tmp_path, records[13], records[14], 0.95)
    markdown = markdown_of_review(review_of(Store(tmp_path)))
    changes, suspected = markdown.split("### Suspected, not measured again yet")
    assert "### Changes" in changes
    assert "| v4-memfile |" in changes
    assert "Change number 14" in changes
    assert "v6-memfile" not in changes
    assert "| v6-memfile |" in suspected
    document = review_document(review_of(Store(tmp_path)))
    assert {(change["scenario"], change["state"]) for change in document["changes"]} == {
        ("v4-memfile", "confirmed"),
        ("v6-memfile", "suspected"),
    }


def test_a_scenario_lacks_builds_only_where_none_of_its_series_has_enough(records, tmp_path):
    lacking = "a history needs 6 builds"
    later = START + timedelta(days=90)
    archive_result(
        tmp_path, built(example_result(scenario="v6-memfile", started=later), name_of(40))
    )
    other = example_result(scenario=records[0].scenario.name, started=later)
    elsewhere = replace(other, bench=replace(other.bench, environment="2"))
    archive_result(tmp_path, built(elsewhere, name_of(41)))
    (note,) = [item for item in notes(review_of(Store(tmp_path))) if item.startswith(lacking)]
    assert note.endswith(": v6-memfile")


def test_a_subject_is_no_markup_in_a_review(moved, tmp_path):
    made, _ = moved
    for row in made.index.every("*"):
        record = made.load(row["id"])
        source = record.source
        subject = "<b>|`bold`" if source.hash == name_of(14) else "x"
        of = {"subject": subject, "author_date": source.author_date}
        archive_result(tmp_path, built(record, source.hash, **of))
    markdown = markdown_of_review(review_of(Store(tmp_path)))
    assert r"\<b\>\|\`bold\`" in markdown
