"""What to avoid, and what to write instead.

Riddles, personified machines, and what a dictionary translates literally.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WORDS = {
    "told": "reported, configured",
    "anew": "again",
    "whoever": "anyone who",
    "somebody": "a user, another user",
    "hindrances?": "incompatibility",
    "papers?": "document",
    "dearest": "slowest",
    "nouns?": "what is counted: exchanges, queries",
    "what serves": "the server",
    "stands? on": "depends on",
    "gave back|giv(?:es?|en|ing) (?:it |them )?back": "restores, returns",
    "like with like": "comparable",
}
"""Patterns of words in texts, with better ones."""
NAMES = {
    "acquit": "what was checked",
    "bereaved": "the cause",
    "hindrance": "incompatibility",
    "hindrances": "incompatibilities",
    "BeneathError": "the cause",
    "tell": "write, report",
    "told": "reported",
}
"""Names that say nothing of what they are, with better ones."""
FOUND = {"found": "what it holds: record, match, path …"}
"""Only what an error reports is its `found`."""
ONE = {"one": "what it is: trial, run, host …"}
_AVOIDED = {
    better: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    for pattern, better in WORDS.items()
}


def avoided(text: str) -> Iterator[tuple[str, str]]:
    """Each avoided word of a text, with better ones."""
    for better, pattern in _AVOIDED.items():
        for match in pattern.finditer(text):
            yield match[0], better
