"""`leaselab dev bench archive`: its results are whole, its times are of real commands."""

import json
import random
from datetime import UTC, datetime

import pytest
from benchmarks import archive
from benchmarks._synthetic import SCENARIOS, write_result
from jsonschema import Draft202012Validator

from leaselab.archive.schema import SCHEMA_PATH, encode
from leaselab.archive.store import Store

VALIDATOR = Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))
NOW = datetime(2026, 11, 22, tzinfo=UTC)


def test_synthetic_results_are_what_the_archive_takes_for_results(tmp_path):
    for number in range(60):
        write_result(tmp_path, number, NOW, random.Random(number))  # noqa: S311  # no secret
    store = Store(tmp_path)
    rows = store.index.every()
    assert {row["scenario"] for row in rows} == {scenario[0] for scenario in SCENARIOS}
    for row in rows:
        record = store.load(row["id"])
        VALIDATOR.validate(json.loads(encode(record)))
        assert (row["value"] is None) == (row["outcome"] == "invalid")
        assert row["value"] == record.figure.value
    assert len({row["commit"] for row in rows}) == 2


@pytest.mark.night
def test_every_wanted_time_is_taken_and_a_missed_one_is_named(tmp_path, capsys, monkeypatch):
    """With few scenarios, as each result has a page to draw."""
    monkeypatch.setattr(archive, "SCENARIOS", SCENARIOS[:4])
    monkeypatch.setitem(archive.WANTED, "list", 0.0)
    code = archive.main(["--results", "4", "--folder", str(tmp_path), "--json"])
    document = json.loads(capsys.readouterr().out)
    (row,) = document["rows"]
    assert row["results"] == 4
    assert all(row[name] > 0 for name in archive.WANTED)
    assert "list" in document["missed"]
    assert code == archive.MISSED
    assert list(tmp_path.iterdir()) == []
