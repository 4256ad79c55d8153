"""A believable result document, for tests that show, compare or archive results."""

from __future__ import annotations

import copy
import gzip
import hashlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from leaselab.analysis.summary import summarise
from leaselab.archive.ident import new_id
from leaselab.archive.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CONFIG = '{"Dhcp4": {"valid-lifetime": 86400}}\n'
MAX_RATES = (6015.0, 5988.0, 6122.0, 6003.0, 5731.0, 6040.0, 5996.0, 6021.0, 5979.0)
"""Nine runs: 6122 and 5731 are the ones to drop, the other seven average 6006."""
START = datetime(2026, 11, 21, 11, 30, 5, tzinfo=UTC)
GOAL = {
    "loss_ratio": 0.025,
    "late_s": 2.0,
    "relative_width": 0.01,
    "runs": 9,
    "trim": 1,
    "trial_s": 5,
    "scout_s": 1,
    "wait_s": 4.0,
    "min_rate": 10,
    "max_rate": 200_000,
    "start_rate": 2000,
    "max_trials": 40,
    "warm_up_s": 1,
    "confirm_s": 30,
}


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
    goal: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A document as a sweep of these max rates (exchanges/s) leaves it."""
    goal = {**GOAL, **(goal or {})}
    runs = []
    clock = started
    for index, rate in enumerate(max_rates, start=1):
        runs.append(example_run(index, rate, clock, goal))
        clock += timedelta(seconds=runs[-1]["wall_s"] + 1.5)
    wall_s = (clock - started).total_seconds()
    summary = summarise(
        runs,
        planned=goal["runs"],
        trim=goal["trim"],
        loss_ratio=goal["loss_ratio"],
        trial_s=goal["trial_s"],
        wall_s=wall_s,
    )
    for position in summary.trimmed:
        runs[position]["trimmed"] = True
    family = 6 if scenario.startswith("v6") else 4
    return {
        "schema_version": 1,
        "id": new_id(started, scenario, token),
        "started_at": _time(started),
        "finished_at": _time(clock),
        "outcome": outcome,
        "reasons": list(reasons),
        "scenario": {
            "name": scenario,
            "family": family,
            "backend": "memfile",
            "threads": 4 if scenario.endswith("-mt") else 0,
            "queue_size": 64,
            "lease_time_s": 86400,
        },
        "goal": goal,
        "server": {
            "name": "kea",
            "version": version,
            "commit": commit,
            "config_sha256": hashlib.sha256(CONFIG.encode()).hexdigest(),
            "config_file": f"config/kea-dhcp{family}.conf",
            "package": None if commit else f"kea {version}-1+deb13u1",
            "build": {"cxxflags": "-O2"} if commit else None,
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
        "runs": runs,
        "summary": summary.document(),
        "provenance": {
            "leaselab_version": "0.1.0",
            "leaselab_commit": "b298d0f1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7",
            "leaselab_dirty": False,
            "command": ["leaselab", "run", "--scenario", scenario],
            "inventory_vars": {"lab_host_governor": "performance"},
            "tuning": {"memfile_persist": True},
        },
    }


def example_run(
    index: int, rate: float, started: datetime, goal: dict[str, Any]
) -> dict[str, Any]:
    """One run whose bracket is 0.8 % wide, with a scout, a failing and a passing trial."""
    lower, upper = round(rate * 0.997), round(rate * 1.005)
    offers = [
        (round(rate * 1.3), goal["scout_s"], 0.2),
        (upper, goal["trial_s"], goal["loss_ratio"] + 0.004),
        (lower, goal["trial_s"], goal["loss_ratio"] - 0.008),
    ]
    trials = [
        example_trial(offered, seconds, loss, number=number, run=index, run_started=started)
        for number, (offered, seconds, loss) in enumerate(offers, start=1)
    ]
    return {
        "index": index,
        "trimmed": False,
        "max_rate": rate,
        "completed_rate": round(trials[-1]["completed"] / trials[-1]["traffic_s"], 1),
        "lower_bound": float(lower),
        "upper_bound": float(upper),
        "started_at": _time(started),
        "traffic_s": sum(trial["traffic_s"] for trial in trials),
        "wall_s": round(sum(trial["wall_s"] for trial in trials) + 0.9, 3),
        "lower_trial": 2,
        "upper_trial": 1,
        "trials": trials,
    }


def confirmed(
    document: dict[str, Any], *, loss: float = 0.013, overload_completes: float = 0.9
) -> dict[str, Any]:
    """The document with a confirmation that lost `loss`.

    `overload_completes` is the share of the lowest max rate that the server completes
    of four times the load.
    """
    goal = document["goal"]
    began = datetime.fromisoformat(document["finished_at"])
    rates = [run["max_rate"] for run in document["runs"]]
    rate = int(0.95 * min(run["lower_bound"] for run in document["runs"]))
    offers = [(rate, loss)] * -(-goal["confirm_s"] // goal["trial_s"])
    offers.append((4 * rate, 1 - overload_completes * min(rates) / (4 * rate)))
    trials = []
    for number, (offered, lost) in enumerate(offers, start=1):
        run = len(document["runs"]) + 1
        seconds = goal["trial_s"]
        trials.append(
            example_trial(offered, seconds, lost, number=number, run=run, run_started=began)
        )
        trials[-1]["raw_file"] = f"raw/confirmation-{number:02}.txt.gz"
    wall_s = sum(trial["wall_s"] for trial in trials) + 1.5
    is_limit = max(rates) >= 0.5 * trials[-1]["completed"] / trials[-1]["traffic_s"]
    confirmation = {
        "rate": rate,
        "loss_ratio": trials[0]["loss_ratio"],
        "holds": trials[0]["loss_ratio"] <= goal["loss_ratio"] and is_limit,
        "traffic_s": sum(trial["traffic_s"] for trial in trials),
        "wall_s": wall_s,
        "trials": trials,
    }
    summary = summarise(
        document["runs"],
        planned=goal["runs"],
        trim=goal["trim"],
        loss_ratio=goal["loss_ratio"],
        trial_s=goal["trial_s"],
        wall_s=document["summary"]["wall_s"] + wall_s,
        confirmation=confirmation,
    )
    return {
        **document,
        "finished_at": _time(began + timedelta(seconds=wall_s)),
        "confirmation": confirmation,
        "summary": summary.document(),
    }


def example_trial(
    rate: int, seconds: int, loss: float, *, number: int, run: int, run_started: datetime
) -> dict[str, Any]:
    """One trial; the lost exchanges are half late and half lost."""
    started = rate * seconds
    completed = started - round(started * loss)
    late = (started - completed) // 2
    return {
        "rate": rate,
        "duration_s": seconds,
        "started": started,
        "completed": completed,
        "late": late,
        "lost": started - completed - late,
        "loss_ratio": 1 - completed / started,
        "valid": True,
        "reason": "",
        "aborted": False,
        "traffic_s": float(seconds),
        "started_at": _time(run_started + timedelta(seconds=8.0 * (number - 1) + 0.9)),
        "wall_s": seconds + 2.35,
        "latency_s": {
            "offer": _percentiles(0.0004 * (1 + 20 * loss)),
            "ack": _percentiles(0.0006 * (1 + 20 * loss)),
            "exchange": _percentiles(0.0011 * (1 + 20 * loss)),
        },
        "per_second": [
            {
                "t": float(second),
                "started": rate,
                "completed": completed // seconds,
                "p50_s": 0.0011,
                "p99_s": 0.0088,
            }
            for second in range(seconds)
        ],
        "samples": [
            {
                "t": run_started.timestamp() + second,
                "cpu_s": round(0.9 * second, 2),
                "rss_bytes": 41_000_000 + 1000 * second,
                "udp_drops": 0,
                "leases": completed // seconds * second,
                "counters": {"pkt4-received": 2 * rate * second},
            }
            for second in range(seconds + 1)
        ],
        "cpu_us_per_exchange": 150.0 + run,
        "argv": ["perfdhcp", "-4", "-r", str(rate), "-p", str(seconds), "198.18.0.2"],
        "raw_file": f"raw/run-{run}-trial-{number:02}.txt.gz",
        "seed": 1000 * run + number,
    }


def invalid_result(**fields: Any) -> dict[str, Any]:
    """A sweep that stopped in its third run, because the generator could not keep up."""
    document = example_result(
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
    last = document["runs"][-1]
    last |= dict.fromkeys(
        (
            "max_rate",
            "completed_rate",
            "lower_bound",
            "upper_bound",
            "lower_trial",
            "upper_trial",
        )
    )
    last["trials"][-1] |= {"valid": False, "reason": "generator-limited"}
    return document


def archive_result(root: Path, document: dict[str, Any] | None = None) -> dict[str, Any]:
    """Put a document into the results folder as a sweep does; returns the document."""
    document = copy.deepcopy(document or example_result())
    with Store(root).create(document["id"]) as running:
        running.record("created", {"scenario": document["scenario"]["name"]})
        running.write_text(document["server"]["config_file"], CONFIG)
        for part in (*document["runs"], document.get("confirmation") or {"trials": []}):
            for trial in part["trials"]:
                running.write_bytes(trial["raw_file"], gzip.compress(b"Running: perfdhcp\n"))
        Store(root).seal(running, document)
    return document


def _percentiles(middle: float) -> dict[str, float]:
    factors = {"p50": 1, "p90": 2.5, "p99": 8, "p99.9": 15, "max": 22}
    return {name: round(middle * factor, 6) for name, factor in factors.items()}


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
