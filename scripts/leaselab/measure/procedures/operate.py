"""Operate: what clients notice of operations on the server under a steady load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from leaselab.leases.check import check, known_to_all
from leaselab.measure.ports import Answers, Ask, Server
from leaselab.measure.procedures.method import Found, OneLoadMethod, is_to_repeat, none_counts
from leaselab.measure.stalls import (
    SETTLED_S,
    Binned,
    Stretch,
    longest_gap,
    noticed,
    settled_before,
)
from leaselab.measure.trials import NO_FIGURE
from leaselab.model.errors import unknown
from leaselab.model.lease_safety import faults_of
from leaselab.model.observation import Operated
from leaselab.model.procedure import MEMORY, of_step
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.one_load import VIOLATIONS
from leaselab.model.procedures.operate import (
    ATTEMPTS,
    EFFECT,
    LATE,
    LOST,
    RECOVERY,
    STALL,
    USUAL_GAP,
    Operate,
)
from leaselab.model.record import Round
from leaselab.model.trial import Around, Load, Operation, Sample, Trial

SHOWN_BEFORE_S, SHOWN_AFTER_S, LONGEST_SHOWN_S = 1.0, 2.0, 20.0
"""What is kept for the picture of an operation: before it, after its recovery, and at most."""
SHOWN_STEP_S = 0.01
LEAST_BEFORE_S = 1.0 + SETTLED_S
"""Traffic before the first operation, of which the first second counts for nothing (s)."""


class Operations(OneLoadMethod[Operate]):
    """The server is operated under the load."""

    unbroken = True

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Offer the load, and operate the server in it.

        Raises a usage error for an operation that the server does not have, an
        invalid-measurement error where no trial of the round counts.
        """
        procedure, made = self.procedure, list[Trial]()
        check_known(procedure.operations, server)
        load = Load(self.rate, procedure.traffic_s)
        while True:
            made.append(ask(load, may_abort=False, during=Operating(procedure, server)))
            if not is_to_repeat(made) or len(made) == ATTEMPTS:
                break
        if not made[-1].valid:
            raise none_counts(made, f"operations under {self.rate}/s")
        return Found(figures(made[-1]), shown_trial=len(made) - 1)


def check_known(operations: Sequence[str], server: Server) -> None:
    """Raise a usage error for an operation that a server does not have."""
    known = server.operations()
    for name in operations:
        if name not in known:
            raise unknown("operation", name, sorted(known), "this server's contract")


@dataclass(slots=True)
class Operating:
    """The operations of one trial."""

    procedure: Operate | Duel
    server: Server
    done: list[Operated] = field(default_factory=list)

    ends_server: ClassVar[bool] = False

    @property
    def link_changes(self) -> int:
        """As of the port."""
        return sum(one.link_changes for one in self.done)

    def happen(self, until: Callable[[float], None]) -> None:
        """Carry them out, each when it is due or the one before has ended."""
        procedure = self.procedure
        with self.server.operating() as operate:
            for number, name in enumerate(procedure.operations):
                until(procedure.before_s + number * procedure.every_s)
                self.done.append(operate(name))

    def fields(
        self, answers: Answers, began_at: float, samples: Sequence[Sample]
    ) -> Mapping[str, Any]:
        """Return what clients noticed of each, as fields of the trial."""
        made = operations_of(self.done, answers.binned, began_at, samples)
        prepared_s = self.done[0].begun - self.done[0].asked
        first = Stretch(1.0, max(1.0, made[0].at_s - prepared_s))
        usual = longest_gap(answers.binned, first)
        fields: dict[str, Any] = {"operations": made, "figures": {}}
        if usual is not None:
            fields["figures"][USUAL_GAP] = usual.length_s
        if answers.history is not None:
            listing = [*self.server.listing().values()]
            store = known_to_all(listing) if listing else None
            fields["violations"] = check(answers.history, store=store)
            fields["figures"][VIOLATIONS.name] = float(faults_of(fields["violations"]))
        troubles = _troubles(made)
        if troubles:
            fields |= {"valid": False, "reason": NO_FIGURE, "detail": "; ".join(troubles)}
        return fields


def operations_of(
    done: Sequence[Operated], load: Binned, began_at: float, samples: Sequence[Sample]
) -> tuple[Operation, ...]:
    """Return what clients noticed of each operation.

    `began_at` is when the load began (s since 1970, by the engine's clock), `samples` are those
    of the server.
    """
    begins = [one.begun - one.ahead_s - began_at for one in done]
    # What prepares the next one may be noticed, too.
    asked = [one.asked - one.ahead_s - began_at for one in done]
    ends = [*asked[1:], load.attempted.size * load.bin_s]
    stretches = [Stretch(*ends_of) for ends_of in zip(begins, ends, strict=True)]
    first = Stretch(min(1.0, max(0.0, asked[0] - SETTLED_S)), asked[0])
    recovered, made = list[float | None](), list[Operation]()
    for place, (one, stretch) in enumerate(zip(done, stretches, strict=True)):
        begin, end = stretch.begin_s, stretch.end_s
        effect_s = None if one.effect is None else one.effect - one.begun
        before = settled_before(stretches, recovered, place, first)
        seen = noticed(load, before, stretch, begin + (effect_s or 0.0))
        recovered.append(seen.recovered_s)
        own = [
            sample.rss_bytes
            for sample in samples
            if sample.rss_bytes is not None and begin <= sample.t - one.ahead_s - began_at < end
        ]
        made.append(
            Operation(
                name=one.name,
                at_s=begin,
                effect_s=effect_s,
                ended_s=one.ended - one.begun,
                why=one.why,
                stall_s=seen.stall_s,
                late=seen.late,
                lost=seen.lost,
                recovered_s=seen.recovered_s,
                rss_bytes=max(own, default=None),
                around=_around(load, begin, end, seen.recovered_s),
            )
        )
    return tuple(made)


def _around(load: Binned, begin_s: float, end_s: float, recovered_s: float | None) -> Around:
    """Return the load around an operation, for its picture."""
    shown_s = LONGEST_SHOWN_S if recovered_s is None else recovered_s + SHOWN_AFTER_S
    step = max(1, round(SHOWN_STEP_S / load.bin_s))
    first = load.place(max(0.0, begin_s - SHOWN_BEFORE_S))
    last = load.place(min(end_s, begin_s + min(shown_s, LONGEST_SHOWN_S)))
    places = range(first, last, step)

    def sums(one: Any) -> list[float]:  # noqa: ANN401  # numpy's array
        return [float(one[place : place + step].sum()) for place in places]

    counts = sums(load.completed + load.late)
    return Around(
        from_s=first * load.bin_s - begin_s,
        step_s=step * load.bin_s,
        answered=tuple(map(round, sums(load.replies))),
        latency_s=tuple(
            round(total / count, 7) if count else None
            for total, count in zip(sums(load.latency_s), counts, strict=True)
        ),
    )


def _troubles(made: Sequence[Operation]) -> list[str]:
    """Say why operations came to nothing."""
    troubles = [f"{one.name}: {one.why}" for one in made if one.effect_s is None]
    troubles += [
        f"{one.name}: the load was not served again"
        for one in made
        if one.stall_s is None and one.effect_s is not None
    ]
    if (began_s := made[0].at_s) < LEAST_BEFORE_S:
        wanted = f"wanted {LEAST_BEFORE_S:g} s or more"
        troubles.append(f"{made[0].name} began {began_s:.1f} s after the load, {wanted}")
    return troubles


def figures(trial: Trial) -> dict[str, float | None]:
    """What a trial comes to, by the metrics' names."""
    known = [_figures_of(one) for one in trial.operations]
    whole: dict[str, float | None] = {}
    for name in (STALL, RECOVERY, EFFECT):
        values = [one[name] for one in known]
        known_values = [value for value in values if value is not None]
        whole[name] = max(known_values) if len(known_values) == len(values) else None
    for name in (LATE, LOST):
        whole[name] = float(np.sum([one[name] for one in known]))
    each = {
        of_step(name, number): value
        for number, one in enumerate(known, start=1)
        for name, value in one.items()
    }
    return {**whole, **trial.figures, **each}


def _figures_of(one: Operation) -> dict[str, float | None]:
    return {
        STALL: one.stall_s,
        RECOVERY: one.recovered_s,
        EFFECT: one.effect_s,
        LATE: float(one.late),
        LOST: float(one.lost),
        MEMORY: None if one.rss_bytes is None else one.rss_bytes / 2**20,
    }
