"""A host of the bench in words: processor, kernel, network, tuning."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OFFLOADS = ("rx-gro", "rx-checksum", "tx-udp-segmentation")
"""Offloads that move what UDP costs; the others stand in the document alone."""


def host_lines(role: str, host: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a host is, a label and its words each; what is not known is left out.

    `host` is that of a result document; older ones have its first line alone.
    """
    for label, words in (
        ("host", _host(host)),
        ("CPU", _processor(host)),
        ("boot", filter(None, [host.get("command_line")])),
        ("NIC", [*_nic(host.get("nic") or {}), *_buffers(host.get("sysctls") or {})]),
        ("tuning", _tuning(host.get("tuning") or {})),
    ):
        line = ", ".join(words)
        if line:
            yield f"{role} {label}", line


def _host(host: Mapping[str, Any]) -> Iterator[str]:
    for field, shown in (
        ("cpu_model", "{}"),
        ("cpus_allowed", "CPUs {}"),
        ("governor", "governor {}"),
        ("kernel", "kernel {}"),
        ("os", "{}"),
        ("test_address", "test address {}"),
    ):
        if host[field] is not None:
            yield shown.format(host[field])


def _processor(host: Mapping[str, Any]) -> Iterator[str]:
    if len(host.get("governors") or {}) > 1:
        yield from (f"{name} on {cpus}" for name, cpus in host["governors"].items())
    if host.get("smt") is not None:
        yield f"SMT {host['smt']}"
    if host.get("turbo") is not None:
        yield f"turbo {'on' if host['turbo'] else 'off'}"
    if host.get("microcode") is not None:
        yield f"microcode {host['microcode']}"
    if host.get("clocksource") is not None:
        yield f"clock source {host['clocksource']}"
    told = {name: text for name, text in (host.get("mitigations") or {}).items() if text}
    if told:
        words = Counter(text.split(":")[0].split(";")[0] for text in told.values())
        yield "weaknesses: " + " + ".join(
            f"{count} {word.lower()}" for word, count in sorted(words.items())
        )


def _nic(nic: Mapping[str, Any]) -> Iterator[str]:
    for field, shown in (
        ("driver", "{}"),
        ("firmware", "firmware {}"),
        ("speed_mbps", "{} Mbit/s"),
        ("duplex", "{} duplex"),
        ("mtu", "MTU {}"),
    ):
        if nic.get(field) is not None:
            yield shown.format(nic[field])
    if nic.get("rings"):
        yield f"rings rx {nic['rings']['rx']} tx {nic['rings']['tx']}"
    if nic.get("channels"):
        counts = ((name, nic["channels"][name]) for name in ("rx", "tx", "combined"))
        yield "channels " + " ".join(f"{name} {count}" for name, count in counts if count)
    offloads = nic.get("offloads") or {}
    yield from (
        f"{name} {'on' if offloads[name] else 'off'}" for name in _OFFLOADS if name in offloads
    )


def _buffers(sysctls: Mapping[str, Any]) -> Iterator[str]:
    for name, value in sysctls.items():
        if name.startswith("net.core.") and "mem_" in name and value is not None:
            yield f"{name.removeprefix('net.core.')} {value}"


def _tuning(tuning: Mapping[str, Any]) -> Iterator[str]:
    for name, setting in tuning.items():
        found, words = setting["found"], name.replace("_", " ")
        if found is None:
            yield f"{words} not available"
        elif isinstance(found, dict):
            counts = Counter(str(value) for value in found.values() if value is not None)
            told = " + ".join(f"{count} on {value}" for value, count in sorted(counts.items()))
            yield f"{words} {told or 'none there'}"
        elif isinstance(found, list):
            yield f"{words} on {' '.join(map(str, found))}"
        else:
            yield f"{words} {found}"
