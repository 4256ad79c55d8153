"""``leaselab list --table``."""

import json
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import START, archive_result, example_result, fixed_load_result

from leaselab.cli.main import main
from leaselab.model.record import Experiment


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
    assert main(["list", "--table", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    by_name = {name: result for row in rows for name, result in row["results"].items()}
    assert by_name["v4-memfile"]["id"] == results.id
    assert "v6-memfile" in by_name


def test_a_newer_fixed_load_does_not_hide_the_max_rate(results, tmp_path, capsys):
    later = {"started": START + timedelta(hours=2), "token": "0004"}
    archive_result(tmp_path / "results", fixed_load_result((0.0113, 0.0141), **later))
    assert main(["list", "--table", results.scenario.name]) == 0
    printed = capsys.readouterr().out
    assert "\nmax rate in exchanges/s: " in printed
    assert "\np99 latency in ms: " in printed


def test_an_experiment_is_a_curve_below_the_table(results, tmp_path, capsys):
    for threads in (2, 4):
        record = example_result(scenario=f"v4-memfile-t{threads}", token=f"{threads:04}")
        scenario = replace(record.scenario, factors={"threads": threads}, across=())
        experiment = Experiment(id="threads", points=(), interleaved=True)
        point = replace(record, scenario=scenario, experiment=experiment)
        archive_result(tmp_path / "results", point)
    assert main(["list", "--table"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if "█" in line] == ["2", "4"]
    assert main(["list", "--table", results.scenario.name]) == 0
    printed = capsys.readouterr().out
    assert "█" not in printed
    assert "DHCPv6" not in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["v4-mysql"], "no results of v4-mysql; `leaselab list` shows"),
        (["v4-memfile", "v4-mysql*"], "no results of v4-mysql*"),
        (["v4-*", "--bench", "rack"], "no results of v4-* on bench rack"),
    ],
)
@pytest.mark.usefixtures("results")
def test_a_pattern_without_a_result_is_not_dropped(capsys, words, said):
    assert main(["list", "--table", *words]) == 2
    assert said in capsys.readouterr().err


def test_another_durability_does_not_replace_the_usual_one(results, tmp_path, capsys):
    tried = example_result(token="0004", started=START + timedelta(hours=2))
    forgetful = replace(tried.server, durability="memory")
    archive_result(tmp_path / "results", replace(tried, servers={"server": forgetful}))
    assert main(["list", "--table", "v4-*", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["durability"] for row in rows} == {"written", "memory"}
    assert results.id in {result["id"] for row in rows for result in row["results"].values()}
