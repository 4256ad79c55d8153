"""The pages of a report, as files."""

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from tests.examples import START, archive_result, example_result
from tests.hostile import ATTACK, EXPERIMENT, hostile_archive
from tests.past import fought, past

from leaselab.archive.bench_notes import STATUS, write_note
from leaselab.archive.index_file import INDEX
from leaselab.archive.row import row_of
from leaselab.archive.store import Store
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.report.review.reading import review_of
from leaselab.report.site import site
from leaselab.report.site.history import history
from leaselab.report.site.history_panels import lines_of
from leaselab.report.site.pages import Pages
from leaselab.report.site.site import write_benches, write_site
from leaselab.report.site.vega import DOUBT, MEASURED, WORSE

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
        heading = re.split("<h1[^>]*>", text)[-1].partition("</h1>")[0]
        self.heading = re.sub(r"<[^>]+>", "", heading)
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        result = dict(attrs)
        if tag == "script":
            self.scripts.append(result.get("src"))
        if "style" in result or tag == "style":
            self.styles.append(tag)
        self.handlers += [name for name in result if name.startswith("on")]
        names = ("href", "xlink:href", "src")
        self.links += [result[name] for name in names if result.get(name)]
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
    questions = ("index", "compare", "validity", "benches", "histories", "review")
    assert names == {
        *(f"{name}.html" for name in questions),
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


def test_no_text_becomes_markup_or_data_that_html_reads_and_nothing_needs_a_style(archive):
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
    data = [path for path in (root / "report").rglob("*.js") if path.parent.name != "assets"]
    assert data
    assert not any("<" in path.read_text(encoding="utf-8") for path in data)


def test_every_chart_is_drawn_described_and_has_its_data_for_a_browser(archive):
    root, records = archive
    page = root / "report" / "sweep" / f"{records[0].id}.html"
    text = page.read_text(encoding="utf-8")
    names = re.findall(r'data-chart="([\w-]+)"', text)
    assert names == ["runs", "loss", "latency", "stages", *SECONDS, "seconds-confirmation"]
    drawn = re.findall(r'<svg role="(?:img|group)" aria-label="[^"]+"', text)
    assert len(drawn) == 5, "four of the whole, and the seconds of the median run"
    confirmed = f"Confirmed at {records[0].confirmation.rate} exchanges/s (90 % of the figure)"
    assert text.index("95 % interval") < text.index(confirmed) < text.index('id="runs"')
    assert text.count('<td data-label="verdict">overload</td>') == 1, "in its own table"
    data = page.with_suffix(".js").read_text(encoding="utf-8")
    charts, _, parts = json.loads(data[len("leaselabCharts(") : -len(");\n")])
    assert list(charts) == names
    used = {int(place) for place in re.findall(r'"\$":(\d+)', data)}
    assert used == set(range(len(parts))), "each shared part is referred to"


def test_dots_of_a_history_have_the_colour_of_the_change_before_them(tmp_path):
    records = past(tmp_path, [1.02] * 8 + [0.97] * 4, noise=0.002, days=0.1)
    store = Store(tmp_path)
    assert _colours(store) == {MEASURED: 8, DOUBT: 4}
    keys = _by_commit(store).keys[0][1]
    assert [key.name for key in keys] == ["measured", "since a suspected change"]
    fought(tmp_path, records[7], records[8], 0.95, days=4)
    assert _colours(store) == {MEASURED: 8, WORSE: 4}


def _colours(store):
    """How many commits of a history have which colour."""
    layers = _by_commit(store).spec["layer"]
    means = next(item for item in layers if item.get("name") == "means")
    return Counter(mean["colour"] for mean in means["data"]["values"])


def _by_commit(store):
    """A history's chart by commit."""
    rows = store.index.every("v4-memfile")
    line = lines_of("v4-memfile", rows)[0]
    context, _ = history(line, review_of(store).series, lambda _: "")
    (panel,) = context["panels"]
    (chart,) = [chart for chart in panel.charts if chart.id == "commits"]
    return chart


def test_the_axis_of_a_history_has_iso_dates_in_utc():
    row = row_of(example_result(), "2026/11/x")
    rows = [row | {"started_at": f"2026-11-{day:02}T23:30:00.000Z"} for day in (1, 9, 17, 25)]
    _, (chart,) = history(*lines_of("v4-memfile", rows), [], lambda _: "")
    labels = chart.drawing.split("role-axis-label")[1].split("</g>")[0]
    dates = re.findall(r">([^<]+)</text>", labels)
    assert len(dates) >= 3
    assert all(re.fullmatch(r"2026-11-\d\d", date) for date in dates), dates
    assert "started (UTC)" in chart.drawing


def test_validity_counts_usable_results_and_explains_words_and_compare_says_what_differs(
    archive,
):
    root, _ = archive
    compared = (root / "report" / "compare.html").read_text(encoding="utf-8")
    assert "not comparable: another environment of the lab" in " ".join(compared.split())
    assert "server.commit" in compared
    history = (root / "report" / "history" / "v4-memfile.html").read_text(encoding="utf-8")
    assert history.count("<h2>Bench docker, environment 1-") == 2
    text = (root / "report" / "validity.html").read_text(encoding="utf-8")
    above, _, below = text.partition("<table")
    assert re.search(r"<h1>\d+ of the \d+ newest results (is|are) usable</h1>", above)
    assert re.search(r'<span class="verdict refused">refused</span>: \d+, there is no', text)
    assert "<dt>generator-limited</dt><dd>the traffic generator was at its limit" in below


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


def test_pages_that_are_current_stay_others_are_written_and_those_of_what_is_gone_go(tmp_path):
    report = tmp_path / "report"

    def changed(known):
        """The pages that are written now, after those that were known."""
        write_site(Store(tmp_path), report)
        times = {page: page.stat().st_mtime_ns for page in report.rglob("*.*ml")}
        pages = {page for page, time in times.items() if time != known.get(page)}
        return times, {str(page.relative_to(report)) for page in pages}

    old = archive_result(tmp_path, example_result()).id
    first, _ = changed({})
    new = archive_result(tmp_path, example_result(started=START + timedelta(hours=1))).id
    _, written = changed(first)
    assert f"sweep/{old}.html" not in written
    assert {"index.html", "compare.html", "history/v4-memfile.html"} < written
    gone = Store(tmp_path).find(new)
    for path in (gone, *gone.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(gone)
    os.utime(gone.parent)
    changed({})
    assert [page.stem for page in (report / "sweep").glob("*.html")] == [old]


def test_older_results_are_linked_where_they_lie_or_at_the_page_that_they_have(tmp_path):
    for hour in range(4):
        archive_result(tmp_path, example_result(started=START + timedelta(hours=hour)))
    report, oldest = tmp_path / "report", example_result().id

    def links(**asked):
        write_site(Store(tmp_path), report, **asked)
        return set(Page(report / "history" / "v4-memfile.html").links)

    assert sum(link.endswith("/result.json") for link in links(sweeps=1)) == 2
    links(refs=[oldest])
    kept = links(sweeps=1)
    assert sum(link.endswith("/result.json") for link in kept) == 1
    assert f"../sweep/{oldest}.html" in kept
    assert not [link for link in links(sweeps=4) if link.endswith("/result.json")]


@pytest.mark.parametrize("places", [(), (2, 0)], ids=["all", "named"])
def test_a_report_elsewhere_has_what_is_named_and_links_nothing_that_it_does_not_hold(
    tmp_path, places
):
    """What is named is compared with the first of it."""
    records = [example_result(started=START + timedelta(hours=hour)) for hour in range(3)]
    ids = [archive_result(tmp_path / "results", record).id for record in records]
    report, named = tmp_path / "out", [ids[place] for place in places]
    write_site(Store(tmp_path / "results"), report, named)
    assert {page.stem for page in (report / "sweep").glob("*.html")} == {*(named or ids)}
    for page in pages(report):
        for link in Page(page).links:
            place = link.partition("#")[0]
            assert (page.parent / place).resolve().is_relative_to(report)
    if named:
        text = (report / "compare.html").read_text(encoding="utf-8")
        assert text.index(ids[2]) < text.index(ids[0])
        assert Page(report / "compare.html").heading == "0 slower, 0 faster, 1 equal"


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
    hosts = "server: has a fault generator: does not answer"
    checked = ("2026-11-22 10:00", "2 errors")
    for said in ("docker measuring", "rack2 broken", hosts, *checked):
        assert said in words


def test_the_benches_are_written_without_other_pages_and_in_no_published_report(tmp_path):
    """Before anything was measured, and again; who holds which bench is the lab's own."""
    report = tmp_path / "report"
    note = {"at": WHEN, "state": "free", "detail": "", "hosts": []}
    write_note(tmp_path, "rack1", STATUS, note)
    page = write_benches(Store(tmp_path), report)
    assert "free" in Page(page).words
    assert [link for link in Page(page).links if link.endswith(".html")] == ["benches.html"]
    result = archive_result(tmp_path, example_result())
    write_site(Store(tmp_path), report)
    before = {path: path.stat().st_mtime_ns for path in report.rglob("*.html")}
    write_note(tmp_path, "rack1", STATUS, note | {"state": "held"})
    assert write_benches(Store(tmp_path), report) == page
    assert "held" in Page(page).words
    write_site(Store(tmp_path), report)
    assert {path for path in before if path.stat().st_mtime_ns != before[path]} == {page}
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
    with pytest.raises(LeaselabError, match="no result to report"):
        write_site(Store(tmp_path / "empty"), tmp_path / "report")


def interrupt(*_, **__):
    raise KeyboardInterrupt


def shown(page):
    """The text of a page without its end, which says when it was written."""
    return page.read_text(encoding="utf-8").partition("<footer>")[0]


def test_a_report_that_was_interrupted_is_gone_on_with_and_nothing_old_counts_as_current(
    tmp_path, monkeypatch
):
    for hour in range(3):
        archive_result(tmp_path, example_result(started=START + timedelta(hours=hour)))
    store, report = Store(tmp_path), tmp_path / "report"
    with monkeypatch.context() as patch:
        patch.setattr(site, "history", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_site(store, report)
    assert list((report / "sweep").glob("*.html"))
    whole = shown(write_site(store, report))
    with monkeypatch.context() as patch:
        patch.setattr(Pages, "finish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_site(store, report, ["last"])
    assert shown(report / "index.html") != whole
    assert shown(write_site(store, report)) == whole


def test_a_damaged_result_is_refused_and_keeps_no_other_from_its_page(tmp_path):
    good, changed, unsealed = (
        Store(tmp_path).place(archive_result(tmp_path, example_result(**fields)).id)
        for fields in ({"started": START + timedelta(hours=1)}, {}, {"scenario": "v6-memfile"})
    )
    unsealed.chmod(0o755)
    (unsealed / "SHA256SUMS").unlink()
    path = changed / "result.json"
    path.chmod(0o644)
    path.write_text(path.read_text(encoding="utf-8").replace("6006", "9999"), encoding="utf-8")
    report = tmp_path / "report"
    write_site(Store(tmp_path), report)
    assert [page.stem for page in (report / "sweep").glob("*.html")] == [good.name]
    refused = " ".join(Page(report / "validity.html").words)
    assert all(word in refused for word in (changed.name, unsealed.name, "checksum"))


@pytest.mark.parametrize("part", ["scenario", "metric", "experiment", "file"])
def test_no_name_of_a_foreign_result_leads_out_of_the_report_or_shows_a_file(tmp_path, part):
    good = archive_result(tmp_path / "results", example_result(scenario="v6-memfile"))
    bad = archive_result(tmp_path / "results", example_result())
    (tmp_path / "secret.txt").write_text("of this machine alone", encoding="utf-8")

    def edit(document):
        if part == "scenario":
            document["scenario"]["name"] = "../../escaped"
        elif part == "metric":
            document["metrics"][0]["name"] = "../../escaped"
        elif part == "experiment":
            document["experiment"] = {"id": "../../escaped", "points": [], "interleaved": True}
        else:
            document["servers"]["server"]["config_file"] = str(tmp_path / "secret.txt")

    _forge(tmp_path / "results", bad.id, edit)
    report = write_site(Store(tmp_path / "results"), tmp_path / "results" / "report").parent
    assert list(tmp_path.rglob("*escaped*")) == []
    assert [page.stem for page in (report / "sweep").glob("*.html")] == [good.id]
    assert "unreadable" in (report / "index.html").read_text(encoding="utf-8")


def _forge(root, ref, edit):
    """Change a result so that its checksum agrees, as a stranger could have made it."""
    place = Store(root).place(ref)
    document = json.loads((place / "result.json").read_bytes())
    edit(document)
    content = json.dumps(document)
    sums = f"{hashlib.sha256(content.encode()).hexdigest()}  result.json\n"
    for name, text in (("result.json", content), ("SHA256SUMS", sums)):
        (place / name).chmod(0o644)
        (place / name).write_text(text, encoding="utf-8")
    os.utime(place.parent)
    (root / INDEX).unlink(missing_ok=True)
