"""What is measured: a server, its options, and the load put on it; part of a record."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from leaselab.model.bounds import Name
from leaselab.model.trial import Description

_SAID_OTHERWISE = frozenset({"name", "description", "factors", "across"})
"""Parts of a scenario that are no settings, or say again what these are."""


class Transaction(Description, frozen=True, kw_only=True):
    """What a client attempts, and what counts as done."""

    name: str
    """Such as DHCPv4 exchange."""
    plural: str
    """Several of them in one word, such as exchanges: the unit of rates is this word, per
    second."""
    stages: tuple[str, ...]
    """Request and reply of each stage, in order, such as DISCOVER-OFFER."""


class ServerOptions(Description, frozen=True, kw_only=True):
    """The kind of server, and how it was to be configured."""

    kind: str
    """Which role serves it, such as kea."""
    options: dict[str, Any] = {}
    """What the scenario asks of it, by the role's options."""
    untold: tuple[str, ...] = ()
    """The options that the scenario leaves at the role's default.  A new option's default is
    what was done before it was there, so a result that lacks it had the same."""


class Scenario(Description, frozen=True, kw_only=True):
    """What was measured: a server, its options, and the load put on it."""

    name: Name
    """Scenario, such as v4-memfile."""
    description: str = ""
    """What it is, for people; empty where it says nothing of itself."""
    server: ServerOptions
    """The server under test, as it was asked for."""
    partner: bool = False
    """Whether a second server serves with it, on the partner's host."""
    support: ServerOptions | None = None
    """What serves on the partner's host for the server under test, such as its database; null
    where nothing does."""
    beside: dict[str, dict[str, Any]] = {}
    """What serves beside each server, such as its database: by role, the role's variables that
    differ from their defaults."""
    hosts: dict[str, dict[str, Any]] = {}
    """What it asks of the hosts that serve, such as a governor: by role, the settings that come
    before those of the inventory."""
    generator: str
    """Which generator makes the load, such as perfdhcp."""
    transaction: Transaction
    """What its clients attempt; all rates and counts are of these."""
    load: dict[str, Any] = {}
    """What the load is like beyond its rate, such as the pool that clients are served from."""
    factors: dict[str, str | int | float | bool] = {}
    """Where the point stands among others, by axis; tables and curves are drawn along these."""
    across: tuple[str, ...] = ()
    """The factors that a table shows as columns; the others make its rows."""

    @property
    def transport(self) -> str:
        """What its messages go over, such as ``tcp``; empty where the load does not say it."""
        return str(self.load.get("transport", ""))

    def beside_another(self, other: Scenario) -> dict[str, Any]:
        """Its fields, as far as they can differ from another's; each is any JSON.

        Without the options that the other lacks and that this one leaves at their default.
        """
        fields: dict[str, Any] = to_builtins(self)
        for part, others in (("server", other.server), ("support", other.support)):
            asked = fields[part]
            if asked is None:
                continue
            untold = set(asked.pop("untold")) - (others.options.keys() if others else set())
            for name in untold:
                asked["options"].pop(name, None)
        return fields

    def settings(self, other: Scenario) -> dict[str, Any]:
        """What it asks of servers, hosts and generator, as far as another may ask else."""
        known = self.beside_another(other)
        return {name: known[name] for name in known if name not in _SAID_OTHERWISE}

    @property
    def needs_partner(self) -> bool:
        """Whether anything serves on the partner's host, with the server or for it."""
        return self.partner or self.support is not None
