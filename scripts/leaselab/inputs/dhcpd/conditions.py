"""The conditions of a dhcpd.conf by which clients get no answer, as classes of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from leaselab.inputs.dhcpd.reader import KNOWN, Node, Reader
from leaselab.inputs.dhcpd.statements import Statement, wrong

_IF = re.compile(r"\A(?:else\s+)?(?:els)?if(?![\w-])", re.IGNORECASE)
_PLACES = ("group", "shared-network", "subnet", "pool")
_CHAINED = ("if", "elsif", "else")
_RULES = {"booting": "", "unknown-clients": "deny unknown-clients "}
"""Rules that a condition has, and how the names of their classes begin."""
_OF_UNKNOWN = {Node("not", (KNOWN,)), Node("unless", (KNOWN,))}
"""Conditions that hold for clients without a reservation."""


class Condition(NamedTuple):
    """A condition that refuses clients."""

    statement: Statement
    """Named as its class; in it is a rule on booting where that holds everywhere."""
    test: Node | None
    """None where it holds for all clients without a reservation."""
    is_of_unknown: bool
    """Whether clients with a reservation do come."""


def ruled(
    statements: Sequence[Statement], reader: Reader, *, is_top: bool = True
) -> tuple[tuple[Statement, ...], list[Condition]]:
    """Return statements with rules for conditions in their places, and the conditions.

    Those at the top that have clients ignored need no rule: they hold for reservations, too.
    """
    rules, held = list[Statement](), list[Condition]()
    for one in _conditions(statements, reader, ()):
        words = ("deny", "members", "of", *one.statement.words)
        if one.test is None:
            words = ("deny", "unknown-clients")
        elif one.is_of_unknown or not is_top:
            held.append(one._replace(statement=one.statement._replace(inner=())))
        else:
            held.append(one)
            continue
        rules.append(one.statement._replace(words=words, inner=None))
    made: list[Statement] = []
    for place in statements:
        inner = place.inner
        if place.inner and place.name in _PLACES:
            inner, more = ruled(place.inner, reader, is_top=False)
            held += more
            if place.name == "pool":  # dhcpd has chosen it when it comes to its conditions
                rules += inner[: -len(place.inner)]
        made.append(place._replace(inner=inner))
    return (*rules, *made), held


def _conditions(
    statements: Iterable[Statement], reader: Reader, around: Sequence[tuple[str, Node]]
) -> Iterator[Condition]:
    """Yield the conditions among statements, also those in each other.

    `around` are the conditions that they are in: as text, and read.
    """
    before: list[tuple[str, Node]] = []
    for one in statements:
        if one.name not in _CHAINED:
            continue
        before = [] if one.name == "if" else before
        match = _IF.match(" ".join(one.words))
        text = " ".join(one.words)[match.end() :].strip() if match else ""
        own = [(text, reader.read(text))] if match else []
        # dhcpd goes on to the next part also where a condition has no answer.
        others = [(f"not ({other})", Node("unless", (node,))) for other, node in before]
        held = (*around, *others, *own)
        if not (others or own):
            raise wrong("not a dhcpd.conf: an else without its if", one.spot)
        for whom, begin in _RULES.items():
            rules = [rule for rule in one.inner or () if rule.words[1:2] == (whom,)]
            if rules and rules[-1].name in ("deny", "ignore"):
                name = f"{begin}if {' and '.join(each for each, _ in held)}"
                statement = one._replace(words=(name,), inner=(rules[-1],))
                yield Condition(statement, *_test((node for _, node in held), bool(begin)))
        yield from _conditions(one.inner or (), reader, held)
        before += own


def _test(nodes: Iterable[Node], is_of_unknown: bool) -> tuple[Node | None, bool]:
    """Return the test of a packet for all conditions, and `is_of_unknown` of `Condition`.

    There is no test where all clients without a reservation meet them.
    """
    parts = [part for node in nodes for part in (node.parts if node.kind == "and" else (node,))]
    asked = [part for part in parts if part not in _OF_UNKNOWN]
    is_of_unknown |= len(asked) < len(parts)
    return (None if is_of_unknown and not asked else Node("and", tuple(asked))), is_of_unknown
