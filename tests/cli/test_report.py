"""``leaselab report`` of named results: beside what they are compared with."""

from datetime import timedelta

import pytest
from tests.examples import START, archive_result, built, example_result

from leaselab.cli.main import main


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


@pytest.mark.usefixtures("archived")
def test_the_whole_archive_is_against_nothing(capsys):
    assert main(["report", "--against", "previous"]) == 2
    assert "--against: it would have no effect" in capsys.readouterr().err
