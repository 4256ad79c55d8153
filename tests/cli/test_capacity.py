"""``leaselab capacity``."""

import re
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import (
    PROCEDURE,
    START,
    archive_result,
    burst_result,
    example_result,
    fixed_load_result,
)
from tests.own import DATA, catalogue_in

from leaselab.archive.store import Store
from leaselab.report.site.site import write_benches, write_site

WEBINAR = ["--clients", "86400", "--lease-s", "86400"]


@pytest.fixture
def results(root):
    """Two max rates of v4-memfile, one of v6-memfile, a burst, a fixed load."""
    archive_result(root)
    newest = archive_result(
        root, example_result(token="0002", started=START + timedelta(hours=1))
    )
    archive_result(root, example_result(scenario="v6-memfile", token="0003"))
    later = {"started": START + timedelta(hours=2)}
    burst = burst_result(5000, [9.0, 9.3, 9.6], token="0004", **later)
    named = replace(burst.scenario, name="v4-avalanche", factors={"clients": 5000})
    archive_result(root, replace(burst, scenario=named))
    archive_result(root, fixed_load_result((0.0113, 0.0141), token="0005", **later))
    return newest


def test_the_webinars_clients_are_carried(results, document):
    planned = document("capacity", *WEBINAR)
    assert planned["steady"] == {"new": 0.0, "renewals": 2.0, "total": 2.0}
    assert planned["peak"] == planned["steady"]
    assert planned["arrival"] == {"pattern": "spread", "words": "spread evenly"}
    by_scenario = {each["scenario"]: each for each in planned["configurations"]}
    assert by_scenario.keys() == {"v4-memfile", "v6-memfile"}
    entry = by_scenario["v4-memfile"]
    assert entry["id"] == results.id
    assert entry["carries"] == "yes"
    assert entry["head_room"] == pytest.approx(results.figure.ci95[0] / 2)


def test_a_configuration_that_was_not_measured_is_to_be_measured_first(
    results, tmp_path, monkeypatch, refused, document
):
    monkeypatch.setenv("LEASELAB_ROOT", str(tmp_path))
    catalogue_in(tmp_path)
    file = DATA / "house.conf"
    first = f"measure it first: leaselab run --config {file}\n"
    assert first in refused("capacity", "--config", file, *WEBINAR)
    [name] = [path.stem for path in (tmp_path / ".leaselab/own").glob("own-*.yml")]
    measured = replace(results.scenario, name=name)
    mine = replace(example_result(token="0009"), scenario=measured)
    archive_result(tmp_path / "results", mine)
    entry = document("capacity", "--config", str(file), *WEBINAR)["configurations"]
    assert [row["scenario"] for row in entry] == [name]


@pytest.mark.usefixtures("results")
def test_a_terminal_shows_needs_configurations_and_what_to_know(said):
    lines = said("capacity", "v4-*", *WEBINAR, "--rush", "0.8", "1").out.splitlines()
    assert lines[0] == "86400 clients, each renews every 12 h, 80 % of them arrive within 1 min"
    assert [" ".join(line.split()) for line in (*lines[2:6], lines[8])] == [
        "transactions/s steady peak",
        "new clients 0.00 1152",
        "renewals 2.00 0",
        "together 2.00 1152",
        "v4-memfile written kea 2.6.3 6006 ± 25 5.19 yes ≈ 2.89 min",
    ]
    assert "≈: measured with fewer clients, and multiplied" in "\n".join(lines[9:])


@pytest.mark.usefixtures("root")
def test_the_arithmetic_needs_no_result(said):
    printed = said("capacity", *WEBINAR, "--new-per-day", "0.5", "--renew-at", "1").out
    assert ["together", "1.50", "1.50"] in [line.split() for line in printed.splitlines()]
    assert "no max rate was measured here yet" in printed
    said("capacity", "v4-*", *WEBINAR, code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--clients 0 --lease-s 10", "--clients: not a"),
        ("--clients 5 --lease-s nan", "--lease-s"),
        ("--clients 5 --lease-s 9 --renew-at 1.5", "--renew-at: not a"),
        ("--clients 5 --lease-s 9 --within-s 5", "--within-s works only with"),
        ("--clients 5 --lease-s 9 --rush 2 30", "share of the clients out of range"),
        ("--clients 5 --lease-s 9 --rush 1 30 --at-once", "not allowed with"),
        ("--clients 5", "--lease-s"),
    ],
)
@pytest.mark.usefixtures("results")
def test_what_no_clients_can_be_is_refused(words, message, refused):
    assert message in refused("capacity", *words.split())


def test_the_page_is_part_of_the_report_and_stays(root, said):
    quick = replace(PROCEDURE, rounds=1, trim=0)  # its page, too
    result = archive_result(root, example_result([6000.0], procedure=quick))
    report = write_site(Store(root), root / "report").parent
    page = report / "capacity.html"
    assert said("capacity", *WEBINAR, "--page").out.splitlines()[-1] == str(page)
    text = page.read_text(encoding="utf-8")
    assert "86400 clients" in text
    assert f'href="sweep/{result.id}.html"' in text
    assert '<a href="index.html"' in text
    assert "capacity.html" not in (report / "index.html").read_text(encoding="utf-8")
    write_site(Store(root), report)
    assert page.read_text(encoding="utf-8") == text
    write_benches(Store(root), report)
    for name in ("index.html", "benches.html"):
        assert 'href="capacity.html"' in (report / name).read_text(encoding="utf-8")


@pytest.mark.usefixtures("results")
def test_a_page_before_the_report_leads_nowhere_else_and_is_not_of_named_results(
    root, document
):
    planned = document("capacity", *WEBINAR, "--page")
    page = root / "report" / "capacity.html"
    assert planned["page"] == str(page)
    assert not re.search('href="(index.html|sweep/)', page.read_text(encoding="utf-8"))
    write_site(Store(root), page.parent, ["last"])
    assert not page.exists()
