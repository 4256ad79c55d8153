"""A believable record, for tests that show, compare or archive results."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from tests.bench_document import DOCUMENT

from leaselab.analysis.comparison.matrix import Cell
from leaselab.analysis.figures.summary import at_least, metrics_of
from leaselab.archive.ident import new_id
from leaselab.archive.running import RunningSweep
from leaselab.archive.store import Store
from leaselab.model.journal import Fault
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Bracket, Confirmation, Experiment, Record, Round
from leaselab.model.server import Build
from leaselab.model.source import Commit
from leaselab.model.trial import WHOLE, Percentiles, Sample, Second, Trial

CONFIG = '{"Dhcp4": {"valid-lifetime": 86400}}\n'
MAX_RATES = (6015.0, 5988.0, 6122.0, 6003.0, 5731.0, 6040.0, 5996.0, 6021.0, 5979.0)
"""Nine rounds: 6122 and 5731 are the ones to drop, the other seven average 6006."""
START = datetime(2026, 11, 21, 11, 30, 5, tzinfo=UTC)
STAGES = {4: ("DISCOVER-OFFER", "REQUEST-ACK"), 6: ("SOLICIT-ADVERTISE", "REQUEST-REPLY")}
PROCEDURE = MaxRate()


def edited(record: Record, edit: Callable[[dict[str, Any]], object]) -> Record:
    """The record after `edit` has changed its JSON document in place; checked again."""
    document = msgspec.json.decode(msgspec.json.encode(record))
    edit(document)
    return msgspec.convert(document, Record)


def example_result(
    max_rates: Sequence[float] = MAX_RATES,
    *,
    scenario: str = "v4-memfile",
    started: datetime = START,
    token: str = "3f9a",  # noqa: S107  # part of an id, not a secret
    version: str = "2.6.3",
    commit: str | None = None,
    outcome: str = "ok",
    reasons: Sequence[dict[str, str]] = (),
    procedure: MaxRate = PROCEDURE,
) -> Record:
    """The record that a sweep of these max rates (exchanges/s) leaves."""
    rounds = []
    clock = started
    for index, rate in enumerate(max_rates, start=1):
        rounds.append(
            example_round(index, rate, clock, procedure, 6 if "v6" in scenario else 4)
        )
        clock += timedelta(seconds=rounds[-1].wall_s + 1.5)
    family = 6 if scenario.startswith("v6") else 4
    document = {
        "id": new_id(started, scenario, token),
        "started_at": _time(started),
        "finished_at": _time(clock),
        "outcome": outcome,
        "reasons": list(reasons),
        "scenario": {
            "name": scenario,
            "description": "Leases in memory and in a file on the server; no database",
            "server": {"kind": "kea", "options": {"backend": "memfile", "queue_size": 64}},
            "generator": "perfdhcp",
            "transaction": {
                "name": f"DHCPv{family} exchange",
                "plural": "exchanges",
                "stages": STAGES[family],
            },
            "load": {"family": family, "pool": {"subnet": "10.0.0.0/8"}},
            "factors": {
                "protocol": f"DHCPv{family}",
                "backend": "memfile",
                "threading": "multi" if scenario.endswith("-mt") else "single",
                "servers": "none",
            },
            "across": ["threading", "servers"],
        },
        "procedure": procedure,
        "servers": {
            "server": {
                "name": "kea",
                "version": version,
                "commit": commit,
                "durability": "written",
                "config_sha256": hashlib.sha256(CONFIG.encode()).hexdigest(),
                "config_file": f"config/kea-dhcp{family}.conf",
                "package": None if commit else f"kea {version}-1+deb13u1",
                "build": {"options": {"cxxflags": "-O2"}} if commit else None,
                "holds": "leases",
                "tuning": {"memfile_persist": True},
            }
        },
        "generator": {"name": "perfdhcp", "version": "2.6.3", "host": "generator"},
        "bench": {
            "name": "docker",
            "inventory": "inventory/docker",
            "environment": "1",
            "hosts": {
                "server": _host("198.18.0.2/24", "0"),
                "generator": _host("198.18.0.3/24", "1"),
            },
            "lock_owner": "a.tester@desk:4711",
        },
        "rounds": rounds,
        "metrics": metrics_of(procedure.metrics("exchanges"), rounds, procedure),
        "at_least": None if len(rounds) >= procedure.rounds else at_least(rounds, procedure),
        "traffic_s": sum(round_.traffic_s for round_ in rounds),
        "wall_s": (clock - started).total_seconds(),
        "provenance": {
            "leaselab_version": "0.1.0",
            "leaselab_commit": "b298d0f1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7",
            "leaselab_dirty": False,
            "command": ["leaselab", "run", "--scenario", scenario],
        },
    }
    return msgspec.convert(msgspec.to_builtins(document), Record)


def built(record: Record, commit: str, **fields: Any) -> Record:
    """The record of a server that was built from this commit; fields replace the commit's."""
    known = {
        "repository": "/src/kea",
        "ref": "main",
        "hash": commit,
        "tree": commit,
        "described": commit[:10],
        "author_date": "2026-11-20T10:00:00+00:00",
        "subject": "A change",
    }
    source = Commit(**{**known, **fields})
    server = replace(record.server, commit=commit, build=Build(source=source))
    return replace(record, servers={**record.servers, "server": server})


def example_round(
    index: int, rate: float, started: datetime, procedure: MaxRate, family: int = 4
) -> Round:
    """One round whose bracket is 0.8 % wide, with a scout, a failing and a passing trial."""
    lower, upper = round(rate * 0.997), round(rate * 1.005)
    offers = [
        (round(rate * 1.3), procedure.scout_s, 0.2),
        (upper, procedure.trial_s, procedure.loss_ratio + 0.004),
        (lower, procedure.trial_s, max(0.0, procedure.loss_ratio - 0.008)),
    ]
    trials = tuple(
        example_trial(*offer, number=number, index=index, round_started=started, family=family)
        for number, offer in enumerate(offers, start=1)
    )
    return Round(
        index=index,
        started_at=_time(started),
        metrics={
            "max_rate": rate,
            "completed_rate": round(trials[-1].completed_rate, 1),
            "cpu_us": procedure.cpu_us(trials),
        },
        bracket=Bracket(lower=float(lower), upper=float(upper), lower_trial=2, upper_trial=1),
        shown_trial=2,
        traffic_s=sum(trial.traffic_s for trial in trials),
        wall_s=round(sum(trial.wall_s for trial in trials) + 0.9, 3),
        trials=trials,
    )


def confirmed(
    record: Record, *, loss: float = 0.013, overload_completes: float = 0.9
) -> Record:
    """The record with a confirmation that lost `loss`.

    `overload_completes` is the share of the lowest max rate that the server completes
    of four times the load.
    """
    procedure = record.procedure
    began = datetime.fromisoformat(record.finished_at)
    rates = [rate for rate in record.values("max_rate") if rate is not None]
    rate = int(0.95 * min(round_.bracket.lower for round_ in record.rounds if round_.bracket))
    confirm_s, trial_s = procedure.confirm_s, procedure.trial_s
    offers = [(rate, confirm_s, loss)]
    offers.append((4 * rate, trial_s, 1 - overload_completes * min(rates) / (4 * rate)))
    trials = tuple(
        replace(
            example_trial(
                offered,
                seconds,
                lost,
                number=number,
                index=len(record.rounds) + 1,
                round_started=began,
            ),
            raw_file=f"raw/confirmation-{number:02}.txt.gz",
        )
        for number, (offered, seconds, lost) in enumerate(offers, start=1)
    )
    wall_s = sum(trial.wall_s for trial in trials) + 1.5
    is_limit = max(rates) >= 0.5 * trials[-1].completed_rate
    result = Confirmation(
        rate=rate,
        loss_ratio=trials[0].loss_ratio,
        holds=trials[0].loss_ratio <= procedure.loss_ratio and is_limit,
        traffic_s=sum(trial.traffic_s for trial in trials),
        wall_s=wall_s,
        trials=trials,
    )
    kinds = procedure.metrics("exchanges")
    return replace(
        record,
        finished_at=_time(began + timedelta(seconds=wall_s)),
        confirmation=result,
        metrics=metrics_of(kinds, record.rounds, procedure, holds=result.holds),
        at_least=None,
        traffic_s=record.traffic_s + result.traffic_s,
        wall_s=record.wall_s + wall_s,
    )


def example_trial(
    rate: int,
    seconds: int,
    loss: float,
    *,
    number: int,
    index: int,
    round_started: datetime,
    family: int = 4,
) -> Trial:
    """One trial; the lost exchanges are half late and half lost."""
    attempted = rate * seconds
    completed = attempted - round(attempted * loss)
    late = (attempted - completed) // 2
    first, second = STAGES[family]
    return Trial(
        rate=rate,
        duration_s=seconds,
        attempted=attempted,
        completed=completed,
        late=late,
        lost=attempted - completed - late,
        traffic_s=float(seconds),
        started_at=_time(round_started + timedelta(seconds=8.0 * (number - 1) + 0.9)),
        wall_s=seconds + 2.35,
        latency_s={
            first: _percentiles(0.0004 * (1 + 20 * loss)),
            second: _percentiles(0.0006 * (1 + 20 * loss)),
            WHOLE: _percentiles(0.0011 * (1 + 20 * loss)),
        },
        per_second=tuple(
            Second(
                t=float(second),
                attempted=rate,
                completed=completed // seconds,
                p50_s=0.0011,
                p99_s=0.0088,
            )
            for second in range(seconds)
        ),
        samples={
            "server": tuple(
                Sample(
                    t=round_started.timestamp() + second,
                    cpu_s=round(0.9 * second, 2),
                    rss_bytes=41_000_000 + 1000 * second,
                    udp_drops=0,
                    held=completed // seconds * second,
                    counters={"pkt4-received": 2 * rate * second},
                )
                for second in range(seconds + 1)
            )
        },
        cpu_us=151.0 + 4 * (index - 1) % 9,
        argv=("perfdhcp", "-4", "-r", str(rate), "-p", str(seconds), "198.18.0.2"),
        raw_file=f"raw/run-{index}-trial-{number:02}.txt.gz",
    )


def invalid_result(**fields: Any) -> Record:
    """A sweep that stopped in its third round, because the generator could not keep up."""
    record = example_result(
        MAX_RATES[:3],
        outcome="invalid",
        reasons=[
            {
                "word": "generator-limited",
                "text": "run 3: perfdhcp started 5702 of 6000 exchanges/s asked for",
            }
        ],
        **fields,
    )
    last = record.rounds[-1]
    trials = (
        *last.trials[:-1],
        replace(last.trials[-1], valid=False, reason="generator-limited"),
    )
    nothing = {
        "max_rate": None,
        "completed_rate": None,
        "cpu_us": record.procedure.cpu_us(trials),
    }
    last = replace(last, metrics=nothing, bracket=None, shown_trial=None, trials=trials)
    return replace(record, rounds=(*record.rounds[:-1], last))


def fixed_load_result(p99_s: Sequence[float], **fields: Any) -> Record:
    """The record of a fixed load with these percentiles (s); the median is half of each."""
    procedure = FixedLoad(rate=4800, rounds=len(p99_s), trim=0)
    record = example_result([6000.0] * len(p99_s), **fields)
    rounds = tuple(
        replace(
            round_,
            bracket=None,
            shown_trial=None,
            metrics={"p99_s": p99, "p50_s": p99 / 2, "loss_ratio": 0.001, "cpu_us": 88.0},
        )
        for round_, p99 in zip(record.rounds, p99_s, strict=True)
    )
    kinds = procedure.metrics("exchanges")
    metrics = metrics_of(
        [kind for kind in kinds if kind.name in rounds[0].metrics], rounds, procedure
    )
    return replace(record, procedure=procedure, rounds=rounds, metrics=metrics, at_least=None)


def burst_result(clients: int, served_s: Sequence[float | None], **fields: Any) -> Record:
    """The record of clients that all began at once, and how long each round took (s).

    None where not all of them were served.
    """
    procedure = Burst(clients=clients, rounds=len(served_s), trim=0)
    record = example_result([6000.0] * len(served_s), **fields)
    rounds = tuple(
        replace(
            round_,
            bracket=None,
            shown_trial=0,
            metrics={"served_s": took, "served_rate": clients / took if took else None},
            trials=(
                replace(
                    round_.trials[0],
                    rate=0,
                    at_once=clients,
                    attempted=clients,
                    completed=clients if took else clients - 1,
                ),
            ),
        )
        for round_, took in zip(record.rounds, served_s, strict=True)
    )
    kinds = [
        kind
        for kind in procedure.metrics("exchanges")
        if kind.name in {"served_s", "served_rate"}
    ]
    metrics = metrics_of(kinds, rounds, procedure)
    return replace(record, procedure=procedure, rounds=rounds, metrics=metrics, at_least=None)


def example_cell(value: float | None = 1000.0, **fields: Any) -> Cell:
    """The cell of a result of v4-memfile; fields replace its own, `factors` some of them."""
    factors = {
        "protocol": "DHCPv4",
        "backend": "memfile",
        "threading": "single",
        "servers": "none",
        **fields.pop("factors", {}),
    }
    known = {
        "scenario": "v4-memfile",
        "id": "20261121T113005Z-v4-memfile-3f9a",
        "across": ("threading", "servers"),
        "durability": "written",
        "outcome": "ok",
        "how": "trimmed mean",
        "title": "max rate",
        "unit": "exchanges/s",
        "half_width": 10.0,
        "extent": (980.0, 1020.0),
        "rounds": 9,
        "server": "kea 2.6.3",
        "procedure": "loss at most 2.5 %",
        "bench": "docker",
        "environment": "1-aa",
        "started_at": "2026-11-21T11:30:05.000Z",
        "finished_at": "2026-11-21T11:33:09.050Z",
    }
    session = fields.pop("session", "one")
    of = {**known, **fields}
    order = -1 if of["scenario"].endswith("-mt") else 1
    spread = (-0.01, -0.004, 0.004, 0.01)[::order]
    plain = replace(PROCEDURE, rounds=len(spread), trim=0)
    rates = [1000 * (value or 1.0) * (1 + each) for each in spread]
    record = example_result(rates, procedure=plain)
    record = replace(
        record,
        id=f"{of['id']}-{value}",
        scenario=replace(record.scenario, name=of["scenario"], factors=factors),
        bench=replace(record.bench, environment=of["environment"]),
        experiment=Experiment(id=session, points=(), interleaved=True),
        outcome="invalid" if value is None else "ok",
    )
    return Cell(value=value, factors=factors, record=record, **of)


def archive_result(root: Path, record: Record | None = None) -> Record:
    """Put a record into the results folder as a sweep does; returns the record."""
    record = record or example_result()
    with begun(Store(root), record) as running:
        Store(root).seal(running, record)
    return record


def begun(store: Store, record: Record) -> RunningSweep:
    """The sweep of a record, with every file that it names, before it is sealed."""
    running = store.create(record.id)
    running.record(Fault(text=record.scenario.name))
    if record.generator.host:
        running.write_text("bench.json", json.dumps(DOCUMENT))
    for name in record.files:
        text = CONFIG if name.startswith("config/") else "Running: perfdhcp\n"
        content = text.encode()
        running.write_bytes(name, gzip.compress(content) if name.endswith(".gz") else content)
    return running


def trial_of(rate, seconds=5, lost=0, **fields):
    """A trial that began all that was due, lost some, and answered the others in time."""
    attempted = fields.pop("attempted", rate * seconds)
    return Trial(
        rate=rate,
        duration_s=seconds,
        attempted=attempted,
        completed=attempted - lost,
        late=0,
        lost=lost,
        traffic_s=float(seconds),
        **fields,
    )


def round_of(*trials, **fields):
    """A round with these trials; it took no time."""
    least = {"index": 1, "started_at": "2026-11-21T11:30:05Z", "metrics": {}}
    return Round(trials=trials, **{**least, "traffic_s": 0.0, "wall_s": 0.0, **fields})


def _percentiles(middle: float) -> Percentiles:
    factors = {"p50": 1.0, "p90": 2.5, "p99": 8.0, "p999": 15.0, "max": 22.0}
    return Percentiles(**{name: round(middle * factor, 6) for name, factor in factors.items()})


def _host(address: str, cpus: str) -> dict[str, Any]:
    return {
        "hostname": None,
        "kernel": "6.12.48+deb13-amd64",
        "cpu_model": "Intel(R) Xeon(R) E-2146G CPU @ 3.50GHz",
        "cpus_allowed": cpus,
        "memory_bytes": 67_108_864_000,
        "governor": "performance",
        "os": "Debian GNU/Linux 13 (trixie)",
        "test_interface": "eth1",
        "test_address": address,
        "governors": {"performance": "0-11"},
        "smt": "off",
        "turbo": False,
        "microcode": "0xfa",
        "clocksource": "tsc",
        "command_line": "root=... ro quiet",
        "mitigations": {"meltdown": "Mitigation: PTI", "l1tf": "Not affected", "srbds": None},
        "sysctls": {"net.core.rmem_default": "4194304", "net.core.rmem_max": None},
        "nic": {
            "driver": "ixgbe",
            "firmware": "0x80000528",
            "speed_mbps": 10_000,
            "duplex": "full",
            "mtu": 1500,
            "numa_node": 0,
            "rings": {"rx_max": 4096, "tx_max": 4096, "rx": 512, "tx": 512},
            "channels": {"rx": 0, "tx": 0, "combined": 6},
            "coalescing": None,
            "offloads": {"rx-gro": True, "tx-udp-segmentation": False},
        },
        "tuning": {
            "governor": {"asked": "performance", "found": "performance", "why": None},
            "timers": {
                "asked": "stopped",
                "found": {"man-db.timer": "stopped", "fstrim.timer": None},
                "why": None,
            },
            "interrupts": {"asked": ["0", "1"], "found": ["0", "1"], "why": None},
            "turbo": {"asked": "off", "found": None, "why": "the kernel shows none"},
        },
    }


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
