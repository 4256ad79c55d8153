"""What servers may do by design while they cannot reach each other.

A violation that a mode permits is shown with the manual's reason, and is no fault of the
server.  The words are those of the Kea Administrator Reference Manual, libdhcp_ha.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from leaselab.model.lease_safety import Rule

_ALL_SCOPES = (
    'each server takes the other for dead: in partner-down "the active server responds to all '
    "DHCP queries, including those queries which are normally handled by the server that is "
    'now unavailable"'
)
_NO_UPDATES = (
    'in communication-recovery a server "continues to respond to DHCP queries but does not '
    'send lease updates to the partner; lease updates are queued"'
)
_DIVERGE = (
    'with clocks more than 60 s apart servers "will exchange neither lease updates nor '
    'heartbeats and their lease databases will diverge"'
)


@dataclass(frozen=True)
class Mode:
    """How servers serve together, and what that permits, with the reason."""

    name: str
    permits: Mapping[Rule, str] = field(default_factory=dict)


CONNECTED = Mode("connected")
"""A server alone, servers with one database, and a pair whose servers reach each other, also
one of which the other has died: each lease is replicated before its client is answered."""
MODES = {
    mode.name: mode
    for mode in (
        CONNECTED,
        Mode(
            "hot-standby, partitioned",
            {Rule.TWICE: _ALL_SCOPES, Rule.FORGOTTEN: _ALL_SCOPES, Rule.REFUSED: _ALL_SCOPES},
        ),
        Mode(
            "load-balancing, partitioned",
            {
                Rule.TWICE: _ALL_SCOPES,
                Rule.FORGOTTEN: _NO_UPDATES,
                Rule.REFUSED: _NO_UPDATES,
                Rule.DECLINED: _NO_UPDATES,
            },
        ),
        Mode(
            "clocks apart",
            dict.fromkeys((Rule.TWICE, Rule.FORGOTTEN, Rule.REFUSED, Rule.DECLINED), _DIVERGE),
        ),
    )
}
"""The modes by name."""
