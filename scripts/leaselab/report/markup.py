"""Texts of somebody else's, as text in Markdown."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|&@~#])")


def escaped(text: str) -> str:
    """The text in one line, with no letter that Markdown or HTML would take for markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
