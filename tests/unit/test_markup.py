"""Foreign texts: in Markdown, on a terminal, in JSON, as cells."""

import json

import pytest

from leaselab.model.text import bounded, cell, escaped_json, printable, printable_lines
from leaselab.report.listing import escaped


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("See https://evil.example/", r"See https\://evil.example/"),
        ("www.evil.example", r"www\.evil.example"),
        ("Fix !12 and #3, thanks @ana", r"Fix \!12 and \#3, thanks \@ana"),
        ("a: b, v2.6.3", "a: b, v2.6.3"),
        ("two\nlines", "two lines"),
    ],
)
def test_nothing_of_it_is_obeyed(text, written):
    assert escaped(text) == written


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mRed\x1b[0m", "\ufffd[31mRed\ufffd[0m"),
        ("\x9b2J\x07\x08\x7f\r\n\t", "\ufffd2J" + 6 * "\ufffd"),
        ("abc\u202edef\u2066\u200b\ufeff", "abc\ufffddef" + 3 * "\ufffd"),
        ("\udcff\u2028\ufffe", 3 * "\ufffd"),
        ("10\N{NO-BREAK SPACE}000 µs, größer: 日本 🎉 é", "10 000 µs, größer: 日本 🎉 é"),
    ],
)
def test_a_terminal_obeys_nothing_in_it(text, shown):
    assert printable(text) == shown
    assert printable_lines(f"{text}|\n\t") == f"{printable_lines(text)}|\n\t"
    document = json.dumps({"key": text}, ensure_ascii=False)
    assert escaped_json(document).isprintable()
    assert json.loads(escaped_json(document)) == {"key": text}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ('=HYPERLINK("https://evil.example")', '\'=HYPERLINK("https://evil.example")'),
        ("@SUM(1)", "'@SUM(1)"),
        ("+1-800", "'+1-800"),
        ("-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"),
        (" \N{NO-BREAK SPACE}=1", "'  =1"),
        ("\N{FULLWIDTH EQUALS SIGN}1", "'\N{FULLWIDTH EQUALS SIGN}1"),
        ("\t=1", "\ufffd=1"),
        ("\r=1", "\ufffd=1"),
        ("-", "'-"),
        *((number, number) for number in ("-1.5", "+3", "-.25", "1e-9", "-2E+7")),
        ("v2.6-3", "v2.6-3"),
        ("", ""),
    ],
)
def test_a_spreadsheet_computes_no_cell_and_numbers_stay_numbers(text, written):
    assert cell(text) == written


def test_a_text_that_is_too_long_says_so():
    assert bounded("a" * 5, 5) == "aaaaa"
    assert bounded("a\n" * 5, 5) == "a\ufffda\ufffd…"
