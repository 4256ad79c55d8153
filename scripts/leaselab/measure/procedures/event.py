"""Event: what clients notice when servers of several die under a load, or are cut off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaselab.leases.check import check, known_to_all
from leaselab.leases.history import History, Kind, Recorder
from leaselab.leases.modes import CONNECTED, MODES, Mode
from leaselab.measure.ports import Answers, Ask, Server
from leaselab.measure.procedures.method import Found, OneLoadMethod
from leaselab.model.errors import invalid_measurement
from leaselab.model.lease_safety import faults_of
from leaselab.model.procedures.event import PARTITION, Event
from leaselab.model.procedures.one_load import VIOLATIONS
from leaselab.model.record import PARTNER, SERVER, Round
from leaselab.model.trial import Load, Sample

STEP_S = 0.1
"""Resolution of the outage (s)."""
KEPT_SHARE = 0.9
"""Share of the offered load that counts as being served."""
LAST_SHARE = 0.998
"""Share of the time after which a generator may have ended: it stops a little early."""

Times = NDArray[np.float64]
_DAY_S = 86_400


class Failing(OneLoadMethod[Event]):
    """Servers die under the load, or are cut off: others take over, or they return."""

    unbroken = False  # it is one trial, made or not

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Offer the load, and make the event in it.

        Raises an invalid-measurement error when the load was not served before, or not
        again within `after_s`.
        """
        procedure = self.procedure
        load = Load(self.rate, procedure.before_s + procedure.after_s)
        trial = ask(
            load, may_abort=False, reset=False, during=Happening(procedure, load, server)
        )
        if not trial.valid:
            raise invalid_measurement(
                trial.detail or f"the trial does not count: {trial.reason}",
                where=f"{procedure.event} under {self.rate}/s",
                wanted="a valid trial",
                todo="read the trial's raw output, in raw/ of the result",
            )
        return Found(dict(trial.figures), shown_trial=0)


@dataclass
class Happening:
    """The end of servers, or of what they hear of each other, and their return."""

    procedure: Event
    load: Load
    server: Server
    mode: Mode = field(default=CONNECTED, init=False)
    """How they served in the end."""

    ends_server: ClassVar[bool] = True
    link_changes: ClassVar[int] = 0

    def happen(self, until: Callable[[float], None]) -> None:
        """End them or cut them off, and undo that; return when they serve together."""
        procedure = self.procedure
        is_partition = procedure.event == PARTITION
        until(float(procedure.before_s))
        if is_partition:
            self.mode = MODES[self.server.cut()]
        else:
            self.server.crash(procedure.killed)
        if procedure.return_s:
            until(float(procedure.before_s + procedure.return_s))
            if is_partition:
                self.server.rejoin()
            else:
                self.server.restart(procedure.killed)

    def fields(
        self, answers: Answers, _began_at: float, _samples: Sequence[Sample]
    ) -> Mapping[str, Any]:
        """The length of the outage, and what was broken of leases.

        Raises an invalid-measurement error as `outage_s`, a broken-lab error where those that
        have returned do not come together.
        """
        if self.procedure.return_s:
            self.server.settle()
        listing = self.server.listing()
        own, other = listing[SERVER], listing[PARTNER]
        # Of clients that said nothing what the dead server holds is taken as acknowledged.
        history = _given(own) if answers.history is None else answers.history
        answering = [held for role, held in listing.items() if role not in self.procedure.gone]
        violations = check(history, mode=self.mode, store=known_to_all(answering))
        figures = {
            "outage_s": outage_s(served(answers.answered_at, self.load), self.procedure),
            VIOLATIONS.name: float(faults_of(violations)),
            "held": float(len(own)),
            "held_by_partner": float(len(other)),
        }
        return {"figures": figures, "violations": violations}


def _given(store: Mapping[str, str]) -> History:
    """The history of clients that got what a server holds, all at once."""
    recorder = Recorder()
    for address, client in store.items():
        recorder.add(Kind.GRANTED, client, address, 0, 0, valid_s=_DAY_S)
    return recorder.history()


def served(answered_at: Times, load: Load) -> Times:
    """Last replies in each step over those that were due, shape (steps,).

    The generator ends a little before its time; the steps in which it has are
    left out.
    """
    steps = round(load.duration_s / STEP_S)
    origin = float(answered_at.min()) if answered_at.size else 0.0
    counts, _ = np.histogram(answered_at - origin, bins=steps, range=(0.0, steps * STEP_S))
    share: Times = counts / (load.rate * STEP_S)
    return share[: int(LAST_SHARE * steps)]


def outage_s(share: Times, procedure: Event) -> float:
    """The longest stretch of steps in which less than `KEPT_SHARE` was served (s).

    The longest, because a shared machine stumbles for a step now and then.  Raises an
    invalid-measurement error where the load was not served before, or not again.
    """
    before = share[: round(procedure.before_s / STEP_S)]
    if np.median(before) < KEPT_SHARE:
        raise invalid_measurement(
            "the load was not served before the event",
            found=f"{100 * float(np.median(before)):.0f} % of it",
            wanted=f"{100 * KEPT_SHARE:.0f} % or more",
            todo="offer less: --set rate=N",
        )
    short = np.concatenate(([False], share < KEPT_SHARE, [False]))
    edges = np.flatnonzero(np.diff(short))
    starts, ends = edges[::2], edges[1::2]
    if not starts.size:
        return 0.0
    longest = int(np.argmax(ends - starts))
    if ends[longest] == share.size:
        raise invalid_measurement(
            "the load was not served again",
            found=f"still short {procedure.after_s} s after the event",
            todo="give the pair longer: --set after_s=N",
        )
    return float((ends[longest] - starts[longest]) * STEP_S)
