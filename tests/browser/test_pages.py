"""The report in a real browser: Debian's Chromium, driven by Playwright."""

import contextlib
import functools
import http.server
import re
import threading

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.formula import archived_profiles
from tests.hostile import ATTACK, hostile_archive
from tests.lab_archive import FEW, RELEASES, lab_archive, release_archive
from tests.past import fought, name_of, past

from leaselab.analysis.demand.capacity import configurations
from leaselab.analysis.demand.demand import Demand, Population, Rush
from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.report.site.capacity import write_capacity
from leaselab.report.site.site import write_site

JENKINS = "sandbox allow-same-origin; default-src 'none'; img-src 'self'; style-src 'self';"
"""What Jenkins sends with published HTML unless its keeper says otherwise."""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of a hostile archive."""
    root = tmp_path_factory.mktemp("results")
    records = hostile_archive(root)
    demand = Demand(Population(86_400, 43_200), Rush(0.8, 30))
    write_capacity(root / "report", demand, configurations(records, demand))
    return write_site(Store(root), root / "report").parent


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    """The report of two profiles, of which one has a function with a hostile name."""
    root = tmp_path_factory.mktemp("profiles")
    archived_profiles(root, {"main;answer": 9.0, f"main;answer;{ATTACK}": 1.0})
    return write_site(Store(root), root / "report").parent


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The report of a release."""
    root = tmp_path_factory.mktemp("released")
    release_archive(root)
    path = root / "release.html"
    command = ["report", "--release", RELEASES[2], "--against", RELEASES[1], "-o", str(path)]
    assert main([*command, "--results", str(root)]) == 0
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The report of results that the engine sealed: sweeps, duels, a curve, a failed build."""
    root = tmp_path_factory.mktemp("made")
    lab_archive(root, FEW, builds=4)
    return write_site(Store(root), root / "report", sweeps=0).parent


@pytest.fixture(scope="module")
def sites(report, profiles, released, made):
    """Every page of every kind."""
    return [*report.rglob("*.html"), *profiles.rglob("*.html"), *made.rglob("*.html"), released]


def pages(report):
    """Every page of the site, by its path in it."""
    return sorted(str(page.relative_to(report)) for page in report.rglob("*.html"))


def walk(page):
    """Unfold all of the page and point at each chart; wait for the last to be live."""
    page.evaluate("""() => {
        for (const fold of document.querySelectorAll('main details')) fold.open = true;
        for (const chart of document.querySelectorAll('[data-chart]'))
            chart.dispatchEvent(new PointerEvent('pointerenter'));
    }""")
    charts = "document.querySelectorAll('[data-chart]').length"
    page.wait_for_function(
        f"document.querySelectorAll('.chart.live svg.marks').length === {charts}"
    )
    return page.evaluate(charts)


def test_every_page_comes_to_life_without_a_complaint_or_a_request_and_fits(report, look):
    """No chart is cut off; the drawings below live ones have no size of their own."""
    page = look()
    seen = 0
    for name in pages(report):
        page.goto(f"file://{report}/{name}")
        seen += walk(page)
        assert page.evaluate("window.hacked") is None
        for width in (1000, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            cut = page.evaluate("""[...document.querySelectorAll('.chart')].filter(chart =>
                chart.scrollWidth > chart.clientWidth ||
                [...chart.querySelectorAll('svg.marks')].some(drawn =>
                    drawn.getBoundingClientRect().right > chart.getBoundingClientRect().right)
            ).map(chart => chart.dataset.chart)""")
            assert cut == [], (name, width)
            if name == "benches.html":  # each column of a bench is in sight
                table = page.locator("table").bounding_box()
                assert table["x"] + table["width"] <= width
    assert seen > 20
    assert page.complaints == []
    assert all(url.startswith(f"file://{report}/") for url in page.requested)


def test_comparisons_are_picked_by_build_or_result_filtered_counted_and_copied(tmp_path, look):
    made = past(tmp_path, [1.0, 1.0, 0.9], drift=0.0, noise=0.003)
    past(tmp_path, [1.0], scenario="v6-memfile", drift=0.0, noise=0.003)
    page = look()
    page.goto(f"file://{write_site(Store(tmp_path), tmp_path / 'report').parent}/compare.html")
    rows = page.locator("table.lines tbody tr:visible")
    counts = page.locator("h1")
    assert (rows.count(), counts.inner_text()) == (2, "1 slower, 0 faster, 1 equal")
    page.get_by_label("those that differ").check()
    assert (rows.count(), counts.inner_text()) == (1, "1 slower, 0 faster, 0 equal")
    page.get_by_label("those that differ").uncheck()
    page.get_by_label("name").fill("v6")
    assert rows.count() == 1
    page.get_by_label("name").fill("")
    pick = {side: page.get_by_label(side, exact=True) for side in "AB"}
    pick["A"].select_option(made[0].id)
    assert rows.count() == 3, "every one of the result, however far it is folded"
    pick["B"].select_option(label=f"kea 2.6.3 ({name_of(2)[:10]})")
    assert rows.count() == 1
    page.get_by_role("button", name="Copy as Markdown").click()
    head, rule, line = page.locator("textarea").input_value().splitlines()
    headings = page.locator("table.lines").first.locator("th[scope=col]").all_inner_texts()
    assert head == f"| {' | '.join(headings)} |"
    assert set(rule) == set("| -")
    assert line.startswith("| v4-memfile | kea 2.6.3")
    assert "| slower | 0.9" in line
    assert page.complaints == []


def test_hovering_over_a_point_shows_its_words_as_text(report, look):
    page = look()
    page.goto(f"file://{report}/history/v4-memfile.html")
    walk(page)
    page.locator("#time .chart.live .means_marks path").first.hover()
    shown = page.locator("#vg-tooltip-element.visible")
    shown.wait_for()
    assert ATTACK in shown.inner_text()
    assert page.evaluate("window.hacked") is None


def test_a_point_of_the_history_leads_to_its_sweep(report, look):
    for scripts in (True, False):
        page = look(java_script_enabled=scripts)
        page.goto(f"file://{report}/history/v4-memfile.html")
        if scripts:
            walk(page)
        page.locator("#time .chart .means_marks path").last.click()
        page.wait_for_url(f"file://{report}/sweep/*")
        assert "v4-memfile" in page.locator("h1").inner_text()


def test_without_scripts_every_chart_is_there_all_the_same(report, look):
    page = look(java_script_enabled=False)
    for name in pages(report):
        page.goto(f"file://{report}/{name}")
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        for chart in page.locator("[data-chart]:not(:has(.undrawn))").all():
            box = chart.locator("svg").bounding_box()
            assert box["width"] > 300
            assert box["height"] > 30
            assert chart.locator("xpath=..").locator("svg path").count() > 2  # with its legend
    assert page.complaints == []


def test_under_the_policy_of_jenkins_pages_are_styled_and_drawn(report, look):
    with served(report, {"Content-Security-Policy": JENKINS}) as url:
        page = look()
        page.goto(f"{url}/index.html")
        heading = page.locator("thead th").first
        assert heading.evaluate("one => getComputedStyle(one).borderBottomWidth") == "1px"
        page.locator("table.dots a").first.click()
        page.wait_for_url(f"{url}/sweep/*")
        assert page.locator(".chart.live").count() == 0
        dot = page.locator("#runs .mark-symbol path").first
        assert re.fullmatch(r"#[0-9a-f]{6}", dot.get_attribute("fill"))
        assert dot.bounding_box()["width"] > 2
        # the one thing that is refused is the script; no style, picture or font is
        assert all("script" in text.lower() for text in page.complaints), page.complaints


def test_a_differential_flame_graph_is_drawn_live(profiles, look):
    """The box under the pointer shows the function, whatever it is called."""
    (path,) = (profiles / "experiment").glob("*.html")
    page = look()
    page.goto(f"file://{path}")
    walk(page)
    assert "differ in scenario" not in page.locator("main").inner_text()  # it is the same
    boxes = page.locator("#flames .chart.live .layer_0_marks path")
    assert boxes.count() == 5  # the semicolon of the name parts it
    boxes.nth(3).hover(force=True)  # its words lie on it
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert "B - A" in page.locator("#vg-tooltip-element.visible").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.complaints == []
    assert page.locator("code", has_text="<script>").count() == 1


@pytest.mark.parametrize("font", ["DejaVu Sans", "Liberation Sans"])
def test_no_two_texts_of_a_drawing_overlap_in_a_font_that_a_reader_may_have(report, look, font):
    page = look(java_script_enabled=False)
    seen = 0
    for name in pages(report):
        for width in (1200, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"file://{report}/{name}")
            values, count = page.overlaps(font)
            assert values == [], (name, width)
        seen += count
    assert seen > 200


def test_a_page_of_a_result_is_small_and_drawn_before_any_library_is_there(report, look):
    page = look()
    for item in sorted((report / "sweep").glob("*.html")):
        size = item.stat().st_size + item.with_suffix(".js").stat().st_size
        assert size < 300_000, item.name
        page.requested.clear()
        page.goto(f"file://{item}")
        assert page.locator("#runs svg.marks").count() == 1
        assert not [url for url in page.requested if url.endswith("charts.js")]
        page.locator("#runs .chart").hover()
        page.locator("#runs .chart.live svg.marks").wait_for()
        assert [url for url in page.requested if url.endswith("charts.js")]


def test_dark_and_light_are_two_and_the_words_of_charts_follow(report, look):
    """Whether their contrast does is among the rules of accessibility."""
    seen = set()
    for scheme in ("light", "dark"):
        page = look(color_scheme=scheme, java_script_enabled=False)
        page.goto(f"file://{report}/history/v4-memfile.html")
        ground = page.locator("body").evaluate("one => getComputedStyle(one).backgroundColor")
        label = page.locator(".chart .role-axis-label text").first
        ink = label.evaluate("one => getComputedStyle(one).fill")
        assert ground != ink
        seen |= {("ground", ground), ("ink", ink)}
    assert len(seen) == 4


def test_the_first_screen_answers_what_changed_by_how_much_how_sure_since_when_and_what_next(
    tmp_path, look
):
    """Without a click and without scripts, as a stranger sees it."""
    made = past(tmp_path, [1.0] * 12 + [0.96] * 8, anchor=False, drift=0.0)
    fought(tmp_path, made[11], made[12], 0.96, days=19.5)
    page = look(java_script_enabled=False)
    page.set_viewport_size({"width": 1280, "height": 800})
    first = write_site(Store(tmp_path), tmp_path / "report", sweeps=0)
    page.goto(f"file://{first}")
    answers = {
        "which scenario": page.locator(".news li.worse a", has_text="v4-memfile"),
        "by how much": page.locator(".news strong", has_text=re.compile(r"[34]\.\d % slower")),
        "how sure": page.locator(".news a", has_text="confirmed by a duel"),
        "which commit": page.locator(".news code", has_text=made[12].server.commit[:10]).first,
        "what to do": page.locator(".news code", has_text="leaselab bisect v4-memfile"),
    }
    for question, answer in answers.items():
        box = answer.bounding_box(timeout=5000)
        assert box["y"] + box["height"] <= 800, question
        assert box["x"] + box["width"] <= 1280, question


def test_the_keyboard_reaches_content_navigation_and_results(report, look):
    page = look()
    page.goto(f"file://{report}/index.html")
    reached = []
    for _ in range(10):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent"))
    assert reached[:5] == ["Skip to the content", "Overview", "History", "Compare", "Validity"]
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("sweep|history"))


FITS = """() => {
    for (const fold of document.querySelectorAll('main details')) fold.open = true;
    const within = item => item.closest('.wide, .family, pre, .skip, svg');
    const wide = [...document.querySelectorAll('body *')].filter(item => {
        const box = item.getBoundingClientRect();
        return box.width && (box.right > innerWidth + 1 || box.left < -1) && !within(item);
    }).map(item => `${item.tagName} ${item.className}: ${item.textContent.slice(0, 40)}`);
    const out = [...document.querySelectorAll('.chart svg *, .wide table')].filter(item => {
        const box = item.getBoundingClientRect();
        return box.width && (box.right > innerWidth + 1 || box.left < -1);
    }).map(item => `${item.tagName}: ${item.textContent.slice(0, 40)}`);
    const small = [...document.querySelectorAll('.chart svg text')].filter(text => {
        const drawn = text.ownerSVGElement, box = drawn.getBoundingClientRect();
        const scale = box.width / drawn.viewBox.baseVal.width;
        const size = parseFloat(getComputedStyle(text).fontSize) * scale;
        return text.checkVisibility() && size < 11;
    }).map(text => text.textContent);
    const seen = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const ends = [];
    for (let node = seen.nextNode(); node; node = seen.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(node);
        const box = range.getBoundingClientRect();
        if (node.textContent.trim() && box.height) ends.push([box.top, box.bottom]);
    }
    ends.sort((one, other) => one[0] - other[0]);
    let blank = 0, last = 0;
    for (const [top, bottom] of ends) {
        blank = Math.max(blank, top - last);
        last = Math.max(last, bottom);
    }
    const scrolls = document.documentElement.scrollWidth - innerWidth;
    return {scrolls, wide, out, small, blank};
}"""
"""How far a page scrolls sideways; what is outside of it; charts' words of less than 11 px; the
longest stretch without a word (px)."""


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_of_any_page_is_outside_of_the_window_too_small_or_far_below_the_rest(
    report, sites, look, width
):
    page = look(java_script_enabled=False)
    page.set_viewport_size({"width": width, "height": 900})
    for path in sites:
        page.goto(f"file://{path}")
        measured = page.evaluate(FITS)
        assert measured.pop("blank") < 450, path.name
        if report in path.parents:  # its words have no end
            measured["out"] = []
        assert measured == {"scrolls": 0, "wide": [], "out": [], "small": []}, path.name


ELEMENT = re.compile(r'<(\w+)(?:[^>]*?\sclass="([^"]*)")?')


def one_of_each_kind(sites):
    """Pages that have every element of all, by its name and class, those with most first."""
    has = {path: {*ELEMENT.findall(path.read_text("utf-8"))} for path in sites}
    few, seen = [], set()
    for path in sorted(sites, key=lambda path: (-len(has[path]), path)):
        if not has[path] <= seen:
            few.append(path)
            seen |= has[path]
    return few


def test_no_page_violates_a_rule_of_accessibility(sites, look):
    """Axe-core's rules: names of charts, tables and links, contrast, landmarks, headings."""
    few = one_of_each_kind(sites)
    assert len(few) < len(sites) / 3
    for scheme, paths in (("light", few), ("dark", few[:3])):
        page = look(color_scheme=scheme)
        for path in paths:
            page.goto(f"file://{path}")
            page.evaluate(
                "for (const one of document.querySelectorAll('details')) one.open = 1"
            )
            violated = [
                (rule["id"], node["html"][:160])
                for rule in Axe().run(page).response["violations"]
                for node in rule["nodes"]
            ]
            assert violated == [], path.name


def test_print_has_what_a_screen_unfolds_and_no_heading_of_nothing(report, look):
    """A fold that is closed and not printed leaves no words that nobody can follow."""
    page = look(java_script_enabled=False)
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 between its margins
    page.emulate_media(media="print")
    printed = 0
    for name in pages(report):
        page.goto(f"file://{report}/{name}")
        dead, count, empty = page.evaluate("""() => {
            const folds = [...document.querySelectorAll('main details:not([open], .line)')]
                .filter(fold => fold.checkVisibility());
            const within = fold => fold.querySelector('summary').nextElementSibling;
            const others = head => [...head.parentElement.children].filter(
                item => item !== head && item.checkVisibility() && item.innerText.trim());
            const heads = [...document.querySelectorAll('main h2')].filter(
                head => head.checkVisibility() && !others(head).length);
            return [folds.filter(fold => !within(fold).checkVisibility()).length,
                    folds.length, heads.map(head => head.textContent)];
        }""")
        assert (dead, empty) == (0, []), name
        printed += count
        assert page.overlaps("DejaVu Sans")[0] == [], name
    assert printed > 20


def test_on_a_phone_an_axis_has_one_word_and_a_legend_is_text(report, look):
    page = look(java_script_enabled=False)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"file://{report}/index.html")
    axes = page.locator("svg.ticks").all()
    assert axes
    assert all(axis.locator("text:visible").count() <= 1 for axis in axes)
    for scripts in (False, True):
        page = look(java_script_enabled=scripts)
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"file://{sorted((report / 'sweep').glob('*.html'))[0]}")
        if scripts:
            walk(page)
        sizes = page.locator(".keys:visible span").evaluate_all(
            "all => all.map(key => parseFloat(getComputedStyle(key).fontSize))"
        )
        assert len(sizes) > 5
        assert min(sizes) >= 11
        assert page.locator(".chart .role-legend").count() == 0


def test_on_a_phone_a_time_axis_has_both_ends(made, look):
    page = look(java_script_enabled=False)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"file://{made}/history/v4-memfile-mt.html")
    dates = page.locator("#time [aria-label*='utc scale'] .role-axis-label")
    known = dates.locator("text").all_text_contents()
    assert len(known) > 2
    shown = dates.locator("text:visible").all_text_contents()
    assert shown == [known[0], known[-1]]
    assert page.overlaps("DejaVu Sans")[0] == []


LINES = """() => {
    for (const fold of document.querySelectorAll('main details')) fold.open = true;
    const cell = document.querySelector('.records td[data-unit]:not([data-label="-"])');
    const words = cell && ['::before', '::after'].map(
        part => getComputedStyle(cell, part).content.replaceAll('"', '').trim());
    return words && [words[0], cell.textContent.trim(), words[1]];
}"""
"""On a small screen: the first figure with a unit."""


def test_on_a_phone_a_row_of_a_wide_table_is_lines_with_words_and_units(report, profiles, look):
    """No column is named out of sight; on a wide screen the head of the table says it."""
    page = look(java_script_enabled=False)
    page.set_viewport_size({"width": 390, "height": 844})
    seen = set()
    for path in (*report.rglob("*.html"), *profiles.rglob("*.html")):
        page.goto(f"file://{path}")
        seen.add(tuple(page.evaluate(LINES) or ()))
    assert ("server CPU", "12.0", "µs per query") in seen
    page.set_viewport_size({"width": 1200, "height": 844})
    words = page.evaluate(LINES)
    assert not words or words[0] == "none"


def test_the_report_of_a_release_asks_for_nothing_and_fits_phone_and_print(released, look):
    page = look(java_script_enabled=False)
    page.goto(f"file://{released}")
    assert page.requested == [f"file://{released}"]
    assert page.complaints == []
    assert page.pdf(format="A4").startswith(b"%PDF")
    for media, unfolded in (("screen", False), ("print", True), ("screen", False)):
        page.emulate_media(media=media)
        for folded in ("figure .how p", "#new details p", "#attached pre"):
            item = page.locator(folded).first
            assert item.evaluate("one => one.checkVisibility()") is unfolded, folded
    drawn = page.locator("figure svg.marks")
    assert drawn.count() > 5
    for font in ("DejaVu Sans", "Liberation Sans"):
        assert page.overlaps(font)[0] == []
    for link in page.locator("ol.contents a").all():
        link.click()
        assert page.url.endswith(link.get_attribute("href"))


@contextlib.contextmanager
def served(folder, headers):
    """Serve a folder on the loopback address with these headers."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def end_headers(self):
            for name, value in headers.items():
                self.send_header(name, value)
            super().end_headers()

        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
