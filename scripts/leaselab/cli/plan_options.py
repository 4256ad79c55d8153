"""Options that change the parameters of a sweep, shared by the commands that start one."""

from __future__ import annotations

import argparse
from typing import Any

_OPTIONS: tuple[tuple[str, type, tuple[str, ...], str], ...] = (
    ("--runs", int, ("runs",), "number of runs (9)"),
    (
        "--trim",
        int,
        ("trim",),
        "runs dropped at each end before averaging (1; of fewer than 5 runs 0)",
    ),
    ("--trial-s", int, ("limits", "trial_s"), "length of a trial, s (5)"),
    ("--scout-s", int, ("limits", "scout_s"), "length of a scouting trial, s (1)"),
    ("--wait-s", float, ("wait_s",), "wait for replies after the traffic, s (4)"),
    ("--loss-ratio", float, ("goal", "loss_ratio"), "loss goal, 0 to 1 (0.025)"),
    ("--late-s", float, ("goal", "late_s"), "a later reply counts as lost, s (2)"),
    ("--width", float, ("goal", "relative_width"), "width of a bracket, 0 to 1 (0.01)"),
    (
        "--start-rate",
        int,
        ("limits", "start_rate"),
        "first offered load, 1/s (a little above what this bench measured last, or 2000)",
    ),
    ("--min-rate", int, ("limits", "min_rate"), "lowest offered load tried, 1/s (10)"),
    ("--max-rate", int, ("limits", "max_rate"), "highest offered load tried, 1/s (200000)"),
    (
        "--warm-up-s",
        int,
        ("limits", "warm_up_s"),
        "trial at the start of each run that counts for nothing, s (1; 0: none)",
    ),
    (
        "--confirm-s",
        int,
        ("limits", "confirm_s"),
        "traffic for which the result has to hold in the end, s (30; 0: none)",
    ),
    ("--max-trials", int, ("limits", "max_trials"), "trials of one run at most (40)"),
)


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add an option for each parameter; defaults stand in brackets."""
    group = parser.add_argument_group("sweep parameters")
    for flag, kind, _, text in _OPTIONS:
        group.add_argument(flag, type=kind, metavar="N", help=text)


def plan_overrides(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that were given, nested as `leaselab.model.plan.Plan` is."""
    overrides: dict[str, Any] = {}
    for flag, _, path, _ in _OPTIONS:
        value = getattr(args, flag.removeprefix("--").replace("-", "_"))
        if value is not None:
            inner = overrides
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = value
    return overrides
