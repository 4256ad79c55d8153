"""What servers may do by design while they cannot reach each other.

A violation that a mode permits is shown with the manual's reason, and is no fault of the
server.  The words are those of the Kea Administrator Reference Manual, libdhcp_ha.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from leaselab.model.lease_safety import DECLINED, FORGOTTEN, REFUSED, TWICE, Rule

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
            "hot-standby-partition",
            {TWICE: _ALL_SCOPES, FORGOTTEN: _ALL_SCOPES, REFUSED: _ALL_SCOPES},
        ),
        Mode(
            "load-balancing-partition",
            {
                TWICE: _ALL_SCOPES,
                FORGOTTEN: _NO_UPDATES,
                REFUSED: _NO_UPDATES,
                DECLINED: _NO_UPDATES,
            },
        ),
        Mode(
            "clocks-apart",
            dict.fromkeys((TWICE, FORGOTTEN, REFUSED, DECLINED), _DIVERGE),
        ),
    )
}
"""The modes by name."""
