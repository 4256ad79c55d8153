"""Results of several points as rows and columns."""

import pytest
from tests.examples import example_cell as cell
from tests.examples import example_result, invalid_result

from leaselab.analysis.comparison.matrix import cell_of, columns_of, rows_of

ST, MT = ("single", "none"), ("multi", "none")
THREADS = {"scenario": "v4-memfile-mt", "factors": {"threading": "multi"}}
PAIR = {"scenario": "v4-memfile-hs", "factors": {"servers": "hot-standby"}}


def test_a_result_becomes_a_cell():
    record = example_result(commit="a" * 40)
    cell = cell_of(record)
    assert (cell.scenario, cell.column) == ("v4-memfile", ST)
    assert cell.factors["backend"] == "memfile"
    assert (cell.durability, cell.server) == ("written", "kea 2.6.3 (aaaaaaaaaa)")
    assert (cell.value, cell.unit, cell.rounds) == (record.figure.value, "exchanges/s", 9)
    low, high = record.figure.ci95
    assert cell.known == pytest.approx((low, cell.value, high))
    assert cell.extent == (5731.0, 6122.0)


@pytest.mark.parametrize("record", [invalid_result(), example_result(outcome="invalid")])
def test_an_invalid_result_has_no_figure(record):
    cell = cell_of(record)
    assert cell.outcome == "invalid"
    assert {cell.value, cell.half_width, cell.extent, cell.known} == {None}


def test_what_threads_bring_one_server_is_compared_as_two_results_are():
    (row,) = rows_of([cell(), cell(1500.0, **THREADS), cell(600.0, **PAIR)])
    assert row.base == ST
    brought = row.compared(MT)
    assert (brought.word, brought.verdict.ratio) == ("faster", pytest.approx(1.5, rel=0.001))
    assert row.compared(ST) is row.compared(("single", "hot-standby")) is None
    (alike,) = rows_of([cell(), cell(1003.0, **THREADS)])
    assert alike.compared(MT).word == "equal"


ALONE = {
    "without threads only": [cell(), cell(1500.0, **PAIR)],
    "one has no figure": [cell(None), cell(**THREADS)],
    "of different benches": [cell(), cell(1500.0, **THREADS, environment="1-bb")],
    "of different servers": [cell(), cell(1500.0, **THREADS, server="kea 3.0.4")],
}


@pytest.mark.parametrize("why", ALONE)
def test_nothing_is_compared_without_two_that_compare(why):
    (row,) = rows_of(ALONE[why])
    assert [row.compared(column) for column in columns_of([row])] == [None, None]


def test_different_durabilities_are_different_rows():
    mysql = {"scenario": "v4-mysql", "factors": {"backend": "mysql"}}
    rows = rows_of([cell(**mysql), cell(**mysql, durability="synced"), cell()])
    shown = [f"{row.factors['backend']} {row.durability}" for row in rows]
    assert shown == ["memfile written", "mysql synced", "mysql written"]


def test_the_later_of_two_results_for_one_place_counts():
    later = cell(2000.0, started_at="2026-11-22T11:30:05.000Z")
    (row,) = rows_of([later, cell()])
    assert row.cells[ST] is later


def test_columns_are_in_one_order_whatever_was_measured_first():
    """A column that nothing is in is none."""
    servers = ("none", "hot-standby", "load-balancing")
    ways = [(threads, way) for way in servers for threads in ("single", "multi")]
    cells = []
    for place, (threads, way) in enumerate(ways):
        factors = {"threading": threads, "servers": way}
        at = f"2026-11-21T11:3{9 - place}:05.000Z"
        cells.append(cell(scenario=f"v4-{place}", factors=factors, started_at=at))
    rows = rows_of(cells)
    assert columns_of(rows) == ways
    assert rows[0].base == ST
    some = [cells[place] for place in (3, 1, 0)]
    assert columns_of(rows_of(some)) == [ST, MT, ("multi", "hot-standby")]


def numbered(threads, value=1000.0, **fields):
    """A cell of a scenario whose column is a number."""
    factors = {"threads": threads, **fields.pop("factors", {})}
    return cell(value, factors=factors, across=("threads",), **fields)


def test_numbers_go_up_along_columns_and_rows():
    cells = [
        numbered(threads, 100.0 * threads, factors={"clients": clients})
        for threads in (16, 2, 8)
        for clients in (100, 20)
    ]
    rows = rows_of(cells)
    assert [row.factors["clients"] for row in rows] == [20, 100]
    assert columns_of(rows) == [(2,), (8,), (16,)]
    assert rows[0].compared((16,)).verdict.ratio == pytest.approx(8.0, rel=0.001)


def test_results_with_other_factors_are_other_rows_next_to_their_like():
    cells = [cell(), numbered(2), cell(**PAIR), numbered(4)]
    rows = rows_of([*cells, cell(factors={"backend": "mysql"})])
    assert sorted(len(row.cells) for row in rows) == [1, 2, 2]
    across = [row.across for row in rows]
    assert across == sorted(across)
    assert {row.across: row.base for row in rows} == {
        ("threads",): (2,),
        ("threading", "servers"): ST,
    }
