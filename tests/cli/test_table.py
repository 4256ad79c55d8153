"""``leaselab table``."""

import json
from datetime import timedelta

import pytest
from tests.examples import START, archive_result, example_result

from leaselab.cli.main import main


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Two results of v4-memfile, one of v6-memfile."""
    folder = tmp_path / "results"
    archive_result(folder)
    newest = example_result(token="0002", started=START + timedelta(hours=1))
    archive_result(folder, newest)
    archive_result(folder, example_result(scenario="v6-memfile", token="0003"))
    monkeypatch.setenv("LEASELAB_RESULTS", str(folder))
    return newest


def test_the_newest_result_of_each_scenario_is_shown(results, capsys):
    assert main(["table", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    found = {name: one for row in rows for name, one in row["results"].items()}
    assert found["v4-memfile"]["id"] == results["id"]
    assert "v6-memfile" in found


@pytest.mark.usefixtures("results")
def test_a_pattern_chooses(capsys):
    assert main(["table", "v6-*", "--markdown"]) == 0
    assert "DHCPv4" not in capsys.readouterr().out


@pytest.mark.usefixtures("results")
def test_it_has_one_form_at_a_time(capsys):
    assert main(["table", "--markdown", "--json"]) == 2
    assert "exclude each other" in capsys.readouterr().err


@pytest.mark.usefixtures("results")
def test_nothing_to_show_is_said(capsys):
    assert main(["table", "v4-mysql"]) == 2
    assert "no results to show" in capsys.readouterr().err
