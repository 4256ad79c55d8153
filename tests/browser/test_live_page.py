"""The page of a sweep that runs, in a real browser."""

import threading

from tests.bench_document import DOCUMENT
from tests.examples import example_result

from leaselab.cli.watch_page import _Pages, _server
from leaselab.lab.deploy.bench_file import parse_measured
from leaselab.model.journal import Begun, RoundBegun, RoundDone, TrialMade
from leaselab.model.record import Provenance
from leaselab.report.live import LiveView


class Running:
    """The source of a sweep in its second run, which never ends."""

    def __init__(self):
        first, second = example_result().rounds[:2]
        self.view = LiveView("20261121T113005Z-v4-memfile-3f9a")
        procedure = {"name": "max-rate", "rounds": 9, "loss_ratio": 0.025}
        begun = Begun(
            bench=parse_measured({**DOCUMENT, "procedure": procedure}, "tests"),
            started_at=first.started_at,
            provenance=Provenance(leaselab_version="1"),
        )
        made = [TrialMade(index=2, trial=trial) for trial in second.trials]
        begins = RoundBegun(index=2, started_at=second.started_at)
        for event in (begun, RoundDone(index=1, round=first), begins, *made):
            self.view.journaled(event)


def test_the_live_page_draws_what_runs_and_keeps_what_it_knew_until_the_next_sweep(look):
    """On a wall, nobody loads it again."""
    page = look()
    source = Running()
    with _server(_Pages(source), 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        for width, height in ((1920, 1080), (390, 844)):
            page.set_viewport_size({"width": width, "height": height})
            page.locator("#bracket svg.marks").wait_for()
            page.locator("#chart svg.marks").wait_for()
            page.wait_for_function(
                "[...document.querySelectorAll('svg.marks')].every("
                "drawn => drawn.getBoundingClientRect().right <= innerWidth)"
            )
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            if width == 1920:  # a wall scrolls no more than it clicks
                page.wait_for_function("document.documentElement.scrollHeight <= innerHeight")
        page.wait_for_function(
            "document.querySelector('#chart svg.marks').viewBox.baseVal.width <= innerWidth"
        )
        assert page.overlaps("DejaVu Sans")[0] == []
        assert page.complaints == []
        answered = page.locator("#facts").inner_text()
        assert answered.index("estimate so far\n6015/s") < answered.index("time left")
        page.route("**/state.json", lambda route: route.abort())
        page.get_by_text("no answer: the sweep or its watch has ended").wait_for()
        assert "6015/s" in page.locator("#facts").inner_text()
        source.view.title = "v6-memfile · kea 2.6.3"
        page.unroute("**/state.json")
        page.locator("h1", has_text="v6-memfile").wait_for()
        assert "no answer" not in page.locator("#facts").inner_text()
        server.shutdown()
