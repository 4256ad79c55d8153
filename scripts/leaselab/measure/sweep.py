"""The sweep: its runs, each a search against a clean server, resumable at any trial."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from leaselab.measure.bench_trial import BenchTrials, trial_from
from leaselab.measure.confirmation import confirmed_rate, lost, next_load, objection
from leaselab.measure.patience import pause_s, spoiled_in_a_row
from leaselab.measure.ports import Lease, Listener, Recorder, Server
from leaselab.measure.search import search
from leaselab.model import moment
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.model.trial import RunEstimate, SearchLimits, Trial, TrialRequest

RUN, WARM_UP, TRIAL, RUN_DONE = "run", "warm-up", "trial", "run-done"
"""Names of the journal's events, in the order a run writes them."""
CONFIRMATION = "confirmation"
"""Name of the event of each trial after the last run."""
PAUSE = "pause"
"""Name of the event of each time that was waited for a disturbed lab."""


@dataclass(frozen=True, slots=True)
class Journaled:
    """What an earlier process has already measured of this sweep."""

    runs: Sequence[Mapping[str, Any]] = ()
    """Documents of the finished runs."""
    started_at: str = ""
    """When the unfinished run began, empty where there is none."""
    warm_ups: Sequence[Mapping[str, Any]] = ()
    """Documents of the warm-ups of the unfinished run, one for each start of the server."""
    trials: Sequence[Mapping[str, Any]] = ()
    """Documents of the trials of the unfinished run."""
    confirmation: Sequence[Mapping[str, Any]] = ()
    """Documents of the trials that confirm the result, as far as they were made."""
    paused_s: float = 0.0
    """How long the sweep has waited for a disturbed lab (s)."""


def read_journal(events: Sequence[tuple[str, Mapping[str, Any]]]) -> Journaled:
    """Sort a journal's events (name, data) into runs and the trials of the unfinished one."""
    runs: list[Mapping[str, Any]] = []
    trials: list[Mapping[str, Any]] = []
    warm_ups: list[Mapping[str, Any]] = []
    confirmation: list[Mapping[str, Any]] = []
    started_at = ""
    paused_s = 0.0
    for name, data in events:
        if name == RUN and data["index"] == len(runs) + 1 and not trials:
            started_at = data["started_at"]
        elif name == WARM_UP:
            warm_ups.append(data["trial"])
        elif name == TRIAL:
            trials.append(data["trial"])
        elif name == RUN_DONE:
            runs.append(data["run"])
            trials, warm_ups, started_at = [], [], ""
        elif name == CONFIRMATION:
            confirmation.append(data["trial"])
        elif name == PAUSE:
            paused_s += data["s"]
    return Journaled(runs, started_at, warm_ups, trials, confirmation, paused_s)


@dataclass(slots=True)
class Sweep:
    """Measures the runs of one bench's plan."""

    bench: Bench
    server: Server
    trials: BenchTrials
    lease: Lease
    recorder: Recorder
    listener: Listener
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    runs: list[dict[str, Any]] = field(default_factory=list)
    """Documents of the runs made so far, an unsuccessful last one included."""
    confirmation: dict[str, Any] | None = None
    """What came of confirming the result; None before the runs are done."""
    paused_s: float = 0.0
    """How long it has waited for a disturbed lab (s)."""

    def measure(self, done: Journaled) -> None:
        """Make all runs that are not `done`, filling `runs`.

        Then confirm the result, filling `confirmation`.  Raises the error that
        ended the sweep early, or that the result does not hold.  What was measured
        until then is in `runs`, or, when the lab broke, in the journal.
        """
        estimates: list[RunEstimate] = []
        self.paused_s = done.paused_s
        for document in done.runs:
            self.runs.append(dict(document))
            estimates.append(_estimate_from(document))
            self.listener.run_done(len(self.runs), estimates[-1])
        pending = done
        while len(self.runs) < self.bench.plan.runs:
            estimates.append(self._run(len(self.runs) + 1, estimates, pending))
            pending = Journaled()
        if self.bench.plan.confirming_trials:
            self._confirm(estimates, done.confirmation)

    def _confirm(
        self, estimates: Sequence[RunEstimate], done: Sequence[Mapping[str, Any]]
    ) -> None:
        """Offer a rate that every run passed for tens of seconds.

        A search sees a few seconds at each rate, and calls a server that stands still
        now and then a slower one.  The rate is below the lowest bound of the runs by as
        much as the next run may differ from them: what a sound server passes.  In
        trials one after the other, each on an empty store: as a search measures, since
        a server may slow down as its store fills, and that is another question.

        Then offer four times as much, once and to the end.  A search that begins where a
        server loses by chance ends there, as if that were its limit; one that completes
        far more when it is offered more loses at any load.  Not to a pair, which such a
        load breaks.

        Raises `SearchError` when the loss of them all is above the goal, when the last
        trial shows that the max rate is none, or when the generator spoiled them all.
        """
        plan = self.bench.plan
        pair = self.bench.scenario.high_availability.pair
        rate = confirmed_rate(estimates)
        began = self.clock()
        spent = sum(float(trial["wall_s"]) for trial in done)
        documents = [dict(trial) for trial in done]
        made = [trial_from(document) for document in documents]
        self.listener.phase("confirming the result")
        if next_load(made, rate, plan, pair=pair) is not None:
            with self._serving():
                self._warm_up(rate, f"confirmation-{len(documents) + 1:02d}-warm-up")
                while (load := next_load(made, rate, plan, pair=pair)) is not None:
                    self._wait(made)
                    trial, document = self._trial(
                        TrialRequest(load, plan.limits.trial_s),
                        f"confirmation-{len(documents) + 1:02d}",
                        may_abort=load == rate,
                    )
                    self.recorder.record(CONFIRMATION, {"trial": document})
                    documents.append(document)
                    made.append(trial)
                    self.listener.trial_done(trial, replayed=False)
        against = objection(made, rate, plan, estimates)
        self.confirmation = {
            "rate": rate,
            "loss_ratio": lost(made, rate),
            "holds": against is None,
            "traffic_s": sum(trial.traffic_s for trial in made),
            "wall_s": spent + self.clock() - began,
            "trials": documents,
        }
        if against is not None:
            raise against

    def _run(
        self, index: int, earlier: Sequence[RunEstimate], pending: Journaled
    ) -> RunEstimate:
        self.listener.run_started(index)
        began = self.clock()
        started_at = pending.started_at or moment.now()
        documents: list[dict[str, Any]] = []
        warm_ups = [dict(trial) for trial in pending.warm_ups]
        replay = deque(pending.trials)
        spent = sum(float(trial["wall_s"]) for trial in [*warm_ups, *replay])
        if not pending.started_at:
            self.recorder.record(RUN, {"index": index, "started_at": started_at})

        def measure(request: TrialRequest) -> Trial:
            if replay:
                document = dict(replay.popleft())
                trial = _replayed(document, request)
            else:
                self._wait([trial_from(document) for document in documents])
                name = f"run-{index}-trial-{len(documents) + 1:02d}"
                trial, document = self._trial(request, name)
                self.recorder.record(TRIAL, {"index": index, "trial": document})
            documents.append(document)
            self.listener.trial_done(trial, replayed=len(documents) <= len(pending.trials))
            return trial

        def close(estimate: RunEstimate | None) -> dict[str, Any]:
            return {
                "index": index,
                "started_at": started_at,
                **_found(documents, estimate),
                "traffic_s": sum(one["traffic_s"] for one in [*warm_ups, *documents]),
                "wall_s": spent + self.clock() - began,
                "warm_ups": warm_ups,
                "trials": documents,
            }

        try:
            with self._serving():
                name = f"run-{index}-warm-up-{len(warm_ups) + 1}"
                warmed = self._warm_up(_first_load(earlier, self.bench.plan.limits), name)
                if warmed is not None:
                    self.recorder.record(WARM_UP, {"index": index, "trial": warmed})
                    warm_ups.append(warmed)
                plan = self.bench.plan
                estimate = search(measure, plan.goal, plan.limits, earlier)
        except LeaselabError as error:
            if error.outcome is not Outcome.LAB and documents:
                self.runs.append(close(None))
            raise
        document = close(estimate)
        self.recorder.record(RUN_DONE, {"index": index, "run": document})
        self.runs.append(document)
        self.listener.run_done(index, estimate)
        return estimate

    def _warm_up(self, rate: int, name: str) -> dict[str, Any] | None:
        """Make the first trial of a server that was just started, which is slower there.

        Also of a run that is resumed: its server was started anew.  Returns its
        document; None where none is wanted.
        """
        seconds = self.bench.plan.limits.warm_up_s
        if not seconds:
            return None
        self.lease.renew()
        self.listener.phase("warming the server up")
        trial, document = self.trials.measure(TrialRequest(rate, seconds), name)
        # It counts for nothing, but what was asked before the start may be answered in it.
        self.trials.refuse_foreign(trial.detail)
        return document

    def _wait(self, trials: Sequence[Trial]) -> None:
        """Wait where the trials so far ended in ones that a disturbed generator spoiled."""
        seconds = pause_s(trials, self.paused_s)
        if not seconds:
            return
        self.lease.renew()
        spoiled = spoiled_in_a_row(trials)
        self.listener.phase(
            f"waiting {seconds:.0f} s: {trials[-1].reason}, {spoiled} trials in a row"
        )
        self.sleep(seconds)
        self.paused_s += seconds
        self.recorder.record(PAUSE, {"s": seconds, "reason": trials[-1].reason})

    def _trial(
        self, request: TrialRequest, name: str, *, may_abort: bool = True
    ) -> tuple[Trial, dict[str, Any]]:
        """Make a trial that counts, and tell that it begins."""
        self.lease.renew()
        self.listener.trial_started(request)
        return self.trials.measure(request, name, may_abort=may_abort)

    @contextmanager
    def _serving(self) -> Iterator[None]:
        """Start the server clean, and stop it in the end, whatever happened.

        Of two errors the first is the one to tell; the host may be beyond reach.
        """
        try:
            self.lease.renew()
            self.listener.phase("starting the server")
            self.trials.start_server()
            yield
        except BaseException:
            with suppress(LeaselabError):
                self.server.stop()
            raise
        self.server.stop()


def _first_load(earlier: Sequence[RunEstimate], limits: SearchLimits) -> int:
    """Offered load of a warm-up: what the last run passed, before it where a search begins."""
    return earlier[-1].lower.rate if earlier else limits.start_rate


def _replayed(document: Mapping[str, Any], request: TrialRequest) -> Trial:
    trial = trial_from(dict(document))
    if (trial.rate, trial.duration_s) != (request.rate, request.duration_s):
        raise lab_broken(
            "the journal does not follow from this version's search",
            where="resume",
            found=f"a trial at {trial.rate}/s for {trial.duration_s} s",
            wanted=f"{request.rate}/s for {request.duration_s} s",
            todo="finish this sweep with the version that began it, or measure anew",
        )
    return trial


def _found(trials: list[dict[str, Any]], estimate: RunEstimate | None) -> dict[str, Any]:
    """What a run found, as its document has it; nothing without an estimate."""
    return {
        "trimmed": False,
        "max_rate": estimate.max_rate if estimate else None,
        "completed_rate": estimate.completed_rate if estimate else None,
        "lower_bound": float(estimate.lower.rate) if estimate else None,
        "upper_bound": float(estimate.upper.rate) if estimate else None,
        "lower_trial": _position(trials, estimate.lower) if estimate else None,
        "upper_trial": _position(trials, estimate.upper) if estimate else None,
    }


def _position(trials: Sequence[Mapping[str, Any]], wanted: Trial) -> int:
    """Position (from 0) of the trial that stands in a bracket."""
    return next(at for at, trial in enumerate(trials) if trial_from(dict(trial)) == wanted)


def _estimate_from(document: Mapping[str, Any]) -> RunEstimate:
    trials = tuple(trial_from(trial) for trial in document["trials"])
    return RunEstimate(
        max_rate=document["max_rate"],
        completed_rate=document["completed_rate"],
        lower=trials[document["lower_trial"]],
        upper=trials[document["upper_trial"]],
        trials=trials,
    )
