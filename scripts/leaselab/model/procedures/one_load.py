"""Base of procedures with one load: a rate, or a share of the max rate."""

from __future__ import annotations

from typing import Annotated, Any, Self

import msgspec

from leaselab.model.procedure import MEDIAN, MetricKind, Procedure, Rate, Rounds, Unjudged

VIOLATIONS = MetricKind("violations", "lease violations", "cases", "lower", MEDIAN, seldom=True)
"""What was broken of leases, where clients say what they saw of them."""


class OneLoad(Unjudged, frozen=True, kw_only=True):
    """A procedure with one load: a rate, or a share of the server's max rate."""

    rounds: Rounds = 3
    """Rounds planned."""
    rate: Rate | None = None
    """Offered load (transactions/s)."""
    share: Annotated[float, msgspec.Meta(gt=0, le=10)] | None = None
    """Offered load relative to the max rate measured before; null where a rate was given, and
    0.8 where neither was."""

    @property
    def load_words(self) -> str:
        """The load, in words."""
        rate = "" if self.rate is None else f"{self.rate}/s"
        if self.share is None:
            return rate
        return f"{self.share:g} of the max rate{' (' * bool(rate)}{rate}{')' * bool(rate)}"

    def __post_init__(self) -> None:
        """Set the parameters that depend on others."""
        Procedure.__post_init__(self)
        if self.rate is None and self.share is None:
            msgspec.structs.force_setattr(self, "share", self.usual_share)

    @property
    def usual_share(self) -> float:
        """The share of the max rate where neither rate nor share was given."""
        return 0.8

    @property
    def share_of_max_rate(self) -> float | None:
        return self.share if self.rate is None else None

    def at_max_rate(self, max_rate: float) -> Self:
        share = self.share_of_max_rate
        if share is None:
            return self
        return msgspec.structs.replace(self, rate=max(1, round(share * max_rate)))

    def ruler(self) -> dict[str, Any]:
        """As in the base class; a rate that is a share of a max rate is not a parameter."""
        known = Procedure.ruler(self)
        return known if self.share is None else {**known, "rate": None}
