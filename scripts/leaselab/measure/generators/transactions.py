"""The outcomes of a load's transactions: one definition for all generators.

- *in time*: answered as expected, the whole transaction within `late_s` of its first packet,
  and not out of a buffer after the traffic.
- *late*: answered, and not in time for one of these reasons.
- *lost*: begun and never answered, or due and not begun.
- *wrong*: answered in another way than expected.

A transaction that was due and not begun is lost, whether by the server or the generator.
Where it is the generator's fault, and that matters, the trial does not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

MISSING_SHARE = 0.01
"""Share of the transactions that were due which a generator may leave out."""
_SCATTER = 3.0
MISSING = 2
"""Transactions that may be missing, and are not due: the last ones are as the traffic ends."""


@dataclass(frozen=True, slots=True)
class Transactions:
    """A generator's counts of one load; all four parts sum to `attempted`."""

    due: int
    """Asked for: rate times length, or less where the load was ended early."""
    begun: int
    answered: int
    """With any answer, and however late, of those begun."""
    slow: int = 0
    """Of the answered those that took longer than they may."""
    queued: int = 0
    """Of the answered those that lay in buffers as the traffic ended (`unserved`)."""
    wrong: int = 0
    """Of the answered those with another answer than expected."""
    starved: int = 0
    """Of those due the ones for which no client was free."""

    @property
    def left_out(self) -> int:
        """Due, and not begun."""
        missing = self.due - self.begun - self.starved
        return self.starved + (missing if missing > MISSING else 0)

    @property
    def attempted(self) -> int:
        """Begun, or due."""
        return self.begun + self.left_out

    @property
    def late(self) -> int:
        """Answered as expected, but not in time."""
        return min(self.answered - self.wrong, self.slow + self.queued)

    @property
    def completed(self) -> int:
        """Answered as expected, and in time."""
        return self.answered - self.wrong - self.late

    @property
    def lost(self) -> int:
        """Never answered."""
        return self.attempted - self.answered

    @property
    def failed(self) -> int:
        """Not answered as expected in time."""
        return self.attempted - self.completed

    @property
    def as_begun(self) -> Transactions:
        """The same without what was left out: of a trial that does not count for that."""
        return replace(self, due=self.begun, starved=0)

    def falls_short(self, loss_ratio: float) -> bool:
        """Whether what was left out makes a trial say nothing of its server.

        Because it is too much, or because without it the trial would keep the goal.
        """
        if self.left_out > MISSING_SHARE * self.due:
            return True
        may_fail = loss_ratio * self.attempted
        return self.failed > may_fail >= self.failed - self.left_out


def unserved(
    answered: int, after: int, traffic_s: float, usual_s: float, spread_s: float | None = None
) -> int:
    """Return how many transactions lay in buffers as the traffic of `traffic_s` seconds ended.

    Of those `answered`, `after` came after the traffic.  A server that is too slow by some per
    cent fills its socket's buffer, some 277 packets, and serves them after the traffic: of
    short trials at low rates that is several per cent of all that was offered, and none of its
    throughput.  What is under way in a server that keeps up is not counted: by Little's law the
    rate served times the mean latency `usual_s` (s) of the first tenth of the traffic, before a
    queue can grow.  Their number scatters with the standard deviation `spread_s` of that
    latency (s), as replies that all take equally long do not; where it is not known, like a
    Poisson process.  Only more than `_SCATTER` standard deviations above them are a queue.
    """
    if not after:
        return 0
    if usual_s < traffic_s / 2:
        rate = (answered - after) / (traffic_s - usual_s)
    else:  # hardly any were answered within it
        rate = answered / traffic_s
    under_way = rate * usual_s
    variance = rate * (usual_s if spread_s is None else spread_s)
    if after <= under_way + _SCATTER * math.sqrt(max(variance, 1.0)):
        return 0
    return max(0, after - math.ceil(under_way))
