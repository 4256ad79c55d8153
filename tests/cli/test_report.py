"""``leaselab report`` of named results: beside what they are compared with."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import START, archive_result, built, example_result

from leaselab.cli.main import main
from leaselab.model.record import Experiment
from leaselab.report.site import site


@pytest.fixture
def archived(tmp_path, monkeypatch):
    """Two results of one scenario, an hour apart and of two versions; their ids."""
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path / "results"))
    ids = []
    for hour, commit in enumerate(("a" * 40, "b" * 40)):
        started = START + timedelta(hours=hour)
        record = built(example_result(started=started, token=f"{hour:04x}"), commit)
        ids.append(archive_result(tmp_path / "results", record).id)
    return ids


def pages(place):
    return sorted(path.stem for path in (place / "sweep").glob("*.html"))


@pytest.mark.parametrize("against", ["previous", "last~1"])
def test_a_baseline_stands_beside_the_result(archived, tmp_path, against):
    place = tmp_path / "pages"
    assert main(["report", "last", "--against", against, "-o", str(place)]) == 0
    assert pages(place) == archived
    assert "1.000" in (place / "compare.html").read_text(encoding="utf-8")


def test_the_first_of_its_kind_stands_alone(archived, tmp_path):
    place = tmp_path / "pages"
    assert main(["report", "last~1", "--against", "previous", "-o", str(place)]) == 0
    assert pages(place) == archived[:1]


@pytest.mark.parametrize(
    ("part", "page"),
    [
        ("sweep", "sweep/"),
        ("experiment", "experiment/"),
        ("history", "history/"),
        ("validity", "validity"),
        ("review_page", "review"),
        ("bench_rows", "benches"),
        ("overview", "index"),
    ],
)
def test_a_page_that_fails_is_named_and_left_out_and_the_others_are_written(
    tmp_path, monkeypatch, capsys, part, page
):
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    records = [
        built(example_result([6e3 + at], token=f"{at:04x}"), f"{at:040x}") for at in (1, 2)
    ]
    pair = Experiment(
        id=records[0].id, points=tuple(item.id for item in records), interleaved=True
    )
    for record in records:
        archive_result(tmp_path, replace(record, experiment=pair))
    place = tmp_path / "report"
    with monkeypatch.context() as broken:
        broken.setattr(site, part, lambda *_, **__: {}["square"])
        assert main(["report"]) == 70
    said = capsys.readouterr().err
    broken = {
        path for path in place.rglob("*.html") if "This page is left out" in path.read_text()
    }
    names = {str(path.relative_to(place).with_suffix("")) for path in broken}
    assert names
    assert all(
        name.startswith(page) and f"{name}: KeyError('square')" in said for name in names
    )
    index = (place / "index.html").read_text()
    assert all(f"<dt>{name}</dt><dd>KeyError" in index for name in names)
    assert main(["report"]) == 0
    whole = {path for path in place.rglob("*.html") if "left out" not in path.read_text()}
    assert broken < whole
    assert whole == set(place.rglob("*.html"))
