"""What roles declare of configurations: their known costs, and how they are seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leaselab.catalog.decoding import build
from leaselab.catalog.releases import Releases, releases_of
from leaselab.catalog.roles import ROLES, read_yaml
from leaselab.inputs.configuration import Configuration, Match


class KnownPair(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two scenarios that differ in a cost; names lack the prefix of the load."""

    point: str
    """The one that has it."""
    base: str
    """The one that has not."""
    when: str = "true"
    """Condition on the configuration for this pair to be the one."""


class Rewriting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of a configuration that takes a known cost out of it."""

    at: tuple[str, ...] = ()
    """Patterns of the paths that it changes; empty for those at which the cost was seen."""
    when: str = "true"
    """Condition at each of them."""
    set: Mapping[str, str] = {}
    """By key of the object there: an expression for its value."""
    drop: tuple[str, ...] = ()
    """Keys that the object there loses."""
    remove: bool = False
    """Whether the list in which it is loses it."""


class KnownCost(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that is known to cost, and how a configuration is seen to have it."""

    name: str
    """Name, in small letters and dashes."""
    what: str
    """What costs."""
    at: tuple[str, ...]
    """Patterns of paths at which `when` is asked, below the server's object; "" is itself."""
    when: str
    """Condition; `value` is what stands at the path."""
    found: str
    """Template that says what the configuration has; `values` are those that meet `when`."""
    todo: str
    """What to do about it."""
    setting: str = ""
    """Keyword that decides it: the place of its value is shown, which may be inherited."""
    pairs: tuple[KnownPair, ...] = ()
    """Points that measure it."""
    without: tuple[Rewriting, ...] = ()
    """Changes that take it out of a configuration, one after the other."""
    unmeasured: str = ""
    """Why a duel with the rest of the configuration cannot measure it, where `without` changes
    nothing."""


class Unjudged(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something whose costs cannot be known from a configuration."""

    what: str
    """Template that names it; `value` is what stands at the path."""
    why: str
    at: tuple[str, ...]
    when: str = "true"


class KnownCosts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The known costs of a kind of server: ``advice.yml`` and ``costs.yml`` of its role."""

    objects: Mapping[str, tuple[str, ...]]
    """By the name of the object that holds a server's configuration: prefixes of the scenarios
    that measure it, the nearest first."""
    version: str
    """Release whose defaults hold unless another is named."""
    values: Mapping[str, Any] = {}
    """Forms of values: a tree of patterns of keys, of lists, and of `configuration.FORMS`."""
    replaced: Mapping[str, Mapping[str, Mapping[str, Any]]] = {}
    """Keywords that stand for others: what each of their values means in these."""
    releases: Releases = Releases(server="")
    """Which releases have which keywords, or ends of paths such as ``].classes``."""
    opaque: tuple[str, ...] = ()
    """Keywords below which all keys are free."""
    facts: Mapping[str, str] = {}
    """Expressions that conditions may use by name, each of those before it."""
    costs: tuple[KnownCost, ...]
    """The costs, in the order in which they are shown."""
    not_judged: tuple[Unjudged, ...] = ()
    """What else a configuration may say that is not judged."""

    def released(self, configuration: Configuration) -> Iterator[tuple[Match, str, str]]:
        """Yield keywords that not all releases have.

        With its place come the first release that has it, and the first that has it no more;
        empty for all before and after.
        """
        said = self.releases.by_word()
        ends = [word for word in said if word.startswith("].")]
        for match in configuration.keywords(self.opaque):
            word = match.path.rpartition(".")[2]
            word = next((end for end in ends if match.path.endswith(end)), word)
            if word in said:
                yield match, *said[word]


@cache
def known_costs() -> Mapping[str, KnownCosts]:
    """What roles declare, by kind of server."""
    declared = {}
    for path in sorted(ROLES.glob("*/vars/advice.yml")):
        name = path.parents[1].name
        costs = read_yaml(path.with_name("costs.yml"))[f"{name}_costs"]
        known = {**read_yaml(path)[f"{name}_advice"], "costs": costs}
        made = build(KnownCosts, known, f"role {name}: advice")
        declared[name] = replace(made, releases=releases_of(name))
    return declared


def kinds_of_objects() -> Mapping[str, str]:
    """Kinds of servers by the names of the objects that hold their configurations."""
    return {name: kind for kind, costs in known_costs().items() for name in costs.objects}
