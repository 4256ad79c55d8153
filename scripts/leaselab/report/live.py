"""A running sweep or build as it is now, from its journal and its live file; pure."""

from __future__ import annotations

import statistics
from datetime import datetime
from typing import TYPE_CHECKING, Any

from leaselab.analysis.seconds import server_points, traffic_points
from leaselab.report.listing import span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

CONFIRMING = "confirming the result"
"""The phase after the last run, as the sweep names it."""
_MEASURING = "measuring"
_WINDOW = 12
"""Trials of the present run that are kept: about two minutes."""


class LiveView:
    """What is known of a running sweep; grows by `journaled` and `happened`."""

    def __init__(self, ref: str) -> None:
        self.id = ref
        self.phase = "waiting"
        self.title = ref
        self.planned = 0
        self.goal: Mapping[str, Any] = {"loss_ratio": 0.025}
        self.run = 0
        self.rates: list[float] = []
        """Max rates of the runs that are done (exchanges/s)."""
        self.request: Mapping[str, Any] | None = None
        """The trial under way: rate and duration."""
        self.build: Mapping[str, Any] | None = None
        """How far the build under way is, of one; there is no sweep yet then."""
        self.last = ""
        self._trial_phase = _MEASURING
        self._run_started = ""
        self._trials: list[dict[str, Any]] = []
        self._live: dict[str, Any] | None = None

    def journaled(self, name: str, data: Mapping[str, Any]) -> None:
        """Take an event of the journal."""
        if name == "sweep":
            bench = data["bench"]
            plan = bench.get("plan", {})
            self.planned = int(plan.get("runs", 9))
            self.goal = {**self.goal, **plan.get("goal", {})}
            server = bench["server"]
            self.title = f"{bench['scenario']['name']} · {server['name']} {server['version']}"
        elif name == "run":
            self.run = data["index"]
            self._run_started = data["started_at"]
            self._trials = []
        elif name in ("trial", "confirmation"):
            self._trials = [*self._trials[1 - _WINDOW :], dict(data["trial"])]
            self.last = _words(data["trial"], self.goal["loss_ratio"])
        elif name == "run-done" and data["run"]["max_rate"] is not None:
            self.rates.append(data["run"]["max_rate"])

    def happened(self, at: str, name: str, data: Mapping[str, Any]) -> None:
        """Take a line of the live file."""
        if name == "phase":
            self.phase = data["text"]
            if self.phase == CONFIRMING:
                self._trial_phase = CONFIRMING
        elif name == "run":
            self.run = data["index"]
            self.phase = "starting the server"
        elif name == "trial":
            self.phase = self._trial_phase
            self.request = data
            self._live = {
                "started_at": at,
                "per_second": [],
                "samples": [],
                "partner_samples": [],
            }
        elif name == "trial-done":
            self.phase = "between trials"
            self._live = self.request = None  # the journal has it by now
        elif name == "build":
            self.phase = "building"
            self.build = data
            self.title = f"{data['name']} {data['described']}"
        elif name == "sample" and self._live is not None:
            field = "samples" if data["host"] == "server" else "partner_samples"
            self._live[field].append(data["sample"])

    def document(self) -> dict[str, Any]:
        """The run so far in the form of a result's: its last trials, and the present one."""
        trials = self._trials + ([self._live] if self._live is not None else [])
        started = self._run_started or (trials[0]["started_at"] if trials else "")
        return {"index": self.run, "started_at": started, "trials": trials}

    def series(self) -> dict[str, list[tuple[float, float]]]:
        """The lines of a terminal: by name (time since the run's start in s, value)."""
        run = self.document()
        if not run["trials"]:
            return {}
        traffic = list(traffic_points(run))
        server = list(server_points(run))
        loss = [
            {**one, "loss": 100 * one["loss"]} for one in traffic if one["loss"] is not None
        ]
        found = {
            "leases granted (1/s)": _line(server, "granted"),
            "completed (1/s)": _line(traffic, "completed"),
            "loss (%)": _line(loss, "loss"),
            "latency p99 (ms)": _line(traffic, "p99_ms"),
            "CPUs busy": _line(server, "cpu"),
            "database CPUs": _line(server, "database_cpu"),
            "memory (MB)": _line(server, "rss_mb"),
            "leases held": _line(server, "leases"),
            "dropped (1/s)": _line(server, "drops"),
        }
        return {name: line for name, line in found.items() if line}

    def facts(self, now: datetime) -> dict[str, str]:
        """What stands above the lines: label and words."""
        if self.build is not None:
            return {"phase": self.phase, "step": build_words(self.build)}
        told = {"phase": self.phase, "run": f"{self.run} of {self.planned}" if self.run else ""}
        if self.request is not None and self._live is not None:
            spent = (now - datetime.fromisoformat(self._live["started_at"])).total_seconds()
            told["trial"] = (
                f"{self.request['rate']}/s for {self.request['duration_s']} s, "
                f"since {span(max(0.0, spent))}"
            )
        told["last trial"] = self.last
        told["estimate so far"] = self._estimate()
        return told

    def state(self, now: datetime) -> dict[str, Any]:
        """All of it as JSON values."""
        return {
            "id": self.id,
            "title": self.title,
            "run": self.run,
            "runs": self.planned,
            "max_rates": self.rates,
            "facts": self.facts(now),
            "series": self.series(),
        }

    def _estimate(self) -> str:
        if not self.rates:
            return "none yet"
        return estimate_words(self.rates)


def estimate_words(rates: Sequence[float]) -> str:
    """Mean of the runs' max rates (1/s), of several with their range."""
    mean = f"{statistics.fmean(rates):.0f}/s"
    return mean if len(rates) == 1 else f"{mean} ({min(rates):.0f} to {max(rates):.0f})"


def figure_words(value: float) -> str:
    """A figure in a few digits: ``12685``, ``14.1``, ``0.88``."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def build_words(reading: Mapping[str, Any]) -> str:
    """How far a build is: ``make, 120 of 545, 3 min 20 s: Compiling …``."""
    count = f", {reading['step']} of {reading['steps']}" if reading["steps"] else ""
    doing = f": {reading['doing']}" if reading["doing"] else ""
    return f"{reading['phase']}{count}, {span(reading['elapsed_s'])}{doing}"


def _line(points: Iterable[Mapping[str, Any]], field: str) -> list[tuple[float, float]]:
    return [
        (round(point["s"], 2), float(point[field]))
        for point in points
        if point[field] is not None
    ]


def _words(trial: Mapping[str, Any], loss_ratio: float) -> str:
    verdict = "passed" if trial["loss_ratio"] <= loss_ratio else "failed"
    if not trial["valid"]:
        verdict = f"not counted: {trial['reason']}"
    return f"{trial['rate']}/s: loss {100 * trial['loss_ratio']:.2f} %, {verdict}"
