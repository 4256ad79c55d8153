"""Synthetic results for `leaselab dev bench archive`: whole, valid, and cheap to make."""

from __future__ import annotations

import hashlib
import random
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from leaselab.analysis.figures.summary import metrics_of
from leaselab.archive.checksums import SUMS
from leaselab.archive.ident import month_of, new_id
from leaselab.archive.running import RESULT
from leaselab.model.host import Host
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Bench, Bracket, Generator, Provenance, Reason, Record, Round
from leaselab.model.scenario import Scenario, ServerOptions, Transaction
from leaselab.model.server import Build, Server
from leaselab.model.source import Commit
from leaselab.model.trial import Percentiles, Trial

COMMITS_A_YEAR = 330
_BACKENDS = (
    ("memfile", 10_000, "written"),
    ("mysql", 1_600, "written"),
    ("postgresql", 1_500, "synced"),
)
_WAYS = (("", 1.0), ("-mt", 1.4), ("-hs", 0.3), ("-mt-hs", 0.4), ("-lb", 0.35))
SCENARIOS = [
    (f"v{family}-{backend}{way}", family, backend, rate * factor, durability)
    for family in (4, 6)
    for backend, rate, durability in _BACKENDS
    for way, factor in _WAYS
]
"""Name, family, backend, typical max rate (exchanges/s), durability: thirty."""
_PROCEDURE = MaxRate()
_STAGES = {4: ("DISCOVER-OFFER", "REQUEST-ACK"), 6: ("SOLICIT-ADVERTISE", "REQUEST-REPLY")}
_ROUND = timedelta(seconds=24)
_BROKEN = 0.02
"""Share of results that gave no figure."""


def write_result(root: Path, number: int, started: datetime, rng: random.Random) -> int:
    """Write one result at its place in the archive, with checksum; return its size (bytes).

    Without the flush to the disk that a real one gets: the machine that makes
    these may lose them.
    """
    record = _record(number, started, rng)
    content = msgspec.json.encode(record)
    year, month = month_of(record.id)
    place = root / year / month / record.id
    place.mkdir(parents=True)
    (place / RESULT).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    (place / SUMS).write_text(f"{digest}  {RESULT}\n", encoding="ascii")
    return len(content)


def _record(number: int, started: datetime, rng: random.Random) -> Record:
    name, family, backend, rate, durability = SCENARIOS[number % len(SCENARIOS)]
    broken = rng.random() < _BROKEN
    # drifts over the years, a step at some commits, noise from round to round
    level = rate * (1 + 0.02 * (started.year - 2016)) * (1 + 0.03 * ((number // 9000) % 3))
    rounds = tuple(
        _round(index, level * rng.gauss(1.0, 0.015), started + index * _ROUND, family, rng)
        for index in range(1, 4 if broken else 10)
    )
    text = "run 3: the generator could not keep up"
    return Record(
        id=new_id(started, name, f"{number % 65536:04x}"),
        started_at=_time(started),
        finished_at=_time(started + 10 * _ROUND),
        outcome="invalid" if broken else "ok",
        reasons=(Reason(word="generator-limited", text=text),) if broken else (),
        scenario=_scenario(name, family, backend),
        procedure=_PROCEDURE,
        servers={"server": _server(name, durability, number // len(SCENARIOS), started)},
        generator=Generator(name="perfdhcp", version="2.6.3", host="generator"),
        bench=Bench(
            name="synthetic",
            environment=f"1-{started.year}",
            hosts={"server": _host(started, "0"), "generator": _host(started, "1")},
        ),
        rounds=rounds,
        metrics=metrics_of(_PROCEDURE.metrics("exchanges"), rounds, _PROCEDURE),
        traffic_s=sum(round_.traffic_s for round_ in rounds),
        wall_s=sum(round_.wall_s for round_ in rounds),
        provenance=Provenance(
            leaselab_version="0.1.0", leaselab_dirty=False, command=("leaselab", "run", name)
        ),
    )


def _scenario(name: str, family: int, backend: str) -> Scenario:
    ways = {"-hs": "hot-standby", "-lb": "load-balancing"}
    servers = ways.get(name[-3:], "none")
    return Scenario(
        name=name,
        server=ServerOptions(kind="kea", options={"backend": backend}),
        partner=servers != "none",
        generator="perfdhcp",
        transaction=Transaction(
            name=f"DHCPv{family} exchange", plural="exchanges", stages=_STAGES[family]
        ),
        load={"family": family},
        factors={
            "protocol": f"DHCPv{family}",
            "backend": backend,
            "threading": "multi" if "-mt" in name else "single",
            "servers": servers,
        },
        across=("threading", "servers"),
    )


def _server(name: str, durability: str, change: int, started: datetime) -> Server:
    commit = hashlib.sha1(str(change).encode()).hexdigest()  # noqa: S324  # as git
    source = Commit(
        repository="https://example.invalid/kea.git",
        ref=commit,
        hash=commit,
        tree=commit[::-1],
        described=f"Kea-2.{started.year - 2016}.0-{change}-g{commit[:10]}",
        author_date=started.isoformat(timespec="seconds"),
        subject=f"[#{change}] Change what allocates <leases> & more",
    )
    return Server(
        name="kea",
        version=f"2.{started.year - 2016}.0",
        commit=commit,
        durability=durability,
        config_sha256=hashlib.sha256(name.encode()).hexdigest(),
        build=Build(source=source),
        holds="leases",
    )


def _host(started: datetime, cpus: str) -> Host:
    return Host(
        kernel="6.12",
        cpu_model="synthetic",
        cpus_allowed=cpus,
        memory_bytes=64_000_000_000,
        governor="performance",
        os=f"Debian {8 + (started.year - 2014) // 2}",
        test_interface="eth1",
        test_address="198.18.0.10",
    )


def _round(
    index: int, rate: float, started: datetime, family: int, rng: random.Random
) -> Round:
    lower, upper = round(rate * 0.997), round(rate * 1.005)
    offers = [(round(rate * 1.3), 1, 0.2), (upper, 5, 0.029), (lower, 5, 0.017)]
    trials = tuple(
        _trial(offer, started + timedelta(seconds=8 * place), family, rng)
        for place, offer in enumerate(offers)
    )
    return Round(
        index=index,
        started_at=_time(started),
        metrics={
            "max_rate": rate,
            "completed_rate": trials[-1].completed_rate,
            "cpu_us": _PROCEDURE.cpu_us(trials),
        },
        bracket=Bracket(lower=lower, upper=upper, lower_trial=2, upper_trial=1),
        shown_trial=2,
        traffic_s=11.0,
        wall_s=_ROUND.total_seconds(),
        trials=trials,
    )


def _trial(
    offer: tuple[int, int, float], started: datetime, family: int, rng: random.Random
) -> Trial:
    """A trial of an offer: rate (exchanges/s), length (s), share that is lost."""
    rate, seconds, loss = offer
    offered = rate * seconds
    completed = round(offered * (1 - loss))
    middle = 0.0005 * rng.uniform(0.8, 1.2)
    return Trial(
        rate=rate,
        duration_s=seconds,
        attempted=offered,
        completed=completed,
        late=0,
        lost=offered - completed,
        traffic_s=float(seconds),
        started_at=_time(started),
        wall_s=seconds + 2.2,
        latency_s={
            stage: Percentiles(
                p50=middle, p90=3 * middle, p99=9 * middle, p999=15 * middle, max=most * middle
            )
            for stage, most in zip(_STAGES[family], (20, 25), strict=True)
        },
        cpu_us=90.0 * rng.uniform(0.95, 1.05),
        argv=("perfdhcp", "-4", "-r", str(rate), "-p", str(seconds), "198.18.0.10"),
    )


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
