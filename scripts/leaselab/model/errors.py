"""Outcomes, their exit codes, and errors that say what to do."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

IN_USE = 75
"""Exit code of a command that did not get the bench: EX_TEMPFAIL of sysexits.h."""
_NEAREST, _FEW = 3, 10
"""How many names an error suggests, and up to how many known names it lists all."""
_ALIKE = 0.6
"""How alike a name is at least that is suggested (0..1)."""


class Outcome(enum.Enum):
    """The ways a command can end; the value is the process exit code.

    They are never merged: a broken lab is not a regression, an invalid measurement is not a
    pass, a commit that does not build is neither, and an internal error of Leaselab has its own
    outcome.
    """

    OK = 0
    REGRESSION = 1
    USAGE = 2
    INVALID = 3
    LAB = 4
    BUILD = 5
    FAULT = 70
    """EX_SOFTWARE of sysexits.h, unlike any exit code of a child process."""

    @property
    def label(self) -> str:
        """The word used in results, tables and the index."""
        return _WORDS[self][0]

    @property
    def meaning(self) -> str:
        """Its meaning for the user, in a few words."""
        return _WORDS[self][1]


_WORDS = {
    Outcome.OK: ("ok", "done"),
    Outcome.REGRESSION: ("regression", "regression found"),
    Outcome.USAGE: ("usage", "bad input"),
    Outcome.INVALID: ("invalid", "invalid measurement"),
    Outcome.LAB: ("lab-broken", "broken lab"),
    Outcome.BUILD: ("build-failed", "the server does not build or start"),
    Outcome.FAULT: ("internal-error", "a fault of Leaselab"),
}
BELIEVED = frozenset({Outcome.OK.label, Outcome.REGRESSION.label})
"""Outcomes of results whose figure is valid."""


@dataclass
class LeaselabError(Exception):
    """A failure that the user can act on.

    Every error says what went wrong and where; `found` and `wanted` are given
    where two values disagree, `todo` names the next step.  The outcome decides
    the exit code.
    """

    outcome: Outcome
    what: str
    where: str = ""
    found: str = ""
    wanted: str = ""
    todo: str = ""

    @property
    def code(self) -> int:
        """Exit code of a command that ends by it."""
        return self.outcome.value

    def __str__(self) -> str:
        """One line: ``where: what (found F, wanted W); to do``."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        seen = [
            f"{word} {value}"
            for word, value in (("found", self.found), ("wanted", self.wanted))
            if value
        ]
        if seen:
            text += f" ({', '.join(seen)})"
        if self.todo:
            text += f"; {self.todo}"
        return text


def usage_error(what: str, **fields: str) -> LeaselabError:
    """Bad input from the user (exit 2)."""
    return LeaselabError(Outcome.USAGE, what, **fields)


def unknown(
    what: str, found: str, known: Sequence[str], where: str, *, listed: str = ""
) -> LeaselabError:
    """Make the usage error for a name that does not exist, naming the nearest, up to three.

    Far names are not offered.  Where few names are `known` and none is near, it lists all;
    `listed` is a command that does.
    """
    found = str(found)  # a key of YAML may be a number, or true
    names = near(found, known)
    todo = [f"did you mean {_or(names)}?"] if names else []
    todo += [f"`{listed}` has all"] if listed else []
    listable = not names and (len(known) <= _FEW or not listed)
    return usage_error(
        f"unknown {what} {found!r}",
        where=where,
        wanted=f"one of {', '.join(sorted(known))}" if known and listable else "",
        todo=" ".join(todo),
    )


def near(found: str, known: Iterable[str]) -> list[str]:
    """Up to three of the known names that resemble one that is not known, the nearest first.

    Letters count without their case, and hyphens before options not at all.  Where one is the
    same then, it is the only one.
    """
    by_word: dict[str, str] = {}
    for name in known:
        by_word.setdefault(_word(name), name)
    wanted = _word(found)
    if wanted in by_word:
        return [by_word[wanted]]
    close = difflib.get_close_matches(wanted, by_word, n=_NEAREST, cutoff=_ALIKE)
    return [by_word[word] for word in close]


def _word(name: str) -> str:
    return name.casefold().lstrip("-")


def _or(names: Sequence[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


def regression(what: str, **fields: str) -> LeaselabError:
    """A server is slower than the one it is compared with (exit 1)."""
    return LeaselabError(Outcome.REGRESSION, what, **fields)


def invalid_measurement(what: str, **fields: str) -> LeaselabError:
    """The numbers cannot be believed (exit 3)."""
    return LeaselabError(Outcome.INVALID, what, **fields)


def lab_broken(what: str, **fields: str) -> LeaselabError:
    """A host, the network, the lock or a deployment failed (exit 4)."""
    return LeaselabError(Outcome.LAB, what, **fields)


def internal_fault(what: str, **fields: str) -> LeaselabError:
    """Leaselab itself is wrong (exit 70)."""
    return LeaselabError(Outcome.FAULT, what, **fields)


def server_broken(what: str, **fields: str) -> LeaselabError:
    """The server under test does not build or does not start (exit 5)."""
    return LeaselabError(Outcome.BUILD, what, **fields)
