"""Judges one host by itself: login, software, clock, processors, space, leftovers.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leaselab.lab.contact import Contact
from leaselab.lab.findings import Finding, Level, Probe, Wanted, error_unless, judged
from leaselab.lab.inventory import (
    GENERATOR_GROUP,
    PARTNER_GROUP,
    SERVER_GROUP,
    InventoryHost,
)
from leaselab.model.errors import LeaselabError

_PYTHON_MIN = (3, 8)
_DEBIAN_MIN = 12
_SERVER_PACKAGES = ("kea-dhcp4-server", "kea-dhcp6-server")
_GENERATOR_PACKAGE = "kea-admin"  # perfdhcp is in it


def check_access(
    host: InventoryHost, contact: Contact, read: Mapping[str, Any]
) -> Iterator[Finding]:
    """Judge both ways to the host; `read` is what Ansible's module returned, or its failure."""
    name, at = host.access.name, _at(host)
    if contact.error is not None:
        yield _refusal(name, at, contact.error)
        return
    yield Finding(name, "ssh", Level.OK, f"{at}, host key as pinned")
    yield error_unless(
        contact.uid == 0,
        name,
        "login",
        f"{host.access.user} has uid {contact.uid}",
        wanted="uid 0: the engine starts servers and opens raw sockets",
        todo="set ansible_user to root and install the key there",
    )
    if "probe" not in read:
        told = " ".join(str(read.get("msg", "nothing was read")).split())
        yield Finding(
            name,
            "ansible",
            Level.ERROR,
            told,
            "a host that Ansible reaches and can run Python on",
            "the engine reaches it: compare ansible_ssh_common_args and"
            " ansible_python_interpreter with inventory/README.md",
        )
    elif read["probe"]["uid"] != 0:
        yield Finding(
            name,
            "ansible",
            Level.ERROR,
            f"modules run with uid {read['probe']['uid']}",
            "uid 0",
            "set ansible_user to root, or ansible_become to true",
        )


def check_host(
    host: InventoryHost, probe: Probe, contact: Contact, wanted: Wanted, *, held: bool
) -> Iterator[Finding]:
    """Judge what was read on a host; `held` says that a sweep has the bench."""
    yield from _system(host.access.name, probe)
    yield from _packages(host, probe, wanted)
    yield _clock(host.access.name, contact, wanted.clock_offset_s)
    if not host.only_builds:
        yield from _steadiness(host.access.name, probe)
    yield _memory(host.access.name, probe, wanted)
    yield from _space(host.access.name, probe, wanted)
    yield _leftovers(host, probe, held=held)


def check_lock(host: InventoryHost, holder: Mapping[str, Any] | None) -> Finding:
    """Say who holds the bench; that is no fault, but nobody else should touch it now."""
    if holder is None:
        return Finding(host.access.name, "lock", Level.OK, "nobody holds the bench")
    return Finding(
        host.access.name,
        "lock",
        Level.WARNING,
        f"held by {holder['name']} for {holder['purpose']}",
        "nobody",
        f"wait until it is done; a dead owner's lock expires in {holder['expires_in_s']:.0f} s",
    )


def _at(host: InventoryHost) -> str:
    access = host.access
    return f"{access.user}@{access.address}:{access.port}"


def _refusal(name: str, at: str, error: LeaselabError) -> Finding:
    """Keep the transport's own words; its four kinds of failure have two names here."""
    check = "host key" if "host key" in error.what else "ssh"
    what = error.what if at in error.what else f"{error.what} ({at})"
    found = f"{what}: {error.found}" if error.found else what
    return Finding(name, check, Level.ERROR, found, error.wanted or "a connection", error.todo)


def _system(name: str, probe: Probe) -> Iterator[Finding]:
    system = probe["os"]
    release = system["version"].partition(".")[0]
    debian = system["id"] == "debian" and release.isdigit() and int(release) >= _DEBIAN_MIN
    level = None if debian else Level.WARNING if probe["tools"]["apt"] else Level.ERROR
    yield judged(
        name,
        "system",
        f"{system['name'] or 'unknown'}, Linux {probe['kernel']}",
        wanted=f"Debian {_DEBIAN_MIN} or newer",
        todo="install Debian; the roles install packages with apt and are tried there only",
        level=level,
    )
    python = tuple(int(part) for part in probe["python"].split(".")[:2])
    yield error_unless(
        python >= _PYTHON_MIN,
        name,
        "python",
        probe["python"],
        wanted=".".join(map(str, _PYTHON_MIN)) + " or newer, for Ansible's modules",
        todo="set ansible_python_interpreter to a newer one",
    )


def _packages(host: InventoryHost, probe: Probe, wanted: Wanted) -> Iterator[Finding]:
    asked: list[tuple[str, tuple[str, ...], str]] = []
    if SERVER_GROUP in host.parts or PARTNER_GROUP in host.parts:
        asked.append(("kea", _SERVER_PACKAGES, wanted.kea_version))
    if GENERATOR_GROUP in host.parts:
        asked.append(("perfdhcp", (_GENERATOR_PACKAGE,), wanted.perfdhcp_version))
    for tool, packages, version in asked:
        for package in packages:
            yield _package(host.access.name, tool, package, version, probe)


def _package(name: str, tool: str, package: str, version: str, probe: Probe) -> Finding:
    known = probe["versions"].get(package, {"installed": "", "candidate": ""})
    have = known["installed"] or known["candidate"]
    state = "installed" if known["installed"] else "to be installed"
    todo = f"use a distribution that has it, or set {tool}_version to what is meant"
    level: Level | None = None
    if not have:
        level, state = Level.WARNING, "neither installed nor offered by apt"
        todo = "run apt-get update there and check again; provision does so too"
    elif not f"{have}.".startswith(f"{version}."):
        level = Level.ERROR
    return judged(
        name,
        tool,
        f"{package} {have}{' ' if have else ''}{state}",
        wanted=f"version {version}",
        todo=todo,
        level=level,
    )


def _clock(name: str, contact: Contact, limit_s: float) -> Finding:
    offset, doubt = contact.clock_offset_s, contact.clock_uncertainty_s
    return error_unless(
        # Only what is surely too far is refused.
        abs(offset) - doubt <= limit_s,
        name,
        "clock",
        f"{offset:+.3f} s from this machine's, known within {doubt:.3f} s",
        wanted=f"at most {limit_s:g} s",
        todo="set the clocks by NTP on both (chrony or systemd-timesyncd)",
    )


def _steadiness(name: str, probe: Probe) -> Iterator[Finding]:
    governors: Mapping[str, str | None] = probe["governors"]
    kinds = sorted({governor or "none shown" for governor in governors.values()})
    processors = f"{len(governors)} processor{'s' if len(governors) != 1 else ''}"
    yield judged(
        name,
        "governor",
        f"{', '.join(kinds)} on {processors}",
        wanted="performance on each",
        todo="cpupower frequency-set -g performance"
        if any(governors.values())
        else "look at the machine beneath: its processors may change speed unseen",
        level=None if kinds == ["performance"] else Level.WARNING,
    )
    kind = "a container" if probe["container"] else "a virtual machine"
    virtual = probe["container"] or probe["hypervisor"]
    yield judged(
        name,
        "machine",
        kind if virtual else "bare metal",
        wanted="bare metal",
        todo="compare results of this bench with each other only",
        level=Level.WARNING if virtual else None,
    )


def _memory(name: str, probe: Probe, wanted: Wanted) -> Finding:
    return error_unless(
        probe["memory_mib"] >= wanted.memory_mib,
        name,
        "memory",
        f"{probe['memory_mib']} MiB",
        wanted=f"{wanted.memory_mib} MiB or more",
        todo="use a larger machine, or set lab_check_memory_mib",
    )


def _space(name: str, probe: Probe, wanted: Wanted) -> Iterator[Finding]:
    for folder, limit in wanted.free_mib.items():
        free = probe["free_mib"][folder]
        yield error_unless(
            free >= limit,
            name,
            "disk",
            f"{free} MiB free below {folder}",
            wanted=f"{limit} MiB or more",
            todo=f"free some, or give {folder} a larger disk",
        )


def _leftovers(host: InventoryHost, probe: Probe, *, held: bool) -> Finding:
    """Judge servers, databases and taken ports; those of a running sweep are its own."""
    programs = {entry["pid"]: entry["name"] for entry in probe["processes"]}
    ports: dict[int | None, list[str]] = {}
    for entry in probe["listeners"]:
        ports.setdefault(entry["pid"], []).append(f"{entry['address']} port {entry['port']}")
        programs.setdefault(entry["pid"], entry["name"] or "a program")
    told = []
    for pid, program in programs.items():
        where = f" on UDP {', '.join(sorted(set(ports[pid])))}" if pid in ports else ""
        told.append(f"{program} (pid {pid or 'not shown'}){where}")
    if not told:
        return Finding(host.access.name, "leftovers", Level.OK, "no server is running")
    if held:
        return Finding(
            host.access.name, "leftovers", Level.OK, f"{'; '.join(told)}: the sweep's own"
        )
    pids = " ".join(str(pid) for pid in programs if pid)
    stop = f"stop its service, or kill {pids or 'it'}"
    if probe["deployed"] and SERVER_GROUP in host.parts:
        stop = f"/opt/leaselab/server stop; if it is not the lab's, {stop}"
    return Finding(
        host.access.name,
        "leftovers",
        Level.ERROR,
        "; ".join(told),
        "no DHCP server or database running, and UDP 67 and 547 free",
        stop,
    )
