"""One point of an experiment: its rounds, each on a fresh server, resumable anywhere.

The journal has an event for each trial.  A procedure is a pure function of the trials so far:
to go on, it is asked again and answered from the journal as far as that reaches.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.ports import RELOAD, Clock, During, Hold, Listener, Recorder
from leaselab.measure.procedures.confirmation import Confirming
from leaselab.measure.procedures.method import Found, Method
from leaselab.measure.server_use import memory_mib, written_rate
from leaselab.measure.trials import FOREIGN, Trials
from leaselab.model import moment
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.model.journal import (
    AnyEntry,
    Pause,
    Phase,
    RoundBegun,
    RoundDone,
    RunBegun,
    TrialBegun,
    TrialMade,
    WarmUp,
)
from leaselab.model.journal import Confirming as ConfirmingMade
from leaselab.model.observation import ServerStarted
from leaselab.model.procedure import MEMORY, PAUSE_LIMIT_S, RELOAD_S, START_S, WRITTEN_RATE
from leaselab.model.record import GENERATOR_LIMITED, Confirmation, Round
from leaselab.model.trial import Load, Trial

LEASING_LOADS = 4
"""Most warm-up loads by which clients get the leases that they keep."""
LEASELESS_SHARE = 0.01
"""Share of these clients that may have no lease afterwards (ratio)."""
NEXT_LOAD, LONGEST_LEASING_S = 0.5, 60
"""Rate of each later warm-up load over the completed rate of the one before (ratio), and its
longest traffic (s)."""
# Three repeats without pauses last some 20 s: another program's load of that length ended a
# sweep of nine runs.
PAUSES_S = (0.0, 5.0, 10.0, 20.0, 30.0)
"""Pause before a trial is made again, by the number of trials in a row that the generator's
stalls have spoiled (s).  One alone is made again at once; all of them and the trials outlast
a disturbance of a minute."""


@dataclass(slots=True)
class Journaled:
    """What an earlier process has already measured of a point."""

    rounds: list[Round] = field(default_factory=list)
    started_at: str = ""
    """When the unfinished round began, empty where there is none."""
    warm_ups: list[Trial] = field(default_factory=list)
    """Warm-ups of the unfinished round, one for each start of the server."""
    trials: list[Trial] = field(default_factory=list)
    """Trials of the unfinished round."""
    confirmation: list[Trial] = field(default_factory=list)
    """Trials that confirm the result, as far as they were made."""
    paused_s: float = 0.0
    """How long was waited for a disturbed lab (s)."""


def journaled(entries: Iterable[AnyEntry]) -> Journaled:
    """Sort a journal's events into rounds and the trials of the unfinished one."""
    known = Journaled()
    for entry in entries:
        match entry:
            case RoundBegun():  # one that is repeated drops the trials before it
                known.started_at = entry.started_at
                known.trials, known.warm_ups = [], []
            case WarmUp():
                known.warm_ups.append(entry.trial)
            case TrialMade():
                known.trials.append(entry.trial)
            case RoundDone():
                known.rounds.append(entry.round)
                known.trials, known.warm_ups, known.started_at = [], [], ""
            case ConfirmingMade():
                known.confirmation.append(entry.trial)
            case Pause():
                known.paused_s += entry.s
    return known


@dataclass(slots=True)
class Point:
    """Measures one point, a round at a time; also one with all rounds advances once."""

    method: Method[Any]
    trials: Trials
    hold: Hold
    recorder: Recorder
    listener: Listener
    pending: Journaled = field(default_factory=Journaled)
    """What the journal has; its unfinished round is the next that is made."""
    clock: Clock = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    rounds: list[Round] = field(default_factory=list)
    """Those made so far, an unsuccessful last one included."""
    confirmation: Confirmation | None = None
    """What came of confirming the result; None before the rounds are done."""
    error: LeaselabError | None = None
    """What ended it for good, None while nothing did."""
    finished: bool = False
    paused_s: float = 0.0
    """How long it has waited for a disturbed lab (s)."""

    def __post_init__(self) -> None:
        """Take over the rounds that the journal has."""
        self.paused_s = self.pending.paused_s
        for round_ in self.pending.rounds:
            self.rounds.append(round_)
            self.listener(RoundDone(index=round_.index, round=round_))

    def advance(self) -> None:
        """Make the next round, or confirm the result once all are made.

        What ends the point for good is its `error`.  Raises the error of a broken lab: all
        that was measured until then is in the journal.
        """
        try:
            if len(self.rounds) < self.method.procedure.rounds:
                self._round(len(self.rounds) + 1)
                self.finished = self._all_made
            else:
                # A point that was killed when all was made has nothing to confirm.
                if (confirming := self._to_confirm()) is not None:
                    self._confirm(confirming)
                self.finished = True
        except LeaselabError as error:
            if error.outcome is Outcome.LAB:
                raise
            self.end(error)

    @property
    def _all_made(self) -> bool:
        """Whether all rounds are made, and none of their results is to be confirmed."""
        return len(self.rounds) >= self.method.procedure.rounds and self._to_confirm() is None

    def _to_confirm(self) -> Confirming | None:
        """What confirms the result, of which nothing is made; None where nothing has to."""
        alone = not self.trials.bench.scenario.partner
        confirming = self.method.confirming(self.rounds, alone=alone)
        return confirming if confirming and confirming.next() is not None else None

    def _confirm(self, confirming: Confirming) -> None:
        """Make the trials that confirm the result; raises the reason if they do not."""
        began = self.clock()
        made = list(self.pending.confirmation)
        first, confirming = confirming.next(), replace(confirming, made=made)
        spent = sum(trial.wall_s for trial in made)
        self.listener(Phase(text="confirming the result"))
        if confirming.next() is not None:
            with self._serving():
                # The first load is what is confirmed; a further one may be an overload.
                if first is not None:
                    name = f"confirmation-{len(made) + 1:02d}-warm-up"
                    deque(self.warm_up(first.rate, f"{name}-{{}}".format), maxlen=0)
                while (load := confirming.next()) is not None:
                    self.wait(made)
                    name = f"confirmation-{len(made) + 1:02d}"
                    # To the end: one that stops as soon as it has failed counts for less.
                    trial = self.trial(load, name, may_abort=False)
                    event = ConfirmingMade(trial=trial)
                    self.recorder.record(event)
                    made.append(trial)
                    self.listener(event)
        self.confirmation = confirming.confirmation(spent + self.clock() - began)
        against = confirming.objection() or confirming.apart()
        if against is not None:
            raise against

    def _round(self, index: int) -> None:
        current = self.open_round(index)
        try:
            if self.method.procedure.counts_alone:
                figures = self._counted()
            else:
                with self.serving(current):
                    current.warm_up(self.method.first_load(self.rounds))
                    figures = self.method.measure(current.ask, self.trials.server, self.rounds)
                    current.took_s[RELOAD_S] = self.reload()
        except LeaselabError as error:
            self.abandon(current, error)
            raise
        self.complete(current, figures)

    def _counted(self) -> Found:
        """Count the server, which is started for that and stopped."""
        self.hold.renew(self.method.procedure.longest_trials_s)
        self.listener(Phase(text="counting what the server does"))
        return self.method.result_of(self.trials.count())

    def open_round(self, index: int) -> OpenRound:
        """Begin a round, or go on with the one that the journal has begun."""
        self.listener(RunBegun(index=index))
        began, pending = self.clock(), self.pending
        if self.method.unbroken and pending.trials:
            pending = Journaled()
        started_at = pending.started_at or moment.now()
        if not pending.started_at:
            self.recorder.record(RoundBegun(index=index, started_at=started_at))
        self.pending = Journaled(confirmation=self.pending.confirmation)
        return OpenRound(
            self,
            index,
            started_at,
            began - sum(trial.wall_s for trial in [*pending.warm_ups, *pending.trials]),
            warm_ups=list(pending.warm_ups),
            replay=deque(pending.trials),
        )

    @contextmanager
    def serving(self, current: OpenRound) -> Iterator[None]:
        """Run the server for a round; it is started clean, and stopped in the end."""
        with self._serving() as started:
            current.took_s[START_S] = started.start_s
            current.started = self.clock()
            yield

    def abandon(self, current: OpenRound, error: LeaselabError) -> None:
        """Keep what a round has made until an error that ends the point for good."""
        if error.outcome is not Outcome.LAB and current.made:
            self.rounds.append(current.closed(None))

    def complete(self, current: OpenRound, figures: Found) -> None:
        """End a round with what it came to."""
        one = current.closed(figures)
        done = RoundDone(index=one.index, round=one)
        self.recorder.record(done)
        self.rounds.append(one)
        self.listener(done)

    def end(self, error: LeaselabError | None = None) -> None:
        """Make no further round: its figures are known, or `error` ended it for good."""
        self.error, self.finished = error, True

    def warm_up(self, rate: int, name: Callable[[int], str]) -> Iterator[Trial]:
        """Make the first trials of a server that was just started, which is slower there.

        None where none is wanted.  Clients that keep their leases get them: where some were
        lost, slower loads follow.  `name` gives that of the nth trial.
        """
        procedure, scenario = self.method.procedure, self.trials.bench.scenario
        if not procedure.warm_up_s:
            return
        load = Load(procedure.warm_up_rate or rate, procedure.warm_up_s)
        clients = scenario.load.get("clients", 0) if procedure.keeps else 0
        for number in range(1, LEASING_LOADS + 1):
            trial = self.uncounted(
                load, name(number), "warming the server up", may_abort=not procedure.keeps
            )
            yield trial
            if not clients or trial.loss_ratio <= LEASELESS_SHARE:
                return
            slower = max(1, round(NEXT_LOAD * trial.completed_rate))
            load = Load(slower, min(LONGEST_LEASING_S, math.ceil(clients / slower)))

    def uncounted(
        self, load: Load, name: str, why: str, *, may_abort: bool = False, reset: bool = True
    ) -> Trial:
        """Make a trial that counts for nothing; `why` is said of it."""
        self.hold.renew(load.duration_s)
        self.listener(Phase(text=why))
        trial = self.trials.measure(load, name, may_abort=may_abort, reset=reset)
        # What was asked before the start may be answered in it.
        if trial.reason in FOREIGN:
            self.trials.refuse_foreign(trial.detail)
        return trial

    def reload(self) -> float | None:
        """Make the server read its data again; return the time (s), None if it cannot.

        After all trials of the round, so that none of them meets it.
        """
        if RELOAD not in self.trials.bench.server.capabilities:
            return None
        self.hold.renew()
        self.listener(Phase(text="having the server reload its data"))
        return self.trials.server.reload()

    def wait(self, made: Sequence[Trial]) -> None:
        """Wait where the trials so far ended in ones that a disturbed generator spoiled."""
        seconds = pause_s(made, self.paused_s)
        if not seconds:
            return
        self.hold.renew(seconds)
        spoiled = spoiled_in_a_row(made)
        why = f"waiting {seconds:.0f} s: {made[-1].reason}, {spoiled} trials in a row"
        self.listener(Phase(text=why))
        self.sleep(seconds)
        self.paused_s += seconds
        self.recorder.record(Pause(s=seconds, reason=made[-1].reason))

    def trial(self, load: Load, name: str, **how: Any) -> Trial:  # noqa: ANN401  # as `Ask` has
        """Make a trial that counts, and report that it begins."""
        self.hold.renew(load.duration_s)
        self.listener(TrialBegun(load=load))
        return self.trials.measure(load, name, **how)

    @contextmanager
    def _serving(self) -> Iterator[ServerStarted]:
        """Start the server clean, and stop it in the end, also after an error.

        Of two errors the first is raised; the host may be unreachable by then.
        """
        try:
            self.hold.renew()
            self.listener(Phase(text="starting the server"))
            yield self.trials.start_server()
        except BaseException:
            with suppress(LeaselabError):
                self.trials.server.stop()
            raise
        self.trials.server.stop()


@dataclass(slots=True)
class OpenRound:
    """A round that is being measured."""

    point: Point
    index: int
    started_at: str
    began: float
    """By the point's clock, less what an earlier process has spent on it (s)."""
    started: float = 0.0
    """When its server had started, by the point's clock (s)."""
    made: list[Trial] = field(default_factory=list)
    """Its trials so far."""
    warm_ups: list[Trial] = field(default_factory=list)
    replay: deque[Trial] = field(default_factory=deque)
    """Trials of the journal that were not asked for again yet."""
    took_s: dict[str, float | None] = field(
        default_factory=lambda: {START_S: None, RELOAD_S: None}
    )

    def warm_up(self, rate: int) -> None:
        """Make the warm-up, where the procedure wants one.

        Also of a round that is resumed: its server was started again.
        """
        for trial in self.point.warm_up(rate, lambda _: self._warm_up_name):
            self._warmed(trial)

    def prepare(self, load: Load, why: str, *, reset: bool = True) -> Trial:
        """Make a trial that counts for nothing, to its end; `why` is said of it."""
        return self._warmed(self.point.uncounted(load, self._warm_up_name, why, reset=reset))

    @property
    def age_s(self) -> float:
        """Time since its server had started (s)."""
        return self.point.clock() - self.started

    @property
    def _warm_up_name(self) -> str:
        return f"run-{self.index}-warm-up-{len(self.warm_ups) + 1}"

    def _warmed(self, trial: Trial) -> Trial:
        self.point.recorder.record(WarmUp(index=self.index, trial=trial))
        self.warm_ups.append(trial)
        return trial

    def ask(
        self,
        load: Load,
        *,
        may_abort: bool = True,
        reset: bool = True,
        during: During | None = None,
    ) -> Trial:
        """Make a trial that counts, or find it in the journal; as `Ask`."""
        point, replayed = self.point, bool(self.replay)
        if replayed:
            trial = _as_asked(self.replay.popleft(), load)
        else:
            point.wait(self.made)
            name = f"run-{self.index}-trial-{len(self.made) + 1:02d}"
            trial = point.trial(load, name, may_abort=may_abort, reset=reset, during=during)
            point.recorder.record(TrialMade(index=self.index, trial=trial))
        self.made.append(trial)
        point.listener(TrialMade(index=self.index, trial=trial), replayed=replayed)
        return trial

    def closed(self, figures: Found | None) -> Round:
        """Return the finished round; `figures` is None where no trial of it counts."""
        point, made = self.point, self.made
        procedure = point.method.procedure
        kinds = procedure.metrics(point.trials.bench.scenario.transaction.plural)
        metrics: dict[str, float | None] = {kind.name: None for kind in kinds}
        if "cpu_us" in metrics:
            metrics["cpu_us"] = procedure.cpu_us(made)
        if figures:
            metrics |= figures.metrics
        metrics |= {
            **self.took_s,
            MEMORY: memory_mib(made),
            WRITTEN_RATE: _written_rate(made, figures),
        }
        return Round(
            index=self.index,
            started_at=self.started_at,
            metrics=metrics,
            bracket=figures.bracket if figures else None,
            shown_trial=figures.shown_trial if figures else None,
            files=self._kept(figures.files) if figures else {},
            traffic_s=sum(trial.traffic_s for trial in [*self.warm_ups, *made]),
            wall_s=point.clock() - self.began,
            warm_ups=tuple(self.warm_ups),
            trials=tuple(made),
        )

    def _kept(self, files: Mapping[str, bytes]) -> dict[str, str]:
        """Keep what it has beside its figures; return its place by what it is."""
        write = self.point.recorder.write_bytes
        return {
            name.partition(".")[0]: write(f"rounds/run-{self.index}-{name}", content)
            for name, content in files.items()
        }


def pause_s(trials: Sequence[Trial], paused_s: float) -> float:
    """Return how long to wait before the next trial (s); 0 where nothing is disturbed.

    `paused_s` is how long was waited already, of the `PAUSE_LIMIT_S` it may.
    """
    row = spoiled_in_a_row(trials)
    wanted = PAUSES_S[min(row, len(PAUSES_S)) - 1] if row else 0.0
    return max(0.0, min(wanted, PAUSE_LIMIT_S - paused_s))


def spoiled_in_a_row(trials: Sequence[Trial]) -> int:
    """Return how many trials at the end the generator has spoiled, one of them by a stall.

    A generator that only offers too little is not disturbed but slow: waiting is no help.
    """
    words = (GENERATOR_STALLED, GENERATOR_LIMITED)
    row = list(takewhile(lambda trial: trial.reason in words, reversed(trials)))
    return len(row) if any(trial.reason == GENERATOR_STALLED for trial in row) else 0


def _written_rate(made: Sequence[Trial], figures: Found | None) -> float | None:
    """What the server wrote in the trial that stands for a round (1/s); None without one."""
    if figures is None or figures.shown_trial is None:
        return None
    return written_rate(made[figures.shown_trial])


def _as_asked(trial: Trial, load: Load) -> Trial:
    """Return a journaled trial; raises a broken-lab error where another one was asked for."""
    if trial.load.words != load.words:
        raise lab_broken(
            "the journal does not follow from this version's search",
            where="resume",
            found=f"a trial of {trial.load.words}",
            wanted=load.words,
            todo="finish this sweep with the version that began it, or measure again",
        )
    return trial
