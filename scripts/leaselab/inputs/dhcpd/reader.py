"""Expressions of a dhcpd.conf (dhcp-eval(5)) as trees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple

from leaselab.inputs.dhcpd.statements import bytes_of, number_of

_CODES = {
    "vendor-class-identifier": 60,
    "user-class": 77,
    "host-name": 12,
    "vendor-encapsulated-options": 43,
    "dhcp-max-message-size": 57,
    "pxe-interface-id": 94,
    "pxe-client-id": 97,
    "dhcp-client-identifier": 61,
    "pxe-system-type": 93,
    "dhcp-requested-address": 50,
    "dhcp-message-type": 53,
    "dhcp-server-identifier": 54,
    "dhcp-parameter-request-list": 55,
}
_EXCHANGE = {50, 53, 54, 55, 82}
"""Options that all clients send, and that no class decides."""
_OF_SIX = {"server-id", "ia-na", "ia-pd", "oro", "elapsed-time"}
"""The same of DHCPv6."""
_CODES6 = {
    "dhcp6.client-id": 1,
    "dhcp6.user-class": 15,
    "dhcp6.vendor-class": 16,
    "dhcp6.vendor-opts": 17,
    "dhcp6.client-arch-type": 61,
}
AGENT6 = {"dhcp6.interface-id": 18, "dhcp6.remote-id": 37, "dhcp6.subscriber-id": 38}
_FARTHEST = 32
"""Relays in a row at the most; a larger number means that next to the server."""
AGENT = {"agent.circuit-id": 1, "agent.remote-id": 2, "agent.subscriber-id": 6}
Field = tuple[Literal["options", "agent", "hardware"], int]
"""A field of a client's message: an option of it or of its relay, or `HARDWARE`."""
HARDWARE: Field = ("hardware", 0)
"""The type of the hardware, and its address."""
Anything = Literal["any"]
ANY: Final = "any"
"""Of a field that only has to be there."""
Piece = tuple[int, bytes, bool] | Anything
"""Bytes of a field, with their place before them and whether they are all of it."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[(),]|~=|~~|!=|=|[^\s(),"=!~]+|\S')
_DEEPEST = 64
"""Expressions in each other that are read."""
_COMPARED = ("=", "!=", "~=", "~~")
CALLS = {
    *("substring", "suffix", "lcase", "ucase"),
    *("binary-to-ascii", "pick-first-value", "concat", "reverse", "packet"),
}


class Node(NamedTuple):
    """An expression: its kind, and parts; or a field, or a constant."""

    kind: str
    parts: tuple[Node, ...] = ()
    field: Field | Anything | None = None
    data: bytes = b""
    number: int = 0


_UNKNOWN = Node("unknown")
KNOWN = Node("known")
"""That the client has a host declaration; dhcpd looks for it after it has chosen classes."""


class Reader:
    """Reads expressions of a file that defines options of its own."""

    def __init__(self, defined: Iterable[tuple[str, int]], family: int) -> None:
        """`defined` are the codes of these by name."""
        self.family = family
        self._codes = (_CODES if family == 4 else _CODES6) | dict(defined)

    def read(self, text: str) -> Node:
        """An expression as a tree; one of an unknown value for what is none."""
        tokens = _TOKEN.findall(text)[::-1]
        self._depth = 0
        try:
            node = self._any_of(tokens)
        except IndexError:
            return _UNKNOWN
        return _UNKNOWN if tokens else node

    def _any_of(self, tokens: list[str]) -> Node:
        return self._chain(tokens, "or", self._all_of)

    def _all_of(self, tokens: list[str]) -> Node:
        return self._chain(tokens, "and", self._compared)

    @staticmethod
    def _chain(tokens: list[str], word: str, part: Callable[[list[str]], Node]) -> Node:
        nodes = [part(tokens)]
        while tokens and tokens[-1].lower() == word:
            tokens.pop()
            nodes.append(part(tokens))
        return Node(word, tuple(nodes)) if len(nodes) > 1 else nodes[0]

    def _compared(self, tokens: list[str]) -> Node:
        node = self._single(tokens)
        if tokens and tokens[-1] in _COMPARED:
            return Node(tokens.pop(), (node, self._single(tokens)))
        return node

    def _single(self, tokens: list[str]) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise IndexError(self._depth)
        node = self._of_token(tokens, tokens.pop())
        self._depth -= 1
        return node

    def _of_token(self, tokens: list[str], token: str) -> Node:
        word = token.lower()
        if word == "(":
            return self._arguments(tokens)[0]
        if word == "not":
            return Node("not", (self._single(tokens),))
        if word in ("exists", "option", "v6relay"):
            is_relays = word == "v6relay"
            field = self._of_relay(tokens) if is_relays else self._field(tokens.pop().lower())
            return Node("option" if is_relays else word, field=field)
        if word == "hardware":
            return Node("option", field=HARDWARE if self.family == 4 else ANY)
        if tokens and tokens[-1] == "(":
            tokens.pop()
            arguments = self._arguments(tokens)
            return Node(word, arguments) if word in CALLS else _UNKNOWN
        return _constant(token)

    @staticmethod
    def _of_relay(tokens: list[str]) -> Field | None:
        """An option that a relay has added; clients of the lab come through one."""
        opening, number, comma, word, name, closing = (tokens.pop() for _ in range(6))
        if (opening, comma, word.lower(), closing) != ("(", ",", "option", ")"):
            raise IndexError
        count = number_of(number) or 0
        is_ours = count == 1 or count > _FARTHEST
        code = AGENT6.get(name.lower())
        return ("agent", code) if is_ours and code else None

    def _arguments(self, tokens: list[str]) -> tuple[Node, ...]:
        nodes = [self._any_of(tokens)]
        while tokens[-1] == ",":
            tokens.pop()
            nodes.append(self._any_of(tokens))
        if tokens.pop() != ")":
            raise IndexError
        return tuple(nodes)

    def _field(self, name: str) -> Field | Anything | None:
        """The field of an option; None for one that no client sends, `ANY` for an unknown."""
        space, _, of_space = name.rpartition(".")
        code = self._codes.get(name, 0)
        if name in AGENT and self.family == 4:
            return ("agent", AGENT[name])
        if (self.family == 4 and code in _EXCHANGE) or (space, of_space) == (
            "agent",
            "link-selection",
        ):
            return ANY
        if space == "dhcp6" and of_space in _OF_SIX:
            return ANY
        return ("options", code) if code else None


def _constant(token: str) -> Node:
    if token.lower() == "known":
        return KNOWN
    if (number := number_of(token)) is not None:
        return Node("number", number=number)
    data = bytes_of(token)
    return _UNKNOWN if data is None else Node("value", data=data)
