"""The sweep: its runs, each a search against a clean server, resumable at any trial."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from leaselab.measure.bench_trial import BenchTrials, trial_from
from leaselab.measure.ports import Lease, Listener, Recorder, Server
from leaselab.measure.search import search
from leaselab.model import moment
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.model.trial import RunEstimate, Trial, TrialRequest

RUN, TRIAL, RUN_DONE = "run", "trial", "run-done"
"""Names of the journal's events, in the order a run writes them."""


@dataclass(frozen=True, slots=True)
class Journaled:
    """What an earlier process has already measured of this sweep."""

    runs: Sequence[Mapping[str, Any]] = ()
    """Documents of the finished runs."""
    started_at: str = ""
    """When the unfinished run began, empty where there is none."""
    trials: Sequence[Mapping[str, Any]] = ()
    """Documents of the trials of the unfinished run."""


def read_journal(events: Sequence[tuple[str, Mapping[str, Any]]]) -> Journaled:
    """Sort a journal's events (name, data) into runs and the trials of the unfinished one."""
    runs: list[Mapping[str, Any]] = []
    trials: list[Mapping[str, Any]] = []
    started_at = ""
    for name, data in events:
        if name == RUN and data["index"] == len(runs) + 1 and not trials:
            started_at = data["started_at"]
        elif name == TRIAL:
            trials.append(data["trial"])
        elif name == RUN_DONE:
            runs.append(data["run"])
            trials, started_at = [], ""
    return Journaled(runs, started_at, trials)


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
    runs: list[dict[str, Any]] = field(default_factory=list)
    """Documents of the runs made so far, an unsuccessful last one included."""

    def measure(self, done: Journaled) -> None:
        """Make all runs that are not `done`, filling `runs`.

        Raises the error that ended the sweep early.  What was measured until
        then is in `runs`, or, when the lab broke, in the journal.
        """
        estimates: list[RunEstimate] = []
        for document in done.runs:
            self.runs.append(dict(document))
            estimates.append(_estimate_from(document))
            self.listener.run_done(len(self.runs), estimates[-1])
        pending = done
        while len(self.runs) < self.bench.plan.runs:
            estimates.append(self._run(len(self.runs) + 1, estimates, pending))
            pending = Journaled()

    def _run(
        self, index: int, earlier: Sequence[RunEstimate], pending: Journaled
    ) -> RunEstimate:
        self.listener.run_started(index)
        began = self.clock()
        started_at = pending.started_at or moment.now()
        documents: list[dict[str, Any]] = []
        replay = deque(pending.trials)
        spent = sum(float(trial["wall_s"]) for trial in replay)
        if not pending.started_at:
            self.recorder.record(RUN, {"index": index, "started_at": started_at})

        def measure(request: TrialRequest) -> Trial:
            if replay:
                document = dict(replay.popleft())
                trial = _replayed(document, request)
            else:
                self.lease.renew()
                self.listener.trial_started(request)
                name = f"run-{index}-trial-{len(documents) + 1:02d}"
                trial, document = self.trials.measure(request, name)
                self.recorder.record(TRIAL, {"index": index, "trial": document})
            documents.append(document)
            self.listener.trial_done(trial, replayed=len(documents) <= len(pending.trials))
            return trial

        def close(estimate: RunEstimate | None) -> dict[str, Any]:
            return _run_document(
                index, started_at, documents, estimate, spent + self.clock() - began
            )

        try:
            self._start()
            estimate = search(measure, self.bench.plan.goal, self.bench.plan.limits, earlier)
        except LeaselabError as error:
            # the first error is the one to tell; the host may be beyond reach
            with suppress(LeaselabError):
                self.server.stop()
            if error.outcome is not Outcome.LAB and documents:
                self.runs.append(close(None))
            raise
        except BaseException:
            with suppress(LeaselabError):
                self.server.stop()
            raise
        self.server.stop()
        document = close(estimate)
        self.recorder.record(RUN_DONE, {"index": index, "run": document})
        self.runs.append(document)
        self.listener.run_done(index, estimate)
        return estimate

    def _start(self) -> None:
        self.lease.renew()
        self.listener.phase("starting the server")
        self.trials.start_server()


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


def _run_document(
    index: int,
    started_at: str,
    trials: list[dict[str, Any]],
    estimate: RunEstimate | None,
    wall_s: float,
) -> dict[str, Any]:
    return {
        "index": index,
        "started_at": started_at,
        "trimmed": False,
        "max_rate": estimate.max_rate if estimate else None,
        "completed_rate": estimate.completed_rate if estimate else None,
        "lower_bound": float(estimate.lower.rate) if estimate else None,
        "upper_bound": float(estimate.upper.rate) if estimate else None,
        "lower_trial": _position(trials, estimate.lower) if estimate else None,
        "upper_trial": _position(trials, estimate.upper) if estimate else None,
        "traffic_s": sum(float(trial["traffic_s"]) for trial in trials),
        "wall_s": wall_s,
        "trials": trials,
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
