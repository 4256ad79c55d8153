"""Queries for the names of a user's own zones: as many of each type as there are records."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

from leaselab.inputs.queries.names import (
    above,
    absolute,
    labels_of,
    name_of,
    type_of,
    type_word,
    written,
)
from leaselab.inputs.queries.zones import Zone, entries, record_type
from leaselab.model.errors import usage_error

MOST_QUERIES = 1_000_000
"""Different queries; of more that the zones have, so many are drawn."""
_UNASKED = {"RRSIG", "NSEC", "NSEC3", "NSEC3PARAM"}
"""Types of records that come with others."""
_ANYTHING = b"leaselab"
"""Label of a name that only a wildcard has."""


def queries_of(zones: Sequence[Zone]) -> list[str]:
    """Return the different queries that zones have records for, each a name and a type.

    They are in an order of no meaning, the same each time.  Raises a usage error where there
    is none.
    """
    queries = sorted(_drawn(query for zone in zones for query in _of(zone)))
    if not queries:
        raise usage_error(
            "no name to ask for in the zones",
            where=str(zones[0].path) if zones else "zones",
            wanted="a zone with records of known types",
        )
    dice = random.Random(0)  # noqa: S311  # no secret
    return dice.sample(queries, min(len(queries), MOST_QUERIES))


def _drawn(queries: Iterable[str]) -> set[str]:
    """The different ones; of many those whose checksums are the lowest, in bounded memory."""
    kept, below = set[str](), 1 << 32
    for query in queries:
        if crc32(query.encode()) < below:
            kept.add(query)
        if len(kept) > 2 * MOST_QUERIES:
            below = sorted(crc32(each.encode()) for each in kept)[MOST_QUERIES]
            kept = {each for each in kept if crc32(each.encode()) < below}
    return kept


def _of(zone: Zone) -> Iterator[str]:
    """The queries of a zone; what is none, or outside the zone, is left out."""
    origin = owner = zone.name
    for _, tokens, is_blank in entries(zone.path, zone.name, zone.within):
        if tokens[0].startswith("$"):
            if tokens[0].upper() == "$ORIGIN" and len(tokens) > 1:
                origin = absolute(written(tokens[1]), origin)
            continue
        if not is_blank:
            owner = absolute(tokens[0], origin)
        word = record_type(tokens if is_blank else tokens[1:])
        try:
            labels = labels_of(owner)
            if labels[:1] == (b"*",):  # another label of it is one as any other (RFC 4592)
                labels = (_ANYTHING, *labels[1:])
            code = type_of(word)
        except ValueError:
            continue
        name = name_of(labels)
        if word not in _UNASKED and zone.name in above(name):
            yield f"{name} {type_word(code)}"
