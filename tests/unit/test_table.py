"""The table of several results, as it is printed."""

import io
import re
from dataclasses import replace as cell_with

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, example_result
from tests.examples import example_cell as cell

from leaselab.model.record import Experiment
from leaselab.report.matrix import conditions, document, print_curves, print_matrix

THREADS = {"scenario": "v4-memfile-mt", "factors": {"threading": "multi"}}
PAIR = {"scenario": "v4-memfile-hs", "factors": {"servers": "hot-standby"}}


def printed(cells, **options):
    stream = io.StringIO()
    print_matrix(cells, stream=stream, **options)
    return stream.getvalue().splitlines()


ALL = [
    cell(),
    cell(1500.0, **THREADS, half_width=None, extent=(1480.0, 1520.0)),
    cell(600.0, **PAIR, half_width=None, extent=None),
    cell(None, factors={"protocol": "DHCPv6"}, outcome="invalid", scenario="v6-memfile"),
]
CONDITIONS = [
    "max rate in exchanges/s: trimmed mean of 9 runs, ± half of its 95 % interval, in brackets "
    "the lowest and the highest of runs too few for an interval",
    "loss at most 2.5 %",
    "kea 2.6.3; bench docker, environment 1-aa",
    "from 2026-11-21 11:30 to 2026-11-21 11:33 UTC",
]


def test_there_are_aligned_columns_of_what_there_is():
    assert printed(ALL) == [
        "protocol  backend  durability     single             multi   gain  single hot-standby",
        "DHCPv4    memfile  written     1000 ± 10  1500 (1480-1520)  +50 %                 600",
        "DHCPv6    memfile  written       invalid                 -      -                   -",
        "",
        "across: threading, servers; -: not among these results",
        "gain: over single, as `leaselab compare` judges it",
        *CONDITIONS,
    ]


def test_a_gain_across_two_sessions_says_so_in_its_cell():
    alike = printed([cell(), cell(1015.0, **THREADS)])
    assert alike[1].endswith("1000 ± 10  1015 ± 10  equal")
    cells = [cell(), cell(1500.0, **THREADS, session="another")]
    lines = printed(cells)
    assert lines[1].endswith("1500 ± 10  +50 % across sessions")
    assert lines[4].endswith("; across sessions: this includes the drift of the machine")
    (row,) = document(cells)
    basis = {name: result["basis"] for name, result in row["results"].items()}
    assert basis == {"v4-memfile": None, "v4-memfile-mt": "across sessions"}


def test_a_terminal_that_is_too_narrow_gets_a_line_for_each(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    stream = io.StringIO()
    stream.isatty = lambda: True
    print_matrix(ALL, stream=stream)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[:6] == [
        "scenario       durability          max rate",
        "v4-memfile     written            1000 ± 10",
        "v4-memfile-mt  written     1500 (1480-1520)",
        "v4-memfile-hs  written                  600",
        "v6-memfile     written              invalid",
        "",
    ]
    assert " ".join(" ".join(lines[6:]).split()) == " ".join(CONDITIONS)


def test_markdown_is_the_same_table():
    head, rule, row, *_ = printed(ALL, markdown=True)
    assert [cell.strip() for cell in head.split("|")][1:6] == [
        *("protocol", "backend", "durability", "single", "multi")
    ]
    assert rule == "|---|---|---|---:|---:|---:|---:|"
    assert row == "| DHCPv4 | memfile | written | 1000 ± 10 | 1500 (1480-1520) | +50 % | 600 |"


def test_the_line_below_a_table_says_how_its_figures_were_got():
    median = cell(3.0, how="median", rounds=3, title="outage", unit="s")
    *_, apart = conditions([cell(), cell(environment="1-bb")])
    assert apart == "of different benches or environments: these are not to be compared"
    (first, *_) = conditions([median, cell()])
    assert first.startswith(
        "max rate in exchanges/s or outage in s: median or trimmed mean of 3 or 9 runs"
    )


def test_json_has_every_result_by_scenario():
    (row,) = document([cell(), cell(1500.0, **THREADS)])
    assert row["factors"] == {"protocol": "DHCPv4", "backend": "memfile"}
    first, threaded = (row["results"][f"v4-memfile{of}"] for of in ("", "-mt"))
    assert (first["value"], first["ratio"]) == (1000.0, None)
    assert (threaded["word"], threaded["ratio"]) == ("faster", pytest.approx(1.5, rel=0.001))


def test_other_factors_and_another_figure_have_a_table_of_their_own():
    """No row mixes two units, and neither figure takes the other's place."""
    zones = {"scenario": "dns", "across": ("threads",), "title": "median latency", "unit": "ms"}
    queries = cell(0.4321, **zones)
    asked = {"zones": 100, "threads": 4}
    scenario = replace(queries.record.scenario, factors=asked)
    record = replace(queries.record, scenario=scenario)
    queries = cell_with(queries, factors=asked, record=record)
    latency = cell(12.6, title="p99 latency", unit="ms", half_width=None, extent=None)
    lines = printed([cell(), queries, latency])
    assert [line.split()[-1] for line in lines if line.startswith("DHCPv4")] == ["10", "12.6"]
    (head,) = [line for line in lines if line.startswith("zones")]
    assert head.split() == ["zones", "durability", "threads", "4"]
    units = [row["results"]["v4-memfile"]["unit"] for row in document([cell(), latency])]
    assert units == ["exchanges/s", "ms"]


def point(threads, factor, **experiment):
    """A result of an experiment along the threads."""
    record = example_result([factor * rate for rate in MAX_RATES], token=f"{threads:04x}")
    factors = {**record.scenario.factors, "threads": threads}
    result = Experiment(**{"id": "e", "points": (), "interleaved": False, **experiment})
    scenario = replace(record.scenario, factors=factors)
    return replace(record, scenario=scenario, experiment=result)


def curves(records):
    stream = io.StringIO()
    print_curves(records, stream)
    return stream.getvalue().splitlines()


def test_an_experiment_along_one_factor_is_a_curve():
    factors = {2: 0.5, 4: 1.0, 8: 0.999, 16: 0.9}
    points = [point(at, factor, why="one host each") for at, factor in factors.items()]
    lines = curves([*points, example_result()])
    assert [re.split(" {2,}", line.strip()) for line in lines[2:6]] == [
        ["2", "3003 ± 12", "█" * 20, "differs"],
        ["4", "6006 ± 25", "█" * 40, "best"],
        ["8", "6000 ± 25", "█" * 40, "equal"],
        ["16", "5405 ± 22", "█" * 36, "differs"],
    ]
    assert lines[8].startswith("the points were measured one after the other (one host each): ")
    assert len({line.index("█") for line in lines[2:6]}) == 1


def test_points_whose_runs_alternated_are_distinguished_by_less_and_without_a_warning():
    lines = curves([point(2, 1.0, interleaved=True), point(4, 0.999, interleaved=True)])
    assert [line.split()[-1] for line in lines[2:4]] == ["best", "differs"]
    assert len(lines) == 6


def test_without_an_experiment_along_one_factor_there_is_no_curve():
    assert curves([example_result(), example_result(token="0002")]) == []
    assert curves([point(2, 1.0)]) == []
    assert curves([point(2, 1.0, id="one"), point(4, 1.0, id="other")]) == []
