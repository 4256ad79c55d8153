"""The archive of a made-up lab that pictures and pages are tried on: always the same.

Forty-two scenarios and about 240 results: two of them with thirty builds, each in turn with an
anchor, of which one became slower; a duel that confirmed that, and one that saw nothing; a
result that is invalid, and a build that does not start.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import msgspec
from msgspec.structs import replace
from tests.bench_document import DOCUMENT, host
from tests.examples import (
    START,
    archive_result,
    built,
    confirmed,
    example_result,
    example_round,
    example_trial,
    fixed_load_result,
    invalid_result,
)
from tests.past import fought, name_of

from leaselab.analysis.figures.summary import metrics_of
from leaselab.archive.ident import new_id
from leaselab.catalog.catalogue import Catalogue
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.model.bench import Bench
from leaselab.model.moment import timestamp
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Experiment, Provenance, Reason, Record, Round
from leaselab.model.scenario import Scenario
from leaselab.run.record import KeptConfig, record_of

_PAIRS = {"memfile": ("", "-hs", "-lb"), "mysql": ("", "-hs"), "postgresql": ("", "-hs")}
SCENARIOS = (
    *(
        f"v{family}-{backend}{threads}{pair}"
        for family in (4, 6)
        for backend, pairs in _PAIRS.items()
        for threads in ("", "-mt")
        for pair in pairs
    ),
    *(f"v{family}-classes-{kind}" for family in (4, 6) for kind in ("none", "empty", "simple")),
    *(f"v4-threads-{count}" for count in (1, 2, 4, 8)),
    *("v4-hooks-none", "v4-hooks-flex-option", "v4-log-info", "v4-log-debug-99"),
)
"""Their names, in the order in which the lab measures them."""
FEW = (
    *("v4-memfile-mt", "v6-memfile", "v4-threads-1", "v4-threads-2"),
    *("v4-classes-none", "v4-classes-empty", "v6-mysql-hs", "v4-log-debug-99"),
)
"""Some of them, of each kind."""
ANCHOR = "c0ffee" * 6 + "c0ff"
BUILDS = 30
SLOWER = "v4-memfile-mt"
"""The scenario that one of the builds made slower, by `COST`."""
STEADY = "v6-memfile"
COST = 0.966
SINCE = 19
"""The first of the builds that is slower, from 0."""
SWEEP = MaxRate(rounds=9)
RELEASES = ("Kea-2.4.1", "Kea-2.6.3", "Kea-3.0.4")
"""Of `release_archive`, oldest first; the newest is slower than the one before by `COST`."""
IN_TURN = (
    *("v4-memfile", "v6-memfile", "v4-mysql", "v4-memfile-hs"),
    *(f"v4-threads-{count}" for count in (1, 2, 4)),
)
RELEASED = "v4-long-run-renewed"
_KEPT = KeptConfig("config/kea-dhcp.conf", "1" * 64)
_CATALOGUE = Catalogue(Path(__file__).parents[1])
_RATES = {
    "mysql": 520.0,
    "postgresql": 760.0,
    "multi": 2.1,
    "hot-standby": 0.62,
    "load-balancing": 0.71,
    "empty": 0.81,
    "simple": 0.36,
    2: 1.6,
    4: 2.2,
    8: 2.0,
    "flex_option": 0.94,
    "INFO": 0.7,
}
"""What a value of a factor makes of the rate: times that, or a rate (exchanges/s)."""
_RATE = 6000.0
_DURABILITY = {"memfile": "written", "mysql": "buffered", "postgresql": "buffered"}
_OFFERS = (
    (0.35, 1),
    (0.7, 1),
    (1.4, 1),
    (2.6, 1),
    (1.05, 5),
    (0.97, 5),
    (1.005, 5),
    (0.997, 5),
)
"""The trials of a run: load over the max rate, and seconds."""
_SUBJECTS = (
    "Keep the subnet of a packet",
    "Log the reason of a refusal",
    "Check options before the lease",
    "Parse the vendor class once",
    "Count leases by state",
)
COSTLY = "Look up reservations for each packet"


def lab_archive(root: Path, names: Sequence[str] = SCENARIOS, builds: int = BUILDS) -> None:
    """Write the archive into an empty folder, or a smaller one.

    `names` are its scenarios, with `SLOWER` and `STEADY` among them; `builds` is their number.
    """
    since = builds * SINCE // BUILDS
    scenarios = _CATALOGUE.scenarios
    chance = random.Random(35)  # noqa: S311  # a simulation

    def record(
        name: str, days: float, token: str, ratio: float = 1.0, rounds: int = 9
    ) -> Record:
        started = START - timedelta(days=days)
        speed = ratio * drift(days)
        return _record(
            scenarios[name], started, token, speed=speed, rounds=rounds, chance=chance
        )

    def drift(days: float) -> float:
        return math.exp(0.012 * math.sin(7.3 * days))

    for name in (SLOWER, STEADY):
        made = list(_builds(root, name, record, builds, since))
        if name == SLOWER:
            fought(root, made[since - 1], made[since], COST, days=-3.0)
        else:
            fought(root, made[-2], made[-1], 1.001, days=-2.0)
    of_curve = [name for name in names if name.startswith("v4-threads")]
    curve = [record(name, 0.5 - n / 700, "eeee") for n, name in enumerate(of_curve)]
    ids = tuple(entry.id for entry in curve)
    for item in curve:
        session = Experiment(id=ids[0], points=ids, interleaved=True)
        archive_result(root, replace(confirmed(item), experiment=session))
    others = [name for name in names if name not in (SLOWER, STEADY)]
    for place, name in enumerate(others):
        for age in (56, 28, 0):
            if age == 0 and name in of_curve:
                continue
            days = age + 0.9 - place / 100
            result = record(name, days, "eeee", rounds=5 if age else 9)
            if age == 0 and name == "v6-mysql-hs":
                bad = invalid_result(scenario=name, started=START - timedelta(days=days))
                result = replace(bad, scenario=scenarios[name], servers=result.servers)
            elif age == 0 and name == "v4-log-debug-99":
                result = replace(
                    result,
                    outcome="build-failed",
                    reasons=(Reason(word="build-failed", text="the server does not start"),),
                    rounds=(),
                    metrics=metrics_of(SWEEP.metrics("exchanges"), [], SWEEP),
                    confirmation=None,
                )
            elif age == 0:
                result = confirmed(result)
            archive_result(root, result)


def release_archive(root: Path) -> None:
    """Write results of three releases into an empty folder.

    Each scenario was measured with all in turn; `RELEASED` with the newest alone, `v4-memfile`
    once more with it, another day.
    """
    scenarios = _CATALOGUE.scenarios
    chance = random.Random(7)  # noqa: S311  # a simulation
    for place, name in enumerate(IN_TURN):
        points = []
        for number, (tag, ratio) in enumerate(zip(RELEASES, (0.9, 1.0, COST), strict=True)):
            started = START + timedelta(hours=place, minutes=number)
            made = _record(
                scenarios[name], started, "eeee", speed=ratio, rounds=5, chance=chance
            )
            points.append(built(made, name_of(number), subject="Release", described=tag))
        ids = tuple(point.id for point in points)
        session = Experiment(id=ids[0], points=ids, interleaved=True)
        for point in points:
            archive_result(root, replace(point, experiment=session))
    long_run = _hour(fixed_load_result([0.0064], started=START + timedelta(days=1)), chance)
    alone = replace(long_run, scenario=scenarios[RELEASED], id=new_id(START, RELEASED, "eeee"))
    archive_result(root, built(alone, name_of(2), described=RELEASES[2]))
    later = START + timedelta(days=2)
    again = _record(scenarios["v4-memfile"], later, "ffff", speed=1, rounds=5, chance=chance)
    archive_result(root, built(again, name_of(2), described=RELEASES[2]))


def _hour(record: Record, chance: random.Random) -> Record:
    """The record with an hour of traffic in its one round, in trials of a minute."""
    (round_,) = record.rounds
    began = datetime.fromisoformat(round_.started_at)
    trials = [
        example_trial(
            4800,
            60,
            abs(0.0004 * chance.gauss(0, 1)),
            number=number,
            index=round_.index,
            round_started=began + timedelta(seconds=54 * number),
        )
        for number in range(1, 61)
    ]
    hour = replace(round_, trials=tuple(trials), traffic_s=3600.0, wall_s=3730.0)
    return replace(record, procedure=replace(record.procedure, duration_s=3600), rounds=(hour,))


def _builds(
    root: Path, name: str, record: Callable[..., Record], builds: int, since: int
) -> Iterator[Record]:
    for number in range(builds):
        days = float(builds - number)
        slower = COST if name == SLOWER and number >= since else 1.0
        rounds = 9 if number == builds - 1 else 5
        reference = built(
            record(name, days, "aaaa", rounds=rounds),
            ANCHOR,
            subject="Release 3.0.4",
            described="Kea-3.0.4",
        )
        subject = COSTLY if number == since else _SUBJECTS[number % len(_SUBJECTS)]
        other = built(
            record(name, days, "bbbb", slower, rounds),
            name_of(number),
            subject=subject,
            author_date=(START - timedelta(days=days, hours=1)).isoformat(),
        )
        ids = (reference.id, other.id)
        session = Experiment(id=ids[0], points=ids, interleaved=True, anchor=ids[0])
        archive_result(root, replace(reference, experiment=session))
        yield archive_result(root, replace(other, experiment=session))


def _record(
    scenario: Scenario,
    started: datetime,
    token: str,
    *,
    speed: float,
    rounds: int,
    chance: random.Random,
) -> Record:
    """The record that the engine makes of a sweep whose rate is `speed` times its usual one."""
    rate = _RATE
    for value in scenario.factors.values():
        by = _RATES.get(value, 1.0)
        rate = by if by > 10 else rate * by
    plan, clock, made = replace(SWEEP, rounds=rounds), started, []
    for index in range(1, rounds + 1):
        own = rate * speed * math.exp(0.011 * chance.gauss(0, 1))
        round_ = example_round(index, own, clock, plan, scenario.load["family"])
        made.append(_searched(round_, chance) if rounds == SWEEP.rounds else round_)
        clock += timedelta(seconds=round_.wall_s + 1.5)
    record = record_of(
        new_id(started, scenario.name, token),
        _bench(scenario, plan),
        SimpleNamespace(rounds=made, confirmation=None, error=None),  # type: ignore[arg-type]
        setup_s=1.5 * rounds,
        started_at=timestamp(started),
        owner="a.tester@desk:4711",
        configs=dict.fromkeys(("server", "partner"), _KEPT),
        experiment=None,
        provenance=Provenance(
            leaselab_version="0.1.0", command=("leaselab", "run", scenario.name)
        ),
    )
    return replace(record, finished_at=timestamp(clock))


def _bench(scenario: Scenario, plan: MaxRate) -> Bench:
    """The bench of a scenario, from a document with sorted keys, as Ansible writes it."""
    backend = str(scenario.factors.get("backend", "memfile"))
    server = {**DOCUMENT["servers"]["server"], "durability": _DURABILITY[backend]}
    facts = {
        role: {"facts": msgspec.to_builtins(known)}
        for role, known in example_result().bench.hosts.items()
    }
    roles = ("server", "partner") if scenario.partners else ("server",)
    hosts = {**DOCUMENT["hosts"], "partner": host("leaselab-partner", "198.18.0.20")}
    document = {
        **DOCUMENT,
        "hosts": {
            role: {**hosts[role], **facts.get(role, {})} for role in (*roles, "generator")
        },
        "servers": dict.fromkeys(roles, server),
        "scenario": msgspec.to_builtins(scenario),
        "procedure": msgspec.to_builtins(plan),
    }
    return parse_bench(json.loads(json.dumps(document, sort_keys=True)), "bench.json")


def _searched(round_: Round, chance: random.Random) -> Round:
    """A round with as many trials as a search takes."""
    rate = round_.metrics["max_rate"] or 0.0
    began = datetime.fromisoformat(round_.started_at)
    trials = []
    for number, (share, seconds) in enumerate(_OFFERS, start=1):
        over = share - 1 + 0.003 * chance.gauss(0, 1)
        loss = max(0.001, 0.025 + over) if share < 1.2 else 1 - 0.98 / share
        if share < 0.9:
            loss = 0.0002
        trials.append(
            example_trial(
                round(rate * share),
                seconds,
                loss,
                number=number,
                index=round_.index,
                round_started=began,
            )
        )
    bracket = round_.bracket
    if bracket:
        bracket = replace(bracket, lower_trial=7, upper_trial=6)
    return replace(round_, trials=tuple(trials), bracket=bracket, shown_trial=7)
