"""An archive of many builds: each measured in turn with an anchor, on a machine that drifts."""

from __future__ import annotations

import hashlib
import math
import random
import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from msgspec.structs import replace
from tests.examples import START, archive_result, built, example_result

from leaselab.analysis.figures.summary import metrics_of
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Experiment, Record, Round

ANCHOR = "a" * 40
RATE = 6000.0
"""Of the anchor, before the machine drifts (exchanges/s)."""
SWEEP = MaxRate(rounds=5, trim=0)


def name_of(number: int) -> str:
    """The hash of the commit that was written as the nth."""
    return hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest()


def past(
    root: Path,
    ratios: Sequence[float],
    *,
    anchor: bool = True,
    scenario: str = "v4-memfile",
    drift: float = 0.05,
    noise: float = 0.012,
    seed: int = 1,
    days: float = 1.0,
    commits: Sequence[str] = (),
    slow: Sequence[int] = (),
) -> list[Record]:
    """Archive a session for each build of these true ratios to the anchor; return theirs.

    `drift` is the standard deviation of the machine's speed from session to session, `noise`
    that of a round; a build is written, and measured, every so many `days`.  `commits` are the
    builds' hashes, where they are of a repository.  In the `slow` sessions something holds the
    anchor back, by 6 %.
    """
    chance = random.Random(seed)  # noqa: S311  # a simulation
    made = []
    for number, ratio in enumerate(ratios):
        speed = RATE * math.exp(drift * chance.gauss(0, 1))
        started = START + timedelta(days=days * number)
        pair = [
            _sweep(speed * of, noise, chance, started=started, scenario=scenario, token=token)
            for of, token in ((0.94 if number in slow else 1.0, "aaaa"), (ratio, "bbbb"))
        ]
        written = f"{(started - timedelta(hours=1)).isoformat()}"
        reference = built(pair[0], ANCHOR, subject="The release", described="v1")
        subject = f"Change number {number}"
        name = commits[number] if commits else name_of(number)
        other = built(pair[1], name, subject=subject, author_date=written)
        if anchor:
            ids = (reference.id, other.id)
            session = Experiment(id=ids[0], points=ids, interleaved=True, anchor=ids[0])
            archive_result(root, replace(reference, experiment=session))
            other = replace(other, experiment=session)
        made.append(archive_result(root, other))
    return made


def copied(archive: Path, root: Path) -> None:
    """Copy an archive, for a test that adds to it: faster than to make it again."""
    shutil.copytree(archive, root, dirs_exist_ok=True)


def _sweep(
    rate: float,
    noise: float,
    chance: random.Random,
    *,
    started: datetime,
    scenario: str,
    token: str,
) -> Record:
    rates = [rate * math.exp(noise * chance.gauss(0, 1)) for _ in range(SWEEP.rounds)]
    return example_result(
        rates, scenario=scenario, started=started, token=token, procedure=SWEEP
    )


def fought(
    root: Path,
    first: Record,
    second: Record,
    ratio: float,
    *,
    days: float = 60.0,
    noise: float = 0.004,
    seed: int = 2,
    slowdown: float | None = None,
    served_all: bool = False,
) -> tuple[str, str]:
    """Archive a duel of two builds whose true ratio this is, so many days after the start.

    `noise` is the standard deviation of a round; with a `slowdown` the duel calibrated.
    The second server may have `served_all` that was offered.
    """
    chance = random.Random(seed)  # noqa: S311  # as above
    plan = Duel(rounds=20)
    started = START + timedelta(days=days)
    records = []
    for record, token, of in ((first, "cccc", 1.0), (second, "dddd", ratio)):
        rounds = tuple(
            Round(
                index=index,
                started_at=record.started_at,
                metrics={
                    "completed_rate": 6000.0 * of * math.exp(noise * chance.gauss(0, 1)),
                    "loss_ratio": 0.0 if served_all and record is second else 0.05,
                    "cpu_us": 50.0 / of,
                },
                traffic_s=6.0,
                wall_s=20.0,
            )
            for index in range(1, plan.rounds + 1)
        )
        ident = example_result(scenario=record.scenario.name, started=started, token=token)
        records.append(
            replace(
                record,
                id=ident.id,
                started_at=ident.started_at,
                finished_at=ident.finished_at,
                procedure=plan,
                rounds=rounds,
                metrics=tuple(metrics_of(plan.metrics("exchanges"), list(rounds), plan)),
            )
        )
    ids = tuple(entry.id for entry in records)
    session = Experiment(id=ids[0], points=ids, interleaved=True, slowdown=slowdown)
    for item in records:
        archive_result(root, replace(item, experiment=session))
    return ids
