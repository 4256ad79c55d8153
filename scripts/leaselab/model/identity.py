"""The identity of a result: its subject, and the conditions under which that was measured.

Made from a task, from a bench, from a record, and from a row of the index.
Every selection of results compares these two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leaselab.model.bench import Bench
from leaselab.model.procedures import AnyProcedure
from leaselab.model.record import Record
from leaselab.model.scenario import Scenario
from leaselab.model.source import Commit

Source = tuple[str, str]
"""Hash and tree of a commit."""
Build = tuple[str | None, ...]

_BUILD = ("server", "version", "commit", "release")
"""Columns of the index that say which build a result is of."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What was measured: a scenario, on a commit of its server or on the packaged one.

    Releases of packages differ by the environment, which includes the hosts.
    """

    scenario: Scenario = field(hash=False)  # it has dictionaries
    source: Source | None
    """None for packages."""
    layout: int = 0
    """Seed of the order in which its functions were linked; 0 for the linker's own."""

    @classmethod
    def of_commit(cls, scenario: Scenario, commit: Commit | None, layout: int = 0) -> Subject:
        """The subject of a task; None for packages."""
        return cls(scenario, (commit.hash, commit.tree) if commit else None, layout)

    @classmethod
    def of_record(cls, record: Record) -> Subject:
        """The subject of a result."""
        return cls.of_commit(record.scenario, record.source, record.layout)

    @classmethod
    def of_bench(cls, bench: Bench) -> Subject:
        """The subject of a bench."""
        build = bench.server.build or {}
        source, layout = build.get("source"), build.get("options", {}).get("layout", 0)
        commit = (source["hash"], source["tree"]) if source else None
        return cls(bench.scenario, commit, int(layout))

    def same_scenario(self, other: Subject) -> bool:
        """Whether both have the same scenario and settings; builds may differ."""
        own, others = self.scenario, other.scenario
        return own.name == others.name and own.settings(others) == others.settings(own)

    def is_like(self, other: Subject) -> bool:
        """Whether both have the same build, scenario and settings."""
        same = (self.source, self.layout) == (other.source, other.layout)
        return same and self.same_scenario(other)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Where and how something was measured."""

    bench: str
    environment: str | None
    generator: str | None
    """Hash of the commit that the generator was built from; None for a package."""
    ruler: str
    """The procedure as JSON, as far as results of another one are not compared."""

    @classmethod
    def by(cls, place: Place, generator: str | None, procedure: AnyProcedure) -> Conditions:
        """The conditions of a procedure at a place."""
        return cls(*place, generator, ruler_of(procedure))

    @classmethod
    def of_record(cls, record: Record) -> Conditions:
        """The conditions of a result."""
        place = (record.bench.name, record.bench.environment)
        return cls.by(place, record.generator.options.get("commit"), record.procedure)

    @classmethod
    def of_bench(cls, bench: Bench) -> Conditions:
        """The conditions of a bench."""
        place = (bench.name, bench.environment)
        return cls.by(place, bench.generator.settings.get("commit"), bench.procedure)

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Conditions:
        """The conditions of a row of the index."""
        return cls(row["bench"], row["environment"], row["generator"], row["ruler"])

    @property
    def place(self) -> Place:
        """The bench and its environment."""
        return self.bench, self.environment

    def same_lab(self, other: Conditions) -> bool:
        """Whether both have the same place and generator; procedures may differ."""
        return (*self.place, self.generator) == (*other.place, other.generator)


Place = tuple[str, str | None]


def build_of(row: Mapping[str, Any]) -> Build:
    """Which build a row of the index is of."""
    return tuple(row[name] for name in _BUILD)


def ruler_of(procedure: AnyProcedure) -> str:
    """The procedure as JSON, as far as results of another one are not compared."""
    return json.dumps(procedure.ruler())
