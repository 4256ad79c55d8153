"""Where ``leaselab run`` begins, with the hosts left out."""

from datetime import timedelta

import pytest
from tests.examples import START, archive_result, example_result, invalid_result

from leaselab.archive.store import Store
from leaselab.cli import task
from leaselab.cli.main import main
from leaselab.model.errors import invalid_measurement, lab_broken

MEASURED = example_result()["summary"]["max_rate"]["trimmed_mean"]


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Results of two scenarios, the later one invalid; what hosts would be set up for."""
    archive_result(tmp_path / "results")
    archive_result(tmp_path / "results", example_result(scenario="v6-memfile", token="0002"))
    archive_result(
        tmp_path / "results", invalid_result(token="0bad", started=START + timedelta(hours=1))
    )
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path / "results"))
    calls = []

    def deploy(_scenario, _inventory, overrides, _key, **_):
        calls.append(overrides)
        raise lab_broken("no hosts here")

    monkeypatch.setattr(task, "prepare", lambda *_, **__: "1")
    monkeypatch.setattr(task, "deploy", deploy)
    return calls


@pytest.mark.parametrize(
    ("arguments", "overrides"),
    [
        (["v4-memfile"], {"limits": {"start_rate": round(1.15 * MEASURED)}}),
        (["v4-memfile", "--start-rate", "900"], {"limits": {"start_rate": 900}}),
        (["v4-memfile-mt"], {}),
    ],
    ids=["a little above the last good result", "as told", "never measured"],
)
def test_the_first_offered_load(asked, arguments, overrides):
    assert main(["run", *arguments]) == 4
    assert asked == [overrides]


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Hosts left out: each scenario comes to what the test says, and is archived."""
    folder = tmp_path / "results"
    monkeypatch.setenv("LEASELAB_RESULTS", str(folder))
    monkeypatch.setattr(task, "prepare", lambda *_, **__: calls.append("prepare"))
    monkeypatch.setattr(task, "deploy", lambda name, *_, **__: name)
    monkeypatch.setattr(task, "begin", lambda _store, name, _where: name)
    calls, outcomes = [], {}

    def finish(_store, name):
        calls.append(name)
        error = outcomes.get(name)
        if isinstance(error, KeyboardInterrupt):
            raise error
        if error is not None and error.outcome.value == 4:
            raise error
        make = example_result if error is None else invalid_result
        document = make(scenario=name, token=f"{len(calls):04d}")
        document["scenario"]["multi_threading"] = {"enabled": name.endswith("-mt")}
        archive_result(folder, document)
        return error, Store(folder).find(document["id"])

    monkeypatch.setattr(task, "finish", finish)
    return calls, outcomes


def test_several_are_provisioned_once_and_end_in_one_table(measured, capsys):
    calls, _ = measured
    assert main(["run", "v4-memfile", "v?-memfile-mt", "v4-memfile"]) == 0
    assert calls == ["prepare", "v4-memfile", "v4-memfile-mt", "v6-memfile-mt"]
    out, err = capsys.readouterr()
    assert "v4-memfile-mt (2 of 3)" in err
    assert out.startswith("clients  backend  durability         st         mt       gain")


def test_one_that_cannot_be_measured_does_not_keep_the_others_from_it(measured, capsys):
    calls, outcomes = measured
    outcomes["v4-memfile"] = invalid_measurement("the generator is too slow")
    assert main(["run", "v4-memfile", "v4-memfile-mt"]) == 3
    assert calls[-1] == "v4-memfile-mt"
    out, err = capsys.readouterr()
    assert "leaselab: v4-memfile: the generator is too slow" in err
    assert "invalid" in out


def test_a_broken_lab_ends_it_and_the_rest_is_named(measured, capsys):
    calls, outcomes = measured
    outcomes["v6-memfile"] = lab_broken("the host is gone")
    assert main(["run", "v4-memfile", "v6-memfile", "v6-memfile-mt"]) == 4
    assert calls[-1] == "v6-memfile"
    out, err = capsys.readouterr()
    assert "DHCPv4" in out
    assert err.splitlines()[-1] == (
        "leaselab: the host is gone; "
        "measure the rest, with the same options: leaselab run v6-memfile-mt"
    )


def test_an_interrupt_ends_it_the_same_way(measured, capsys):
    calls, outcomes = measured
    outcomes["v6-memfile"] = KeyboardInterrupt()
    assert main(["run", "v4-memfile", "v6-memfile", "v6-memfile-mt"]) == 130
    assert calls[-1] == "v6-memfile"
    out, err = capsys.readouterr()
    assert "DHCPv4" in out
    assert err.splitlines()[-1] == (
        "leaselab: interrupted; measure the rest, with the same options: leaselab run "
        "v6-memfile-mt"
    )


@pytest.mark.usefixtures("measured")
def test_a_run_brings_the_report_up_to_date(tmp_path, capsys):
    for scenarios in (["v4-memfile"], ["v4-memfile-mt", "v6-memfile"]):
        assert main(["run", *scenarios]) == 0
        first = tmp_path / "results" / "report" / "index.html"
        assert f"report: {first}" in capsys.readouterr().err
        assert all(f"history/{name}.html" in first.read_text() for name in scenarios)


def test_what_went_wrong_with_one_is_said_last(measured, capsys):
    measured[1]["v4-memfile"] = invalid_measurement("the generator is too slow")
    assert main(["run", "v4-memfile"]) == 3
    report, last = capsys.readouterr().err.splitlines()[-2:]
    assert report.startswith("report: ")
    assert last == "leaselab: the generator is too slow"


@pytest.mark.usefixtures("measured")
def test_a_report_that_cannot_be_written_is_said_and_changes_no_outcome(tmp_path, capsys):
    (tmp_path / "results" / "report").mkdir(parents=True)
    (tmp_path / "results" / "report" / "mine.txt").write_text("mine", encoding="utf-8")
    assert main(["run", "v4-memfile"]) == 0
    assert "the report was not written: " in capsys.readouterr().err


def test_an_unknown_one_is_refused_before_anything_is_touched(measured, capsys):
    calls, _ = measured
    assert main(["run", "v4-memfile", "v5-*"]) == 2
    assert calls == []
    assert "unknown scenario 'v5-*'" in capsys.readouterr().err
