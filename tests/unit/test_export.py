"""Exports: what other programs read of an archive."""

import csv
import io
import json
import re
import sys
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import duckdb
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
from leaselab.report.export.records import Table, results_table

PAGE = Path(__file__).parents[2] / "docs/how-to/reports.md"


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """Two results of one scenario a day apart, and an invalid one of another."""
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    for day in range(2):
        archive_result(tmp_path, example_result(started=START + timedelta(days=day)))
    archive_result(tmp_path, invalid_result(scenario="v6-memfile"))
    return tmp_path


@pytest.fixture
def export(capfd):
    """What `export` prints."""

    def call(*arguments):
        assert main(["export", *arguments]) == 0
        return capfd.readouterr().out

    return call


@pytest.fixture
def families(export):
    """The families of metrics that `export` prints, by name."""

    def call(*arguments):
        text = export("--openmetrics", "-", *arguments)
        return {family.name: family for family in text_string_to_metric_families(text)}

    return call


@pytest.fixture
def report(export):
    """The test report that `export` prints."""
    return lambda *arguments: ET.fromstring(export("--junit", "-", *arguments))  # noqa: S314


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


PARTS = {"csv": "_metrics", "openmetrics": "_figures", "junit": "_case", "markdown": "cell_of"}
MODULES = {"csv": records, "openmetrics": openmetrics, "junit": junit, "markdown": markdown}


@pytest.mark.parametrize("form", PARTS)
def test_a_result_that_cannot_be_exported_is_named_and_the_others_are_written(
    archive, monkeypatch, capfd, form
):
    place = MODULES[form], PARTS[form]
    bad, real = Store(archive).find("last").name, getattr(*place)

    def fails(row, *others):
        if bad in str(row):
            raise KeyError("square")
        return real(row, *others)

    monkeypatch.setattr(*place, fails)
    assert main(["export", f"--{form}", "-"]) == 70
    printed = capfd.readouterr()
    assert f"(found {bad}: KeyError('square'))" in printed.err
    assert "v6-memfile" in printed.out
    assert bad not in printed.out


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    ("level", "count"), [("results", 3), ("runs", 9 + 9 + 3), ("trials", 3 * (9 + 9 + 3))]
)
def test_csv_has_a_row_for_each_of_its_level(level, count, export):
    rows = rows_of(export("--csv", "-", "--level", level))
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


def test_parquet_is_the_same_table_by_month_and_scenario_for_the_query_of_its_page(
    archive, tmp_path, monkeypatch, export
):
    archive_result(archive, example_result(started=START + timedelta(days=12)))
    monkeypatch.chdir(tmp_path)
    assert export("--parquet", "lake") == ""
    (query,) = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    assert {row[:2]: row[2:] for row in duckdb.sql(query).fetchall()} == {
        ("2026-11", "v4-memfile"): (pytest.approx(6006, abs=1), 2),
        ("2026-11", "v6-memfile"): (None, 1),
        ("2026-12", "v4-memfile"): (pytest.approx(6006, abs=1), 1),
    }
    table = parquet.read_table("lake")
    rows = rows_of(export("--csv", "-"))
    assert sorted(table["id"].to_pylist()) == sorted(row["id"] for row in rows)
    assert {*table.column_names} == {"month", *rows[0]}
    assert str(table.schema.field("max_rate").type) == "double"
    assert sorted(table["runs"].to_pylist()) == [3, 9, 9, 9]


@pytest.mark.usefixtures("archive")
def test_a_renewed_parquet_replaces_its_own_files_alone(tmp_path, export):
    lake = tmp_path / "lake"

    def files():
        return {str(path.relative_to(lake)) for path in lake.rglob("*") if path.is_file()}

    export("--parquet", str(lake))
    export("--parquet", str(lake), "--level", "trials")
    (lake / "README").touch()
    place = "month=2026-11/scenario=v{}-memfile/{}.parquet"
    both = {place.format(family, level) for family in (4, 6) for level in ("results", "trials")}
    assert files() == {*both, "README"}
    before = parquet.read_table(lake / place.format(4, "results"))
    export("--parquet", str(lake), "v4-*")
    assert files() == {*both, "README"} - {place.format(6, "results")}
    assert parquet.read_table(lake / place.format(4, "results")) == before
    export("--parquet", str(lake), "v4-*", "--level", "trials")
    assert not (lake / "month=2026-11/scenario=v6-memfile").exists()


def test_a_result_that_cannot_be_read_is_in_parquet_without_scenario_and_month():
    kinds = {"started_at": str, "scenario": str, "runs": int}
    files = Table(kinds, [(None, None, 1), ("2026-11-21T", "a/b %", 2)]).parquet("results")
    assert [*files] == [
        "month=__HIVE_DEFAULT_PARTITION__/scenario=__HIVE_DEFAULT_PARTITION__/results.parquet",
        "month=2026-11/scenario=a%2Fb%20%25/results.parquet",
    ]


@pytest.mark.usefixtures("archive")
def test_without_pyarrow_csv_is_written_and_parquet_says_how_to_get_it(
    export, capfd, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert export("--csv", "-").count("\n") == 4
    assert main(["export", "--parquet", "lake"]) == 2
    assert "./leaselab extra parquet" in capfd.readouterr().err


def test_metrics_for_a_scraper_are_the_newest_of_each_procedure_and_have_no_time(
    archive, families
):
    archive_result(archive, fixed_load_result([0.01] * 3, started=START + timedelta(9)))
    known = families()
    (rate,) = known["leaselab_max_rate"].samples
    (latency,) = known["leaselab_p99_seconds"].samples
    assert (rate.value, rate.timestamp) == (pytest.approx(6006, abs=1), None)
    assert rate.labels["scenario"] == "v4-memfile"
    assert (rate.labels["procedure"], latency.labels["procedure"]) == ("max-rate", "fixed-load")
    outcomes = {sample.labels["outcome"] for sample in known["leaselab_result_info"].samples}
    assert outcomes == {"ok", "invalid"}


@pytest.mark.usefixtures("archive")
def test_a_history_of_metrics_has_every_result_at_its_time(families):
    known = families("--history")
    times = [float(sample.timestamp) for sample in known["leaselab_max_rate"].samples]
    assert times == sorted(times)
    assert times[1] - times[0] == pytest.approx(86400)
    assert len(known["leaselab_run_max_rate"].samples) == 18


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
    what = {"name": "latency_ms", "title": "latency", "unit": "ms", "value": 1.5}
    metrics = (Metric(**what, better="lower", how="median"), *record.metrics)
    rounds = [
        replace(round_, metrics={**round_.metrics, "latency_ms": 0.5 * round_.index})
        for round_ in record.rounds
    ]
    return replace(record, metrics=metrics, rounds=tuple(rounds))


def test_metrics_of_other_procedures_come_out_by_their_names(archive, export, families):
    archive_result(archive, with_latency(example_result(scenario="v4-latency")))
    rows = {row["scenario"]: row for row in rows_of(export("--csv", "-"))}
    assert [(rows[name]["metric"], rows[name]["latency_ms"]) for name in sorted(rows)] == [
        ("latency_ms", "1.5"),
        *(("max_rate", ""),) * 2,
    ]
    runs = rows_of(export("--csv", "-", "--level", "runs"))
    own = [row for row in runs if row["scenario"] == "v4-latency"]
    assert [(row["max_rate"], row["latency_ms"]) for row in own[:2]] == [("", "0.5"), ("", "1")]
    known = families()
    (latency,) = known["leaselab_latency_seconds"].samples
    assert latency.value == pytest.approx(0.0015)  # Prometheus wants seconds
    assert known["leaselab_latency_seconds"].documentation == "Latency seconds (s)"
    assert "leaselab_latency_seconds_low" not in known  # it has no interval
    runs = known["leaselab_run_latency_seconds"].samples
    assert [run.value for run in runs[:2]] == pytest.approx([0.0005, 0.001])
    cpu = {sample.value for sample in known["leaselab_cpu_seconds"].samples}
    assert max(cpu) == min(cpu) == pytest.approx(155e-6)
    assert known["leaselab_cpu_seconds"].documentation == "Cpu seconds (s per exchange)"


def test_a_test_report_never_takes_an_invalid_measurement_for_a_pass(archive, report):
    root = report()
    assert (root.attrib["tests"], root.attrib["errors"]) == ("2", "1")
    texts = [case.findtext("system-out")[:9] for case in root.iter("testcase")]
    assert texts == ["6006 ± 25", "no figure"]
    (error,) = root.iter("error")
    assert error.attrib["message"].startswith("run 3: perfdhcp started 5702 of 6000")
    assert error.attrib["type"] == "invalid: generator-limited"
    slower = [{"word": "slower", "text": "8 % slower than before"}]
    later = {"started": START + timedelta(days=2), "reasons": slower}
    archive_result(archive, example_result(outcome="regression", **later))
    assert [element.attrib["type"] for element in report().iter("failure")] == ["slower"]


def test_a_build_that_fails_after_a_good_result_is_no_pass(archive, report):
    reasons = [{"word": "build-failed", "text": "it does not compile"}]
    later = {"started": START + timedelta(days=3), "reasons": reasons}
    failed = example_result([], outcome="build-failed", **later)
    never = replace(failed.server, durability=None, version=None)
    archive_result(archive, replace(failed, servers={"server": never}))
    place = Store(archive).find(invalid_result(scenario="v6-memfile").id)
    (place / "result.json").chmod(0o644)
    (place / "result.json").write_text("{", encoding="utf-8")
    (archive / INDEX).unlink()
    types = sorted(element.attrib["type"] for element in report().iter("error"))
    assert types == ["build-failed: build-failed", "unreadable"]


def test_markdown_has_the_table_the_flags_and_the_ids_of_each_procedure(archive, export):
    later = {"started": START + timedelta(days=2), "token": "0002"}
    load = archive_result(archive, fixed_load_result((0.0113, 0.0141), **later))
    text = export("--markdown", "-")
    assert "| protocol | backend | durability | single |" in text
    assert "- **v6-memfile**: generator-limited: run 3: perfdhcp started 5702 of 6000" in text
    for ident in (example_result(started=START + timedelta(days=1)).id, load.id):
        assert f"`{ident}`" in text
    assert "p99 latency in ms" in text


def test_nothing_that_users_wrote_is_markup_in_markdown_or_xml(tmp_path, export, report):
    hostile_archive(tmp_path)
    results = ("--results", str(tmp_path))
    text = export("--markdown", "-", *results)
    assert re.search(r"(?<!\\)[<`]script", text) is None
    assert "\\<script\\>" in text
    root = report(*results)
    assert list(root.iter("script")) == []
    assert any(ATTACK in case.attrib["name"] for case in root.iter("testcase"))


@pytest.mark.usefixtures("archive")
def test_one_result_or_one_family_can_be_asked_for(export):
    for wanted in (example_result().id, "v6-*"):
        assert len(export("--csv", "-", wanted).splitlines()) == 2


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


@pytest.mark.usefixtures("undrawn")
def test_results_that_are_named_do_not_replace_the_report_of_all(archive, capsys):
    ref = example_result().id
    assert main(["report", "--json"]) == 0
    everything = archive / "report" / "index.html"
    assert json.loads(capsys.readouterr().out) == {"path": str(everything)}
    assert main(["report", ref]) == 0
    assert capsys.readouterr().out == f"{archive / f'report-{ref}' / 'index.html'}\n"
    assert len(list((archive / "report" / "sweep").glob("*.html"))) == 3
    assert main(["report", "20990101T000000Z-nothing-0000"]) == 2
    assert "no such result" in capsys.readouterr().err
    assert main(["report", "--sweeps", "-1"]) == 2
