"""Commits that were counted: what review says of each, and the history's steps."""

import io

import pytest
from tests.counts import archived_count, counted
from tests.past import name_of, past

from leaselab.analysis.history.series import State
from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.report.review.document import review_document
from leaselab.report.review.reading import review_of
from leaselab.report.review.review import failing
from leaselab.report.review.table import notes, print_review
from leaselab.report.site.history import history
from leaselab.report.site.history_panels import lines_of
from leaselab.report.site.site import write_site

REPLY = [0, 0, 13, 13, -7]
"""Further instructions of each commit, in the order of these."""


def count_of(store, number, *, day=None, environment="1", **changes):
    """Archive a count of the nth commit, made on a day of its own or on another."""
    day = number + 1 if day is None else day
    return archived_count(
        store,
        f"202601{day:02}T000000Z-v4-memfile-{environment}{number:03}",
        *[counted(**changes)] * 3,
        environment=environment,
        commit=name_of(number),
        subject=f"Change number {number}",
        author_date=f"2025-12-{number + 1:02}T10:00:00+00:00",
    )


@pytest.fixture
def store(tmp_path):
    """Five commits, of which the first was counted last."""
    made = Store(tmp_path)
    for number, reply in enumerate(REPLY):
        count_of(made, number, day=28 if number == 0 else None, reply=reply)
    return made


def said(store):
    stream = io.StringIO()
    print_review(review_of(store), stream)
    return stream.getvalue()


def test_review_names_the_commit_that_does_more_and_its_function(store):
    review = review_of(store)
    (series,) = review.series
    assert series.of_counts
    assert series.enough
    assert [point.commit for point in series.points] == [name_of(n) for n in range(5)]
    assert [(change.after.commit, change.worse) for change in series.changes] == [
        (name_of(2), True),
        (name_of(4), False),
    ]
    assert series.levels == ((0, 2), (2, 4), (4, 5))
    before, after = name_of(1)[:10], name_of(2)[:10]
    text = said(store)
    assert f"{after} costs 1.2 % more instructions per exchange (+13.00, of which" in text
    assert f"--good {before} --bad {after} --cost" in text
    assert not notes(review), "counts have no drift, and two builds are enough for them"
    (worse, better) = review_document(review)["changes"]
    assert (worse["state"], worse["ci95"]) == ("confirmed", None)
    assert worse["cost"]["parts"][0]["b"] == pytest.approx(1123)
    assert better["cost"]["parts"][0]["changed"]


def test_more_of_what_is_counted_fails_a_review_until_it_is_accepted(store, capsys):
    where = ["--results", str(store.root)]
    assert main(["review", *where]) == 1
    accept = ["--accept", name_of(2)[:10], "it checks the lease"]
    assert main(["review", *accept, *where]) == 0
    assert "it checks the lease" in capsys.readouterr().out
    (accepted,) = review_of(store).of(State.ACCEPTED)
    assert accepted[1].counted


def test_other_system_calls_are_a_change_where_instructions_are_equal(tmp_path):
    store = Store(tmp_path)
    for number, calls in enumerate((3, 4)):
        count_of(store, number, calls=calls)
    assert "costs 1.00 more system calls (+1.00 recvmsg) than" in said(store)
    ((_, change),) = review_of(store, metric="system_calls").of(State.CONFIRMED)
    assert change.worse
    assert not failing(review_of(store, metric="allocations"))


def test_counts_of_two_environments_are_not_compared(tmp_path):
    store = Store(tmp_path)
    for number in range(2):
        count_of(store, number)
        count_of(store, number, environment="2", reply=100 + 30 * number)
    series = {each.environment: each for each in review_of(store).series}
    assert [len(each.points) for each in series.values()] == [2, 2]
    assert [len(series[name].changes) for name in ("1", "2")] == [0, 1]
    panels = {panel.name: panel.charts for panel in counts_page(store)["panels"]}
    for name, marked in (("1", False), ("2", True)):
        (chart,) = panels[f"docker, environment {name}"]
        assert bool(dashed(chart.spec)) == marked


def dashed(panel):
    """The commits at which a panel has a dashed line."""
    return [
        value["at"]
        for layer in panel["layer"]
        if layer["mark"].get("strokeDash")
        for value in layer["data"]["values"]
    ]


def counts_page(store):
    lines = lines_of("v4-memfile", store.index.every("v4-memfile"))
    (line,) = [line for line in lines if line.counted]
    others = [other for other in lines if other is not line]
    return history(line, review_of(store).series, lambda _: "", others)[0]


def test_counts_are_steps_below_the_rates_on_one_axis_of_commits(store):
    past(store.root, [1.0] * 3, days=1.0)
    rates, counts = lines_of("v4-memfile", store.index.every("v4-memfile"))
    if rates.counted:
        rates, counts = counts, rates
    context, _ = history(rates, review_of(store).series, lambda _: "", [counts])
    (panel,) = context["panels"]
    (chart,) = [chart for chart in panel.charts if chart.id.startswith("commits")]
    above, below = chart.spec["vconcat"]
    places = {name_of(number)[:10]: number for number in range(5)}
    stairs = below["layer"][0]
    assert stairs["mark"]["interpolate"] == "step-after"
    drawn = stairs["data"]["values"]
    assert {value["at"]: value["place"] for value in drawn} == places
    assert {value["low"] for value in drawn} == {None}, "what is exact has no interval"
    assert [places[at] for at in dashed(below)] == [2, 4]
    measured = [value for layer in above["layer"] for value in layer["data"]["values"]]
    assert {(of["at"], of["place"]) for of in measured} == {*[*places.items()][:3]}, "the same"


@pytest.mark.parametrize(("more", "spans"), [(0, True), (0.05, True), (200, False)])
def test_what_counts_scatter_by_is_not_drawn_as_a_change(tmp_path, more, spans):
    """By at most a tenth of the height of the chart."""
    store = Store(tmp_path)
    for number in range(2):
        count_of(store, number, reply=number * more)
    (panel,) = counts_page(store)["panels"]
    (chart,) = panel.charts
    (stairs, *_) = chart.spec["layer"]
    scale = stairs["encoding"]["y"]["scale"]
    assert ("domainMin" in scale) == spans
    if spans:
        low, high = scale["domainMin"], scale["domainMax"]
        assert high - low == pytest.approx(0.01 * (1110 + more))
        assert (low + high) / 2 == pytest.approx(1110 + more / 2)


@pytest.mark.parametrize(
    ("experiment", "order"), [(None, [1, 2, 3, 4, 0]), ("e", [0, 1, 2, 3, 4])]
)
def test_the_newest_of_commits_that_were_counted_in_turn_is_the_last(store, experiment, order):
    rows = [{**row, "experiment": experiment} for row in store.index.every("v4-memfile")]
    (line,) = lines_of("v4-memfile", rows)
    assert [row["commit"] for row in line.rows] == [name_of(number) for number in order]


def test_the_page_of_a_count_has_its_functions_and_system_calls(store):
    root = store.root / "report"
    write_site(store, root)
    page = next((root / "sweep").glob("*-1004.html")).read_text(encoding="utf-8")
    text = page.partition("Where instructions go: 1 103 instructions per exchange")[2]
    assert text.index("dhcp_reply") < text.index("main") < text.index("System calls: 4.00")
    assert "recvmsg" in text
    assert "Second by second" not in page, "a count has no trials"
