"""Provenance of a result in words: server, goal, confirmation, hosts; its metrics by step."""

from __future__ import annotations

import shlex
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from leaselab.analysis.figures.steadiness import moved
from leaselab.model.host import Host, HostSetting, Nic
from leaselab.model.procedure import of_step
from leaselab.model.record import PARTNER, SERVER, Metric, Record
from leaselab.model.scenario import Scenario
from leaselab.model.server import Server, server_name
from leaselab.model.text import printable
from leaselab.model.trial import Trial
from leaselab.report.listing import measured, moment_words

_NONE = "-"


def about(scenario: Scenario) -> str:
    """Describe a scenario in a sentence: its question, and the values of its factors."""
    words = scenario.description or f"{scenario.transaction.name} by {scenario.server.kind}"
    if not (factors := _factors(scenario)):
        return words
    return f"{words.rstrip('.')}{' Here' if words.endswith('?') else ''}: {factors}."


def _factors(scenario: Scenario) -> str:
    return ", ".join(factor_words(name, value) for name, value in scenario.factors.items())


def factor_words(name: str, value: object) -> str:
    """A value of a factor with its name, as far as that is needed: ``no zone cache``."""
    words, text = name.replace("_", " "), str(value)
    if text in ("True", "False"):
        return words if text == "True" else f"no {words}"
    return text if text.startswith(f"{name} ") else f"{words} {text}"


def facts(record: Record, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the provenance of a result as labels and words; `path` is its directory."""
    server, bench, made = record.server, record.bench, record.provenance
    yield "server", ", ".join(filter(None, (server_name(server), server.package)))
    yield from _build(server)
    if server.program_sha256:
        yield "program", ", ".join(_program(server))
    if factors := _factors(record.scenario):
        yield "factors", factors
    kept = ", ".join(_kept(record))
    if kept:
        yield server.holds or "kept", kept
    for name, beside in server.beside.items():
        settings = (f"{key}={value}" for key, value in beside.variables.items())
        yield name, ", ".join(filter(None, (beside.version, *settings)))
    if record.scenario.support and PARTNER in record.servers:
        yield "support", ", ".join(_support(record.servers[PARTNER]))
    if server.config_sha256:
        yield "config", f"{server.config_file or _NONE} (sha256 {server.config_sha256[:16]})"
    yield "goal", record.procedure.words
    if record.procedure.keeps:
        yield "reset", f"by the start alone, then {record.procedure.warm_up_words}"
    yield "generator", f"{record.generator.name} {record.generator.version or ''}"
    if record.ceiling:
        yield "ceiling", f"{record.ceiling.rate:.0f}/s of the generator ({record.ceiling.id})"
    yield "bench", f"{bench.name}, environment {bench.environment or _NONE}"
    for role, host in bench.hosts.items():
        yield from host_lines(role, host)
    by = moved(record.rounds)
    if by is not None:
        yield "machine", f"its own speed moved by {100 * by:.1f} % from run to run"
    dirty = ", with uncommitted changes" if made.leaselab_dirty else ""
    commit = f" ({made.leaselab_commit[:10]}{dirty})" if made.leaselab_commit else ""
    yield "leaselab", f"{made.leaselab_version}{commit}"
    yield "command", shlex.join(made.command)
    started, ended = map(moment_words, (record.started_at, record.finished_at))
    yield "started", f"{started}, ended {ended}"
    yield "result", str(path)


def shown_where(record: Record) -> str:
    """At which load the trials were that stand for their rounds, as the end of a phrase."""
    if record.procedure.ramps:
        return " in the last step"
    return " at the lower bound" if any(round_.bracket for round_ in record.rounds) else ""


def confirmation_words(record: Record) -> str:
    """One sentence: at which rate the result was confirmed, for how long; or why it was not."""
    confirmation, trials = record.confirmation, confirming(record)
    if not confirmation:
        return f"not confirmed: {record.procedure.unconfirmed}"
    highest = record.procedure.loss_ratio
    rate = f"{record.scenario.transaction.plural}/s"
    at, over = f"at {confirmation.rate} {rate}", f" over {_seconds(trials):.0f} s"
    if not any(trial.valid for trial in trials):
        words = sorted({trial.reason for trial in trials})
        return f"not confirmed {at}{over}: none of the trials counts ({', '.join(words)})"
    loss = f"loss {100 * confirmation.loss_ratio:.2f} %"
    if confirmation.holds:
        share = confirmation.rate / record.figure.value if record.figure.value else 1.0
        return f"confirmed {at} ({100 * share:.0f} % of the figure){over}: {loss}"
    if confirmation.loss_ratio > highest:
        return f"not confirmed {at}{over}: {loss}, and the goal is at most {100 * highest:g} %"
    passed = [trial for trial in others(record) if record.procedure.passes(trial)]
    if passed:
        values = [value for value in record.values(record.figure.name) if value is not None]
        return (
            f"not confirmed: {passed[-1].rate} {rate} passed after the runs, but none of them "
            f"found more than {max(values):.0f}"
        )
    most = max(others(record), key=lambda trial: trial.completed_rate)
    return (
        f"not confirmed {at}{over}: {loss}, but of {most.rate} {rate} the server completed "
        f"{most.completed_rate:.0f}, far more than the runs found"
    )


def confirming(record: Record) -> Sequence[Trial]:
    """Words for the trials below the lowest bound of the rounds; empty without any."""
    confirmation = record.confirmation
    return (
        list(takewhile(lambda trial: trial.rate == confirmation.rate, confirmation.trials))
        if confirmation
        else []
    )


def others(record: Record) -> Sequence[Trial]:
    """The trials that offer more than was confirmed: a little, and far more."""
    confirmation = record.confirmation
    return (
        [trial for trial in confirmation.trials if trial.rate != confirmation.rate]
        if confirmation
        else []
    )


def config_text(record: Record, directory: Path, role: str) -> str | None:
    """Return the configuration of a role (``server``, ``partner``); None where there is none.

    `directory` is the result's.  A path that leads out of it is none: a result may come
    from elsewhere, and its pages must show nothing of this machine.
    """
    server = record.servers.get(role)
    place = server.config_file if server else None
    path = (directory / place).resolve() if place else None
    if path is None or not path.is_relative_to(directory.resolve()) or not path.is_file():
        return None
    return path.read_text(encoding="utf-8", errors="replace")


def _seconds(trials: Sequence[Trial]) -> float:
    """How long the trials that count offered traffic (s), of all where none does."""
    counted = [trial for trial in trials if trial.valid] or trials
    return sum(trial.traffic_s for trial in counted)


def _build(server: Server) -> Iterator[tuple[str, str]]:
    build = server.build
    source = build.source if build else None
    if server.commit:
        changed = " with uncommitted changes" if source and source.dirty else ""
        parts = [server.commit + changed]
        if source:
            parts += [source.day, printable(source.subject)]
        yield "commit", ", ".join(parts)
        if source:
            yield "repository", source.repository
    if build and build.key:
        options = (f"{name} {value}" for name, value in build.options.items())
        parts = [str(build.system), *options, str(build.builder.get("compiler", _NONE))]
        yield "build", ", ".join([*parts, f"artifact {(build.artifact_sha256 or _NONE)[:16]}"])


def _program(server: Server) -> Iterator[str]:
    yield f"{server.program} (sha256 {(server.program_sha256 or _NONE)[:16]})"
    yield f"{len(server.libraries_sha256)} libraries"
    if server.confinement:
        yield f"AppArmor: {server.confinement}"


def _support(server: Server) -> Iterator[str]:
    """The supporting service on the partner's host, with its settings."""
    yield f"{server_name(server)} on the partner's host"
    if server.package:
        yield server.package
    yield from (f"{name}={value}" for name, value in server.tuning.items())


def _kept(record: Record) -> Iterator[str]:
    if record.server.durability:
        yield f"durability {record.server.durability}"
    held = [
        trial.held[SERVER]
        for trial in (round_.shown for round_ in record.rounds)
        if trial and SERVER in trial.held
    ]
    if held:
        # matters where a server searches all of its entries for each packet
        yield f"{statistics.median(held):.0f} held{shown_where(record)}"


class Step(NamedTuple):
    """A step of a procedure."""

    title: str
    """Such as ``step 1 (10000/s)``."""
    metrics: tuple[Metric, ...]
    """In the order of `Steps.headings`."""


class Steps(NamedTuple):
    """The steps of a result; none where its procedure has none."""

    headings: tuple[tuple[str, str], ...]
    """Title and unit of each metric that every step has."""
    steps: tuple[Step, ...]


def steps_of(record: Record) -> Steps:
    """Return the metrics of each step, in order."""
    steps = []
    for number, title in enumerate(record.procedure.steps, start=1):
        names = (of_step(metric.name, number) for metric in record.figures)
        metrics = tuple(metric for name in names if (metric := record.metric(name)))
        steps.append(Step(title, metrics))
    first = steps[0] if steps else Step("", ())
    headings = tuple(
        (metric.title.removesuffix(f" in {first.title}"), metric.unit)
        for metric in first.metrics
    )
    return Steps(headings, tuple(steps))


def steps_rows(record: Record) -> list[tuple[str, ...]]:
    """Return the metrics of each step below their headings; empty where there are none."""
    known = steps_of(record)
    if not known.steps:
        return []
    counted = record.scenario.transaction.plural
    headings = (
        title if unit == counted else f"{title} {unit.partition(' ')[0]}"
        for title, unit in known.headings
    )
    rows = [(record.procedure.step_word, *headings)]
    for step in known.steps:
        figures = (
            measured(metric.value, metric.unit, metric.half_width) for metric in step.metrics
        )
        rows.append((step.title.removeprefix("step "), *figures))
    return rows


def whole_of(record: Record) -> tuple[Metric, ...]:
    """Return the metrics that are not of a step, the one of the procedure first."""
    of_steps = {metric.name for step in steps_of(record).steps for metric in step.metrics}
    return tuple(metric for metric in record.figures if metric.name not in of_steps)


_OFFLOADS = ("rx-gro", "rx-checksum", "tx-udp-segmentation")
"""Offloads that move what UDP costs; the others stand in the record alone."""


def host_lines(role: str, host: Host) -> Iterator[tuple[str, str]]:
    """Yield what a host is, a label and its words each; what is not known is left out."""
    for label, words in (
        ("host", _host(host)),
        ("CPU", _processor(host)),
        ("boot", filter(None, [host.command_line])),
        ("NIC", [*(_nic(host.nic) if host.nic else ()), *_buffers(host.sysctls or {})]),
        ("tuning", _tuning(host.tuning or {})),
    ):
        line = ", ".join(words)
        if line:
            yield f"{role} {label}", line


def _host(host: Host) -> Iterator[str]:
    return _known(
        (host.cpu_model, "{}"),
        (host.cpus_allowed, "CPU {}"),
        (host.cpu_limit, "CPU limit {:g}"),
        (host.governor, "governor {}"),
        (host.kernel, "kernel {}"),
        (host.os, "{}"),
        (host.test_address, "test address {}"),
    )


def _known(*parts: tuple[object, str]) -> Iterator[str]:
    """Values in their words, of those that are known."""
    return (words.format(value) for value, words in parts if value is not None)


def _processor(host: Host) -> Iterator[str]:
    if host.governors and len(host.governors) > 1:
        yield from (f"{name} on {cpus}" for name, cpus in host.governors.items())
    yield from _known(
        (host.smt, "SMT {}"),
        (None if host.turbo is None else "on" if host.turbo else "off", "turbo {}"),
        (host.microcode, "microcode {}"),
        (host.clocksource, "clock source {}"),
    )
    mitigations = [text for text in (host.mitigations or {}).values() if text]
    if mitigations:
        words = Counter(text.split(":")[0].split(";")[0] for text in mitigations)
        yield "weaknesses: " + " + ".join(
            f"{count} {word.lower()}" for word, count in sorted(words.items())
        )


def _nic(nic: Nic) -> Iterator[str]:
    yield from _known(
        (nic.driver, "{}"),
        (nic.firmware, "firmware {}"),
        (nic.speed_mbps, "{} Mbit/s"),
        (nic.duplex, "{} duplex"),
        (nic.mtu, "MTU {}"),
    )
    if nic.rings:
        yield f"rings rx {nic.rings.get('rx')} tx {nic.rings.get('tx')}"
    if nic.channels:
        counts = ((name, nic.channels.get(name)) for name in ("rx", "tx", "combined"))
        yield "channels " + " ".join(f"{name} {count}" for name, count in counts if count)
    offloads = nic.offloads or {}
    yield from (
        f"{name} {'on' if offloads[name] else 'off'}" for name in _OFFLOADS if name in offloads
    )


def _buffers(sysctls: Mapping[str, str | None]) -> Iterator[str]:
    for name, value in sysctls.items():
        if name.startswith("net.core.") and "mem_" in name and value is not None:
            yield f"{name.removeprefix('net.core.')} {value}"


def _tuning(tuning: Mapping[str, HostSetting]) -> Iterator[str]:
    for name, setting in tuning.items():
        read_back, words = setting.found, name.replace("_", " ")
        if read_back is None:
            yield f"{words} not available"
        elif isinstance(read_back, dict):
            counts = Counter(str(value) for value in read_back.values() if value is not None)
            text = " + ".join(f"{count} on {value}" for value, count in sorted(counts.items()))
            yield f"{words} {text or 'none there'}"
        elif isinstance(read_back, list):
            yield f"{words} on {' '.join(map(str, read_back))}"
        else:
            yield f"{words} {read_back}"
