"""What is true of a server whose capacity and faults are set, and how near a figure is to it.

The server is the responder (``load/programs/src/responder``), which works by a clock and not
by a processor: its capacity is exact, its faults are shares of packets drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from leaselab.model.errors import Outcome
from leaselab.model.procedures import AnyProcedure
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.operate import Operate
from leaselab.model.record import MALFORMED, Record
from leaselab.model.scenario import Scenario
from leaselab.model.trial import Trial

RESPONDER = "responder"
"""Kind of server whose settings are the truth."""
EXACT, ROUGH = 0.01, 0.02
"""How far a max rate may be from the true one (ratio): of a well-behaved server, and of one
that stalls or collapses."""
CONFIDENCE = 0.99
"""Of the interval of a share: of a hundred true ones, one is reported as wrong by chance."""
MAX_RATE, LOST, REFUSED, LATE = "max rate", "lost", "refused", "late"
"""What is compared; all but the first are shares of the transactions begun."""
LONGEST_STALL, STALL_WITHIN_S, OPERATED = "longest stall", 0.01, "stall"
"""How a stall is compared, how near it has to be (s), and the operation that makes it."""
_STEPS = 60
"""Halvings by which a rate is found: more than a float has digits."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is true of a server by its settings."""

    name: str
    value: float
    """A rate (transactions/s), a stall (s), or a share (0..1)."""
    tolerance: float | None = None
    """How far a rate or stall may be from it (ratio); None of a share: it has an interval."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true of a scenario whose server is the responder."""

    facts: tuple[Fact, ...] = ()
    doubt: str = ""
    """Word for why no trial counts; empty where they do, and there are facts."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure beside the truth."""

    scenario: str
    generator: str
    figure: str
    """Name of the fact, or the word of the doubt."""
    true: float | None = None
    """As set; None of a doubt."""
    measured: float | None = None
    """As measured, None where there is no such figure."""
    interval: tuple[float, float] | None = None
    """Of a measured share, at `CONFIDENCE`."""
    tolerance: float | None = None
    """As of the fact."""
    within: bool = False
    """Whether the figure is near enough, or the doubt was reported."""
    id: str = ""
    """Of the result; empty where there is none."""
    why: str = ""
    """Why there is no figure; empty where there is one."""

    @property
    def error(self) -> float | None:
        """By how much the measured figure differs (ratio to the true one, which is above 0).

        None where either is missing, and for a true share of 0.
        """
        if self.measured is None or not self.true:
            return None
        return self.measured / self.true - 1


def truth_of(scenario: Scenario, procedure: AnyProcedure) -> Truth | None:
    """Return what is true of a scenario that is measured by a procedure.

    None where nothing follows: of another server, of one without a capacity, of a max rate with
    faults that cost transactions, of operations other than stalls, and of procedures other than
    max-rate, fixed-load and operate.
    """
    if scenario.server.kind != RESPONDER:
        return None
    options, stages = scenario.server.options, len(scenario.transaction.stages)
    if options["malformed"] and stages > 1:
        return Truth(doubt=MALFORMED)
    shares = shares_of(options, stages, procedure.late_s)
    if isinstance(procedure, Operate):
        return _of_stalls(options["stalls_ms"], procedure.operations)
    if isinstance(procedure, FixedLoad):
        return Truth(tuple(Fact(name, share) for name, share in shares.items()))
    if not isinstance(procedure, MaxRate) or any(shares.values()) or not options["capacity"]:
        return None
    rough = options["stall_ms"] or options["overload"] == "collapses"
    rate = highest_rate(options, stages, procedure.loss_ratio, procedure.trial_s)
    return Truth((Fact(MAX_RATE, rate, ROUGH if rough else EXACT),))


def _of_stalls(stalls_ms: str, operations: Sequence[str]) -> Truth | None:
    """Return the longest of the set stalls that operations make; None of other operations."""
    if set(operations) != {OPERATED} or not stalls_ms:
        return None
    longest_s = max(map(float, stalls_ms.split(",")[: len(operations)])) / 1000
    return Truth((Fact(LONGEST_STALL, longest_s, STALL_WITHIN_S / longest_s),))


def shares_of(options: Mapping[str, Any], stages: int, late_s: float) -> dict[str, float]:
    """Shares of transactions that are lost, refused and late below the capacity, by name.

    A transaction of two stages has two answers, and is late where they take longer than
    `late_s` together.
    """
    left, lost, refused = 1.0, 0.0, 0.0
    for dropped in (options["drop_first"], options["drop_second"])[:stages]:
        lost += left * dropped
        refused += left * (1 - dropped) * options["refuse"]
        left *= (1 - dropped) * (1 - options["refuse"])
    least, most = options["delay_least_ms"] / 1000, options["delay_most_ms"] / 1000
    in_time = _in_time(stages, late_s - stages * least, most - least)
    return {LOST: lost, REFUSED: refused, LATE: left * (1 - in_time)}


def _in_time(answers: int, left_s: float, spread_s: float) -> float:
    """Chance that one or two answers together take no longer than is left for them (0..1).

    Each takes up to `spread_s`, evenly spread, beyond its least time.
    """
    if not spread_s:
        return float(left_s >= 0)
    part = min(max(left_s / spread_s, 0.0), float(answers))
    if answers == 1:
        return part
    return part * part / 2 if part <= 1 else 1 - (2 - part) ** 2 / 2


def highest_rate(
    options: Mapping[str, Any], stages: int, loss_ratio: float, trial_s: float
) -> float:
    """Return the highest load of which no more than `loss_ratio` is lost (transactions/s).

    That is above the capacity, by what may be lost: a max rate is one of the load offered.
    """
    rate = float(options["capacity"])
    if options["stall_every_ms"]:
        rate *= 1 - options["stall_ms"] / options["stall_every_ms"]
    if options["doubled_by"] and stages > 1:  # a query leaves nothing behind
        # Half of the queue waits under overload, and half of that are second messages of
        # exchanges that have had half of their work as the traffic ends.
        begun = options["queue"] / 8
        return _highest_while_filling(rate, options["doubled_by"], begun, loss_ratio, trial_s)
    if options["overload"] == "collapses":
        # What is dropped takes half of a packet's work, and is a first message: a second one
        # follows the answer that has made room.
        return rate * stages / (stages * (1 - loss_ratio) + loss_ratio / 2)
    return rate / (1 - loss_ratio)


def _highest_while_filling(
    rate: float, doubled_by: float, begun: float, loss_ratio: float, trial_s: float
) -> float:
    """The same of a server whose work takes 1 + clients served/`doubled_by` times as long.

    It begins a trial without clients, keeps up with the load until its capacity has fallen to
    that, and completes what it can from then on.  `begun` is the work that it has done then for
    exchanges that are not complete (exchanges).
    """

    def spent(clients: float) -> float:
        """The time for which it has worked when it has served so many clients (s)."""
        return (clients + clients * clients / (2 * doubled_by)) / rate

    def loss(offered: float) -> float:
        """Share of a trial's load that is lost."""
        full = doubled_by * max(0.0, rate / offered - 1)
        if full >= offered * trial_s:
            return 0.0
        worked = spent(full) + trial_s - full / offered
        served = doubled_by * (math.sqrt(1 + 2 * rate * worked / doubled_by) - 1)
        return 1 - (served - begun) / (offered * trial_s)

    low, high = 0.0, rate / (1 - loss_ratio)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) <= loss_ratio else (low, middle)
    return low


def judge(truth: Truth, record: Record) -> list[Judged]:
    """Set a result beside the truth: a row for each fact, or one for the doubt."""
    judged = partial(Judged, record.scenario.name, record.generator.name, id=record.id)
    failed = record.outcome != Outcome.OK.label and record.reasons
    why = record.reasons[0].text if failed else ""
    trials = list(record.trials)
    if truth.doubt:
        doubted = bool(trials) and all(trial.reason == truth.doubt for trial in trials)
        reason = "" if doubted else why or "the trials count"
        return [judged(truth.doubt, within=doubted, why=reason)]
    rows = []
    for fact in truth.facts:
        if fact.tolerance is None:
            value, interval = _share(fact.name, [trial for trial in trials if trial.valid])
            within = interval is not None and interval[0] <= fact.value <= interval[1]
        else:
            value, interval = record.figure.value, None
            within = value is not None and abs(value / fact.value - 1) <= fact.tolerance
        about = (fact.value, value, interval, fact.tolerance, within)
        rows.append(judged(fact.name, *about, why=why if value is None else ""))
    return rows


def not_measured(truth: Truth, scenario: Scenario, why: str) -> list[Judged]:
    """Return the rows of a scenario that has no result, and why."""
    judged = partial(Judged, scenario.name, scenario.generator, why=why)
    if truth.doubt:
        return [judged(truth.doubt)]
    return [judged(fact.name, fact.value, tolerance=fact.tolerance) for fact in truth.facts]


def _share(
    name: str, trials: Sequence[Trial]
) -> tuple[float | None, tuple[float, float] | None]:
    """The share of all trials' transactions that came to something, and its interval."""
    attempted = sum(trial.attempted for trial in trials)
    if not attempted:
        return None, None
    counted = {
        LOST: sum(trial.lost for trial in trials),
        LATE: sum(trial.late for trial in trials),
        REFUSED: sum(sum(trial.failures.values()) for trial in trials),
    }[name]
    return counted / attempted, binomial(counted, attempted)


def binomial(counted: int, of: int) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share at `CONFIDENCE`."""
    from scipy.special import betaincinv  # noqa: PLC0415  # slow to import

    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(counted, of - counted + 1, tail)) if counted else 0.0
    high = float(betaincinv(counted + 1, of - counted, 1 - tail)) if counted < of else 1.0
    return low, high
