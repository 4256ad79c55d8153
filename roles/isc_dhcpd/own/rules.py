"""Whom a pool of a dhcpd.conf is for: its rules (allow, deny), and the classes of a client."""

from __future__ import annotations

from typing import NamedTuple

from .classes import REFUSE, booting
from .expressions import Unknown
from .statements import Statement

_UNKNOWN = ("unknown", "unknown-clients")
_KNOWN = ("known", "known-clients")
_PERMITS = (
    *_UNKNOWN,
    *_KNOWN,
    *("members", "all", "authenticated", "unauthenticated", "dynamic", "after"),
)


class Refusal(NamedTuple):
    """Why a client gets no address."""

    statement: Statement
    is_clear: bool
    """Whether it gets none; otherwise its class was not worked out."""

    def said(self, what):
        """What it makes of clients, with the statement and its line."""
        by = f"by '{' '.join(self.statement.words)}' of line {self.statement.line}"
        return f"{what}, {by}" if self.is_clear else f"it is not clear whether {what}, {by}"


class Client:
    """A client: whether it has a reservation, and the classes in which it is."""

    def __init__(self, classes, packet, *, is_known=False, other=None):
        """`other` is the packet of another client of its kind, None for none."""
        self._all, self._is_known = classes, is_known
        self._packet, self._other = packet, other
        self._within = {name: self._is_in(one) for name, one in classes.items()}

    def _is_in(self, one):
        """Whether it is in a class, and whether that has it ignored; None where not known."""
        try:
            return one.within(self._packet)
        except Unknown:
            return None, None if one.is_ignored else False

    @property
    def classes(self):
        """In which classes it is: the same pools are for those that are in the same ones."""
        return tuple(self._within.values())

    def ignored(self):
        """The refusal of a class whose clients are ignored; None for none."""
        for name, (_, is_ignored) in self._within.items():
            if is_ignored is not False:
                return Refusal(self._all[name].statement, is_ignored is True)
        return None

    def refusal(self, rules):
        """Why a pool with such rules is not for it; None where it is."""
        refusals = [self.ignored(), self._limited(), self._refused(rules)]
        return next((one for one in refusals if one is not None), None)

    def _limited(self):
        """The refusal of a class whose clients share some leases."""
        for name, one in self._all.items():
            is_in = self._within[name][0]
            if one.limit is None or is_in is False:
                continue
            if is_in is None or one.field is None or self._is_alike(one):
                return Refusal(one.statement, is_in is True)
        return None

    def _is_alike(self, one):
        """Whether another client of its kind is in the same subclass."""
        try:
            return self._other is not None and one.own_value(self._packet) == one.own_value(
                self._other
            )
        except Unknown:
            return True

    def _refused(self, rules):
        unclear = None
        for rule in rules:
            if rule.name in REFUSE:
                is_meant = self._is_meant(rule)
                if is_meant:
                    return Refusal(rule, is_clear=True)
                unclear = unclear or (
                    Refusal(rule, is_clear=False) if is_meant is None else None
                )
        allowed = [rule for rule in rules if rule.name == "allow" and _whom(rule) in _PERMITS]
        if allowed and not any(map(self._is_meant, allowed)):
            return Refusal(allowed[0], is_clear=True)
        return unclear

    def _is_meant(self, rule):
        """Whether a rule is for it; None where not known."""
        whom = _whom(rule)
        if whom in (*_KNOWN, *_UNKNOWN):
            return self._is_known == (whom in _KNOWN)
        if name := member(rule):
            return self._within.get(name, (None, None))[0]
        if whom == "booting":  # that of a host holds instead
            return not self._is_known
        return None if whom == "after" else whom in ("all", "unauthenticated")


def _whom(rule):
    """Whom a rule is for."""
    return "".join(rule.words[1:2]).lower()


def member(rule):
    """The class that a rule is for, empty for one that is for no class."""
    is_of = " ".join(rule.words[1:3]).lower() == "members of" and len(rule.words) > 3
    return rule.words[3].strip('"') if is_of else ""


def rules_of(statements):
    """The rules among statements."""
    every = map(_as_rule, statements or ())
    return [one for one in every if one.name in ("allow", *REFUSE)]


def _as_rule(one):
    """A statement; boot-unknown-clients is the rule that says the same."""
    if one.name != "boot-unknown-clients":
        return one
    is_on = "".join(one.words[1:]).lower() in ("on", "true")
    return one._replace(words=("allow" if is_on else "deny", "unknown-clients"))


def around(rules):
    """Of rules around pools, the inner after the outer, those that hold and refuse."""
    on_unknown = [rule for rule in rules if _whom(rule) in _UNKNOWN]
    last = [*on_unknown[-1:], *booting(rules)[-1:]]
    return [rule for rule in last if rule.name in REFUSE]
