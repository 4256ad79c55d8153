"""Regular expressions of a dhcpd.conf: texts that they match."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

ALTERNATIVES = 32
"""Ways to fulfil a test that are tried."""
_GROUP = re.compile(rb"\(([^()*+?]*)\)(?![*+?])")
"""A group of a regular expression without another one in it."""
_PIECE = re.compile(rb"([\w :/-]|\.|\\[.]|\[\^?[\w :/.-]+\])([*+?]?)")
_SAMPLED = re.compile(b"(?:%b)*" % _PIECE.pattern)


def samples(pattern: bytes) -> Iterator[tuple[bytes, bool, bool]]:
    """Yield texts that a regular expression matches, few for each of its alternatives.

    With each is whether it is the beginning of what is matched, and whether it is the end.
    """
    for part in islice(_alternatives(pattern), ALTERNATIVES):
        is_first, is_last = part[:1] == b"^", part[-1:] == b"$" and part[-2:] != b"\\$"
        text = part[is_first : len(part) - is_last]
        made = _PIECE.sub(_sample, text) if _SAMPLED.fullmatch(text) else b""
        if made:
            yield made, is_first, is_last


def _alternatives(pattern: bytes) -> Iterator[bytes]:
    """Yield a regular expression with one of the alternatives of each of its groups."""
    if match := _GROUP.search(pattern):
        before, after = pattern[: match.start()], pattern[match.end() :]
        for one in match[1].split(b"|"):
            yield from _alternatives(before + one + after)
    else:
        yield from pattern.split(b"|")


def _sample(match: re.Match[bytes]) -> bytes:
    """What a piece of a regular expression matches: a character, or nothing."""
    one, times = match[1], match[2]
    if times in (b"*", b"?"):
        return b""
    if one.startswith(b"["):
        return one[1:2] if one[1:2] != b"^" else b""
    return b"1" if one == b"." else one.removeprefix(b"\\")
