"""Event: one load, and an event under it: a crash, or a partition."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from leaselab.model.procedure import MEDIAN, Length, MetricKind, refuse
from leaselab.model.procedures.one_load import VIOLATIONS, OneLoad

PARTITION: Final = "partition"
EVENT: Final = "event"
"""Name of the procedure."""
AFTER_SLACK_S = 20
"""Traffic after the event beyond the delay after which the other server declares it down."""


_ROLES: Final = ("server", "partner")


class Event(OneLoad, frozen=True, kw_only=True, tag=EVENT):
    """One load, and an event under it: servers fail, or the network between them."""

    event: Literal["crash", "partition"] = "crash"
    """What happens: a crash kills servers, a partition drops what they send to each other."""
    who: Literal["server", "partner", "both"] = "server"
    """Whom a crash kills: the server under test, its partner, or both at once."""
    before_s: Length = 10
    """Traffic before it (s)."""
    after_s: Length = 30
    """Traffic after it (s); longer than the other server takes to detect the event."""
    return_s: Annotated[int, Meta(ge=0, le=604_800)] = 0
    """From it until killed servers are started again, with what they hold, or cut ones reach
    each other (s); 0 is never."""

    @property
    def usual_share(self) -> float:
        return 0.5

    @property
    def words(self) -> str:
        who = "" if self.who == "server" else f" of {self.who}"
        event = f"{self.event}{who} after {self.before_s} s"
        event += f", return {self.return_s} s later" if self.return_s else ""
        return f"{self.load_words}, {event}, then {self.after_s - self.return_s} s"

    @property
    def killed(self) -> tuple[str, ...]:
        """The roles of those that are killed."""
        if self.event == PARTITION:
            return ()
        return _ROLES if self.who == "both" else (self.who,)

    @property
    def gone(self) -> tuple[str, ...]:
        """The roles of those that do not answer at the end."""
        return () if self.return_s else self.killed

    def check(self) -> None:
        """As in the base class; somebody has to answer at the end."""
        super().check()
        if self.return_s >= self.after_s or self.gone == _ROLES:
            refuse(
                "nobody would answer after the event",
                f"who {self.who}, return_s {self.return_s}, after_s {self.after_s}",
                "a server that lives, or return_s above 0 and below after_s",
                "set return_s, or leave out who",
            )
        if self.event == PARTITION and self.who != "server":
            refuse(
                "a partition kills nobody",
                f"who {self.who}",
                "no who",
                "leave out who, or set event=crash",
            )

    @property
    def most_attempted(self) -> int:
        return (self.rate or 0) * (self.before_s + self.after_s)

    @property
    def longest_trial_s(self) -> float:
        return self.before_s + self.after_s

    @property
    def round_s(self) -> float:
        return self.approximate_s(1, self.longest_trial_s)

    @property
    def longest_trials_s(self) -> float:
        return self.longest_trial_s + self.beside_s

    def metrics(self, plural: str) -> tuple[MetricKind, ...]:
        """Return the metrics: time without service, and what was broken of leases."""
        return (
            MetricKind("outage_s", "outage", "s", "lower", MEDIAN),
            MetricKind("lost", f"lost {plural}", plural, "lower", MEDIAN),
            VIOLATIONS,
        )
