"""Why two results cannot be compared as like with like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaselab.analysis.differences import field_differences
from leaselab.analysis.ratio import common_share, runs_of
from leaselab.model.durability import durability_of
from leaselab.model.plan import ruler

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SAID_OTHERWISE = frozenset({"name", "description"})
"""Parts of a scenario that are no settings."""
_NONE = "-"


@dataclass(frozen=True, slots=True)
class Hindrance:
    """One thing that has to be the same for a ratio to be the server's doing, and is not."""

    what: str
    """Kind, such as ``goal``."""
    found: str
    """What the second result has."""
    wanted: str
    """What the first has."""
    field: str = ""
    """Its place within the kind, such as ``trial_s``; empty where there is but one."""

    @property
    def name(self) -> str:
        """Kind and place."""
        return f"{self.what} {self.field}".strip()


def hindrances(base: Mapping[str, Any], other: Mapping[str, Any]) -> list[Hindrance]:
    """What keeps one result.json from being compared with another; empty where nothing does."""
    return [
        *_places(base, other),
        *_settings(base, other),
        *_goal(base, other),
        *_parts("generator", _generator(base), _generator(other)),
    ]


def _places(base: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Hindrance]:
    wanted, found = base["bench"], other["bench"]
    if found["name"] != wanted["name"]:
        yield Hindrance("bench", found["name"], wanted["name"])
    environments = [one.get("environment") or _NONE for one in (found, wanted)]
    if environments[0] != environments[1]:
        yield Hindrance("environment of the lab", *environments)


def _settings(base: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Hindrance]:
    names = [one["scenario"]["name"] for one in (other, base)]
    if names[0] != names[1]:
        yield Hindrance("scenario", *names)  # its settings follow from it
    else:
        yield from _parts("scenario", *map(_scenario, (base, other)))
        yield from _parts("tuning", *map(_tuning, (base, other)))
    durabilities = [durability_of(one["server"]) or _NONE for one in (other, base)]
    if durabilities[0] != durabilities[1]:
        yield Hindrance("durability", *durabilities)


def _goal(base: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Hindrance]:
    yield from _parts("goal", ruler(base["goal"]), ruler(other["goal"]))
    runs, runs_wanted = runs_of(other), runs_of(base)
    if runs and runs_wanted and common_share(runs_wanted, runs) is None:
        told = [f"{one.trim} of {len(one.rates)} at each end" for one in (runs, runs_wanted)]
        yield Hindrance("share of runs dropped", *told)


def _parts(what: str, wanted: object, found: object) -> Iterator[Hindrance]:
    for one in field_differences([wanted, found]):
        yield Hindrance(what, one.values[1], one.values[0], one.field)


def _scenario(document: Mapping[str, Any]) -> dict[str, Any]:
    settings = document["scenario"]
    return {name: settings[name] for name in settings if name not in _SAID_OTHERWISE}


def _generator(document: Mapping[str, Any]) -> dict[str, Any]:
    """All that is known of the generator but where it ran, which is the bench's."""
    generator = document["generator"]
    return {name: generator[name] for name in generator if name != "host"}


def _tuning(document: Mapping[str, Any]) -> dict[str, Any]:
    """What was set on the hosts, by scenario or inventory; a version is not set."""
    tuning = dict(document["provenance"]["tuning"])
    tuning["database"] = (tuning.get("database") or {}).get("variables")
    return tuning
