"""Exports: what other programs read of an archive."""

import csv
import io
import json
import re
import sys
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pyarrow import parquet
from tests.examples import (
    MAX_RATES,
    START,
    archive_result,
    example_result,
    fixed_load_result,
    invalid_result,
)
from tests.hostile import ATTACK, hostile_archive

from leaselab.archive.index_file import INDEX
from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.model.record import Metric
from leaselab.report.export import junit, markdown, openmetrics, records
from leaselab.report.export.records import results_table


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """Two results of one scenario a day apart, and an invalid one of another."""
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    for day in range(2):
        archive_result(tmp_path, example_result(started=START + timedelta(days=day)))
    archive_result(tmp_path, invalid_result(scenario="v6-memfile"))
    return tmp_path


def export(capfdbinary, *arguments):
    assert main(["export", *arguments]) == 0
    return capfdbinary.readouterr().out


@pytest.mark.parametrize(
    ("form", "place"),
    [
        ("--csv", (records, "_metrics")),
        ("--openmetrics", (openmetrics, "_figures")),
        ("--junit", (junit, "_case")),
        ("--markdown", (markdown, "cell_of")),
    ],
)
def test_a_result_that_cannot_be_exported_is_named_and_the_others_are_written(
    archive, monkeypatch, capfd, form, place
):
    bad, real = Store(archive).find("last").name, getattr(*place)

    def fails(row, *others):
        if bad in str(row):
            raise KeyError("square")
        return real(row, *others)

    monkeypatch.setattr(*place, fails)
    assert main(["export", form, "-"]) == 70
    printed = capfd.readouterr()
    assert f"(found {bad}: KeyError('square'))" in printed.err
    assert "v6-memfile" in printed.out
    assert bad not in printed.out


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    ("level", "count"), [("results", 3), ("runs", 9 + 9 + 3), ("trials", 3 * (9 + 9 + 3))]
)
def test_csv_has_a_row_for_each_of_its_level(level, count, capfdbinary):
    text = export(capfdbinary, "--csv", "-", "--level", level).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == count
    assert {row["scenario"] for row in rows} == {"v4-memfile", "v6-memfile"}
    assert rows[0]["started_at"] == "2026-11-21T11:30:05.000Z"
    if level == "results":
        assert float(rows[0]["max_rate"]) == pytest.approx(6006, abs=1)
        by_outcome = {row["outcome"]: row for row in rows}
        assert by_outcome["invalid"]["max_rate"] == ""
        assert by_outcome["invalid"]["reasons"] == "generator-limited"
        assert (rows[0]["metric"], rows[0]["unit"]) == ("max_rate", "exchanges/s")
        assert (rows[0]["cpu_us"], rows[0]["trial_s"]) == ("155", "3")
        assert rows[0]["max_rate_low"] == rows[0]["ci_low"]
        assert rows[0]["parameter_max_rate"] == "200000"  # the highest load that was tried
    if level == "runs":
        assert sorted(float(row["max_rate"]) for row in rows[:9]) == sorted(MAX_RATES)
        assert sum(row["dropped"] == "true" for row in rows) == 4
    if level == "trials":
        assert {row["trial"] for row in rows} == {"1", "2", "3"}
        first = example_result().rounds[0].trials[0]
        assert (rows[0]["started"], rows[0]["trial_cpu_us"]) == (str(first.attempted), "151")


def test_parquet_is_the_same_table_with_its_types(archive, tmp_path, capfdbinary):
    assert archive
    path = tmp_path / "out.parquet"
    assert export(capfdbinary, "--parquet", str(path)) == b""
    table = parquet.read_table(path)
    assert table.num_rows == 3
    assert str(table.schema.field("max_rate").type) == "double"
    assert table["runs"].to_pylist() == [9, 3, 9]


@pytest.mark.usefixtures("archive")
def test_without_pyarrow_csv_is_written_and_parquet_says_how_to_get_it(
    capfdbinary, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert export(capfdbinary, "--csv", "-").count(b"\n") == 4
    assert main(["export", "--parquet", "-"]) == 2
    said = capfdbinary.readouterr().err.decode()
    assert "pyarrow, which is not installed" in said
    assert "./leaselab extra parquet" in said


@pytest.mark.usefixtures("archive")
def test_metrics_for_a_scraper_are_the_newest_and_have_no_time(capfdbinary):
    families = {
        family.name: family
        for family in text_string_to_metric_families(
            export(capfdbinary, "--openmetrics", "-").decode()
        )
    }
    (rate,) = families["leaselab_max_rate"].samples
    assert rate.value == pytest.approx(6006, abs=1)
    assert rate.timestamp is None
    assert rate.labels["scenario"] == "v4-memfile"
    outcomes = {sample.labels["outcome"] for sample in families["leaselab_result_info"].samples}
    assert outcomes == {"ok", "invalid"}


def test_each_procedure_of_a_scenario_has_its_newest_metrics(archive, capfdbinary):
    archive_result(archive, fixed_load_result([0.01] * 3, started=START + timedelta(9)))
    families = {
        family.name: family
        for family in text_string_to_metric_families(
            export(capfdbinary, "--openmetrics", "-").decode()
        )
    }
    (rate,) = families["leaselab_max_rate"].samples
    (latency,) = families["leaselab_p99_seconds"].samples
    assert (rate.labels["procedure"], latency.labels["procedure"]) == ("max-rate", "fixed-load")


@pytest.mark.usefixtures("archive")
def test_a_history_of_metrics_has_every_result_at_its_time(capfdbinary):
    text = export(capfdbinary, "--openmetrics", "-", "--history").decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    times = [float(sample.timestamp) for sample in families["leaselab_max_rate"].samples]
    assert times == sorted(times)
    assert times[1] - times[0] == pytest.approx(86400)
    assert len(families["leaselab_run_max_rate"].samples) == 18


def test_parameters_that_are_no_numbers_are_texts(archive):
    rows = Store(archive).index.every()
    ruler = {"name": "steps", "rates": [100, 200], "order": "up", "late_s": 1.0}
    rows[0] |= {"ruler": json.dumps(ruler)}
    table = results_table(rows, {})
    columns = dict(zip(table.kinds, zip(*table.rows, strict=True), strict=True))
    assert columns["rates"] == ("[100, 200]", None, None)
    assert columns["order"] == ("up", None, None)
    assert columns["late_s"] == (1.0, 2.0, 2.0)


def with_latency(record):
    """A record of a procedure that is about latency; it has a max rate, too."""
    latency = Metric(
        name="latency_ms", title="latency", unit="ms", better="lower", how="median", value=1.5
    )
    rounds = tuple(
        replace(round_, metrics={**round_.metrics, "latency_ms": 0.5 * round_.index})
        for round_ in record.rounds
    )
    return replace(record, metrics=(latency, *record.metrics), rounds=rounds)


def test_metrics_of_other_procedures_come_out_by_their_names(archive, capfdbinary):
    archive_result(archive, with_latency(example_result(scenario="v4-latency")))
    text = export(capfdbinary, "--csv", "-").decode()
    rows = {row["scenario"]: row for row in csv.DictReader(io.StringIO(text))}
    assert (rows["v4-latency"]["metric"], rows["v4-latency"]["latency_ms"]) == (
        "latency_ms",
        "1.5",
    )
    assert (rows["v4-memfile"]["metric"], rows["v4-memfile"]["latency_ms"]) == ("max_rate", "")
    text = export(capfdbinary, "--csv", "-", "--level", "runs").decode()
    runs = [row for row in csv.DictReader(io.StringIO(text)) if row["scenario"] == "v4-latency"]
    assert [(row["max_rate"], row["latency_ms"]) for row in runs[:2]] == [
        ("", "0.5"),
        ("", "1"),
    ]
    families = {
        family.name: family
        for family in text_string_to_metric_families(
            export(capfdbinary, "--openmetrics", "-").decode()
        )
    }
    (latency,) = families["leaselab_latency_seconds"].samples
    assert latency.value == pytest.approx(0.0015)  # Prometheus wants seconds
    assert families["leaselab_latency_seconds"].documentation == "Latency seconds (s)"
    assert "leaselab_latency_seconds_low" not in families  # it has no interval
    runs = families["leaselab_run_latency_seconds"].samples
    assert [run.value for run in runs[:2]] == pytest.approx([0.0005, 0.001])
    cpu = {sample.value for sample in families["leaselab_cpu_seconds"].samples}
    assert max(cpu) == min(cpu) == pytest.approx(155e-6)
    assert families["leaselab_cpu_seconds"].documentation == "Cpu seconds (s per exchange)"


@pytest.mark.usefixtures("archive")
def test_a_test_report_never_takes_an_invalid_measurement_for_a_pass(capfdbinary):
    root = ET.fromstring(export(capfdbinary, "--junit", "-"))  # noqa: S314  # our own
    assert root.attrib["tests"] == "2"
    assert root.attrib["errors"] == "1"
    assert [case.findtext("system-out")[:9] for case in root.iter("testcase")] == [
        "6006 ± 25",
        "no figure",
    ]
    (error,) = root.iter("error")
    assert (
        error.attrib["message"] == "run 3: perfdhcp started 5702 of 6000 exchanges/s asked for"
    )
    assert error.attrib["type"] == "invalid: generator-limited"


def test_a_regression_is_a_failure(tmp_path, capfdbinary):
    reasons = [{"word": "slower", "text": "8 % slower than before"}]
    archive_result(tmp_path, example_result(outcome="regression", reasons=reasons))
    root = ET.fromstring(export(capfdbinary, "--junit", "-", "--results", str(tmp_path)))  # noqa: S314
    assert [element.attrib["type"] for element in root.iter("failure")] == ["slower"]


def test_a_build_that_fails_after_a_good_result_is_no_pass(archive, capfdbinary):
    failed = example_result(
        [],
        started=START + timedelta(days=3),
        outcome="build-failed",
        reasons=[{"word": "build-failed", "text": "it does not compile"}],
    )
    never = replace(failed.server, durability=None, version=None)
    archive_result(archive, replace(failed, servers={"server": never}))
    place = Store(archive).find(invalid_result(scenario="v6-memfile").id)
    (place / "result.json").chmod(0o644)
    (place / "result.json").write_text("{", encoding="utf-8")
    (archive / INDEX).unlink()
    root = ET.fromstring(export(capfdbinary, "--junit", "-"))  # noqa: S314  # our own
    types = sorted(element.attrib["type"] for element in root.iter("error"))
    assert types == ["build-failed: build-failed", "unreadable"]
    assert root.attrib["tests"] == "2"


@pytest.mark.usefixtures("archive")
def test_markdown_has_the_table_the_flags_and_the_ids(capfdbinary):
    text = export(capfdbinary, "--markdown", "-").decode()
    assert "| protocol | backend | durability | single |" in text
    assert "- **v6-memfile**: generator-limited: run 3: perfdhcp started 5702 of 6000" in text
    assert f"`{example_result(started=START + timedelta(days=1)).id}`" in text


def test_a_newer_fixed_load_does_not_hide_the_max_rate(tmp_path, capfdbinary):
    rate = archive_result(tmp_path)
    later = {"started": START + timedelta(hours=1), "token": "0002"}
    load = archive_result(tmp_path, fixed_load_result((0.0113, 0.0141), **later))
    text = export(capfdbinary, "--markdown", "-", "--results", str(tmp_path)).decode()
    assert f"`{rate.id}`" in text
    assert f"`{load.id}`" in text
    assert "p99 latency in ms" in text


def test_nothing_that_users_wrote_is_markup_in_markdown_or_xml(tmp_path, capfdbinary):
    hostile_archive(tmp_path)
    text = export(capfdbinary, "--markdown", "-", "--results", str(tmp_path)).decode()
    assert re.search(r"(?<!\\)[<`]script", text) is None
    assert "\\<script\\>" in text
    root = ET.fromstring(export(capfdbinary, "--junit", "-", "--results", str(tmp_path)))  # noqa: S314
    assert list(root.iter("script")) == []
    assert any(ATTACK in case.attrib["name"] for case in root.iter("testcase"))


@pytest.mark.usefixtures("archive")
def test_one_result_or_one_family_can_be_asked_for(capfdbinary):
    printed = export(capfdbinary, "--csv", "-", example_result().id).decode()
    assert len(printed.splitlines()) == 2
    family = export(capfdbinary, "--csv", "-", "v6-*").decode()
    assert len(family.splitlines()) == 2


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--csv", "-", "--junit", "-"], "two forms on stdout (found --csv -, --junit -"),
        ([], "no form and no file for it (wanted one of --csv FILE"),
        (["--junit", "-", "--level", "runs"], "--level works only with"),
        (["--csv", "-", "--history"], "--history works only with"),
        (["--markdown", "-", "v4-mysql*"], "no results of v4-mysql*"),
        (["--csv", "-", "nope"], "unknown scenario 'nope'"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, said, capsys):
    assert main(["export", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("archive")
def test_report_says_where_its_first_page_is(tmp_path, capsys):
    assert main(["report", "--json", "-o", str(tmp_path / "site")]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "path": str(tmp_path / "site" / "index.html")
    }


def test_results_that_are_named_do_not_replace_the_report_of_all(archive, capsys):
    ref = example_result().id
    assert main(["report"]) == 0
    assert main(["report", ref]) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(archive / "report" / "index.html"),
        str(archive / f"report-{ref}" / "index.html"),
    ]
    assert len(list((archive / "report" / "sweep").glob("*.html"))) == 3


@pytest.mark.usefixtures("archive")
def test_report_refuses_what_is_no_result(capsys):
    assert main(["report", "20990101T000000Z-nothing-0000"]) == 2
    assert "no such result" in capsys.readouterr().err
    assert main(["report", "--sweeps", "-1"]) == 2
    assert "--sweeps: not a" in capsys.readouterr().err
