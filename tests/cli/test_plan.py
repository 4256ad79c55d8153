"""``leaselab plan``."""

import json
import re
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, PROCEDURE, START, archive_result, example_result

from leaselab.cli.main import main

BUDGET = ["--commits-a-day", "12", "--benches", "2", "--hours", "16"]


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    folder = tmp_path / "results"
    folder.mkdir()
    monkeypatch.setenv("LEASELAB_RESULTS", str(folder))
    return folder


def document(capsys, *argv):
    assert main(["plan", *argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def sources(document):
    return {
        assumption["name"]: (assumption["value"], assumption["source"])
        for assumption in document["assumed"]
    }


def test_a_lab_keeper_sees_what_runs_when_and_how_soon_a_drop_is_reported(capsys):
    assert main(["plan", "v4-memfile", "v6-memfile", "v4-mysql", *BUDGET]) == 0
    shown = capsys.readouterr().out
    (push,) = [line for line in shown.splitlines() if line.startswith("each push")]
    assert "duel: v4-memfile v6-memfile v4-mysql" in push
    assert "sweep: 1 of the 3 in turn" in shown
    assert "2 benches: " in shown
    assert "of 16 h that jobs may begin in" in shown
    assert "a build with a warm cache" in shown


def test_the_document_has_the_same_and_every_scenario(capsys):
    result = document(capsys, "v4-*", *BUDGET)
    planned = [name for row in result["duels"] for name in row["scenarios"]]
    assert len(planned) == len(set(planned)) > 100
    assert "v4-avalanche-clients-1000" in result["left_out"]
    assert not set(planned) & set(result["left_out"])
    assert result["load_on_a_working_day"] <= 0.8
    for row in result["duels"]:
        assert 0 < row["verdict_h"]["median"] <= row["verdict_h"]["p95"]
        assert row["verdict_h"]["median"] <= row["named_h"]["median"]


def test_without_results_the_defaults_are_named_as_such(capsys):
    result = sources(document(capsys, "v4-memfile", *BUDGET))
    assert result["measure_min"] == (60.0, "default, docs/explanation/scaling.md")
    assert result["duel_min"] == (
        pytest.approx(17 * 11.85 / 60),
        "default, docs/explanation/scaling.md",
    )


def test_durations_are_the_archives_where_it_has_results(results, capsys):
    for number, minutes in enumerate((10, 14, 60)):
        record = example_result(token=f"000{number}", started=START + timedelta(hours=number))
        archive_result(results, replace(record, wall_s=60 * minutes))
    result = sources(document(capsys, "v4-memfile", *BUDGET))
    value, source = result["measure_min"]
    assert value == pytest.approx(14)
    assert source == "archive, 3 sweeps, median: v4-memfile 14"
    other = sources(document(capsys, "v6-memfile", *BUDGET))
    assert other["measure_min"][0] == 60.0


def test_a_quick_look_is_no_sweep(results, capsys):
    """With three runs it is over in a minute, and says nothing of nine."""
    few = replace(PROCEDURE, rounds=3, trim=0)
    record = example_result(MAX_RATES[:3], procedure=few)
    archive_result(results, replace(record, wall_s=60.0))
    result = sources(document(capsys, "v4-memfile", *BUDGET))
    assert result["measure_min"][0] == 60.0


def test_an_option_goes_before_the_archive(results, capsys):
    archive_result(results)
    result = sources(document(capsys, "v4-memfile", *BUDGET, "--measure-min", "33"))
    assert result["measure_min"] == (33.0, "option --measure-min")


def test_scenarios_that_are_measured_most_come_first_of_a_pattern(results, capsys):
    archive_result(results, example_result(scenario="v4-memfile-mt"))
    planned = document(capsys, "v4-memfile*", *BUDGET)
    assert planned["duels"][0]["scenarios"][0] == "v4-memfile-mt"
    planned = document(capsys, "v4-memfile-lb", "v4-memfile*", *BUDGET)
    assert planned["duels"][0]["scenarios"][:2] == ["v4-memfile-lb", "v4-memfile-mt"]


def refused(capsys, *argv):
    assert main(["plan", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_a_budget_that_does_not_suffice_says_what_would(capsys):
    error = refused(capsys, "v4-*", "--commits-a-day", "12", "--hours", "4")
    assert "does not suffice for a duel of each scenario a week" in error
    assert "found 1 bench, 4 h a day each" in error
    benches, hours = re.search(
        r"wanted (\d+) benches, or (\S+) h a day, or the fi", error
    ).groups()
    for words in (["--benches", benches, "--hours", "4"], ["--hours", hours]):
        assert main(["plan", "v4-*", "--commits-a-day", "12", *words]) == 0


def test_a_push_that_has_to_cost_more_than_it_may_says_what_it_costs(capsys):
    error = refused(
        capsys, "v4-*", *BUDGET, "--each-push", "v4-memfile", "--minutes-per-commit", "5"
    )
    assert "the budget of a push does not suffice" in error
    assert "wanted 13 min for 1 scenario" in error


def test_drops_that_are_reported_too_late_say_how_many_benches_report_them_in_time(capsys):
    names = [f"v4-{kind}" for kind in ("memfile", "mysql", "postgresql")]
    words = ["--commits-a-day", "12", "--measure-min", "90", "--duel-min", "14"]
    error = refused(capsys, *names, *words, "--within", "2")
    assert "to report 95 of 100 drops in time" in error
    benches = error.split("give it ")[1].split(" ")[0]
    assert main(["plan", *names, *words, "--within", "2", "--benches", benches]) == 0


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--commits-a-day", "-1"], "--commits-a-day"),
        (
            ["--commits-a-day", "3", "--hours", "25"],
            "--hours: not a number from 0.01",
        ),
        (["--commits-a-day", "3", "--benches", "0"], "a whole number from 1"),
        (["--commits-a-day", "3", "--duel-min", "0"], "--duel-min"),
        (["--commits-a-day", "3", "--most-load", "1"], "from 0.001 to 0.999"),
    ],
)
def test_a_number_that_makes_no_plan_is_a_usage_error(capsys, words, wanted):
    assert wanted in refused(capsys, "v4-memfile", *words)


def test_scenarios_without_a_max_rate_have_no_duel(capsys):
    error = refused(capsys, "v4-avalanche*", "--commits-a-day", "3")
    assert "none of these scenarios is measured by max rates" in error
