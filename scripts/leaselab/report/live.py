"""Present state of a running sweep or build, from its journal and its live file; no I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Any

from msgspec.structs import replace

from leaselab.analysis.figures.seconds import server_points, traffic_points
from leaselab.analysis.figures.statistics import trimmed_mean
from leaselab.model.bench import Bench
from leaselab.model.journal import (
    AnyEntry,
    Begun,
    BuildStep,
    Confirming,
    LiveEntry,
    Phase,
    RoundBegun,
    RoundDone,
    RunBegun,
    Sampled,
    TrialBegun,
    TrialEnded,
    TrialMade,
)
from leaselab.model.procedure import MetricKind, Procedure
from leaselab.model.procedures import AnyProcedure
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import NOT_OFFERED, Round
from leaselab.model.trial import Load, Trial
from leaselab.report.listing import short, span
from leaselab.report.units import scale_of

CONFIRMING = "confirming the result"
"""The phase after the last run, as the sweep names it."""
_MEASURING = "measuring"
_WINDOW = 12
"""Trials of the present run that are kept: about two minutes."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial of a search, and the bracket after it: 0 for an end that is open."""

    trial: Trial
    lower: int
    upper: int


class LiveView:
    """State of a running sweep; updated by `journaled` and `happened`."""

    def __init__(self, ref: str) -> None:
        self.id = ref
        self.phase = "waiting"
        self.title = ref
        self._begun = False
        """Whether it is known what is measured."""
        self.procedure: AnyProcedure = MaxRate()
        self.plural = "transactions"
        self.holds = ""
        """The words for what clients attempt and for what the server holds."""
        self.run = 0
        self.values: list[float] = []
        """Figures of the finished runs."""
        self.load: Load | None = None
        """Of the trial under way."""
        self.build: BuildStep | None = None
        """Progress of a build under way, before the sweep begins."""
        self.last = ""
        self._trial_phase = _MEASURING
        self._run_started = ""
        self._done = 0
        """The last run that is done."""
        self._run_times: list[float] = []
        """How long the runs took that were begun and done in sight of this view (s)."""
        self._confirming_since = ""
        self._lower = self._upper = 0
        """The highest load of this run that passed, the lowest that failed; 0 without one."""
        self._widest = 0.0
        """The first width of the present bracket (ratio)."""
        self.tried: list[Tried] = []
        """The trials of the search of the present run."""
        self._trials: list[Trial] = []
        self._live: Trial | None = None
        """The trial under way, as far as it is known."""

    def journaled(self, entry: AnyEntry) -> None:
        """Process an event of the journal."""
        match entry:
            case Begun():
                self.begin(entry.bench)
            case RoundBegun():
                self.run = entry.index
                self._run_started = entry.started_at
                self._trials, self.tried = [], []
                self._lower = self._upper = 0
                self._widest = 0.0
            case TrialMade() | Confirming():
                self._trials = [*self._trials[1 - _WINDOW :], entry.trial]
                self.last = trial_words(entry.trial, self.procedure)
                self._narrow(entry.trial)
                if isinstance(entry, TrialMade) and isinstance(self.procedure, MaxRate):
                    self.tried.append(Tried(entry.trial, self._lower, self._upper))
            case RoundDone():
                self._done = entry.index
                if entry.index == self.run:
                    self._run_times.append(entry.round.wall_s)
                figure = entry.round.metrics.get(self._kind.name)
                if figure is not None:
                    self.values.append(figure)

    def begin(self, bench: Bench) -> None:
        """Process what is measured, and how."""
        server, scenario = bench.server, bench.scenario
        self._begun = True
        self.procedure = bench.procedure
        self.holds = server.holds
        self.plural = scenario.transaction.plural
        self.title = f"{scenario.name} · {server.name} {server.version}"

    def _narrow(self, trial: Trial) -> None:
        if not trial.valid or not isinstance(self.procedure, MaxRate):
            return
        if self.procedure.passes(trial):
            self._lower = max(self._lower, trial.rate)
        else:
            self._upper = min(self._upper or trial.rate, trial.rate)
        self._widest = self._widest or self.width

    @property
    def width(self) -> float:
        """Width of the present run's bracket (ratio); 0 while one of its ends is open."""
        known = 0 < self._lower < self._upper and self.phase != CONFIRMING
        return (self._upper - self._lower) / self._upper if known else 0.0

    @property
    def closed(self) -> float:
        """How near the bracket is to the width that is asked for (0..1)."""
        goal = self.procedure.relative_width if isinstance(self.procedure, MaxRate) else 0.0
        if not self.width or not self._widest > goal > 0:
            return 1.0
        return min(1.0, math.log(self._widest / self.width) / math.log(self._widest / goal))

    @property
    def _kind(self) -> MetricKind:
        """The metric that the procedure is about."""
        return self.procedure.metrics(self.plural)[0]

    def happened(self, at: str, entry: LiveEntry) -> None:
        """Process a line of the live file."""
        match entry:
            case Phase():
                self.phase = entry.text
                if self.phase == CONFIRMING:
                    self._trial_phase, self._confirming_since = CONFIRMING, at
            case RunBegun():
                self.run = entry.index
                self.phase = "starting the server"
            case TrialBegun():
                self.phase = self._trial_phase
                self.load = entry.load
                self._live = Trial.of(
                    entry.load,
                    attempted=0,
                    completed=0,
                    late=0,
                    lost=0,
                    traffic_s=0.0,
                    started_at=at,
                )
            case TrialEnded():
                self.phase = "between trials"
                self._live = self.load = None  # the journal has it by now
            case BuildStep():
                self.phase = "building"
                self.build = entry
                self.title = f"{entry.name} {entry.described}"
            case Sampled() if self._live is not None:
                samples = self._live.samples
                taken = (*samples.get(entry.host, ()), entry.sample)
                self._live = replace(self._live, samples={**samples, entry.host: taken})

    def round(self) -> Round:
        """The run so far: its last trials, and the present one."""
        trials = (*self._trials, *([self._live] if self._live is not None else []))
        started = self._run_started or (trials[0].started_at if trials else "")
        return Round(
            index=self.run,
            started_at=started,
            metrics={},
            trials=trials,
            traffic_s=0.0,
            wall_s=0.0,
        )

    def series(self) -> dict[str, list[tuple[float, float]]]:
        """The lines of a terminal: by name (time since the run's start in s, value)."""
        run = self.round()
        traffic = list(traffic_points(run))
        server = list(server_points(run))
        loss = [
            {**point, "loss": 100 * point["loss"]}
            for point in traffic
            if point["loss"] is not None
        ]
        beside = [{"s": point["s"], **point["beside"]} for point in server]
        lines = {
            f"{self.holds} gained (1/s)".strip(): _line(server, "gained"),
            "offered (1/s)": _line(traffic, "offered") if self.procedure.ramps else [],
            "completed (1/s)": _line(traffic, "completed"),
            "loss (%)": _line(loss, "loss"),
            "latency p99 (ms)": _line(traffic, "p99_ms"),
            "CPUs busy": _line(server, "cpu"),
            **{
                f"{name} CPUs": _line(beside, name)
                for name in dict.fromkeys(name for point in server for name in point["beside"])
            },
            "memory (MB)": _line(server, "rss_mb"),
            f"{self.holds} held".strip(): _line(server, "held"),
            "dropped (1/s)": _line(server, "drops"),
        }
        return {name: line for name, line in lines.items() if line}

    def facts(self, now: datetime) -> dict[str, str]:
        """What stands above the lines: label and words."""
        if self.build is not None:
            return {"phase": self.phase, "step": build_words(self.build)}
        facts = {
            "phase": self.phase,
            "run": f"{self.run} of {self.procedure.rounds}" if self.run else "",
            "estimate so far": estimate_words(self.values, self._kind, self.procedure.trim),
        }
        if self.load is not None:
            facts["trial"] = f"{self.load.words}, since {span(self.trial_s(now))}"
        facts["time left"] = self._left(now) if self._begun else ""
        if isinstance(self.procedure, MaxRate) and self.width:
            facts["bracket"] = (
                f"{self._lower} to {self._upper}/s, {100 * self.width:.1f} % wide, "
                f"goal {100 * self.procedure.relative_width:g} %"
            )
        if server := self._server():
            facts["server"] = server
        facts["last trial"] = self.last
        return facts

    def trial_s(self, now: datetime) -> float:
        """How long the trial under way has taken (s); 0 without one."""
        return _since(self._live.started_at, now) if self._live is not None else 0.0

    def _left(self, now: datetime) -> str:
        """Expected time to the end.

        It comes from the runs after the first, which is the longest; before there are any, from
        the length of the procedure.
        """
        confirming = self.procedure.confirming_s
        if self._confirming_since:
            left = confirming - _since(self._confirming_since, now)
            return f"about {span(max(0.0, left))}"
        typical = self.procedure.round_s
        if self._run_times:
            typical = fmean(self._run_times[1:] or self._run_times)
        if typical is None:
            return f"at most {span(self.procedure.longest_s)}"
        about = "at most" if self.procedure.ends_early else "about"
        left = (self.procedure.rounds - self._done) * typical + confirming
        if self._done < self.run:
            spent = _since(self._run_started, now)
            if spent > typical:
                rest = f", then {about} {span(left - typical)}" if left > typical else ""
                return f"this run takes longer than most{rest}"
            left -= spent
        return f"{about} {span(left)}"

    def _server(self) -> str:
        """What the server did in the last second that was sampled; empty without one."""
        taken = [*server_points(self.round())]
        if not taken:
            return ""
        last = taken[-1]
        known = {
            "CPUs busy": last["cpu"],
            "MB of memory": last["rss_mb"],
            f"{self.holds} held".strip(): last["held"],
            "packets dropped/s": last["drops"],
        }
        return ", ".join(
            f"{figure_words(value)} {words}"
            for words, value in known.items()
            if value is not None
        )

    def state(self, now: datetime) -> dict[str, Any]:
        """All of it as JSON values."""
        return {
            "id": self.id,
            "title": self.title,
            "run": self.run,
            "runs": self.procedure.rounds if self.run else 0,
            "values": self.values,
            "facts": self.facts(now),
            "series": self.series(),
        }


def _since(then: str, now: datetime) -> float:
    """Time from a timestamp until now (s); 0 where there is none."""
    return max(0.0, (now - datetime.fromisoformat(then)).total_seconds()) if then else 0.0


def estimate_words(values: Sequence[float], kind: MetricKind, trim: int = 0) -> str:
    """The figure so far of what runs came to, and their range: ``14.1 ms (13.9 to 14.3)``.

    It is a mean without the `trim` highest and lowest, as in the result, once others are left.
    """
    if not values:
        return "none yet"
    unit, factor = scale_of(kind.unit, values)
    mean = trimmed_mean(values, trim if len(values) > 2 * trim else 0)
    middle, low, high = (
        figure_words(factor * value) for value in (mean, min(values), max(values))
    )
    return f"{middle}{short(unit)}" + f" ({low} to {high})" * (len(values) > 1)


def figure_words(value: float) -> str:
    """A figure in a few digits: ``12685``, ``14.1``, ``0.88``."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def build_words(step: BuildStep) -> str:
    """Progress of a build: ``make, 120 of 545, 3 min 20 s: Compiling …``."""
    count = f", {step.step} of {step.steps}" if step.steps else ""
    doing = f": {step.doing}" if step.doing else ""
    return f"{step.phase}{count}, {span(step.elapsed_s)}{doing}"


def _line(points: Iterable[Mapping[str, Any]], field: str) -> list[tuple[float, float]]:
    return [
        (round(point["s"], 2), float(point[field]))
        for point in points
        if point.get(field) is not None
    ]


def trial_words(trial: Trial, procedure: Procedure) -> str:
    """Describe the result of a trial in a line."""
    due = round(trial.rate * trial.traffic_s)
    parts = [
        f"{trial.completed} of {trial.attempted} in time",
        f"{due} were due" if trial.reason in NOT_OFFERED and due > trial.attempted else "",
        f"loss {100 * trial.loss_ratio:.2f} %",
        trial.kind_words,
        trial.failure_words,
        trial.event_words,
        *(violation.words for violation in trial.violations),
        _judged(trial, procedure),
    ]
    return f"{trial.load.words}: {', '.join(filter(None, parts))}"


def _judged(trial: Trial, procedure: Procedure) -> str:
    if not trial.valid:
        detail = f" ({trial.detail})" if trial.detail else ""
        return f"does not count: {trial.reason}{detail}"
    if procedure.loss_goal is None:
        return "counts"
    if trial.aborted:
        return "above the limit, ended early"
    return "within the limit" if procedure.passes(trial) else "above the limit"
