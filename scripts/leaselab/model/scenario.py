"""What is measured: a server, its options, and the load put on it; part of a record."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins
from msgspec.structs import force_setattr

from leaselab.model.bounds import Name
from leaselab.model.trial import Description

PROTOCOL = "protocol"
"""The factor that comes first wherever factors are shown."""
_SAID_OTHERWISE = frozenset({"name", "description", "factors", "across", "axes"})
"""Parts of a scenario that are not settings, or only repeat settings."""


class Transaction(Description, frozen=True, kw_only=True):
    """What a client attempts, and what counts as completed."""

    name: str
    """Name, such as DHCPv4 exchange."""
    plural: str
    """Several of them in one word, such as exchanges: the unit of rates is this word, per
    second."""
    stages: tuple[str, ...]
    """Request and reply of each stage, in order, such as DISCOVER-OFFER."""


class ServerOptions(Description, frozen=True, kw_only=True):
    """The kind of server, and its requested configuration."""

    kind: str
    """Role that deploys it, such as kea."""
    options: dict[str, Any] = {}
    """Options that the scenario sets, by the role's names."""
    defaulted: tuple[str, ...] = ()
    """The options that the scenario leaves at the role's default.  The default of a new option
    is the behaviour before it existed, so a result without the option had the same."""


class Scenario(Description, frozen=True, kw_only=True):
    """What was measured: a server, its options, and the load put on it."""

    name: Name
    """Scenario, such as v4-memfile."""
    description: str = ""
    """Description for users; may be empty."""
    server: ServerOptions
    """The server under test, as requested."""
    partner: bool = False
    """Whether another server runs on each partner's host as its pair."""
    support: ServerOptions | None = None
    """Supporting service on the partner's host for the server under test, such as its database;
    null without one."""
    beside: dict[str, dict[str, Any]] = {}
    """Companion services of each server, such as its database: by role, the role's variables
    that differ from their defaults."""
    hosts: dict[str, dict[str, Any]] = {}
    """Host settings that it requires, such as a governor: by role, the settings that override
    those of the inventory."""
    generator: str
    """Which generator makes the load, such as perfdhcp."""
    transaction: Transaction
    """What its clients attempt; all rates and counts are of these transactions."""
    load: dict[str, Any] = {}
    """Properties of the load besides its rate, such as the clients' address pool."""
    factors: dict[str, str | int | float | bool] = {}
    """Values of the point on each axis; tables and curves are drawn along the axes."""
    across: tuple[str, ...] = ()
    """The factors that a table shows as columns; the others are rows."""
    axes: tuple[str, ...] = ()
    """Names of the factors in the order of the family's file, which a JSON object does not
    keep; empty: the protocol first, those across last."""

    def __post_init__(self) -> None:
        """Put the factors in their order."""
        super().__post_init__()
        order = {name: place for place, name in enumerate(self.axes or (PROTOCOL,))}
        if not self.axes:
            order |= {name: len(order) + 1 + at for at, name in enumerate(self.across)}
        names = sorted(self.factors, key=lambda name: order.get(name, len(self.axes) or 1))
        force_setattr(self, "factors", {name: self.factors[name] for name in names})

    @property
    def is_own(self) -> bool:
        """Whether the server has a user's own configuration, whose text no result keeps."""
        return bool(self.server.options.get("configuration"))

    @property
    def transport(self) -> str:
        """Transport of its messages, such as ``tcp``; empty where the load does not set it."""
        return str(self.load.get("transport", ""))

    def beside_another(self, other: Scenario) -> dict[str, Any]:
        """Its comparable fields; each is any JSON.

        Options that the other scenario lacks and that this one leaves at the default are left
        out.
        """
        fields: dict[str, Any] = to_builtins(self)
        for part, others in (("server", other.server), ("support", other.support)):
            asked = fields[part]
            if asked is None:
                continue
            given = others.options.keys() if others else set()
            for name in set(asked.pop("defaulted")) - given:
                asked["options"].pop(name, None)
        return fields

    def settings(self, other: Scenario) -> dict[str, Any]:
        """Its settings of servers, hosts and generator, as far as they can differ."""
        known = self.beside_another(other)
        return {name: known[name] for name in known if name not in _SAID_OTHERWISE}

    @property
    def partners(self) -> int:
        """How many hosts run another server of a pair, or a supporting service."""
        if self.partner:
            return int(self.server.options.get("pair_servers", 2)) - 1
        return int(self.support is not None)
