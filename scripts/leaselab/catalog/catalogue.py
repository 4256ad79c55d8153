"""The scenarios that exist: those of the project, and those made of users' files."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from leaselab.catalog.checkout import checkout_root
from leaselab.catalog.family import Family, Stamps, load_families, read_family, stamps_of
from leaselab.catalog.kept_scenarios import OWN, kept_beside, write_family
from leaselab.catalog.roles import roles_of
from leaselab.model.errors import LeaselabError, unknown
from leaselab.model.procedures import AnyProcedure
from leaselab.model.scenario import Scenario
from leaselab.model.speech import announce

LISTED = "leaselab list --scenarios"
"""The command that has all of them."""


@dataclass(slots=True)
class Catalogue:
    """What can be measured by a checkout."""

    checkout: Path
    _added: dict[str, Family] = field(default_factory=dict)
    """The families that this command has made."""

    @classmethod
    def here(cls) -> Catalogue:
        """That of the checkout that commands work in."""
        return cls(checkout_root())

    @property
    def folder(self) -> Path:
        """Where the project's families lie."""
        return self.checkout / "scenarios"

    @property
    def kept(self) -> Path:
        """Where families lie that were made of users' files; made if missing."""
        return kept_beside(self.checkout)

    @property
    def families(self) -> dict[str, Family]:
        """The project's families, and those made of users' files, by name.

        Of the latter, one that cannot be read is left out, and said to be, once.
        """
        own = self.checkout / OWN
        return load_families(self.folder) | _made_families(own, stamps_of(own)) | self._added

    @property
    def scenarios(self) -> dict[str, Scenario]:
        """The project's scenarios, by name and in the order of the names."""
        return scenarios_of(load_families(self.folder))

    def family_of(self, scenario: str) -> Family:
        """The family of a scenario, by its name; an unknown one raises a usage error."""
        if scenario in self._added:
            return self._added[scenario]
        families = self.families
        held = next((one for one in families.values() if scenario in one.scenarios), None)
        if held is None:
            raise unknown_scenario(scenario, families)
        return held

    def find(self, name: str, generator: str | None = None) -> Scenario:
        """Return one scenario, measured by another `generator` where one is named.

        An unknown name of either raises a usage error with the nearest.
        """
        return measured_by(self.family_of(name).scenarios[name], generator)

    def match(self, patterns: Sequence[str], generator: str | None = None) -> list[Scenario]:
        """Return the scenarios that any of the patterns means, each once, in the order given.

        They are measured by another `generator` where one is named.

        Patterns are a shell's (``v4-*``); where one is no scenario's name but a family's, it
        means all of that family in the order of its axes.  One that means nothing raises a
        usage error, with the nearest name where it has no wildcard.
        """
        families = self.families if patterns else {}
        scenarios = scenarios_of(families)
        matches: dict[str, Scenario] = {}
        for pattern in patterns:
            names = fnmatch.filter(scenarios, pattern)
            if not names and pattern in families:
                names = list(families[pattern].scenarios)
            if not names:
                raise unknown_scenario(pattern, families, families)
            matches.update((name, scenarios[name]) for name in names)
        return [measured_by(scenario, generator) for scenario in matches.values()]

    def procedure_of(self, scenario: Scenario, overrides: Mapping[str, Any]) -> AnyProcedure:
        """Return the procedure of a scenario; as `Family.procedure_of`."""
        return self.family_of(scenario.name).procedure_of(scenario.name, overrides)

    def add(self, name: str, family: Mapping[str, Any], load: Mapping[str, Any]) -> Scenario:
        """Keep a family of one scenario, with its load; errors as `write_family`."""
        self._added[name] = write_family(self.kept, name, family, load)
        return self._added[name].scenarios[name]

    def add_like(
        self,
        scenario: Scenario,
        procedure: Mapping[str, Any],
        load: Mapping[str, Any],
        of: str,
    ) -> Scenario:
        """Add a scenario with another load, a family of its own.

        `of` says whose load it is (``clients``, ``queries``); the name ends with it and a hash.
        """
        support = to_builtins(scenario.support) if scenario.support else {}
        family = to_builtins(
            {
                "description": f"{scenario.description}, for the {of} of a file",
                "server": {"kind": scenario.server.kind, "options": scenario.server.options},
                "beside": scenario.beside,
                "hosts": scenario.hosts,
                "support": {key: support[key] for key in ("kind", "options") if key in support},
                "factors": scenario.factors,
                "across": list(scenario.across),
                "procedure": dict(procedure),
            }
        )
        whole = json.dumps([family, load], sort_keys=True)
        stem = scenario.name.partition(f"-{of}-")[0]
        digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
        name = f"{stem}-{of}-{digest}"
        family["factors"] |= {of: f"{of} {digest}"}
        file = {
            "generator": scenario.generator,
            "transaction": to_builtins(scenario.transaction),
            **load,
        }
        return self.add(name, {**family, "load": name}, file)


@cache
def _made_families(folder: Path, stamps: Stamps) -> dict[str, Family]:
    """Read the families that were made of users' files."""
    families = {}
    for path, *_ in stamps:
        if path.parent == folder:
            try:
                families[path.stem] = read_family(path)
            except LeaselabError as error:
                announce(f"left out: {error}; `rm -r {shlex.quote(str(path))}` removes it")
    return families


def unknown_scenario(
    name: str, families: Mapping[str, Family], others: Iterable[str] = ()
) -> LeaselabError:
    """Make the usage error for a name that is no scenario's, nor one of the `others`.

    It answers a server with its scenarios, the start of names with a pattern, and a name that
    is nearly right with the nearest; a pattern has none.
    """
    scenarios = scenarios_of(families)
    known = [*scenarios, *others]
    error = unknown("scenario", name, known, "scenarios", listed=LISTED)
    if set(name) & set("*?["):
        error.what = f"no scenario matches {name!r}"
        error.todo = f"`{LISTED}` has all"
    elif "," in name:
        error.todo = "separate names by spaces"
    elif name.casefold() not in map(str.casefold, known):
        error.todo = _meant(name.casefold(), scenarios) or error.todo
    return error


def _meant(word: str, scenarios: Mapping[str, Scenario]) -> str:
    """Advice for a word that names a server, or that names of scenarios begin with."""
    if names := of_server(word, scenarios):
        kind = scenarios[names[0]].server.kind
        return f"{kind} has {', '.join(names[:3])} and others: `{LISTED} --server {kind}`"
    pattern = shlex.quote(f"{word}-*")
    count = len(fnmatch.filter(scenarios, f"{word}-*"))
    return f"as a pattern, it is {pattern} ({count} scenarios)" if word and count else ""


def of_server(word: str, scenarios: Mapping[str, Scenario]) -> list[str]:
    """The scenarios of the server that a word names, such as bind or v4-kea; [] for none."""
    words = set(word.casefold().split("-")) - {"v4", "v6", "dhcp", "dns"}
    for kind in sorted({scenario.server.kind for scenario in scenarios.values()}):
        if words and words <= {kind, kind.rstrip("0123456789"), *kind.split("_")}:
            names = [name for name in scenarios if scenarios[name].server.kind == kind]
            return sorted(names, key=lambda name: (name.count("-"), name))
    return []


def measured_by(scenario: Scenario, generator: str | None) -> Scenario:
    """Return a scenario, measured by another `generator` where one is named.

    An unknown one raises a usage error with the nearest.
    """
    known = roles_of("generator")
    if generator is not None and generator not in known:
        raise unknown("generator", generator, known, "--generator")
    return scenario if generator is None else replace(scenario, generator=generator)


def scenarios_of(families: Mapping[str, Family]) -> dict[str, Scenario]:
    """The scenarios of families, by name and in the order of the names."""
    return dict(
        sorted(pair for family in families.values() for pair in family.scenarios.items())
    )
