"""What pages show of a result, and what the templates of Compare and Validity get."""

import re
from datetime import timedelta

from msgspec import to_builtins
from tests.examples import (
    MAX_RATES,
    START,
    archive_result,
    edited,
    example_result,
    fixed_load_result,
)

from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.model.lease_safety import Violation
from leaselab.report.listing import number
from leaselab.report.site.site import write_site
from leaselab.report.site.validity import validity


def test_of_a_scenario_with_several_figures_validity_names_each():
    page = validity([example_result(), fixed_load_result([0.004, 0.005])], [])
    names = {result["name"] for level in page["groups"].values() for result in level}
    assert names == {"v4-memfile, max rate", "v4-memfile, p99 latency"}
    assert validity([example_result()], [])["groups"]["good"][0]["name"] == "v4-memfile"


def test_a_lease_given_twice_is_on_page_and_terminal_with_its_counter_example(tmp_path, capsys):
    lines = ("0.1 s  client a gets 10.0.0.1", "0.2 s  client b gets 10.0.0.1")
    broken = Violation(rule="twice", count=3, lines=lines)

    def edit(document):
        for round_ in document["rounds"]:
            round_["trials"][0]["violations"] = [to_builtins(broken)]

    record = archive_result(tmp_path, edited(fixed_load_result([0.004]), edit))
    report = write_site(Store(tmp_path), tmp_path / "report").parent
    page = (report / "sweep" / f"{record.id}.html").read_text("utf-8")
    assert main(["show", record.id, "--results", str(tmp_path)]) == 0
    for text in (page, capsys.readouterr().out):
        assert "an address had two clients at once (3 cases)" in text
        assert all(line in text for line in lines)


def test_a_refused_figure_is_on_its_own_page_alone_and_small(tmp_path, capsys, monkeypatch):
    """6006/s in each run; the reason says why nobody should use it."""
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    archive_result(tmp_path, example_result())
    noisy = [{"word": "noisy", "text": "the runs spread by 12 %"}]
    of = {"outcome": "invalid", "reasons": noisy, "started": START + timedelta(hours=1)}
    runs = [8000 + rate / 10 for rate in MAX_RATES]
    record = archive_result(tmp_path, example_result(runs, **of))
    assert record.figure.value is None
    figure = number(record.refused_figure.value, "/s")
    report = write_site(Store(tmp_path), tmp_path / "report").parent
    own = report / "sweep" / f"{record.id}.html"
    pages = {page: page.read_text("utf-8") for page in report.rglob("*.html")}
    assert [page for page, text in pages.items() if re.search(rf"\b{figure}\b", text)] == [own]
    assert len(pages) > 6
    small = re.search(rf'<span class="note">It came to {figure} [^<]*</span>', pages[own])
    assert pages[own].index("he runs spread by 12 %") < small.start()
    for command in (["list"], ["export", "--csv", "-"]):
        assert main(command) == 0
        out = capsys.readouterr().out
        assert record.id in out
        assert figure not in out
