"""A host of the bench in words: processor, kernel, network, tuning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from leaselab.model.host import Host, HostSetting, Nic

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
        (host.cpus_allowed, "CPUs {}"),
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
