"""What a checker of leases finds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from leaselab.model.bounds import Count, Text

TWICE: Final = "twice"
FORGOTTEN: Final = "forgotten"
REFUSED: Final = "refused"
DECLINED: Final = "declined"
OTHER: Final = "other"
Rule = Literal["twice", "forgotten", "refused", "declined", "other"]
"""What servers promise their clients."""
BROKEN: Final[dict[Rule, str]] = {
    TWICE: "an address had two clients at once",
    FORGOTTEN: "an acknowledged lease was not known afterwards",
    REFUSED: "a renewal was refused within its time",
    DECLINED: "a declined address was offered again before its time",
    OTHER: "a client got another address than it had asked for",
}
"""What has happened where a promise is broken, of one case."""


def faults_of(violations: Iterable[Violation]) -> int:
    """How often a promise was broken that the servers' mode does not let them break."""
    return sum(violation.count for violation in violations if not violation.permitted)


class Violation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A broken promise of leases, and its shortest counter-example."""

    rule: Rule
    """The promise."""
    count: Count
    """How often it was broken."""
    lines: tuple[Text, ...]
    """Of one case, who got what when."""
    permitted: Text = ""
    """Why that is no fault in the mode in which the servers were; empty for a fault."""

    @property
    def words(self) -> str:
        """What was broken, and how often."""
        design = f", by design: {self.permitted}" if self.permitted else ""
        return f"{BROKEN[self.rule]} ({self.count} case{'s' * (self.count > 1)}){design}"
