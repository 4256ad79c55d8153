"""The release report: what it compares, and what it says is missing."""

import re
from pathlib import Path

import pytest
from tests.lab_archive import COST, IN_TURN, RELEASED, RELEASES, release_archive

from leaselab.analysis.comparison.ratio import Basis
from leaselab.analysis.history.releases import Release, matches_of, releases_of
from leaselab.archive.store import Store
from leaselab.catalog.family import load_families
from leaselab.cli.main import main

SCENARIOS = Path(__file__).parents[2] / "scenarios"
OLDEST, OLD, NEW = RELEASES


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """An archive of three releases."""
    root = tmp_path_factory.mktemp("results")
    release_archive(root)
    return root


def written(archive, against):
    """Write the report against a release where it is written by default; return its path."""
    before = set((archive / "releases").glob("*"))
    command = ["report", "--release", NEW, "--against", against, "--results", str(archive)]
    assert main(command) == 0
    (path,) = set((archive / "releases").glob("*")) - before
    return path


@pytest.fixture(scope="module")
def place(archive):
    """The report, for which each result is read once."""
    load, reads = Store.load, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "load", lambda store, ref: reads.append(ref) or load(store, ref))
        path = written(archive, OLD)
    assert len(reads) == len(set(reads)) > 2 * len(IN_TURN)
    return path


@pytest.fixture(scope="module")
def page(place):
    """The same as a text."""
    return place.read_text(encoding="utf-8")


def test_points_that_took_turns_come_before_a_newer_result(archive):
    rows = Store(archive).index.every()
    matches = matches_of(rows, Release(NEW), Release(OLD))
    assert len(matches) == len(IN_TURN) + 1
    for base, other in matches:
        if other["scenario"] == RELEASED:
            assert base is None
        else:
            assert base["described"] == OLD
            assert base["experiment"] == other["experiment"] is not None


def test_a_release_is_known_by_its_tag_its_commit_or_the_version_of_its_package(archive):
    row = Store(archive).index.every("v4-memfile")[0]
    assert releases_of([row]) == [Release(OLDEST)]
    assert Release("any name", row["commit"]).has(row)
    assert not Release("any name").has(row)
    assert not Release(OLDEST).has({**row, "dirty": 1})
    between = {**row, "described": f"{OLDEST}-12-gabcdef0"}
    assert not Release(between["described"]).has(between)
    package = {**row, "commit": None, "described": None, "version": "2.4.1"}
    assert Release(OLDEST).has(package)
    assert Release("2.4.1").has(package)


def test_the_contents_lead_to_sections_that_are_there(page):
    contents = page.partition('<ol class="contents"')[2].partition("</ol>")[0]
    links = re.findall(r'href="#([^"]+)"', contents)
    assert len(links) > 10
    assert all(f'<section id="{link}">' in page for link in links)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_a_change_is_reported_with_its_size_its_interval_and_its_basis(page):
    news = page.partition('<ul class="news">')[2].partition("</ul>")[0]
    matches = re.findall(
        r"</strong>: max rate ([\d.]+) % slower \(95 % interval ([^)]*)\), (.*?)<", news
    )
    assert len(matches) >= len(IN_TURN) - 2  # a scatter of 1 % may hide one of 3.4 %
    for size, interval, basis in matches:
        assert float(size) == pytest.approx(100 * (1 - COST), abs=2)
        low, high = map(float, re.findall(r"[-+][\d.]+", interval))
        assert low < high < 0
        assert basis == Basis.TURNS.value


def test_every_experiment_of_the_server_has_a_place_or_is_said_to_be_missing(page):
    for name, family in load_families(SCENARIOS).items():
        if {item.server.kind for item in family.scenarios.values()} != {"kea"}:
            continue
        for scenario in family.scenarios:
            measured = scenario in (*IN_TURN, RELEASED)
            assert (f'<th scope="row">{scenario}</th>' in page) is measured
        gone = page.partition("Missing experiments: ")[2].partition(". ")[0].split(", ")
        some = any(item in (*IN_TURN, RELEASED) for item in family.scenarios)
        assert (name in gone) is not some


def test_the_title_is_how_many_figures_changed_and_how(page):
    (title,) = re.findall("<h1>(.*?)</h1>", page)
    assert title == f"{NEW} against {OLD}: 6 slower, 0 faster, 1 equal"
    assert page.count('<li class="worse">') == 6
    assert len(page) < 400_000


def test_the_release_that_others_are_compared_with_is_in_their_history(page):
    """Else a release that is slower than it looks like a gain over an older one."""
    drawn = page.partition('id="history-memfile"')[2].partition("</figure>")[0]
    axis = [name for name in re.findall(r"<text[^>]*>([^<]+)</text>", drawn) if "Kea" in name]
    assert axis == [*RELEASES]


def test_a_result_without_a_base_is_shown_and_not_judged(page):
    row = page.partition(f'<th scope="row">{RELEASED}</th>')[2].partition("</tr>")[0]
    assert "no result to compare with" in row
    assert f'<td class="figure" data-label="{NEW}">6.40</td>' in row


def test_a_report_of_other_results_has_another_name(archive, place):
    names = [place.name, written(archive, OLDEST).name]
    for name, against in zip(names, (OLD, OLDEST), strict=True):
        assert re.fullmatch(rf"release-{NEW}-against-{against}-[0-9a-f]{{8}}[.]html", name)
    assert names[0][-13:] != names[1][-13:]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--release", "Kea-9"], "needs --against"),
        (["--release", "Kea-9", "--against", OLD], "no result of this release"),
        (["--release", NEW, "--against", OLD, "last"], "needs --against"),
        (["--repo", "server"], "works only with"),
    ],
)
def test_what_is_no_release_is_refused(archive, capsys, words, said):
    assert main(["report", *words, "--results", str(archive)]) == 2
    assert said in capsys.readouterr().err


def test_long_run_history_hardware_method_and_attachments_are_there(page):
    assert f'id="seconds-{RELEASED}"' in page
    assert 'id="history-memfile"' in page
    assert "perfdhcp -4 -r" in page.partition('<section id="attached">')[2]
    assert "valid-lifetime" in page.partition('<section id="attached">')[2]
    assert "measured in turn" in page.partition('<section id="method">')[2]
    assert "<dt>server host</dt>" in page.partition('<section id="hardware">')[2]
