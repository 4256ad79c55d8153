"""What a file of scenarios may hold: a family, and the entries of its axes."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

Factor = str | int | float | bool


class ServerPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The server under test: a role, and options that all scenarios of the family share."""

    kind: str
    options: dict[str, Any] = {}


class SupportPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The server's supporting service: a part may name its kind, another differ in options."""

    kind: str = ""
    options: dict[str, Any] = {}


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a family and each entry of its axes may set."""

    load: str | dict[str, Any] | None = None
    partner: bool | None = None
    beside: dict[str, dict[str, Any]] = {}
    hosts: dict[str, dict[str, Any]] = {}
    support: SupportPart = SupportPart()
    factors: dict[str, Factor] = {}
    procedure: dict[str, Any] = {}

    @property
    def of_load(self) -> dict[str, Any]:
        """What is set of the load: `name` is its file, all else differs from that."""
        return {"name": self.load} if isinstance(self.load, str) else self.load or {}


class Entry(Settings, frozen=True, kw_only=True):
    """One entry of an axis: its part of a scenario's name, and what it sets."""

    name: str = ""
    options: dict[str, Any] = {}


class Value(Entry, frozen=True, kw_only=True):
    """The entry that one value of a factor makes."""

    factor: str
    """Its whole name, such as ``procedure.clients``."""


class ScenarioFile(Settings, frozen=True, kw_only=True):
    """A family: what its scenarios share, and the axes along which they differ."""

    description: str
    server: ServerPart
    across: tuple[str, ...] = ()
    axes: tuple[tuple[Entry, ...] | dict[str, tuple[Factor, ...]], ...] = ()
