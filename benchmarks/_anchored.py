"""Simulated histories: sessions of a commit and an anchor, and what changes among commits.

A session has nine rounds, each a run of the anchor and one of the commit, in an order that
alternates.  Runs scatter by 1.2 %, so that ratios do by 0.57 %.
"""

from __future__ import annotations

import enum
import zlib
from typing import TYPE_CHECKING

import numpy as np

from leaselab.analysis.history.anchors import Session, doubted
from leaselab.analysis.history.histories import relative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leaselab.analysis.history.detectors import Reading

    Floats = NDArray[np.float64]

ROUNDS = 9
RUN_S = 150.0
"""Of one run, its start and what lies between runs (s)."""
RUN_NOISE = 0.012
BAND = 0.02
"""How far two bands are apart."""
DISTURBED = 0.05
"""Share of sessions in which something disturbs one of the two."""
SLOW, IN_A_ROW, FIRST_BAD = 0.05, 3, 12
"""By how much an anchor is slow (logarithm), in how many sessions one after the other, and
before which session that does not begin."""
LEVEL = 0.02
"""How far the level of both is off from night to night (standard deviation)."""


class Kind(enum.Enum):
    """What is wrong with the machine; the value is the word for it."""

    INDEPENDENT = "independent noise"
    DRIFTING = "drifting, 2 %"
    OUTLIERS = "outliers, 5 % of sessions"
    BANDS = "two bands of starts, 2 %"
    DRIFTING_MORE = "drifting, 5 %"
    BANDS_OF_BUILDS = "two bands of builds, 2 %"
    SLOW_ANCHOR = "anchor slow by 5 %, 5 % of nights; level 2 %"
    BAD_NIGHTS = "anchor slow by 5 %, three nights in a row; level 2 %"

    @property
    def wanted(self) -> bool:
        """Whether it is one of those that the detector has to cope with."""
        return self not in (Kind.DRIFTING_MORE, Kind.BANDS_OF_BUILDS)

    @property
    def level(self) -> float:
        """Standard deviation of the machine's level from session to session."""
        return LEVEL if self in (Kind.SLOW_ANCHOR, Kind.BAD_NIGHTS) else 0.0

    @property
    def drift(self) -> float:
        """Standard deviation of the machine's speed."""
        return {Kind.DRIFTING: 0.02, Kind.DRIFTING_MORE: 0.05}.get(self, 0.0)


def history(kind: Kind, number: int, true: Floats) -> list[Reading]:
    """Measure commits whose true logarithms of ratios these are; one series for a number."""
    chance = np.random.default_rng([number, zlib.crc32(kind.name.encode())])
    count = len(true)
    machine = _drift(chance, kind.drift, count)
    runs = RUN_NOISE * chance.standard_normal((count, ROUNDS, 2))
    runs += kind.level * chance.standard_normal((count, 1, 1))
    if kind is Kind.BANDS:
        runs += BAND * (chance.random((count, ROUNDS, 2)) < 0.5)
    for turn in range(ROUNDS):
        # A B, then B A: which of the two runs first alternates
        first = turn % 2
        runs[:, turn, first] += machine[:, 2 * turn]
        runs[:, turn, 1 - first] += machine[:, 2 * turn + 1]
    if kind is Kind.OUTLIERS:
        _disturb(chance, runs)
    runs[:, :, 1] += true[:, None]
    if kind is Kind.BANDS_OF_BUILDS:
        runs[:, :, 1] += BAND * (chance.random((count, 1)) < 0.5)
    if kind is Kind.SLOW_ANCHOR:
        runs[chance.random(count) < DISTURBED, :, 0] -= SLOW
    if kind is Kind.BAD_NIGHTS:
        begun = chance.integers(FIRST_BAD, count - IN_A_ROW)
        runs[begun : begun + IN_A_ROW, :, 0] -= SLOW
    sessions = []
    for pair in 10_000 * np.exp(runs):
        reading = relative(pair[:, 0].tolist(), pair[:, 1].tolist())
        if reading is not None:
            anchor, build = np.log(pair.mean(axis=0)).tolist()
            sessions.append(Session(reading, anchor, build))
    return doubted(sessions)


def _drift(chance: np.random.Generator, deviation: float, count: int) -> Floats:
    """The machine's speed at each run of each session: an Ornstein-Uhlenbeck process.

    Its time constant is of 1 to 60 minutes, another one for each series.
    """
    constant = 60.0 * 60.0 ** chance.random()
    kept = float(np.exp(-RUN_S / constant))
    speed = np.empty((count, 2 * ROUNDS))
    speed[:, 0] = chance.standard_normal(count)
    for run in range(1, 2 * ROUNDS):
        fresh = chance.standard_normal(count)
        speed[:, run] = kept * speed[:, run - 1] + np.sqrt(1 - kept**2) * fresh
    return deviation * speed


def _disturb(chance: np.random.Generator, runs: Floats) -> None:
    """Slow one of the two down by 2 to 15 %, from some round of the session on."""
    for session in np.flatnonzero(chance.random(len(runs)) < DISTURBED):
        begun, side = chance.integers(ROUNDS), chance.integers(2)
        runs[session, begun:, side] -= chance.uniform(0.02, 0.15)
