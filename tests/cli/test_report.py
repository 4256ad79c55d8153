"""``leaselab report`` of named results: beside what they are compared with."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import START, archive_result, built, example_result

from leaselab.cli.main import main
from leaselab.model.record import Experiment
from leaselab.report.site import site


@pytest.fixture
def archived(root):
    """Two results of one scenario, an hour apart and of two versions; their ids."""
    ids = []
    for hour, commit in enumerate(("a" * 40, "b" * 40)):
        started = START + timedelta(hours=hour)
        record = built(example_result(started=started, token=f"{hour:04x}"), commit)
        ids.append(archive_result(root, record).id)
    return ids


def pages(place):
    return sorted(path.stem for path in (place / "sweep").glob("*.html"))


@pytest.mark.parametrize(
    ("ref", "against", "shown"),
    [("last", "previous", 2), ("last", "last~1", 2), ("last~1", "previous", 1)],
)
def test_a_baseline_stands_beside_the_result_and_a_first_of_its_kind_alone(
    archived, tmp_path, ref, against, shown
):
    place = tmp_path / "pages"
    assert main(["report", ref, "--against", against, "-o", str(place)]) == 0
    assert pages(place) == archived[:shown]
    assert ("1.000" in (place / "compare.html").read_text(encoding="utf-8")) == (shown > 1)


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
    root, monkeypatch, capsys, part, page
):
    results = [example_result([6e3 + at], token=f"{at:04x}") for at in (1, 2)]
    records = [built(result, f"{at:040x}") for at, result in enumerate(results)]
    points = tuple(record.id for record in records)
    pair = Experiment(id=points[0], points=points, interleaved=True)
    for record in records:
        archive_result(root, replace(record, experiment=pair))
    place = root / "report"
    with monkeypatch.context() as broken:
        broken.setattr(site, part, lambda *_, **__: {}["square"])
        assert main(["report"]) == 70
    said = capsys.readouterr().err
    broken = {
        path for path in place.rglob("*.html") if "This page is left out" in path.read_text()
    }
    names = {str(path.relative_to(place).with_suffix("")) for path in broken}
    assert names
    assert all(name.startswith(page) for name in names)
    assert all(f"{name}: KeyError('square')" in said for name in names)
    index = (place / "index.html").read_text()
    assert all(f"<dt>{name}</dt><dd>KeyError" in index for name in names)
    assert main(["report"]) == 0
    whole = {path for path in place.rglob("*.html") if "left out" not in path.read_text()}
    assert broken < whole
    assert whole == set(place.rglob("*.html"))
