"""`leaselab dev bench faults`: outcomes of sweeps with a known fault of server or generator.

The real engine measures simulated packets.  `docs/method/accuracy.md` explains the table.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks._packets import Faults, PacketWorld
from benchmarks._shown import Table, options_of, show
from leaselab.analysis.figures.credibility import (
    slow_afterwards,
    slow_replies,
    two_speeds,
)
from leaselab.analysis.figures.steadiness import UNSTEADY, unsteady
from leaselab.analysis.figures.summary import metrics_of
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.generators.perfdhcp.command import Perfdhcp
from leaselab.measure.point import Point
from leaselab.measure.procedures import method_of
from leaselab.measure.search_error import SearchError
from leaselab.measure.trials import Trials
from leaselab.model.bench import Bench
from leaselab.model.observation import ServerStarted
from leaselab.model.procedures.max_rate import MaxRate

RUNS = 5
ERROR = 2.0
"""Largest error of a figure (%)."""
APART_S = 2.6
OK_WORD = "ok"
SLOW_REPLIES = "slow replies"
SLOW_AFTERWARDS, TWO_SPEEDS = "slow after overload", "two speeds"
OK, MISSED, USAGE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Case:
    """One fault, and the required outcome of its sweeps."""

    name: str
    faults: Faults
    words: tuple[str, ...] = ()
    """Accepted reasons for no figure; empty if a figure within `ERROR` is required."""
    start_rate: int = 2000
    sweeps: int = 1
    """Sweeps, whose clocks are apart by `APART_S`: what comes now and then meets each of them
    at another time."""
    highest: float = 2.0
    """Highest load that is worth a trial of full length, over the true max rate."""


CASES = [
    Case("sound", Faults()),
    *(
        Case(f"buffer of 277 packets at {capacity:.0f}/s", Faults(capacity=capacity))
        for capacity in (500.0, 1000.0, 6000.0)
    ),
    *(
        Case(
            f"stands still 1 s in 10 s, from {start_rate}/s",
            Faults(stands_still=(10.0, 1.0)),
            ("not-sustained", "warming-up"),
            start_rate,
        )
        for start_rate in (500, 2000)
    ),
    *(
        Case(f"loses {share:.0%} at any load", Faults(loses=share), ("loses-at-any-load",))
        for share in (0.3, 0.03)
    ),
    Case(
        "loses 8% in half of the seconds", Faults(loses_at_times=0.08), ("loses-at-any-load",)
    ),
    Case("generator stands still 200 ms in 17.3 s", Faults(generator_stalls=(17.3, 0.2))),
    *(
        Case(
            f"generator stands still 300 ms a second for {length} s",
            Faults(generator_stalls=(1.0, 0.3), stalls_from_to=(95.0, 95.0 + length)),
        )
        for length in (10, 60)
    ),
    Case(
        "generator stands still 200 ms in 3.7 s",
        Faults(generator_stalls=(3.7, 0.2)),
        ("invalid-trial",),
    ),
    Case("cold for 1 s after each start", Faults(cold=(0.5, 1.0))),
    Case("cold for 10 s after each start", Faults(cold=(0.5, 10.0))),
    Case("10% slower for 60 s after each start", Faults(cold=(0.1, 60.0)), ("warming-up",)),
    Case(
        "1.43 times as fast for 8 s after a rest", Faults(turbo=(1.43, 8.0)), ("not-sustained",)
    ),
    Case("1.37 times as fast on credit", Faults(credit=(1.37, 12.0)), ("not-sustained",)),
    Case(
        "stands still 1 s in 30 s",
        Faults(stands_still=(30.0, 1.0)),
        ("not-sustained",),
        sweeps=12,
    ),
    Case(
        "generator begins half of what confirms",
        Faults(begins_confirming=0.5),
        ("generator-limited",),
    ),
    Case("generator begins 7200/s at most", Faults(reach=7200.0), start_rate=1950),
    *(
        Case(
            f"{factor} times as fast in every second trial",
            Faults(capacity=400.0, alternates=(1.0, factor)),
            (TWO_SPEEDS, "noisy", "not-sustained"),
            start_rate=400,
        )
        for factor in (1.15, 1.3)
    ),
    *(
        Case(
            f"{factor} times as fast for 20 s after a full buffer of {buffer}",
            Faults(capacity=400.0, buffer=buffer, sulks=(factor, 20.0)),
            (SLOW_AFTERWARDS, "noisy", "warming-up"),
            start_rate=400,
            highest=4.0,
        )
        for factor, buffer in ((0.5, 277), (0.7, 277), (0.58, 30))
    ),
    Case("CPU per exchange falls by 5% in 100 s", Faults(cpu_falls=0.05), (UNSTEADY,)),
    Case("answers after 0.1 s", Faults(answers_after_s=0.1)),
    # Trials of 1 s end before its replies come, and show nothing.
    Case("answers after 0.9 s", Faults(answers_after_s=0.9), (SLOW_REPLIES,), highest=2.5),
]


@dataclass(frozen=True, slots=True)
class Sweep:
    """The outcome of a sweep."""

    word: str
    """`OK_WORD`, or the reason beside or instead of its figure."""
    max_rate: float | None
    not_counted: tuple[str, ...]
    seconds: float
    paused_s: float
    highest: float
    """Highest load of a trial of full length in its runs, over the true max rate."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the sweeps of a case said."""

    case: str
    wanted: str
    outcomes: dict[str, int]
    """Sweeps by their word."""
    max_rate: float | None
    """Of the sweeps that have a figure the one that is furthest from the truth."""
    error_percent: float | None
    """Of that one, against the load at which a server of this capacity loses 2.5 %."""
    not_counted: dict[str, int]
    seconds: float
    """Traffic and waits of a sweep, on average (s)."""
    paused_s: float
    """How long the engine waited for the generator (s)."""
    highest: float
    """Highest load of a trial of full length, over the true max rate."""
    kept: bool


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 when every fault is reported, 1 when not."""
    options = _options(argv)
    cases = [case for case in CASES if options.only in case.name]
    if not cases:
        print(f"bench faults: no case has {options.only!r} in its name", file=sys.stderr)
        return USAGE
    with ProcessPoolExecutor(options.processes) as pool:
        rows = [*pool.map(measure, cases)]
    if options.json:
        json.dump({"benchmark": "faults", "cases": [asdict(row) for row in rows]}, sys.stdout)
        print()
    else:
        _print(rows, options.markdown)
    return OK if all(row.kept for row in rows) else MISSED


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = options_of("faults", __doc__)
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="cases with this in the name"
    )
    return parser.parse_args(argv)


def measure(case: Case) -> Found:
    """Measure one case with the real engine."""
    sweeps = [_sweep(case, APART_S * number) for number in range(case.sweeps)]
    truth = _truth(case)
    rates = [sweep.max_rate for sweep in sweeps if sweep.max_rate is not None]
    rate = max(rates, key=lambda rate: abs(rate - truth), default=None)
    error_percent = None if rate is None else 100.0 * (rate / truth - 1.0)
    # A reason beside the figure says that it may be wrong.
    is_close = bool(case.words) or error_percent is None or abs(error_percent) <= ERROR
    wanted = case.words or (OK_WORD,)
    left_out = [word for sweep in sweeps for word in sweep.not_counted]
    return Found(
        case.name,
        " or ".join(case.words) or f"within {ERROR:g} %",
        dict(Counter(sweep.word for sweep in sweeps)),
        rate,
        error_percent,
        {word: left_out.count(word) for word in sorted(set(left_out))},
        statistics.fmean(sweep.seconds for sweep in sweeps),
        statistics.fmean(sweep.paused_s for sweep in sweeps),
        max(sweep.highest for sweep in sweeps),
        is_close
        and all(sweep.word in wanted and sweep.highest <= case.highest for sweep in sweeps),
    )


def _sweep(case: Case, now: float) -> Sweep:
    """Make one sweep, whose clock begins at `now` (s)."""
    bench = _bench(case.start_rate)
    started = ServerStarted(1, bench.server.version, None, bench.server.running_config_sha256)
    world = PacketWorld(case.faults, started, now)
    generator = Perfdhcp(bench, bench.procedure, world)
    trials = Trials(bench, bench.procedure, world, generator, world)
    point = Point(
        method_of(bench.procedure, generator.capacity),
        trials,
        world,
        world,
        world,
        clock=lambda: world.now,
        sleep=world.sleep,
    )
    while not point.finished:
        point.advance()
    error = point.error
    word = error.outcome.label if error else OK_WORD
    if isinstance(error, SearchError):
        word = error.reason.value
    figure, *_ = metrics_of(
        bench.procedure.metrics("exchanges"), point.rounds, bench.procedure, holds=not error
    )
    if not error and unsteady(point.rounds, figure, bench.procedure.widest or 0.0):
        word = UNSTEADY
    if not error and slow_replies(point.rounds):
        word = SLOW_REPLIES
    if not error and slow_afterwards(point.confirmation, bench.procedure):
        word = SLOW_AFTERWARDS
    if not error and two_speeds(point.rounds):
        word = TWO_SPEEDS
    trial_s = bench.procedure.longest_trial_s
    highest = max(
        trial.rate
        for round_ in point.rounds
        for trial in round_.trials
        if trial.duration_s == trial_s
    )
    return Sweep(
        word,
        figure.value,
        tuple(world.words),
        world.seconds,
        world.paused_s,
        highest / _truth(case),
    )


def _truth(case: Case) -> float:
    """Load at which a server of this capacity loses as much as it may (1/s)."""
    return case.faults.capacity / (1.0 - MaxRate().loss_ratio)


def _bench(start_rate: int) -> Bench:
    def host(name: str) -> dict[str, Any]:
        access = {"name": name, "address": "192.0.2.1", "port": 22, "user": "root"}
        files = {"key_file": "-", "known_hosts_file": "-"}
        test = {"test_interface": "eth1", "test_address": "198.18.0.10", "facts": {}}
        return {"access": {**access, **files}, **test}

    return parse_bench(
        {
            "schema_version": 2,
            "name": "simulated",
            "inventory": "-",
            "environment": "-",
            "hosts": {"server": host("server"), "generator": host("generator")},
            "servers": {
                "server": {
                    "name": "simulated",
                    "version": "1",
                    "contract": "-",
                    "variant": "-",
                    "config_file": "-",
                    "config_sha256": "0" * 64,
                    "running_config_sha256": "0" * 64,
                }
            },
            "generator": {"name": "perfdhcp", "path": "perfdhcp", "version": "2.6.3"},
            "scenario": {
                "name": "v4-simulated",
                "server": {"kind": "simulated"},
                "generator": "perfdhcp",
                "transaction": {"name": "DHCPv4 exchange", "plural": "exchanges", "stages": []},
                "load": {
                    "family": 4,
                    "subnet": "10.0.0.0/8",
                    "pool": "10.0.0.1 - 10.255.255.254",
                },
            },
            "procedure": {"rounds": RUNS, "start_rate": start_rate},
        },
        "bench faults",
    )


def _print(rows: Sequence[Found], markdown: Path | None) -> None:
    table = Table(title=f"{RUNS} runs a sweep; the max rate's error in %")
    for heading in (
        "fault",
        "wanted",
        "outcome",
        "max rate",
        "error",
        "not counted",
        "s",
        "waited (s)",
        "highest",
    ):
        table.add_column(heading)
    for row in rows:
        table.add_row(
            row.case,
            row.wanted,
            f"{'' if row.kept else 'MISSED: '}{_counted(row.outcomes)}",
            "" if row.max_rate is None else f"{row.max_rate:.0f}",
            "" if row.error_percent is None else f"{row.error_percent:+.2f}",
            _counted(row.not_counted),
            f"{row.seconds:.0f}",
            f"{row.paused_s:.0f}",
            f"{row.highest:.2f}",
        )
    show([table], markdown)


def _counted(words: Mapping[str, int]) -> str:
    return ", ".join(
        f"{count} {word}" if count > 1 else word for word, count in sorted(words.items())
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
