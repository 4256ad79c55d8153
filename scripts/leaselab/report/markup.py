"""Texts of somebody else's, as text: on a terminal and in Markdown."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|&@~#!]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
"""What Markdown, or a code host's kind of it, would obey; addresses without brackets, too."""


def printable(text: str) -> str:
    """Return a text that somebody else wrote without what moves a terminal's cursor."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def escaped(text: str) -> str:
    """The text in one line, with no letter that Markdown, HTML or a terminal would obey."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))
