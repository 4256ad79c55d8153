"""Fill: a load on a server that holds nearly all that it can."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.method import (
    CLIENTS_PER_ATTEMPT,
    Found,
    OneLoadMethod,
    is_to_repeat,
    none_counts,
)
from leaselab.model.errors import invalid_measurement, usage_error
from leaselab.model.procedure import Procedure
from leaselab.model.procedures.fill import FILLED, FILLED_AFTER, Fill
from leaselab.model.record import Round
from leaselab.model.trial import Load, Trial

FUTILE_TRIALS = 3
"""Trials in a row that add nothing before a server counts as one that takes no more."""
ASKED_TIMES = 5
"""Samples taken before a server counts as one that does not report what it holds: a busy one
may miss one."""


class Filled(OneLoadMethod[Fill]):
    """New clients fill the server; others load it then, and nothing is reset between."""

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Fill it until it says that it holds enough, then offer the load.

        A load that a stall of the generator spoiled is offered again while it fits into what
        is free.  Raises a usage error where it never fits, an invalid-measurement error where
        the server cannot be filled in time or no trial of the load counts.
        """
        if self.capacity is None:
            raise usage_error(
                "this load has no pool, so `fill` does not apply",
                where="procedure fill",
                wanted="a DHCP load with a pool",
            )
        self.procedure.check_capacity(self.capacity, "procedure fill")
        made, client = self._fill(ask, server)
        before = held = held_by(server)
        load = Load(self.rate, self.procedure.duration_s, client)
        loaded: list[Trial] = []
        while True:
            # Of a load that may be offered again nothing is reset; the stop ends it all.
            loaded.append(ask(load, may_abort=False, reset=False))
            after = held_by(server)
            if not is_to_repeat(loaded) or self.procedure.offered > self.capacity - after:
                break
            client += CLIENTS_PER_ATTEMPT * self.procedure.offered
            load, held = Load(self.rate, self.procedure.duration_s, client), after
        trial = loaded[-1]
        if not trial.valid:
            full = f"{100 * before / self.capacity:.4g} % full"
            raise none_counts(loaded, f"{load.words}, {full}")
        return Found(
            {
                **figures(trial),
                "cpu_us": Procedure.cpu_us(self.procedure, [trial]),
                FILLED: held / self.capacity,
                FILLED_AFTER: after / self.capacity,
            },
            shown_trial=made + len(loaded) - 1,
        )

    def _fill(self, ask: Ask, server: Server) -> tuple[int, int]:
        """Fill it; return how many trials that took, and the number of the next client.

        What it holds is counted by its own samples: of what was offered to it some may be
        lost, and some of what no client got an answer to is held all the same.
        """
        procedure, capacity = self.procedure, self.capacity or 0
        wanted = procedure.to_fill(capacity)
        held, trials, client, spent_s, futile = held_by(server), 0, 0, 0.0, 0
        while held < wanted:
            rate = min(procedure.filling_rate, wanted - held)
            seconds = max(1, min(procedure.trial_s, (wanted - held) // rate))
            if spent_s + seconds > procedure.fill_limit_s or futile == FUTILE_TRIALS:
                raise invalid_measurement(
                    "the server cannot be filled",
                    where=f"{rate}/s",
                    found=f"{held} of {capacity} held after {trials} trials, the last "
                    f"{futile} of which added nothing",
                    wanted=f"{wanted} held, after {procedure.fill_limit_s} s at most",
                    todo="see the trials; lower fill, or raise fill_limit_s",
                )
            ask(Load(rate, seconds, client), may_abort=False, reset=False)
            client += CLIENTS_PER_ATTEMPT * rate * seconds
            now = held_by(server)
            futile = 0 if now > held else futile + 1
            held, trials, spent_s = now, trials + 1, spent_s + seconds
        return trials, client


def held_by(server: Server) -> int:
    """How much the server holds, as its sample says.

    Raises an invalid-measurement error where it does not report it.
    """
    for _ in range(ASKED_TIMES):
        held = server.sample_now().held
        if held is not None:
            return held
    raise invalid_measurement(
        "the server does not report how much it holds, so its fill level is unknown",
        where="procedure fill",
        found=f"{ASKED_TIMES} samples without it",
        wanted="a kind of server that counts it, and answers",
    )


def figures(trial: Trial) -> dict[str, float | None]:
    """What a valid trial of the load comes to, by the metrics' names, but for its cost."""
    whole = trial.whole
    return {
        "completed_rate": trial.completed_rate,
        "p99_s": whole.p99 if whole else None,
        "p50_s": whole.p50 if whole else None,
        "loss_ratio": trial.loss_ratio,
    }
