"""Kea's own language: expressions of classes, names of loggers; for clients and for advice.

The grammar is that of Kea's `src/lib/eval`.  Two facts make it small: only conditions stand in
parentheses, and each comparison is of two texts.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from leaselab.inputs.configuration import Level

TOKEN = re.compile(
    r"""[ \t\n]*+(?:
        (?P<constant> '[^'\n]*' | 0[xX][0-9a-fA-F]+ | [0-9]+\.[0-9]+\.[0-9]+\.[0-9]+
                    | [0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]* )
      | (?P<integer>  -?[0-9]{1,10} (?![0-9]) )
      | (?P<word>     [A-Za-z][-_A-Za-z0-9]* )
      | (?P<mark>     == | [][().,*+] )
      | (?P<end>      \Z )
    )""",
    re.VERBOSE,
)
CALLS = {
    **dict.fromkeys(("ifelse", "sifelse", "substring", "split"), 3),
    **dict.fromkeys(("concat", "hexstring"), 2),
    **dict.fromkeys(("lcase", "ucase", "addrtotext"), 1),
    **dict.fromkeys(("int8totext", "int16totext", "int32totext"), 1),
    **dict.fromkeys(("uint8totext", "uint16totext", "uint32totext"), 1),
}
"""Calls, and how many arguments each has."""
FIELDS = {"option", "relay4", "relay6", "vendor", "vendor-class", "pkt", "pkt4", "pkt6"}
_NAMED_PART = re.compile(r"[a-z4]+\[[A-Za-z]")
DEEPEST = 100
WHOLE = (0, 2**16, 2**16)
"""Of an identifier whose parts have no known place: only all of it names a client."""
Layout = tuple[int, int, int]
HARDWARE = [(0, 6, 6)]
CLIENT_ID = [WHOLE, (1, 7, 7)]
DUID = [WHOLE, (8, 14, 14), (4, 10, 10)]
IDENTITIES: Mapping[str, Mapping[str, Sequence[Layout]]] = {
    "Dhcp4": {
        "pkt4.mac": HARDWARE,
        "option[61]": CLIENT_ID,
        "option[dhcp-client-identifier]": CLIENT_ID,
        "relay4[1]": [WHOLE],
        "option[82].option[1]": [WHOLE],
        "option[dhcp-agent-options].option[1]": [WHOLE],
    },
    "Dhcp6": {"option[1]": DUID, "option[clientid]": DUID},
}
"""What names one client, so that a reservation can: operands, and which of their bytes do
(first, end, and how many there are then), such as the hardware address in a DUID."""
LOCAL = {"localhost", "localhost.localdomain", "localhost6", "localhost6.localdomain6"}
LOCAL |= {"localhost4", "localhost4.localdomain4", "ip6-localhost", "ip6-loopback"}
"""Names that hosts files give to a host itself."""
LONGEST_PREFIX = 128
NAMING = {
    *("client-class", "client-classes"),
    *("evaluate-additional-classes", "require-client-classes"),
}
"""Keywords whose values are names of classes."""
MEMBER = re.compile(r"member[ \t\n]*\([ \t\n]*'([^'\n]*)'")
NO_PACKETS = {"auth", "commands", "http", "tcp"}
"""Child loggers that write nothing of packets."""


class Node(NamedTuple):
    """An expression: its kind, and parts or a word."""

    kind: str
    """and, or, not, ==, exists, member, match; field, constant, integer, or a call."""
    parts: tuple[Node, ...] = ()
    word: str = ""
    """A field, a class, a pattern, or a constant as it is written."""
    is_text: bool = False
    """Whether a field is read as Kea's log shows it."""


def kea_clients(expression: str, server: str) -> int:
    """Count comparisons with what names one client; 0 for what is no expression."""
    comparisons = _comparisons(expression) or []
    return sum(
        any(
            _names_client(one, IDENTITIES[server]) and _is_constant(other)
            for one, other in (sides, sides[::-1])
        )
        for sides in comparisons
    )


def kea_readable(expression: str) -> bool:
    """Whether it is an expression of a class."""
    return _comparisons(expression) is not None


def kea_free(classes: Iterable[Mapping[str, Any]], server: Mapping[str, Any]) -> set[str]:
    """Return the names of classes that neither subnets, pools, reservations nor tests name."""
    return {one["name"] for one in classes if "name" in one} - named(classes, server)


def named(classes: Iterable[Mapping[str, Any]], server: Mapping[str, Any]) -> set[str]:
    """Return the names of classes that subnets, pools, reservations and tests name."""
    names = {"DROP"}
    for one in classes:
        tests = f"{one.get('test', '')} {one.get('template-test', '')}"
        names.update(MEMBER.findall(tests))
    _add_named(server, names)
    return names


def _add_named(value: object, names: set[str], key: str = "") -> None:
    """Add the names of classes that a part of a configuration asks for."""
    if isinstance(value, str):
        names.update([value] if key in NAMING else [])
    elif isinstance(value, list):
        for inner in value:
            _add_named(inner, names, key)
    elif isinstance(value, dict):
        for name, inner in value.items():
            _add_named(inner, names, name)


def kea_idle(classes: Iterable[Mapping[str, Any]], levels: Iterable[Level]) -> set[str]:
    """Return the names of classes that Kea does not work out for the packet that pays most.

    `levels` are subnets and pools, with what is around them.  A class that is worked out only
    where it is required is not idle if a level of the packet requires it.
    """
    flags = ("only-in-additional-list", "only-if-required")
    only = {str(one.get("name")) for one in classes if any(one.get(flag) for flag in flags)}
    return only - max((only & _required(level) for level in levels), key=len, default=set())


def kea_local(host: str) -> bool:
    """Whether the host of a database is the server's own: a name, an address, a socket."""
    host = host.strip().lower().removeprefix("[").removesuffix("]").rstrip(".")
    own = socket.gethostname().lower()
    if host.startswith("/") or host in {"", own, own.partition(".")[0], *LOCAL}:
        return True
    try:
        is_short = host[:1].isdigit() and ":" not in host  # such as 127.1
        address = ipaddress.ip_address(socket.inet_aton(host) if is_short else host)
    except (OSError, ValueError):
        return host.endswith(".localhost")
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def kea_prefixes(pool: Mapping[str, Any]) -> int:
    """Return how many prefixes a pool of them has.  Raises ValueError for what is none."""
    bits = int(pool["delegated-len"]) - int(pool["prefix-len"])
    if not 0 <= bits <= LONGEST_PREFIX:
        raise ValueError(bits)
    return 1 << bits


def kea_without(
    classes: Iterable[Mapping[str, Any]], names: Container[str]
) -> list[Mapping[str, Any]]:
    """Return the classes of other names."""
    return [one for one in classes if one.get("name") not in names]


def kea_logger(name: str, server: str) -> str | None:
    """Return a logger's name below that of its server: "" for the server's own.

    None for a logger of another program, and for one that writes nothing of packets.
    """
    program = f"kea-{server.lower()}"
    if name in ("", program):
        return ""
    child = name.removeprefix(f"{program}.")
    other = child.startswith("kea-") or child in NO_PACKETS or child.endswith("cmds-hooks")
    return None if other else child


def _required(level: Level) -> set[str]:
    keys = ("evaluate-additional-classes", "require-client-classes")
    return {name for key in keys for names in level.every(key) for name in names}


def kea_condition(expression: str) -> Node:
    """Return the condition of a class as a tree; raises ValueError for what is none."""
    return _Expression(expression).tree(_Expression.condition)


@lru_cache(maxsize=10_000)
def _comparisons(expression: str) -> list[tuple[Node, Node]] | None:
    """Return the two texts of each comparison; None for what is no expression.

    That of a class is a condition, and of a template a text.
    """
    for kind in (_Expression.condition, _Expression.text):
        try:
            return _Expression(expression).read(kind)
        except ValueError:
            continue
    return None


def _is_constant(text: Node) -> bool:
    if text.kind in CALLS:
        return all(map(_is_constant, text.parts))
    return text.kind in ("constant", "integer")


def _names_client(text: Node, identities: Mapping[str, Sequence[Layout]]) -> bool:
    kind, parts = text.kind, text.parts
    if kind == "field":
        return text.word in identities
    if kind in ("concat", "lcase", "ucase", "hexstring"):
        return any(_names_client(part, identities) for part in parts)
    if kind != "substring" or not _names_client(parts[0], identities):
        return False
    of, start, length = parts
    layouts = identities.get(of.word, [WHOLE]) if of.kind == "field" else [WHOLE]
    return any(_covers(int(start.word), length.word, *layout) for layout in layouts)


def _covers(start: int, length: str, first: int, end: int, size: int) -> bool:
    """Whether a part of an identifier of this size has all bytes from the first to the end."""
    begin = start if start >= 0 else size + start
    if length == "all":
        return 0 <= begin <= first
    stop = begin + int(length)
    return max(0, min(begin, stop)) <= first and max(begin, stop) >= end


class _Expression:
    """Reads an expression; holds its tokens and the comparisons so far."""

    def __init__(self, expression: str) -> None:
        self.comparisons: list[tuple[Node, Node]] = []
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while not self._tokens or self._tokens[-1][0] != "end":
            match = TOKEN.match(expression, at)
            if match is None or match.lastgroup is None:
                raise ValueError(f"no token at {at}")
            self._tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self._tokens.reverse()

    def read(self, kind: Callable[[_Expression, int], Node]) -> list[tuple[Node, Node]]:
        """Return the comparisons of an expression that is a condition or a text."""
        self.tree(kind)
        return self.comparisons

    def tree(self, kind: Callable[[_Expression, int], Node]) -> Node:
        """Return an expression that is a condition or a text."""
        read = kind(self, 0)
        self._take("end")
        return read

    def _next(self) -> str:
        return self._tokens[-1][1]

    def _take(self, *wanted: str) -> str:
        """Take a token of a kind, or a mark, or the word all; return its text."""
        kind, text = self._tokens[-1]
        if kind not in wanted and ((kind != "mark" and text != "all") or text not in wanted):
            raise ValueError(f"{kind} instead of {wanted}")
        if kind != "end":
            self._tokens.pop()
        return text

    def condition(self, depth: int) -> Node:
        either = [[self._comparison(depth)]]
        while self._next() in ("and", "or", "sand", "sor"):
            if self._take("word").endswith("or"):  # binds less than and
                either.append([])
            either[-1].append(self._comparison(depth))
        parts = [Node("and", tuple(both)) if both[1:] else both[0] for both in either]
        return Node("or", tuple(parts)) if parts[1:] else parts[0]

    def _comparison(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        if self._next() == "not":
            self._take("word")
            return Node("not", (self._comparison(depth + 1),))
        if self._next() == "(":
            self._take("(")
            inside = self.condition(depth + 1)
            self._take(")")
            return inside
        if self._next() in ("member", "match"):
            return self._call(self._take("word"), depth)
        left = self.text(depth)
        if left.kind == "exists":
            return left
        self._take("==")
        self.comparisons.append((left, self.text(depth)))
        return Node("==", self.comparisons[-1])

    def _call(self, name: str, depth: int) -> Node:
        self._take("(")
        word, parts = self._take("constant")[1:-1], []
        if name == "match":
            self._take(",")
            parts.append(self.text(depth))
        self._take(")")
        return Node(name, tuple(parts), word)

    def text(self, depth: int) -> Node:
        text = self._operand(depth)
        while self._next() == "+":
            self._take("+")
            text = Node("concat", (text, self._operand(depth)))
        return text

    def _operand(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        kind = self._tokens[-1][0]
        if kind in ("constant", "integer"):
            word = self._take(kind)
            if kind == "constant" and word[0] != "'" and word[:2].lower() != "0x":
                ipaddress.ip_address(word)
            return Node(kind, word=word)
        name = self._take("word")
        if name in FIELDS:
            return self._field(name)
        if name not in CALLS:
            raise ValueError(f"no operand {name}")
        self._take("(")
        parts = [self.condition(depth + 1) if "ifelse" in name else self.text(depth + 1)]
        while self._take(",", ")") == ",":
            parts.append(self._part(name, len(parts), depth + 1))
        of = {"substring": "integer integer", "split": "integer"}.get(name, "").split()
        if (
            len(parts) != CALLS[name]
            or [one.kind for one in parts[len(parts) - len(of) :]] != of
        ):
            raise ValueError(f"not the arguments of {name}")
        return Node(name, tuple(parts))

    def _part(self, name: str, number: int, depth: int) -> Node:
        if (name, number) == ("substring", 2) and self._next() == "all":
            return Node("integer", word=self._take("all"))
        return self.text(depth)

    def _field(self, name: str) -> Node:
        """Return a field of the packet, such as ``option[61]``, or that it is asked for."""
        steps = [name + self._index()]
        while self._next() == ".":
            self._take(".")
            steps.append(self._take("word") + self._index())
        if any(_NAMED_PART.match(step) for step in [*steps[1:], *steps[: name == "relay4"]]):
            raise ValueError("a part of an option by its name")
        if steps[-1] == "exists":
            return Node("exists", word=".".join(steps[:-1]))
        if steps[-1] == "text":
            return Node("field", word=".".join(steps[:-1]), is_text=True)
        if steps[-1] == "hex":
            steps.pop()
        return Node("field", word=".".join(steps))

    def _index(self) -> str:
        if self._next() != "[":
            return ""
        self._take("[")
        index = self._take("integer", "word", "*")
        self._take("]")
        return f"[{index}]"


FILTERS: Mapping[str, Callable[..., Any]] = {
    "kea_clients": kea_clients,
    "kea_free": kea_free,
    "kea_idle": kea_idle,
    "kea_local": kea_local,
    "kea_logger": kea_logger,
    "kea_prefixes": kea_prefixes,
    "kea_readable": kea_readable,
    "kea_without": kea_without,
}
"""Of Jinja, for the conditions of known costs."""
