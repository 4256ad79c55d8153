"""The table of several results."""

import io

import pytest
from tests.examples import example_result, invalid_result

from leaselab.analysis.matrix import HOT_STANDBY, ONE, Cell, cell_of, rows_of
from leaselab.report.matrix import conditions, document, print_matrix


def cell(mean=1000.0, **fields):
    """A cell of v4-memfile; fields replace its own."""
    return Cell(
        **{
            "scenario": "v4-memfile",
            "id": "20261121T113005Z-v4-memfile-3f9a",
            "family": 4,
            "backend": "memfile",
            "durability": "written",
            "threads": False,
            "mode": ONE,
            "outcome": "ok",
            "mean": mean,
            "half_width": 10.0,
            "extent": (980.0, 1020.0),
            "runs": 9,
            "server": "kea 2.6.3",
            "goal": "loss at most 2.5 %",
            "bench": "docker",
            "environment": "1-aa",
            "started_at": "2026-11-21T11:30:05.000Z",
            "finished_at": "2026-11-21T11:33:09.050Z",
            **fields,
        }
    )


def printed(cells, **options):
    stream = io.StringIO()
    print_matrix(cells, stream=stream, **options)
    return stream.getvalue().splitlines()


def test_a_result_becomes_a_cell():
    found = cell_of(example_result())
    assert (found.scenario, found.backend, found.threads, found.mode) == (
        "v4-memfile",
        "memfile",
        False,
        ONE,
    )
    assert found.durability == "written"
    assert found.mean == example_result()["summary"]["max_rate"]["trimmed_mean"]


def test_an_invalid_result_has_no_figure():
    found = cell_of(invalid_result())
    assert (found.outcome, found.mean) == ("invalid", None)


def test_the_gain_is_what_threads_bring_one_server():
    (row,) = rows_of([cell(), cell(1500.0, threads=True), cell(600.0, mode=HOT_STANDBY)])
    assert row.gain == pytest.approx(0.5)


@pytest.mark.parametrize(
    "cells",
    [
        [cell()],
        [cell(None), cell(threads=True)],
        [cell(), cell(1500.0, threads=True, environment="1-bb")],
        [cell(), cell(1015.0, threads=True)],
        [cell(), cell(1015.0, threads=True, half_width=None, extent=(900.0, 1020.0))],
    ],
    ids=[
        "without threads only",
        "one has no figure",
        "of different benches",
        "intervals overlap",
        "runs overlap",
    ],
)
def test_there_is_no_gain_without_two_that_compare(cells):
    (row,) = rows_of(cells)
    assert row.gain is None


def test_different_durabilities_are_different_rows():
    rows = rows_of([cell(backend="mysql"), cell(backend="mysql", durability="synced")])
    assert [(row.backend, row.durability) for row in rows] == [
        ("mysql", "synced"),
        ("mysql", "written"),
    ]


def test_the_later_of_two_results_for_one_place_counts():
    later = cell(2000.0, started_at="2026-11-22T11:30:05.000Z")
    (row,) = rows_of([later, cell()])
    assert row.cells[False, ONE] is later


ALL = [
    cell(),
    cell(1500.0, threads=True, half_width=None, extent=(1480.0, 1520.0)),
    cell(600.0, mode=HOT_STANDBY, half_width=None, extent=None, scenario="v4-memfile-hs"),
    cell(None, family=6, outcome="invalid", scenario="v6-memfile"),
]
CONDITIONS = [
    "exchanges/s: trimmed mean of 9 runs, ± half of its 95 % interval, in brackets the "
    "lowest and the highest of runs too few for an interval",
    "loss at most 2.5 %",
    "kea 2.6.3; bench docker, environment 1-aa",
    "from 2026-11-21 11:30 to 2026-11-21 11:33 UTC",
]


def test_there_are_aligned_columns_of_what_there_is():
    assert printed(ALL) == [
        "clients  backend  durability         st                mt   gain  st hs",
        "DHCPv4   memfile  written     1000 ± 10  1500 (1480-1520)  +50 %    600",
        "DHCPv6   memfile  written       invalid                 -      -      -",
        "",
        "st, mt: single-, multi-threaded; hs, lb: as a pair in hot standby, load balancing; "
        "-: not among these results",
        "gain: of mt over st; none seen: what the two may be overlaps",
        *CONDITIONS,
    ]


def test_a_gain_that_may_be_none_is_none_seen():
    lines = printed([cell(), cell(1015.0, threads=True)])
    assert lines[1].endswith("1000 ± 10  1015 ± 10  none seen")


def test_a_terminal_that_is_too_narrow_gets_a_line_for_each(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    stream = io.StringIO()
    stream.isatty = lambda: True
    print_matrix(ALL, stream=stream)
    assert stream.getvalue().splitlines() == [
        "scenario       durability          max rate",
        "v4-memfile     written            1000 ± 10",
        "v4-memfile     written     1500 (1480-1520)",
        "v4-memfile-hs  written                  600",
        "v6-memfile     written              invalid",
        "",
        *CONDITIONS,
    ]


def test_markdown_is_a_table():
    lines = printed(ALL, markdown=True)
    assert lines[:3] == [
        "| clients | backend | durability | st | mt | gain | st hs |",
        "|---|---|---|---:|---:|---:|---:|",
        "| DHCPv4 | memfile | written | 1000 ± 10 | 1500 (1480-1520) | +50 % | 600 |",
    ]


def test_results_of_two_environments_are_not_set_side_by_side_in_silence():
    lines = list(conditions([cell(), cell(environment="1-bb")]))
    assert lines[-1] == "of different benches or environments: these are not to be compared"


def test_json_has_every_result_by_scenario():
    (row,) = document([cell()])
    assert row["results"]["v4-memfile"]["max_rate"] == 1000.0
    assert row["gain"] is None
