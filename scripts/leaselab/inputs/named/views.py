"""Which of a named.conf's views the lab's clients are of."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from leaselab.inputs.named.statements import Statement, Word
from leaselab.model.errors import unknown, usage_error

CLIENTS = ipaddress.IPv4Network("198.18.0.0/15")
"""Where the lab's clients and servers are (RFC 2544)."""
MATCHES = ("match-clients", "match-destinations", "match-recursive-only")
_PREFIX = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,3})(?:/(\d{1,2}))?")
_DEEPEST = 20
_KNOWN = {"any": True, "none": False, "localnets": True}
"""Lists that named knows; all queries come over the network that the server is on."""


class _Lists(NamedTuple):
    """Lists by their names, and what those say that were looked at."""

    held: Mapping[str, tuple[Statement, ...] | bool]
    senses: dict[Word, bool | None]


class _UnclearError(Exception):
    """An element of a list that may match the lab's addresses or not."""


def of_class_in(view: Statement) -> bool:
    """Whether a view is of class IN."""
    return all(word.upper() == "IN" for word in view.words[2:] if isinstance(word, str))


def measured_view(
    views: Sequence[Statement], acls: Mapping[str, tuple[Statement, ...]], wanted: str
) -> Statement | None:
    """Return the view that is measured of those of class IN; None without views.

    It is the one `wanted`, or where that is empty the first whose lists match the lab's
    clients.  `acls` are the lists of the file by their names.  Raises a usage error where none
    matches, or it cannot be said.
    """
    names = [view.value for view in views]
    if wanted:
        if wanted not in names:
            raise unknown("view", wanted, names, "--view")
        return views[names.index(wanted)]
    if len(views) < 2:
        return views[0] if views else None
    for view in views:
        if _is_matched(view, acls):
            return view
    raise usage_error(
        "the lab's clients are of none of its views",
        where=f"{views[0].spot}: view",
        found=", ".join(names),
        wanted=f"one that matches {CLIENTS}",
        todo=f"name the one to measure, such as --view {names[0]}",
    )


def _is_matched(view: Statement, acls: Mapping[str, tuple[Statement, ...]]) -> bool:
    """Whether the lab's clients are of a view, in which they ask for recursion."""
    localhost = {MATCHES[0]: False, MATCHES[1]: True}
    for held in view.inner or ():
        if held.name not in localhost:
            continue
        known = {**_KNOWN, "localhost": localhost[held.name]}
        try:
            if not _sense(held.inner or (), _Lists({**acls, **known}, {}), 0):
                return False
        except _UnclearError as unclear:
            raise usage_error(
                f"whether the lab's clients are of view {view.value} is not clear",
                where=f"{held.spot}: {held.name}",
                found=str(unclear)[:80],
                wanted=f"a list that matches all or nothing of {CLIENTS}",
                todo=f"name the view to measure, such as --view {view.value}",
            ) from unclear
    return True


def _sense(elements: Sequence[Statement], lists: _Lists, depth: int) -> bool | None:
    """Whether the first matching element of a list is positive; None where none matches."""
    for element in elements:
        words = list(element.words)
        first = words[0]
        negative = isinstance(first, str) and first.startswith("!")
        if isinstance(first, str) and negative:
            words = [first[1:], *words[1:]] if first[1:] else words[1:]
        sense = _of_element(words, lists, depth)
        if sense is not None:
            return sense is not negative
    return None


def _of_element(words: Sequence[Word], lists: _Lists, depth: int) -> bool | None:
    """What an element without its ``!`` says: True or False decides, None is no match."""
    word = words[0] if words else ""
    held = word if isinstance(word, tuple) else lists.held.get(word.strip('"'))
    if isinstance(held, bool):
        # `none` excludes; an address that is not the server's own is just not in the list.
        return held or (False if word == "none" else None)
    if held is not None and depth < _DEEPEST:
        if word not in lists.senses:
            lists.senses[word] = _sense(held, lists, depth + 1)
        sense = lists.senses[word]
        if sense is not False:
            return sense
    elif held is None and word == "key":
        return None  # no query of the lab is signed
    elif isinstance(word, str) and held is None and len(words) == 1:
        network = _network(word)
        if network is not None and not network.overlaps(CLIENTS):
            return None
        if network is not None and CLIENTS.subnet_of(network):
            return True
        if ":" in word:
            return None
    raise _UnclearError(" ".join("{…}" if isinstance(one, tuple) else one for one in words))


def _network(word: str) -> ipaddress.IPv4Network | None:
    """The IPv4 network of an element, whose last zeros may be left out; None for others."""
    match = _PREFIX.fullmatch(word.strip('"'))
    if match is None:
        return None
    parts = match[1].split(".")
    length = match[2] or str(8 * len(parts))
    try:
        address = ".".join([*parts, *["0"] * (4 - len(parts))])
        return ipaddress.IPv4Network(f"{address}/{length}", strict=False)
    except ValueError:
        return None
