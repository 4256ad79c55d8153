"""Duel: what the trials of one server in one round come to.

The rounds themselves are made by `leaselab.run.duel`, as each is of two points.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.method import Found, Method
from leaselab.measure.procedures.operate import Operating, check_known, figures
from leaselab.model.procedure import COMPLETED, P99, STALLED_LIMIT
from leaselab.model.procedures.duel import BELOW, FILLING_SHARE, OLD, SIGHT_S, Duel
from leaselab.model.record import Round
from leaselab.model.trial import Load, Trial, completed_rate_of, loss_ratio_of


class DuelTrials(Method[Duel]):
    """The trials of one of a duel's two servers."""

    unbroken = True

    def first_load(self, earlier: Sequence[Round]) -> int:
        """Where the load is looked for first (transactions/s)."""
        return self.procedure.rate

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Not by one point alone: `leaselab.run.duel` refuses that before it begins."""
        raise AssertionError("a duel has two points")

    def looking(self, rate: int, *, come_back: bool) -> Load:
        """Return a load by which the rounds' one is looked for.

        Its clients come back, if they do, after as long as in a round.
        """
        return Load(rate, SIGHT_S, clients=self.clients(rate) * come_back)

    def clients(self, rate: int) -> int:
        """How many clients come back in turn where this is the first round's load."""
        return math.ceil(FILLING_SHARE * rate * self.procedure.clients_s)

    def below(self, limit: int) -> int:
        """Return the load that both serve, by one that is a little more than the first does."""
        return max(1, round(BELOW / self.procedure.over * limit))

    def filling(self, clients: int, made: int) -> Load:
        """Return the load that has each client served once, or more often.

        `made`: number of earlier such loads, each of which lost transactions.  The first fits
        a server that is not far slower than the other; later ones have half the rate for
        twice as long.
        """
        plan = self.procedure
        filling_s = plan.clients_s * (2 if made else 1)
        rate = math.ceil(clients / filling_s)
        return Load(rate, max(filling_s, plan.warm_up_s), clients=clients)

    def aging(self, rate: int, clients: int, seconds: int) -> Load:
        """Return the load under which a server grows old: one that it serves."""
        plan = self.procedure
        least = min(FILLING_SHARE * rate, plan.most_attempted / seconds)
        return Load(max(1, int(least)), seconds, clients=clients)

    def turn(
        self, ask: Ask, rate: int, clients: int = 0, operated: Server | None = None
    ) -> Trial:
        """Make one trial; one that a stall of the generator spoiled is made again.

        Where so many clients come back, the server keeps what it holds.  Raises a usage error
        for an operation that the server that is to be `operated` does not have.
        """
        plan = self.procedure
        load = Load(rate, plan.trial_s, clients=clients)
        if operated:
            check_known(plan.operations, operated)
        for _ in range(STALLED_LIMIT):
            during = Operating(plan, operated) if operated else None
            trial = ask(load, may_abort=False, reset=not clients, during=during)
            if trial.reason != GENERATOR_STALLED:
                break
        return trial

    def answer(self, made: Sequence[Trial], clients: int = 0, *, old: bool = False) -> Found:
        """What the trials of a round come to; `clients` is how many came back in turn.

        Nothing where none counts: the round is dropped.  `old`: the server was old.
        """
        counted = [trial for trial in made if trial.valid]
        if not counted:
            return Found()
        attempted = sum(trial.attempted for trial in counted)
        traffic_s = sum(trial.traffic_s for trial in counted)
        late = [trial.whole.p99 for trial in counted if trial.whole]
        completed = completed_rate_of(counted)
        metrics = {
            P99: statistics.median(late) if late else None,
            COMPLETED: completed,
            OLD: completed if old else None,
            "offered_rate": attempted / traffic_s,
            "loss_ratio": loss_ratio_of(counted),
            "clients": clients or None,
        }
        if self.procedure.operates:
            of_each = [figures(trial) for trial in counted]
            for name in of_each[0]:
                known = [value for each in of_each if (value := each[name]) is not None]
                metrics[name] = statistics.median(known) if known else None
        return Found(metrics, shown_trial=made.index(counted[-1]))
