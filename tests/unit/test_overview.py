"""The overview's answer: what changed, and each scenario in its family."""

import re
from dataclasses import replace

import pytest
from tests.examples import MAX_RATES, START, archive_result, example_cell, example_result
from tests.past import fought, past

from leaselab.analysis.history.series import State
from leaselab.archive.store import Store
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.report.review.reading import review_of
from leaselab.report.review.review import Period
from leaselab.report.site.beside import beside, beside_ids
from leaselab.report.site.families import Axis, families
from leaselab.report.site.news import answer
from leaselab.report.site.overview import overview
from leaselab.report.site.review import review_page
from leaselab.report.site.site import write_site

pytestmark = pytest.mark.usefixtures("undrawn")

NEWEST = (START.replace(month=12, day=11)).isoformat()
PAGES = {("v4-memfile", "max_rate"): "v4-memfile"}


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    """Twenty builds, the last eight of which are 4 % slower, and a duel that confirmed it."""
    root = tmp_path_factory.mktemp("slower")
    made = past(root, [1.0] * 12 + [0.96] * 8)
    fought(root, made[11], made[12], 0.96, days=19.5)
    return root, made


def overview_of(root, newest=NEWEST):
    return answer(review_of(Store(root)).series, newest, PAGES, lambda _: True)


def test_a_confirmed_change_is_reported_with_size_interval_commit_and_its_duel(slower):
    root, made = slower
    result = overview_of(root)
    (news,) = result.news
    said = f"v4-memfile is {news.size} since {news.commit[:10]}"
    assert result.title == f"1 change in the 30 days before 2026-12-11: {said}"
    assert re.fullmatch(r"[34]\.\d % slower", news.size)
    assert news.look == "worse"
    assert news.commit == f"{made[12].server.commit[:10]} Change number 12"
    assert news.before.startswith(made[11].server.commit[:10])
    assert news.sure == "confirmed by a duel of the builds before and after it"
    assert news.duel.startswith("experiment/")
    good, bad = (item.server.commit[:10] for item in made[11:13])
    assert news.command.endswith(f" --repo /src/kea --good {good} --bad {bad}")


def test_a_change_that_no_duel_looked_at_is_suspected_and_says_what_to_do(tmp_path):
    past(tmp_path, [1.0] * 12 + [0.95] * 8)
    result = overview_of(tmp_path)
    (news,) = result.news
    assert result.title.endswith(f": v4-memfile may be {news.size} since {news.commit[:10]}")
    assert (news.look, news.command) == ("suspected", "./leaselab review v4-memfile --confirm")


def test_a_change_of_an_earlier_month_that_was_settled_then_is_no_news(slower):
    later = overview_of(slower[0], START.replace(year=2027).isoformat())
    assert later.title == "Nothing changed in the 30 days before 2027-11-21"
    assert later.news == ()


def test_a_line_of_a_family_has_the_change_since_the_anchor_and_the_course(slower):
    root, made = slower
    store = Store(root)
    rows = store.index.every("v4-memfile")
    duel = next(row["id"] for row in rows[::-1] if row["procedure"] == "duel")
    records = [store.load(ident) for ident in (made[-1].id, duel)]
    files = {"v4-memfile": "memfile"}
    shown, _ = overview(records, rows, rows[::-1], store.index.outcomes(), files)
    (family,) = shown["families"]
    (line,) = family.lines  # a duel is no scenario
    assert (family.name, line.label, line.cell.id) == ("memfile", "v4-memfile", made[-1].id)
    assert line.look == "worse"
    assert re.fullmatch(r"-[345]\.\d %", line.change)
    assert line.course[0].count(",") == 20, "its builds, without the anchor's results"


def test_scenarios_of_a_file_are_a_family_and_those_of_one_figure_have_one_axis():
    """Whatever order their factors are in; a name that no file has is of its server."""
    files = {"v4-classes-none": "classes", "v4-classes-simple": "classes", "v4-log-info": "log"}
    known = [("v4-log-info", 9000.0), ("gone", 700.0), *[(name, 5e3) for name in files][:2]]
    cells = [
        example_cell(value, scenario=name, factors={"classes": name}) for name, value in known
    ]
    classes, *others = families(cells, [], files)
    assert [line.label for line in classes.lines] == ["v4-classes-none", "v4-classes-simple"]
    assert {other.name for other in others} == {"log", "kea"}
    assert len({id(family.axis) for family in (classes, *others)}) == 1


def test_a_try_of_one_run_does_not_take_the_place_of_a_good_result(tmp_path):
    good = archive_result(tmp_path)
    later = START.replace(hour=14)
    archive_result(tmp_path, example_result(MAX_RATES[:1], started=later, token="0001"))
    assert [row["id"] for row in Store(tmp_path).index.newest_places("*")] == [good.id]


def test_a_page_says_what_a_result_is_beside_its_anchor_the_build_before_and_a_release(slower):
    root, made = slower
    rows = Store(root).index.every("v4-memfile")
    ids = beside_ids(made[13].id, rows)
    assert {made[12].id: ["previous build"], made[13].anchor: ["anchor", "release"]} == ids
    lines = {line["what"]: line for line in beside(made[13], ids, Store(root).load)}
    assert re.fullmatch(r"-[345]\.\d %", lines["anchor and release"]["change"])
    assert lines["previous build"]["word"] == "equal"


@pytest.mark.parametrize(("low", "high"), [(-5, 20), (-3, -1), (0, 0), (7, 7), (0, 1e-9)])
def test_an_axis_of_any_interval_has_a_round_figure_on_it(low, high):
    """An interval of few runs reaches below 0."""
    ticks = Axis(low, high, logarithmic=False).ticks
    assert ticks
    assert all(0 <= place <= 100 and low <= float(text) <= high for place, text in ticks)


def test_words_of_an_axis_stand_apart_on_it():
    for axis in (Axis(319, 12_700, logarithmic=True), Axis(5987, 6031, logarithmic=False)):
        places = [at for at, _ in axis.ticks]
        assert len(places) == 2
        assert all(4 <= place <= 96 for place in places)
        assert axis.at(axis.low) < axis.at(axis.high)


def written(root):
    return write_site(Store(root), root / "report").read_text(encoding="utf-8")


def test_without_a_history_the_title_is_what_there_is_and_the_next_step_follows(tmp_path):
    """First one result, then two, then a duel."""
    three = MaxRate(rounds=3, trim=1)
    reasons = [{"word": "unsteady", "text": "the machine moved"}]
    few = example_result(MAX_RATES[:3], procedure=three, reasons=reasons, commit="a" * 40)
    first = archive_result(tmp_path, few)
    text = written(tmp_path)
    page = f'<a href="sweep/{first.id}.html">6015 exchanges/s</a>'
    assert f"<h1>v4-memfile: {page} <" in text
    assert '<span class="verdict doubt">doubt (unsteady' in text
    assert 'data-chart="runs"' in text
    assert f"./leaselab rerun {first.id}" in text
    later = example_result(outcome="invalid", started=START.replace(hour=14), commit="b" * 40)
    archive_result(tmp_path, later)
    text = written(tmp_path)
    assert "<h1>2 results: 1 with a figure, 1 invalid</h1>" in text
    assert f"./leaselab rerun {later.id}" in text


def test_with_few_builds_the_answer_is_that_of_the_newest_duel(tmp_path):
    made = past(tmp_path, [1.0] * 2)
    fought(tmp_path, *made, 0.95)
    (title, said) = re.findall(r"<h1>(.*?)</h1>\n<p>(.*?)</p>", written(tmp_path))[0]
    assert re.fullmatch(r"v4-memfile: B is [456]\.\d % slower than A", title)
    assert re.search(r"^Slower: .*\)\. <a href=\"experiment/[^\"]*\">The duel of ", said)


def test_the_title_of_a_review_is_that_of_its_period(slower, tmp_path):
    """A series may have further changes, which the page does not list."""
    past(tmp_path, [1.0] * 12 + [0.95] * 12 + [0.9] * 12)
    whole = review_of(Store(tmp_path))
    last = max(change.detected_at for _, change in whole.of(State.SUSPECTED))
    newest = replace(whole, period=Period(last), older=False)
    titles = [review_page([each], lambda _: "")[0]["answer"] for each in (whole, newest)]
    assert [title.rpartition(" (")[2] for title in titles] == ["2 suspected)", "1 suspected)"]
    review = review_of(Store(slower[0]))
    page, _ = review_page([review, review], lambda _: "")
    assert page["answer"].endswith(" (1 confirmed)"), "in whichever months it is listed"


def test_curves_have_one_scale_and_builds_of_one_kind(tmp_path):
    """A tenth fills half of one; packages and commits are two."""
    three = MaxRate(rounds=3, trim=0)
    for hour in range(1, 6):
        of = {"started": START.replace(hour=hour), "commit": "c" * 40 if hour < 3 else None}
        rates = [6000.0 + 6 * hour * (hour > 2)] * 3
        made = archive_result(tmp_path, example_result(rates, procedure=three, **of))
    store = Store(tmp_path)
    rows = store.index.every()
    shown, _ = overview([store.load(made.id)], rows, rows[::-1], store.index.outcomes(), {})
    ((points,),) = [line.course for family in shown["families"] for line in family.lines]
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert len(heights) == 3
    assert max(heights) - min(heights) < 1, "0.2 % is nearly level"
