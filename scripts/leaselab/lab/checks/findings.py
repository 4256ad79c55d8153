"""What an inspection of a bench found, and what was wanted of it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Level(enum.StrEnum):
    """How much a finding matters."""

    OK = "ok"
    WARNING = "warning"
    """Can be measured on, but the numbers are worth less."""
    ERROR = "error"
    """Must be put right before anything touches the bench."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at on one host."""

    host: str
    """Inventory name; `CONTROLLER` for the machine that leaselab runs on."""
    check: str
    """What was looked at, such as ``clock``."""
    level: Level
    found: str
    wanted: str = ""
    """Given where it is not what was found."""
    todo: str = ""
    """The next step; given for every warning and error."""

    @property
    def text(self) -> str:
        """One line: ``host: check: level: found F; wanted W; to do``."""
        parts = [f"{self.host}: {self.check}: {self.level}: {self.found}"]
        if self.wanted:
            parts.append(f"wanted {self.wanted}")
        if self.todo:
            parts.append(self.todo)
        return "; ".join(parts)

    def document(self) -> dict[str, str]:
        """As ``leaselab lab check --json`` prints it."""
        return {
            "host": self.host,
            "check": self.check,
            "level": str(self.level),
            "found": self.found,
            "wanted": self.wanted,
            "todo": self.todo,
            "text": self.text,
        }


CONTROLLER = "controller"

Probe = Mapping[str, Any]
"""Facts of one host as module ``lab_probe`` of role lab_check returns them."""


@dataclass(frozen=True, slots=True)
class WantedPackages:
    """Which packages of one role are wanted."""

    whose: str
    """Whose they are, such as the ``distribution``'s or ``isc``'s own."""
    version: str | None
    """Prefix of their version; None for that of the host's release."""
    versions: Mapping[str, str]
    """That prefix by release, such as ``debian-13``, and by whose they are otherwise."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The limits that role lab_check was given for a host; its defaults file says why."""

    packages: Mapping[str, WantedPackages]
    """By role: a server's are wanted where servers run, a generator's on the generator."""
    clock_offset_s: float
    link_mbps: int
    memory_mib: int
    free_mib: Mapping[str, int]
    """By folder."""


def judged(
    host: str, check: str, found: str, *, wanted: str, todo: str, level: Level | None
) -> Finding:
    """Return a finding; `wanted` and `todo` are kept only where `level` names a fault."""
    if level is None:
        return Finding(host, check, Level.OK, found)
    return Finding(host, check, level, found, wanted, todo)


def error_unless(
    fine: bool, host: str, check: str, found: str, *, wanted: str, todo: str
) -> Finding:
    """Return a finding that is an error unless `fine`."""
    level = None if fine else Level.ERROR
    return judged(host, check, found, wanted=wanted, todo=todo, level=level)
