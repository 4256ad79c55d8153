"""Lines and tables as wide as a terminal, or whole in a pipe."""

import io
import sys

import pytest

from leaselab.cli.terminal import guarded_streams
from leaselab.report.width import write_lines, write_table

RESULT = "20261120T113005Z-v4-memfile-mt-bbbb"
HEADINGS = ("", "server", "result", "max rate/s")
BODY = [("A", "kea 2.6.3", RESULT, "12533 ± 230"), ("B", "-", RESULT, "")]
LINE = "B is slower than A by the common anchor, which may be chance"


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of so many columns."""

    def open_terminal(columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        stream = io.StringIO()
        stream.isatty = lambda: True
        return stream

    return open_terminal


def test_a_narrow_terminal_gets_a_line_for_each_cell_that_has_a_value(terminal):
    stream = terminal(60)
    write_table(stream, HEADINGS, iter(BODY), 3)
    assert stream.getvalue().splitlines() == [
        "A",
        "  server      kea 2.6.3",
        f"  result      {RESULT}",
        "  max rate/s  12533 ± 230",
        "B",
        f"  result      {RESULT}",
    ]


def test_a_narrow_terminal_lacks_the_columns_that_it_may_lack(terminal):
    stream = terminal(51)
    write_table(stream, HEADINGS, BODY, 3, ("server", "max rate/s"))
    assert stream.getvalue().splitlines() == [
        f"   {'result':35}   max rate/s",
        *(f"{letter}  {RESULT}  {rate}".rstrip() for letter, _, _, rate in BODY),
        "not shown at this width: server",
    ]


def test_messages_are_folded_at_words_on_a_terminal_only(terminal, monkeypatch):
    for stream, rows in ((terminal(40), 2), (io.StringIO(), 1)):
        monkeypatch.setattr("sys.stderr", stream)
        with guarded_streams():
            sys.stderr.write(f"{LINE}\n")
        assert stream.getvalue().split() == LINE.split()
        assert stream.getvalue().count("\n") == rows


@pytest.mark.parametrize("columns", [62, 0])
def test_a_table_that_fits_and_one_in_a_pipe_are_tables(terminal, columns):
    stream = terminal(columns) if columns else io.StringIO()
    write_table(stream, HEADINGS, BODY, 3)
    assert stream.getvalue().splitlines() == [
        f"   server     {'result':35}   max rate/s",
        f"A  kea 2.6.3  {RESULT}  12533 ± 230",
        f"B  -          {RESULT}",
    ]


def test_a_terminal_gets_sentences_that_are_folded_between_words(terminal):
    """An id is never cut, so that it can be copied, and a pipe gets whole lines for grep."""
    stream = terminal(40)
    write_lines(stream, ["", LINE])
    assert stream.getvalue() == (
        "\nB is slower than A by the common anchor,\n  which may be chance\n"
    )
    stream = terminal(20)
    write_lines(stream, [f"see {RESULT}"])
    assert RESULT in stream.getvalue().split()
    stream = io.StringIO()
    write_lines(stream, [LINE * 9])
    assert stream.getvalue() == f"{LINE * 9}\n"


def test_a_number_stays_with_its_percent_sign(terminal):
    for columns in range(14, 30):
        stream = terminal(columns)
        write_lines(stream, ["the ratio is 0.95 (-5.0 %, in 95 % of duels)"])
        lines = stream.getvalue().splitlines()
        assert not [line for line in lines if line.lstrip().startswith("%")]
        assert "-5.0 %," in stream.getvalue()


def test_codes_of_a_terminal_in_a_text_are_shown_and_not_sent(terminal):
    for stream in (terminal(80), terminal(10), io.StringIO()):
        write_table(stream, ("a", "b"), [("x\x1b[2J", "y\x1b[2J")], 2)
        write_lines(stream, ["z\x1b[2J"])
        assert "\x1b" not in stream.getvalue()
