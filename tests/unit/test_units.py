"""The units that figures are shown in: seconds, ratios and bytes are those of the archive."""

import io
import json
from datetime import timedelta

import pytest
from tests.examples import START, archive_result, fixed_load_result

from leaselab.archive.row import row_of
from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.model.procedures.event import Event
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.report.live import estimate_words
from leaselab.report.site.site import write_site
from leaselab.report.text import print_result
from leaselab.report.units import in_shown_units, rows_in_shown_units, scale_of

FAST = (0.0113, 0.01412, 0.0125)
LATER = {"started": START + timedelta(hours=1), "token": "0002"}


@pytest.mark.parametrize(
    ("unit", "values", "scale"),
    [
        ("s", [0.0141, None, 0.9], ("ms", 1000.0)),
        ("s", [0.0141, 1.0], ("s", 1.0)),
        ("s", [None], ("s", 1.0)),
        ("ratio", [0.0141, 1.5], ("%", 100.0)),
        ("ratio", [None], ("%", 100.0)),
        ("bytes/s", [-2048.0], ("KiB/s", 1 / 1024)),
        ("s", [0.0, None], ("s", 1.0)),
        ("s", [0.16, 157.0], ("s", 1.0)),
        ("MiB", [1023.0, 13_000.0], ("MiB", 1.0)),
        ("MiB", [1024.0, 13_000.0], ("GiB", 1 / 1024)),
        ("exchanges/s", [0.5], ("exchanges/s", 1.0)),
    ],
)
def test_seconds_are_milliseconds_below_one_and_ratios_are_percent(unit, values, scale):
    assert scale_of(unit, values) == scale


def test_a_result_on_a_terminal_has_milliseconds(tmp_path):
    stream = io.StringIO()
    print_result(fixed_load_result(FAST), tmp_path, stream, whole=True)
    printed = stream.getvalue()
    assert "kea 2.6.3 · durability written: 12.6 ± 3.5 ms" in printed
    assert "95 % interval 9.1 to 16.2" in printed
    assert "median latency 6.32 ± 1.76 ms" in printed
    runs = printed[printed.index("Runs") : printed.index("Provenance")].splitlines()
    assert [line.split()[1] for line in runs[2:5]] == ["11.3", "14.1", "12.5"]


def test_results_side_by_side_have_one_unit():
    """Else a figure would stand below the heading of another unit."""
    fast, slow = in_shown_units([fixed_load_result(FAST), fixed_load_result((2.0,) * 3)])
    assert (fast.figure.unit, fast.figure.value) == ("s", pytest.approx(0.01264))
    assert (slow.figure.unit, slow.figure.value) == ("s", 2.0)
    assert fast.metric("p50_s").unit == "s" == slow.metric("p50_s").unit


def test_all_that_is_known_of_a_figure_is_in_its_unit():
    record = fixed_load_result(FAST)
    (shown,) = in_shown_units([record])
    was, result = record.figure, shown.figure
    for name in ("value", "standard_error", "lowest", "highest"):
        assert getattr(result, name) == pytest.approx(1000 * getattr(was, name))
    assert result.ci95 == pytest.approx([1000 * end for end in was.ci95])
    assert shown.values("p99_s") == pytest.approx([11.3, 14.12, 12.5])
    assert result.spread == was.spread
    loss = shown.metric("loss_ratio")
    assert (loss.value, loss.unit) == (pytest.approx(0.1), "%")
    assert shown.metrics[3:] == record.metrics[3:]


def test_lists_tables_and_pages_have_milliseconds_and_json_seconds(
    tmp_path, monkeypatch, capsys
):
    archive_result(tmp_path, fixed_load_result(FAST))
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))

    def printed(*words):
        assert main([*words]) == 0
        return capsys.readouterr().out

    headings, line = printed("list").splitlines()
    assert "p99 s (ms)" in headings
    assert line.endswith(" 12.6")
    (row,) = json.loads(printed("list", "--json"))
    assert (row["value"], row["unit"]) == (pytest.approx(0.01264), "s")
    assert "\np99 latency in ms: " in printed("list", "--table")
    (row,) = json.loads(printed("list", "--table", "--json"))
    assert row["results"]["v4-memfile"]["unit"] == "s"
    archive_result(tmp_path, fixed_load_result((0.015, 0.016, 0.014), **LATER))
    report = write_site(Store(tmp_path), tmp_path / "report").parent
    for name in ("index.html", "compare.html", "validity.html", "history/v4-memfile.html"):
        text = (report / name).read_text("utf-8").split("<main")[-1]
        assert "ms" in text, name
        assert "0.0126" not in text, name


def test_the_other_metrics_of_a_row_are_scaled_too():
    (row,) = rows_in_shown_units([row_of(fixed_load_result(FAST), "a")])
    metrics = json.loads(row["metrics"])
    assert metrics["p50_s"][0] == pytest.approx(6.32, abs=0.01)
    assert metrics["p50_s"][3] == "ms"
    assert (metrics["loss_ratio"][0], metrics["loss_ratio"][3]) == (pytest.approx(0.1), "%")
    assert json.loads(row["rounds"])[0] == [pytest.approx(11.3), False]


@pytest.mark.parametrize(
    ("procedure", "values", "words"),
    [
        (MaxRate(), [12684.6], "12685/s"),
        (MaxRate(), [6000.0, 6100.0], "6050/s (6000 to 6100)"),
        (Event(), [12.5], "12.5 s"),
        (FixedLoad(), [0.01412], "14.1 ms"),
        (FixedLoad(), [0.01, 0.02], "15 ms (10 to 20)"),
        (FixedLoad(), [0.5, 1.5], "1 s (0.5 to 1.5)"),
        (FixedLoad(), [], "none yet"),
    ],
)
def test_an_estimate_in_words(procedure, values, words):
    assert estimate_words(values, procedure.metrics("exchanges")[0]) == words
