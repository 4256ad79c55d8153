"""Schema version 1, read: a result of older releases as the record that it would be today.

Version 1 measured the max rate of DHCP servers and nothing else, so its fields had names of
DHCP and of that one search.  What they meant is known here and nowhere else.  Fields that came
late in version 1 are absent from older results; the defaults below say what held then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import PARTNER, SCHEMA_VERSION, SERVER, Record
from leaselab.model.trial import WHOLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leaselab.model.procedure import MetricKind

VERSION = 1
_STAGES = {4: ("DISCOVER-OFFER", "REQUEST-ACK"), 6: ("SOLICIT-ADVERTISE", "REQUEST-REPLY")}
_CPU = "cpu_us"
"""The one metric that runs did not keep."""
_POOL = {"subnet": "subnet", "range": "pool"}
"""What the fields of a scenario's pool are called in its load."""
_GOAL = {
    "warm_up_s": 0,
    "confirm_s": None,
    "min_rate": 10,
    "max_rate": 200_000,
    "start_rate": 2_000,
    "max_trials": 40,
}
"""What held where a goal did not say: nothing was done yet, or could be asked for."""
_DATABASES = ("mysql", "postgresql")
"""Backends that a server had beside it."""
_ONE_THREAD = {"enabled": False, "threads": 0, "queue_size": 0}
_NO_PAIR = {
    "mode": "none",
    "heartbeat_s": 1.0,
    "max_response_delay_s": 60.0,
    "max_ack_delay_s": 10.0,
    "max_unacked_clients": 10,
    "listener_threads": 0,
    "client_threads": 0,
    "parked_packet_limit": 256,
}
"""What held where a scenario did not say: its own defaults then."""


def upgraded(document: Mapping[str, Any]) -> Record:
    """Return the record that says what a document of version 1 does.

    Raises KeyError, TypeError or ValueError for what is no document of version 1.
    """
    found = msgspec.convert(_document(document), Record)
    rounds = tuple(
        replace(one, metrics={**one.metrics, _CPU: found.procedure.cpu_us(one.trials)})
        for one in found.rounds
    )
    known = sum(one.metrics[_CPU] is not None for one in rounds)
    metrics = (replace(one, n=known) if one.name == _CPU else one for one in found.metrics)
    return replace(found, rounds=rounds, metrics=tuple(metrics))


def _document(document: Mapping[str, Any]) -> dict[str, Any]:
    summary, made = document["summary"], document["provenance"]
    tuning = dict(made["tuning"])
    database = tuning.pop("database", None)
    servers = {
        role: _server(document[role]) for role in (SERVER, PARTNER) if document.get(role)
    }
    servers[SERVER]["tuning"] = tuning
    if database:
        servers[SERVER]["beside"] = {"database": database}
    scenario = upgraded_scenario(document["scenario"], document["server"]["name"])
    stages = scenario["transaction"]["stages"]
    procedure = msgspec.convert(upgraded_goal(document["goal"]), MaxRate)
    confirmation = document.get("confirmation")
    return {
        "schema_version": SCHEMA_VERSION,
        **{name: document[name] for name in ("id", "started_at", "finished_at", "outcome")},
        "reasons": document["reasons"],
        "scenario": scenario,
        "procedure": procedure,
        "servers": servers,
        "generator": _generator(document["generator"]),
        "bench": document["bench"],
        "rounds": [_round(run, stages) for run in document["runs"]],
        "confirmation": confirmation
        and {
            **confirmation,
            "trials": [upgraded_trial(trial, stages) for trial in confirmation["trials"]],
        },
        "metrics": _metrics(document, procedure.metrics(scenario["transaction"]["plural"])),
        "at_least": summary.get("at_least"),
        "traffic_s": summary["traffic_s"],
        "wall_s": summary["wall_s"],
        "provenance": made,
    }


def upgraded_scenario(scenario: Mapping[str, Any], server: str) -> dict[str, Any]:
    """Return the `scenario` of version 2; `server` is its kind, which old ones do not say."""
    family, backend = scenario["family"], scenario["backend"]
    threading = {**_ONE_THREAD, **scenario.get("multi_threading", {})}
    pair = {**_NO_PAIR, **scenario.get("high_availability", {})}
    kind = scenario.get("server", server)
    options = {
        "backend": backend,
        "memfile_persist": scenario.get("memfile_persist", True),
        "lease_lifetime_s": scenario.get("lease_lifetime_s", 86_400),
        "multi_threading": threading.pop("enabled"),
        **threading,
        **{f"pair_{name}": value for name, value in pair.items()},
    }
    if kind == "dnsmasq":
        options = {name: options[name] for name in ("backend", "lease_lifetime_s")}
    tuning = scenario.get("tuning", {})
    pool = scenario.get("pool", {})
    return {
        "name": scenario["name"],
        "description": scenario.get("description", ""),
        "server": {"kind": kind, "options": options},
        "partner": pair["mode"] != "none",
        "beside": {backend: {name.removeprefix(f"{backend}_"): tuning[name] for name in tuning}}
        if backend in _DATABASES
        else {},
        "generator": "perfdhcp",
        "transaction": {
            "name": f"DHCPv{family} exchange",
            "plural": "exchanges",
            "stages": list(_STAGES[family]),
        },
        "load": {
            "family": family,
            **{_POOL[name]: value for name, value in pool.items()},
        },
        "factors": {
            "protocol": f"DHCPv{family}",
            "backend": backend,
            "threading": "multi" if options.get("multi_threading") else "single",
            "servers": pair["mode"],
        },
        "across": ["threading", "servers"],
    }


def upgraded_bench(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bench document of version 2 for one of version 1, kept with a result."""
    servers: dict[str, Any] = {}
    for role in (SERVER, PARTNER):
        if document.get(role):
            tuning = dict(document[role].get("tuning", {}))
            database = tuning.pop("database", None)
            servers[role] = {
                **document[role],
                "variant": "",
                "tuning": tuning,
                "beside": {"database": database} if database else {},
            }
    plan = document.get("plan", {})
    flat = {name: value for name, value in plan.items() if name not in ("goal", "limits")}
    goal = {"runs": 9, **flat, **plan.get("goal", {}), **plan.get("limits", {})}
    gone = (SERVER, PARTNER, "plan")
    return {
        **{name: value for name, value in document.items() if name not in gone},
        "schema_version": SCHEMA_VERSION,
        "servers": servers,
        "scenario": upgraded_scenario(document["scenario"], document[SERVER]["name"]),
        "procedure": upgraded_goal(goal),
    }


def upgraded_goal(goal: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `procedure` of version 2: every search of version 1 was for the max rate."""
    parameters = {name: value for name, value in goal.items() if name != "runs"}
    return {"name": "max-rate", "rounds": goal["runs"], **_GOAL, **parameters}


def upgraded_trial(trial: Mapping[str, Any], stages: Sequence[str]) -> dict[str, Any]:
    """Return a trial of version 2; `stages` are the names of the two that it had."""
    latency = trial["latency_s"]
    named = {stages[0]: latency["offer"], stages[1]: latency["ack"]}
    if "exchange" in latency:
        named[WHOLE] = latency["exchange"]
    samples = {
        SERVER: [_sample(one) for one in trial["samples"]],
        PARTNER: [_sample(one) for one in trial.get("partner_samples") or ()],
    }
    early = trial.get("early_attempt")
    return {
        **{
            name: trial[name]
            for name in (
                *("rate", "duration_s", "completed", "late", "lost", "traffic_s", "valid"),
                *("reason", "aborted", "started_at", "wall_s", "argv", "raw_file"),
            )
        },
        "attempted": trial["started"],
        "detail": trial.get("detail", ""),
        "latency_s": named,
        "per_second": [_renamed(one, started="attempted") for one in trial["per_second"]],
        "samples": {role: taken for role, taken in samples.items() if taken},
        "held": dict(zip((SERVER, PARTNER), trial.get("leases_held") or (), strict=False)),
        "trouble": trial.get("pair_trouble", ""),
        "hosts": trial.get("hosts") or {},
        "cpu_us": trial["cpu_us_per_exchange"],
        "early_attempt": early and _renamed(early, started="attempted"),
    }


def _round(run: Mapping[str, Any], stages: Sequence[str]) -> dict[str, Any]:
    lower, upper = run["lower_bound"], run["upper_bound"]
    found = [
        _proving(run, run.get(f"{side}_trial"), run[f"{side}_bound"], passed=passed)
        for side, passed in (("lower", True), ("upper", False))
    ]
    proven = None not in (lower, upper, *found)
    return {
        "index": run["index"],
        "started_at": run["started_at"],
        "metrics": {"max_rate": run["max_rate"], "completed_rate": run["completed_rate"]},
        "bracket": {
            "lower": lower,
            "upper": upper,
            "lower_trial": found[0],
            "upper_trial": found[1],
        }
        if proven
        else None,
        "shown_trial": found[0],
        "traffic_s": run["traffic_s"],
        "wall_s": run["wall_s"],
        "warm_ups": [upgraded_trial(trial, stages) for trial in run.get("warm_ups") or ()],
        "trials": [upgraded_trial(trial, stages) for trial in run["trials"]],
    }


def _proving(
    run: Mapping[str, Any], position: int | None, rate: float | None, *, passed: bool
) -> int | None:
    """The trial that proves a bound; older results do not say which, but its rate."""
    if position is not None or rate is None:
        return position
    places = [
        place
        for place, trial in enumerate(run["trials"])
        if trial["valid"] and trial["rate"] == rate
    ]
    losses = {place: run["trials"][place]["loss_ratio"] for place in places}
    best = min if passed else max
    return best(places, key=lambda place: losses[place], default=None)


def _metrics(document: Mapping[str, Any], kinds: Sequence[MetricKind]) -> list[dict[str, Any]]:
    summary, runs = document["summary"], document["runs"]
    known = {
        "max_rate": {
            **_estimate(summary["max_rate"]),
            "dropped": [place for place, run in enumerate(runs) if run["trimmed"]],
        },
        "completed_rate": _estimate(summary["completed_rate"]),
        _CPU: {"value": summary["cpu_us_per_exchange"]},
    }
    return [{**msgspec.structs.asdict(kind), **known[kind.name]} for kind in kinds]


def _estimate(found: Mapping[str, Any] | None) -> dict[str, Any]:
    if found is None:
        return {"value": None}
    return {
        "value": found["trimmed_mean"],
        "lowest": found["min"],
        "highest": found["max"],
        **{name: found[name] for name in ("n", "trim", "ci95", "standard_error", "spread")},
    }


def _server(server: Mapping[str, Any]) -> dict[str, Any]:
    """A server; one of before there were databases kept its leases in memfile's file."""
    return {"durability": "written", **server, "holds": "leases"}


def _generator(generator: Mapping[str, Any]) -> dict[str, Any]:
    named = ("name", "version", "host")
    return {
        **{name: generator[name] for name in named},
        "options": {name: value for name, value in generator.items() if name not in named},
    }


def _sample(sample: Mapping[str, Any]) -> dict[str, Any]:
    taken = _renamed(sample, leases="held")
    spent = taken.pop("database_cpu_s", None)
    return taken if spent is None else {**taken, "beside_cpu_s": {"database": spent}}


def _renamed(part: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """A part of a document with other names for some of its fields."""
    skipped = ("loss_ratio",)
    return {names.get(name, name): part[name] for name in part if name not in skipped}
