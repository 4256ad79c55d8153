"""Whom a pool of a dhcpd.conf is for: its rules (allow, deny), and the classes of a client."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from leaselab.inputs.client_kinds import Unknown
from leaselab.inputs.dhcpd.classes import REFUSE, Class, Classes, booting
from leaselab.inputs.dhcpd.expressions import Packet
from leaselab.inputs.dhcpd.statements import Statement

_UNKNOWN = ("unknown", "unknown-clients")
_KNOWN = ("known", "known-clients")
_PERMITS = (
    *_UNKNOWN,
    *_KNOWN,
    *("members", "all", "authenticated", "unauthenticated", "dynamic", "after"),
)


_MOST_CLASSES = 5
"""Classes of one message that dhcpd notes."""
_Within = tuple[bool | None, bool | None]
"""Whether a client is in a class, and whether that has it ignored; None where not known."""
_OUTSIDE: _Within = (False, False)
"""Of a class in which a client is not."""
Bill = tuple[str, bytes]
"""A class whose leases a client shares with others, and its value there."""


class Refusal(NamedTuple):
    """Why a client gets no address."""

    statement: Statement
    is_clear: bool
    """Whether it gets none; otherwise its class was not worked out."""

    def said(self, what: str) -> str:
        """What it makes of clients, with the statement and its line."""
        words, name = self.statement.words, member(self.statement)
        shown = name if " if " in f" {name}" else " ".join(words)
        by = f"by '{shown}' of line {self.statement.line}"
        return f"{what}, {by}" if self.is_clear else f"it is not clear whether {what}, {by}"


class Rules:
    """The rules of a pool."""

    def __init__(self, rules: Sequence[Statement], classes: Container[str]) -> None:
        """`classes` are those that the file defines."""
        self.said = tuple(rule.words for rule in rules)
        """What they say: pools that say the same admit the same clients."""
        self.asked: list[str] = []
        """The classes that the pool allows."""
        self._of_all: dict[bool, list[tuple[int, Statement]]] = {True: [], False: []}
        self._of_class: dict[tuple[bool, str], list[tuple[int, Statement]]] = {}
        self.first_allowed: Statement | None = None
        for at, rule in enumerate(rules):
            refuses, name = rule.name in REFUSE, member(rule)
            if not refuses and _whom(rule) not in _PERMITS:
                continue
            if not refuses:
                self.first_allowed = self.first_allowed or rule
                self.asked += [name] if name else []
            of_class = self._of_class.setdefault((refuses, name), [])
            (of_class if name in classes else self._of_all[refuses]).append((at, rule))

    def of(self, names: Iterable[str], *, refuses: bool) -> list[Statement]:
        """The rules that may be for a client in some classes: that refuse, or that allow."""
        rules = [rule for name in names for rule in self._of_class.get((refuses, name), ())]
        return [rule for _, rule in sorted([*rules, *self._of_all[refuses]])]


class Client:
    """A client: whether it has a reservation, and the classes in which it is."""

    def __init__(self, classes: Classes, packet: Packet, *, is_known: bool = False) -> None:
        self._all, self._is_known, self._packet = classes, is_known, packet
        within = {
            name: self._is_in(classes[name])
            for name in classes.of(packet)
            if not (is_known and classes[name].is_of_unknown)
        }
        self._within = dict(self._of_most(within))
        self.bills: list[Bill] = []
        self._unclear: Refusal | None = None
        self._billed()

    def _of_most(self, within: Mapping[str, _Within]) -> Iterator[tuple[str, _Within]]:
        """Yield those of its classes that dhcpd notes: the first ones, and conditions."""
        noted = 0
        for name, found in within.items():
            is_class = self._all[name].statement.name == "class"
            if found != _OUTSIDE and not (is_class and noted == _MOST_CLASSES):
                yield name, found
                noted += is_class and bool(found[0])

    def _is_in(self, one: Class) -> _Within:
        try:
            return one.within(self._packet)
        except Unknown:
            return None, None if one.is_ignored else False

    @property
    def classes(self) -> tuple[tuple[str, _Within], ...]:
        """In which classes it is: the same pools are for those that are in the same ones."""
        return tuple(self._within.items())

    def ignored(self) -> Refusal | None:
        """The refusal of a class whose clients are ignored; None for none."""
        for name, (_, is_ignored) in self._within.items():
            if is_ignored is not False:
                return Refusal(self._all[name].statement, is_ignored is True)
        return None

    def refusal(self, rules: Rules) -> Refusal | None:
        """Why a pool with such rules is not for it; None where it is."""
        refusals = [self.ignored(), self._unclear, self._refused(rules)]
        return next((one for one in refusals if one is not None), None)

    def _billed(self) -> None:
        """Note the classes whose leases it shares, or a refusal where that is not clear."""
        for name, (is_in, _) in self._within.items():
            one = self._all[name]
            if not one.is_limited or is_in is False:
                continue
            try:
                bill = (name, one.own_value(self._packet)) if is_in else None
            except Unknown:
                bill = None
            if bill is None:
                self._unclear = self._unclear or Refusal(one.statement, is_clear=False)
            elif one.limit_of(bill[1]) is not None:
                self.bills.append(bill)

    def _refused(self, rules: Rules) -> Refusal | None:
        unclear: Refusal | None = None
        for rule in rules.of(self._within, refuses=True):
            is_meant = self._is_meant(rule)
            if is_meant:
                return Refusal(rule, is_clear=True)
            unclear = unclear or (Refusal(rule, is_clear=False) if is_meant is None else None)
        first = rules.first_allowed
        if first and not any(map(self._is_meant, rules.of(self._within, refuses=False))):
            return Refusal(first, is_clear=True)
        return unclear

    def _is_meant(self, rule: Statement) -> bool | None:
        """Whether a rule is for it; None where not known."""
        whom = _whom(rule)
        if whom in (*_KNOWN, *_UNKNOWN):
            return self._is_known == (whom in _KNOWN)
        if name := member(rule):
            return self._within.get(name, _OUTSIDE)[0] if name in self._all else None
        if whom == "booting":  # that of a host holds instead
            return not self._is_known
        return None if whom == "after" else whom in ("all", "unauthenticated")


def _whom(rule: Statement) -> str:
    """Whom a rule is for."""
    return "".join(rule.words[1:2]).lower()


def member(rule: Statement) -> str:
    """The class that a rule is for, empty for one that is for no class."""
    is_of = " ".join(rule.words[1:3]).lower() == "members of" and len(rule.words) > 3
    return re.sub(r'^"(.*)"$', r"\1", rule.words[3]) if is_of else ""


def rules_of(statements: Iterable[Statement] | None) -> list[Statement]:
    """The rules among statements."""
    every = map(_as_rule, statements or ())
    return [one for one in every if one.name in ("allow", *REFUSE)]


def _as_rule(one: Statement) -> Statement:
    """A statement; boot-unknown-clients is the rule that says the same."""
    if one.name != "boot-unknown-clients":
        return one
    is_on = "".join(one.words[1:]).lower() in ("on", "true")
    return one._replace(words=("allow" if is_on else "deny", "unknown-clients"))


def lasting(rules: Sequence[Statement]) -> list[Statement]:
    """Of rules around pools, the inner after the outer, those that hold."""
    on_unknown = [rule for rule in rules if _whom(rule) in _UNKNOWN]
    of_conditions = [rule for rule in rules if member(rule)]
    return [*on_unknown[-1:], *booting(rules)[-1:], *of_conditions]


def around(rules: Sequence[Statement]) -> list[Statement]:
    """Those of `lasting` that refuse."""
    return [rule for rule in lasting(rules) if rule.name in REFUSE]
