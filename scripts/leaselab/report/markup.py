"""Texts of somebody else's, as text in Markdown."""

from __future__ import annotations

import re

from leaselab.report.commits import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|&@~#!]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
"""What Markdown, or a code host's kind of it, would obey; addresses without brackets, too."""


def escaped(text: str) -> str:
    """The text in one line, with no letter that Markdown, HTML or a terminal would obey."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))
