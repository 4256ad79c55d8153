"""``leaselab report`` of named results: beside what they are compared with."""

from datetime import timedelta

import pytest
from tests.examples import START, archive_result, example_result

from leaselab.cli.main import main


@pytest.fixture
def archived(tmp_path, monkeypatch):
    """Two results of one scenario, an hour apart and of two versions; their ids."""
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path / "results"))
    ids = []
    for hour, commit in enumerate(("a" * 40, "b" * 40)):
        started = START + timedelta(hours=hour)
        document = example_result(commit=commit, started=started, token=f"{hour:04x}")
        document["server"]["build"] = {
            "source": {
                "repository": "/src/kea",
                "ref": "main",
                "hash": commit,
                "tree": commit,
                "described": commit[:10],
                "author_date": "2026-11-20T10:00:00+00:00",
                "subject": "A change",
                "dirty": False,
            }
        }
        archive_result(tmp_path / "results", document)
        ids.append(document["id"])
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
    assert "--against goes with results that are named" in capsys.readouterr().err
