"""The pages of a report, as files."""

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from datetime import timedelta
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.examples import (
    START,
    archive_result,
    edited,
    example_result,
)
from tests.hostile import ATTACK, COMMIT, EXPERIMENT, hostile_archive
from tests.past import fought, name_of, past

from leaselab.analysis.history.series import State
from leaselab.archive.bench_notes import STATUS, write_note
from leaselab.archive.index_file import INDEX
from leaselab.archive.row import row_of
from leaselab.archive.store import Store
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.report.review import review_of
from leaselab.report.site import site
from leaselab.report.site.history import history, history_list
from leaselab.report.site.history_panels import lines_of
from leaselab.report.site.pages import Pages
from leaselab.report.site.review import review_page
from leaselab.report.site.site import write_benches, write_site
from leaselab.report.site.vega import DOUBT, MEASURED, SERIES, WORSE

WHEN = "2026-11-23T10:00:00.000Z"
SECONDS = [f"seconds-{run}" for run in range(1, 10)]
OURS = {"assets/leaselab.js", "assets/charts.js", "assets/compare.js"}


class Page(HTMLParser):
    """Links, scripts, handlers and text of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.scripts, self.handlers, self.styles, self.ids = [], [], [], [], set()
        self.words = []
        text = path.read_text(encoding="utf-8")
        self.heading = re.sub(
            r"<[^>]+>", "", re.split("<h1[^>]*>", text)[-1].partition("</h1>")[0]
        )
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        result = dict(attrs)
        if tag == "script":
            self.scripts.append(result.get("src"))
        if "style" in result or tag == "style":
            self.styles.append(tag)
        self.handlers += [name for name in result if name.startswith("on")]
        self.links += [
            result[name] for name in ("href", "xlink:href", "src") if result.get(name)
        ]
        self.ids.add(result.get("id"))

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """A hostile archive with its report beside it."""
    root = tmp_path_factory.mktemp("results")
    records = hostile_archive(root)
    write_site(Store(root), root / "report")
    return root, records


def pages(folder):
    return sorted(folder.rglob("*.html"))


def test_every_result_scenario_and_question_has_its_page(archive):
    root, records = archive
    names = {str(page.relative_to(root / "report")) for page in pages(root / "report")}
    assert names == {
        "index.html",
        "compare.html",
        "validity.html",
        "benches.html",
        "histories.html",
        "review.html",
        *(f"history/{record.scenario.name}.html" for record in records),
        *(f"sweep/{record.id}.html" for record in records),
        f"experiment/{EXPERIMENT}.html",
    }


def test_every_link_leads_to_a_file_that_is_there_and_none_leaves_the_disk(archive):
    root, _ = archive
    for page in pages(root / "report"):
        parsed = Page(page)
        assert parsed.links
        for link in parsed.links:
            place, _, part = link.partition("#")
            if place:
                assert (page.parent / place).resolve().exists(), f"{page.name}: {link}"
            else:
                assert part in parsed.ids, f"{page.name}: {link}"


def test_no_text_becomes_markup_and_nothing_needs_a_style_of_its_own(archive):
    root, _ = archive
    seen = set()
    for page in pages(root / "report"):
        parsed = Page(page)
        for source in parsed.scripts:
            assert source, f"{page.name} has a script inside"
            own = page.with_suffix(".js").name
            assert source == own or source.removeprefix("../") in OURS
        assert parsed.handlers == []
        # a strict content policy drops inline styles: nothing may depend on one
        assert parsed.styles == [], page.name
        if ATTACK in "".join(parsed.words):
            seen.add(page.parent.name)
    assert seen == {"report", "history", "sweep", "experiment"}


def test_data_files_hold_nothing_that_html_would_read(archive):
    root, _ = archive
    for data in (root / "report").rglob("*.js"):
        if data.parent.name != "assets":
            assert "<" not in data.read_text(encoding="utf-8")


def test_every_chart_is_drawn_described_and_has_its_data_for_a_browser(archive):
    root, records = archive
    page = root / "report" / "sweep" / f"{records[0].id}.html"
    text = page.read_text(encoding="utf-8")
    names = re.findall(r'data-chart="([\w-]+)"', text)
    assert names == ["runs", "loss", "latency", "stages", *SECONDS, "seconds-confirmation"]
    drawn = re.findall(r'<svg role="(?:img|group)" aria-label="[^"]+"', text)
    assert len(drawn) == 5, "four of the whole, and the seconds of the median run"
    assert "NaN" not in text
    data = page.with_suffix(".js").read_text(encoding="utf-8")
    charts, _, parts = json.loads(data[len("leaselabCharts(") : -len(");\n")])
    assert list(charts) == names
    used = {int(place) for place in re.findall(r'"\$":(\d+)', data)}
    assert used == set(range(len(parts))), "each shared part is referred to"
    assert len(text) + len(data) < 300_000


def test_a_confirmation_stands_under_the_figure_in_the_picture_and_in_its_own_table(archive):
    root, records = archive
    text = (root / "report" / "sweep" / f"{records[0].id}.html").read_text(encoding="utf-8")
    rate = records[0].confirmation.rate
    line = f"Confirmed at {rate} exchanges/s (90 % of the figure) over 60 s: loss 1.30 %."
    assert text.index("95 % interval") < text.index(line) < text.index('id="runs"')
    loss = text.split('<figure id="loss"')[1].split("</figure>")[0]
    assert loss.count(f'fill="{SERIES[1]}"') == 1 + 1, "its trial, and the legend's"
    table = text.split("<summary>The confirmation:")[1].split("</table>")[0]
    assert table.count(f'<td class="figure" data-label="offered">{rate}</td>') == 1
    assert table.count(f'<td class="figure" data-label="offered">{4 * rate}</td>') == 1
    assert table.count('<td data-label="verdict">overload</td>') == 1


def test_a_history_has_nine_dots_a_mean_and_an_interval_by_bench_and_environment(archive):
    root, _ = archive
    text = (root / "report" / "history" / "v4-memfile.html").read_text(encoding="utf-8")
    over_time = text.split('data-chart="time"')[1].split("</figure>")[0]
    dots, *layers = re.findall(
        r'class="mark-(\w+) role-mark \w+_marks".*?</g>', over_time, re.S
    )
    assert (dots, layers) == ("symbol", ["rule", "symbol"])
    circles = over_time.split("layer_0_marks")[1].split("</g>")[0]
    assert circles.count("<path") == 9
    assert over_time.count("<a ") == 1
    assert text.count("<h2>Bench docker, environment 1-") == 2
    assert 'data-chart="time-2"' in text


def test_dots_of_a_history_have_the_colour_of_the_change_before_them(tmp_path):
    records = past(tmp_path, [1.02] * 8 + [0.97] * 4, noise=0.002, days=0.1)
    assert _colours(Store(tmp_path)) == {MEASURED: 8, DOUBT: 4}
    fought(tmp_path, records[7], records[8], 0.95, days=4)
    assert _colours(Store(tmp_path)) == {MEASURED: 8, WORSE: 4}


def test_a_history_by_commit_names_commits_and_colours_and_has_intervals_of_the_review(
    tmp_path,
):
    records = past(tmp_path, [1.02] * 12 + [0.97] * 6, noise=0.002, drift=0.002, slow=[10])
    line, chart = _by_commit(Store(tmp_path))
    (series,) = review_of(Store(tmp_path)).series
    drawn = {mean["at"]: (mean["low"], mean["high"]) for mean in _means(chart)}
    assert drawn == {
        point.commit[:10]: tuple(float(f"{end:.6g}") for end in point.ci95)
        for point in series.points
    }
    (_, (review,)) = review_page([review_of(Store(tmp_path))], lambda _: "")
    assert [
        (point["low"], point["high"]) for point in review.spec["layer"][-1]["data"]["values"]
    ] == list(drawn.values())
    assert [key.name for key in chart.keys[0][1]] == ["measured", "since a suspected change"]
    for place in (0, 2, 16):
        assert f">{records[place].server.commit[:10]}</text>" in chart.drawing
    assert line.unit == "exchanges/s"


def _colours(store):
    """How many commits of a history have which colour."""
    return Counter(mean["colour"] for mean in _means(_by_commit(store)[1]))


def _by_commit(store):
    """A history, and its chart by commit."""
    rows = store.index.every("v4-memfile")
    line = lines_of("v4-memfile", rows)[0]
    context, _ = history(line, review_of(store).series, lambda _: "")
    (panel,) = context["panels"]
    (chart,) = [chart for chart in panel.charts if chart.id == "commits"]
    return line, chart


def _means(chart):
    means = next(item for item in chart.spec["layer"] if item.get("name") == "means")
    return means["data"]["values"]


def test_the_axis_of_a_history_has_iso_dates_in_utc():
    row = row_of(example_result(), "2026/11/x")
    rows = [row | {"started_at": f"2026-11-{day:02}T23:30:00.000Z"} for day in (1, 9, 17, 25)]
    _, (chart,) = history(*lines_of("v4-memfile", rows), [], lambda _: "")
    labels = chart.drawing.split("role-axis-label")[1].split("</g>")[0]
    dates = re.findall(r">([^<]+)</text>", labels)
    assert len(dates) >= 3
    assert all(re.fullmatch(r"2026-11-\d\d", date) for date in dates), dates
    assert "started (UTC)" in chart.drawing


def test_validity_begins_with_how_many_are_usable_and_ends_with_what_words_mean(archive):
    root, _ = archive
    text = (root / "report" / "validity.html").read_text(encoding="utf-8")
    above, _, below = text.partition("<table")
    assert re.search(r"<h1>\d+ of the \d+ newest results (is|are) usable</h1>", above)
    assert re.search(r'<span class="verdict refused">refused</span>: \d+, there is no', text)
    assert "<dt>generator-limited</dt><dd>the traffic generator was at its limit" in below


def test_the_review_shows_each_month_each_change_and_a_chart_of_its_series(
    tmp_path, monkeypatch
):
    """Few builds that scatter little, as each that has a page has eight charts to draw."""
    monkeypatch.setattr(site, "EXPERIMENTS", 1)
    records = past(tmp_path, [1.02] * 5 + [0.97] * 3, noise=0.002)
    past(tmp_path, [1.0], scenario="v6-memfile", anchor=False)
    fought(tmp_path, records[4], records[5], 0.95, days=5.5)  # not dated in the future
    write_site(Store(tmp_path), tmp_path / "report", sweeps=1)
    text = (tmp_path / "report/review.html").read_text("utf-8")
    assert "<h2>2026-11</h2>" in text
    assert "confirmed by a duel" in text
    assert "Change number 5" in text
    history = (tmp_path / "report/history/v4-memfile.html").read_text("utf-8")
    assert 'href="../experiment/' in history
    assert 'href="history/v4-memfile.html"' in text
    assert text.count("<figure") == 1
    assert "A history needs 6 builds of a scenario; these have fewer: v6-memfile" in text


def test_a_long_history_is_drawn_from_its_newest_and_its_marks_keep_their_numbers():
    row = row_of(example_result(), "2026/11/x")
    rows = [
        row
        | {
            "started_at": f"2026-{month:02}-{day:02}T00:00:00.000Z",
            "ruler": json.dumps({"trial_s": month}),
        }
        for month in range(1, 11)
        for day in range(1, 29)
    ]
    context, (chart,) = history(*lines_of("v4-memfile", rows), [], lambda _: "page.html")
    (panel,) = context["panels"]
    assert [mark.number for mark in panel.marks] == list(range(1, 10))
    drawn = re.findall(r"<text[^>]*>(\d)</text>", chart.drawing)
    assert drawn[-7:] == ["3", "4", "5", "6", "7", "8", "9"]
    assert chart.drawing.count("<a ") == 200
    assert "The newest 200 of 280 are drawn" in chart.note
    assert len(context["rows"]) == 200


def test_two_commits_are_compared_with_ratio_interval_and_what_differs(archive):
    root, _ = archive
    text = (root / "report" / "compare.html").read_text(encoding="utf-8")
    assert "not comparable: another environment of the lab" in " ".join(text.split())
    assert "server.commit" in text


def test_pages_that_are_current_are_left_alone_and_others_are_not(tmp_path):
    archive_result(tmp_path, example_result())
    report = tmp_path / "report"
    write_site(Store(tmp_path), report)
    first = {page: page.stat().st_mtime_ns for page in report.rglob("*.*ml")}
    archive_result(tmp_path, example_result(started=START + timedelta(hours=1)))
    write_site(Store(tmp_path), report)
    old = report / "sweep" / f"{example_result().id}.html"
    changed = {
        str(page.relative_to(report))
        for page in report.rglob("*.*ml")
        if page.stat().st_mtime_ns != first.get(page)
    }
    assert old.stat().st_mtime_ns == first[old]
    assert {"index.html", "compare.html", "history/v4-memfile.html"} < changed


def test_a_page_of_a_result_that_is_gone_goes(tmp_path):
    for hour in range(2):
        archive_result(tmp_path, example_result(started=START + timedelta(hours=hour)))
    write_site(Store(tmp_path), tmp_path / "report")
    gone = Store(tmp_path).find("last")
    for path in (gone, *gone.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(gone)
    os.utime(gone.parent)
    write_site(Store(tmp_path), tmp_path / "report")
    assert len(list((tmp_path / "report" / "sweep").glob("*.html"))) == 1


def test_older_results_are_linked_where_they_lie_and_keep_the_page_they_had(tmp_path):
    for hour in range(4):
        archive_result(tmp_path, example_result(started=START + timedelta(hours=hour)))
    report = tmp_path / "report"
    write_site(Store(tmp_path), report, sweeps=1)
    history = report / "history" / "v4-memfile.html"
    links = set(Page(history).links)
    assert sum(link.endswith("/result.json") for link in links) == 2
    oldest = example_result().id
    write_site(Store(tmp_path), report, [oldest])
    assert (report / "sweep" / f"{oldest}.html").exists()
    write_site(Store(tmp_path), report, sweeps=1)
    assert (report / "sweep" / f"{oldest}.html").exists()
    links = set(Page(history).links)
    assert sum(link.endswith("/result.json") for link in links) == 1


def test_a_report_elsewhere_links_nothing_that_it_does_not_hold(tmp_path):
    archive_result(tmp_path / "results", example_result())
    report = tmp_path / "elsewhere"
    write_site(Store(tmp_path / "results"), report)
    for page in pages(report):
        for link in Page(page).links:
            place = link.partition("#")[0]
            assert (page.parent / place).resolve().is_relative_to(report)


def test_results_that_are_named_are_reported_alone_and_compared_with_the_first(tmp_path):
    ids = []
    for hour in range(3):
        record = example_result(started=START + timedelta(hours=hour))
        ids.append(archive_result(tmp_path, record).id)
    write_site(Store(tmp_path), tmp_path / "out", [ids[2], ids[0]])
    assert {page.stem for page in (tmp_path / "out" / "sweep").glob("*.html")} == {
        ids[0],
        ids[2],
    }
    text = (tmp_path / "out" / "compare.html").read_text(encoding="utf-8")
    assert text.index(ids[2]) < text.index(ids[0])
    assert Page(tmp_path / "out" / "compare.html").heading == "0 slower, 0 faster, 1 equal"


def test_the_title_of_a_history_has_the_newest_figure_and_charts_say_what_they_show(tmp_path):
    past(tmp_path, [1.0, 1.0])
    write_site(Store(tmp_path), tmp_path / "report")
    page = Page(tmp_path / "report" / "history" / "v4-memfile.html")
    assert re.fullmatch(r"v4-memfile newest: \d{4} ± \d+ exchanges/s", page.heading)
    assert "Max rate over time" in page.words
    assert any(re.match("Max rate by commit, as a ratio to kea", word) for word in page.words)
    listed = Page(tmp_path / "report" / "histories.html")
    assert listed.heading == "No change of level in 1 figure"


def test_the_list_of_histories_says_which_levels_changed(tmp_path):
    past(tmp_path, [*[1.0] * 12, *[0.9] * 12])
    past(tmp_path, [1.0] * 3, scenario="v6-memfile")
    store = Store(tmp_path)
    names = ("v4-memfile", "v6-memfile")
    lines = [line for name in names for line in lines_of(name, store.index.every(name))]
    listed = history_list(lines, review_of(store).of(State.SUSPECTED))
    assert (
        listed["title"] == f"1 change: v4-memfile may be 10.0 % slower since {name_of(12)[:10]}"
    )
    changed, other = listed["lines"]
    assert (changed["name"], changed["since"]) == ("v4-memfile", name_of(12)[:10])
    assert (changed["change"]["look"], changed["change"]["size"]) == (
        "suspected",
        "10.0 % slower",
    )
    assert (other["name"], other["change"]) == ("v6-memfile", None)


def test_the_pairs_that_differ_are_first_and_counted_in_the_title(tmp_path):
    """A duel is one of them, by its verdict; of a scenario with an anchor it is that."""
    equal, changed = past(tmp_path, [1.0, 1.0], anchor=False, drift=0.0)
    fought(tmp_path, equal, changed, 0.99, noise=0.002, days=1.0)
    past(tmp_path, [0.9], scenario="v4-memfile-mt", drift=0.0)
    past(tmp_path, [1.0, 0.8], anchor=False, scenario="v6-memfile", drift=0.0)
    write_site(Store(tmp_path), tmp_path / "report")
    page = Page(tmp_path / "report" / "compare.html")
    words = " ".join(" ".join(page.words).split())
    assert page.heading == "2 slower, 0 faster, 2 equal"
    assert "1 of those that differ does so across sessions" in words
    order = (
        r"v4-memfile-mt .* slower 0\.(89|90)\d [\d.]+ to [\d.]+ measured in turn",
        r"v6-memfile .* slower 0\.81\d [\d.]+ to [\d.]+ across sessions",
        r"v4-memfile .* equal \S+ [\d.]+ to [\d.]+ across sessions",
        r"v4-memfile, duel .* equal 0\.99\d [\d.]+ to [\d.]+ measured in turn",
    )
    assert re.search(".*".join(order), words)


def test_the_page_of_the_benches_says_how_each_was_and_what_came_of_it(archive):
    page = Page(archive[0] / "report" / "benches.html")
    assert page.heading == "2 benches: 1 measuring, 1 broken"
    words = " ".join(" ".join(page.words).split())
    assert "docker measuring" in words
    assert "rack2 broken" in words
    assert "server: has a fault generator: does not answer" in words
    assert "2026-11-22 10:00" in words, "when it was checked"
    assert "2 errors" in words


def test_benches_can_be_shown_before_anything_was_measured(tmp_path):
    write_note(
        tmp_path, "rack1", STATUS, {"at": WHEN, "state": "free", "detail": "", "hosts": []}
    )
    page = write_benches(Store(tmp_path), tmp_path / "report")
    assert "free" in Page(page).words
    assert [link for link in Page(page).links if link.endswith(".html")] == ["benches.html"]


def test_the_benches_are_written_again_without_touching_the_other_pages(tmp_path):
    archive_result(tmp_path, example_result())
    report = write_site(Store(tmp_path), tmp_path / "report").parent
    assert "No bench was queried yet" in (report / "benches.html").read_text(encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in report.rglob("*.html")}
    write_note(
        tmp_path, "rack1", STATUS, {"at": WHEN, "state": "held", "detail": "", "hosts": []}
    )
    page = write_benches(Store(tmp_path), report)
    changed = {path for path in before if path.stat().st_mtime_ns != before[path]}
    assert changed == {page}
    assert "held" in Page(page).words
    again = write_site(Store(tmp_path), report).parent
    assert {path for path in before if path.stat().st_mtime_ns != before[path]} == {page}
    assert again == report


def test_a_report_of_named_results_says_nothing_of_the_benches(tmp_path):
    """It is published; who holds which bench is the lab's own."""
    result = archive_result(tmp_path, example_result())
    write_note(
        tmp_path, "rack1", STATUS, {"at": WHEN, "state": "held", "detail": "", "hosts": []}
    )
    first = write_site(Store(tmp_path), tmp_path / "site", [result.id])
    assert not (first.parent / "benches.html").exists()
    assert "benches.html" not in first.read_text(encoding="utf-8")


def test_a_folder_that_holds_something_else_is_not_written_to(tmp_path):
    archive_result(tmp_path / "results", example_result())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it", encoding="utf-8")
    with pytest.raises(LeaselabError, match="holds something else") as error:
        write_site(Store(tmp_path / "results"), tmp_path / "mine")
    assert error.value.outcome is Outcome.USAGE


def test_a_report_that_was_interrupted_is_gone_on_with(tmp_path, monkeypatch):
    archive_result(tmp_path, example_result())

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(site, "history", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_site(Store(tmp_path), tmp_path / "report")
    assert list((tmp_path / "report" / "sweep").glob("*.html"))
    assert write_site(Store(tmp_path), tmp_path / "report").exists()


def test_an_older_result_that_gets_a_page_is_linked_there_from_everywhere(tmp_path):
    for hour in range(4):
        archive_result(tmp_path, example_result(started=START + timedelta(hours=hour)))
    report = tmp_path / "report"
    write_site(Store(tmp_path), report, sweeps=1)
    oldest = f"sweep/{example_result().id}.html"
    assert oldest not in Page(report / "index.html").links
    write_site(Store(tmp_path), report, sweeps=4)
    assert oldest in Page(report / "index.html").links
    assert f"../{oldest}" in Page(report / "history" / "v4-memfile.html").links


def test_an_empty_archive_is_said(tmp_path):
    with pytest.raises(LeaselabError, match="no result to report"):
        write_site(Store(tmp_path), tmp_path / "report")


def test_a_damaged_result_is_refused_and_keeps_no_other_from_its_page(tmp_path):
    good = archive_result(tmp_path, example_result(started=START + timedelta(hours=1))).id
    place = Store(tmp_path).place(archive_result(tmp_path, example_result()).id)
    other = archive_result(tmp_path, example_result(scenario="v6-memfile")).id
    (Store(tmp_path).place(other) / "SHA256SUMS").chmod(0o644)
    (Store(tmp_path).place(other)).chmod(0o755)
    (Store(tmp_path).place(other) / "SHA256SUMS").unlink()
    path = Path(place) / "result.json"
    path.chmod(0o644)
    path.write_text(path.read_text(encoding="utf-8").replace("6006", "9999"), encoding="utf-8")
    report = tmp_path / "report"
    write_site(Store(tmp_path), report)
    assert [page.stem for page in (report / "sweep").glob("*.html")] == [good]
    refused = " ".join(Page(report / "validity.html").words)
    assert place.name in refused
    assert other in refused
    assert "checksum" in refused


def test_a_foreign_result_neither_leaves_the_folder_nor_shows_a_file_of_this_machine(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("of this machine alone", encoding="utf-8")
    first = archive_result(tmp_path / "results", example_result())
    second = archive_result(
        tmp_path / "results", example_result(started=START + timedelta(hours=1))
    )
    _forge(tmp_path / "results", first.id, _escape)
    _forge(tmp_path / "results", second.id, partial(_show_file, path=str(secret)))
    archive_result(tmp_path / "results", example_result(scenario="v6-memfile"))
    report = tmp_path / "results" / "report"
    write_site(Store(tmp_path / "results"), report)
    assert list(tmp_path.rglob("escaped*")) == []
    assert not (report / "sweep" / f"{second.id}.html").exists()
    assert "unreadable" in (report / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("part", ["scenario", "metric", "experiment"])
def test_no_name_of_a_foreign_result_is_a_way_out_of_the_report(tmp_path, part):
    good = archive_result(tmp_path / "results", example_result(scenario="v6-memfile"))
    bad = archive_result(tmp_path / "results", example_result())

    def edit(document):
        if part == "scenario":
            document["scenario"]["name"] = "../../escaped"
        elif part == "metric":
            document["metrics"][0]["name"] = "../../escaped"
        else:
            document["experiment"] = {"id": "../../escaped", "points": [], "interleaved": True}

    _forge(tmp_path / "results", bad.id, edit)
    report = write_site(Store(tmp_path / "results"), tmp_path / "results" / "report").parent
    assert list(tmp_path.rglob("*escaped*")) == []
    assert [page.stem for page in (report / "sweep").glob("*.html")] == [good.id]


def _escape(document):
    document["scenario"]["name"] = "../../../escaped"


def _show_file(document, path):
    document["servers"]["server"]["config_file"] = path


def _forge(root, ref, edit):
    """Change a result so that its checksum agrees, as a stranger could have made it."""
    place = Store(root).place(ref)
    document = json.loads((place / "result.json").read_bytes())
    edit(document)
    content = json.dumps(document)
    for name, text in (
        ("result.json", content),
        ("SHA256SUMS", f"{hashlib.sha256(content.encode()).hexdigest()}  result.json\n"),
    ):
        (place / name).chmod(0o644)
        (place / name).write_text(text, encoding="utf-8")
    os.utime(place.parent)
    (root / INDEX).unlink(missing_ok=True)


def test_an_interrupted_rewrite_leaves_nothing_that_counts_as_current(tmp_path, monkeypatch):
    for hour in range(3):
        archive_result(tmp_path, example_result(started=START + timedelta(hours=hour)))
    report = tmp_path / "report"
    write_site(Store(tmp_path), report)
    whole = (report / "index.html").read_text(encoding="utf-8")

    def interrupt(_pages):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Pages, "finish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_site(Store(tmp_path), report, ["last"])
    assert (report / "index.html").read_text(encoding="utf-8") != whole
    write_site(Store(tmp_path), report)
    assert (report / "index.html").read_text(encoding="utf-8") == whole


def test_a_commit_that_does_not_build_has_a_page_that_says_so(tmp_path):
    def edit(document):
        document |= {
            "outcome": "build-failed",
            "reasons": [{"word": "build-failed", "text": "alloc.cc:12: expected ';'"}],
            "rounds": [],
            "at_least": None,
        }
        never = ("version", "durability", "config_file", "config_sha256")
        document["servers"]["server"] |= dict.fromkeys(never)
        for metric in document["metrics"]:
            metric |= {"value": None, "ci95": None, "n": 0, "dropped": []}

    record = archive_result(tmp_path, edited(example_result(commit=COMMIT), edit))
    write_site(Store(tmp_path), tmp_path / "report")
    (page,) = (tmp_path / "report" / "sweep").glob("*.html")
    assert page.stem == record.id
    text = " ".join(Page(page).words)
    assert "build-failed" in text
    assert "alloc.cc:12: expected ';'" in text
    assert "No max rate." in text
    assert "build-failed" in " ".join(Page(tmp_path / "report" / "validity.html").words)
