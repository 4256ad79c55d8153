"""Texts of somebody else's in Markdown."""

import pytest

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
