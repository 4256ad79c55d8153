"""Judges one host by itself: login, software, clock, processors, space, leftovers.

Pure, but for what roles declare of themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from leaselab.catalog.roles import lab_roles
from leaselab.lab.bench.lock import Maintenance
from leaselab.lab.checks.contact import Contact
from leaselab.lab.checks.findings import (
    Finding,
    Level,
    Probe,
    Wanted,
    WantedPackages,
    error_unless,
    judged,
)
from leaselab.lab.hosts.inventory import (
    GENERATOR_GROUP,
    PARTNER_GROUP,
    SERVER_GROUP,
    InventoryHost,
)
from leaselab.model.errors import LeaselabError

_PYTHON_MIN = (3, 8)
_PARTS = {"server": {SERVER_GROUP, PARTNER_GROUP}, "generator": {GENERATOR_GROUP}}
"""Where packages of a role are wanted, by its part."""


def check_access(
    host: InventoryHost, contact: Contact, read: Mapping[str, Any]
) -> Iterator[Finding]:
    """Judge both ways to the host; `read` is what Ansible's module returned, or its failure."""
    name, at = host.access.name, host.access.at
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
        todo="set ansible_user to root and install the key there, or set ansible_become for a "
        "user with sudo",
    )
    if "probe" not in read:
        message = " ".join(str(read.get("msg", "nothing was read")).split())
        yield Finding(
            name,
            "ansible",
            Level.ERROR,
            message,
            "a host that Ansible reaches and can run Python on",
            "the engine reaches it: compare ansible_ssh_common_args and"
            " ansible_python_interpreter with docs/reference/inventory.md",
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
    host: InventoryHost,
    probe: Probe,
    contact: Contact,
    wanted: Wanted,
    *,
    used: Collection[str],
    held: bool,
) -> Iterator[Finding]:
    """Judge what was read on a host.

    `used` are the roles of servers and generators that scenarios ask for; `held` says that a
    sweep has the bench.
    """
    yield from _system(host.access.name, probe, wanted)
    yield from _packages(host, probe, wanted, used)
    yield _clock(host.access.name, contact, wanted.clock_offset_s)
    if not host.only_builds:
        yield from _steadiness(host.access.name, probe)
    yield _memory(host.access.name, probe, wanted)
    yield from _space(host.access.name, probe, wanted)
    if SERVER_GROUP in host.parts or PARTNER_GROUP in host.parts:
        yield from _confinement(host.access.name, probe)
    yield _leftovers(host, probe, held=held)


def check_lock(
    host: InventoryHost,
    holder: Mapping[str, Any] | None,
    maintenance: Maintenance | None = None,
) -> Finding:
    """Report who holds the bench; that is no fault, but no other command should use it now."""
    if maintenance is not None:
        return Finding(
            host.access.name,
            "lock",
            Level.WARNING,
            f"in maintenance by {maintenance}",
            "a bench in use",
            "its keeper ends it with `leaselab lab maintenance off`",
        )
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


def _refusal(name: str, at: str, error: LeaselabError) -> Finding:
    """Keep the transport's own words; its kinds of failure have three names here."""
    check = next((kind for kind in ("host key", "sudo") if kind in error.what), "ssh")
    what = error.what if at in error.what else f"{error.what} ({at})"
    found = f"{what}: {error.found}" if error.found else what
    return Finding(name, check, Level.ERROR, found, error.wanted or "a connection", error.todo)


def _release(probe: Probe) -> str:
    """Name of the host's release, as the tables of versions have it: ``debian-13``."""
    system = probe["os"]
    version = system["version"]
    return (
        f"{system['id']}-{version.partition('.')[0] if system['id'] == 'debian' else version}"
    )


def _system(name: str, probe: Probe, wanted: Wanted) -> Iterator[Finding]:
    system = probe["os"]
    supported = sorted(
        {
            release
            for role, asked in wanted.packages.items()
            for release in set(asked.versions) - set(lab_roles()[role].packages)
        }
    )
    level = Level.WARNING if probe["tools"]["apt"] else Level.ERROR
    yield judged(
        name,
        "system",
        f"{system['name'] or 'unknown'}, Linux {probe['kernel']}",
        wanted="one of "
        + ", ".join(release.replace("-", " ").title() for release in supported),
        todo="install one of these; the roles install packages with apt, by their names there",
        level=None if _release(probe) in supported else level,
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


def _packages(
    host: InventoryHost, probe: Probe, wanted: Wanted, used: Collection[str]
) -> Iterator[Finding]:
    for name, asked in wanted.packages.items():
        role = lab_roles()[name]
        if name in used and _PARTS[role.part] & set(host.parts):
            version = _wanted_version(probe, asked)
            for package in role.packages[asked.whose]:
                yield _package(host.access.name, name, package, version, probe)


def _wanted_version(probe: Probe, asked: WantedPackages) -> str | None:
    """Prefix of the version that the role will ask for; None where it knows none."""
    if asked.version is not None:
        return asked.version
    key = asked.whose if asked.whose != "distribution" else _release(probe)
    return asked.versions.get(key)


def _package(name: str, tool: str, package: str, version: str | None, probe: Probe) -> Finding:
    known = probe["versions"].get(package, {"installed": "", "candidate": ""})
    have = known["installed"] or known["candidate"]
    state = "installed" if known["installed"] else "to be installed"
    todo = (
        f"use a distribution that has it, or set {tool}_version to the version that you want "
        "to measure"
    )
    level: Level | None = None
    if version is None:
        level = Level.ERROR
        todo = (
            f"set {tool}_version to the version that you want to measure, or install a "
            "release that is supported"
        )
    elif not have:
        level, state = Level.WARNING, "neither installed nor offered by apt"
        todo = "run apt-get update there and check again; provision does so too"
    elif version and not f"{have}.".startswith(f"{version}."):
        level = Level.ERROR
    return judged(
        name,
        tool,
        f"{package} {have}{' ' if have else ''}{state}",
        wanted="a version that is known for this release"
        if version is None
        else f"version {version}",
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


def _confinement(name: str, probe: Probe) -> Iterator[Finding]:
    """Judge AppArmor: servers that it confines may use the lab's files once they are added."""
    apparmor = probe["apparmor"]
    if apparmor is None:
        return
    known = {profile for role in lab_roles().values() for profile in role.profiles}
    confined = [profile for profile in apparmor["enforced"] if profile in known]
    if not confined:
        yield Finding(name, "apparmor", Level.OK, "confines no server")
        return
    found = f"confines {', '.join(confined)}"
    if not apparmor["parser"]:
        yield Finding(
            name,
            "apparmor",
            Level.ERROR,
            f"{found}; no apparmor_parser",
            "apparmor_parser, which adds the lab's files to those profiles",
            "apt-get install apparmor",
        )
        return
    # What is not deployed yet gets them then; a commit is installed where no profile applies.
    own: set[str] = set()
    for deployed in probe["deployed"]:
        program = deployed.get("program") or ""
        own |= {program, program.removeprefix("/usr/sbin/")}
        beside = lab_roles().get(deployed.get("tuning", {}).get("backend", ""))
        if beside is not None:
            own.update(beside.profiles)
    lacking = [one for one in confined if one in own and one not in apparmor["added"]]
    yield judged(
        name,
        "apparmor",
        f"{found}; without the lab's files: {', '.join(lacking)}" if lacking else found,
        wanted="the lab's additions in /etc/apparmor.d/local",
        todo="deploy again: leaselab run, or ansible/deploy.yml",
        level=Level.WARNING if lacking else None,
    )


def _leftovers(host: InventoryHost, probe: Probe, *, held: bool) -> Finding:
    """Judge servers, databases and taken ports; those of a running sweep are its own."""
    programs = {entry["pid"]: entry["name"] for entry in probe["processes"]}
    ports: dict[int | None, list[str]] = {}
    for entry in probe["listeners"]:
        ports.setdefault(entry["pid"], []).append(f"{entry['address']} port {entry['port']}")
        programs.setdefault(entry["pid"], entry["name"] or "a program")
    running = []
    for pid, program in programs.items():
        where = f" on UDP {', '.join(sorted(set(ports[pid])))}" if pid in ports else ""
        running.append(f"{program} (pid {pid or 'not shown'}){where}")
    if not running:
        return Finding(host.access.name, "leftovers", Level.OK, "no server is running")
    if held:
        return Finding(
            host.access.name, "leftovers", Level.OK, f"{'; '.join(running)}: the sweep's own"
        )
    pids = " ".join(str(pid) for pid in programs if pid)
    stop = f"stop its service, or kill {pids or 'it'}"
    if probe["deployed"] and SERVER_GROUP in host.parts:
        stop = f"/opt/leaselab/server stop; if it is not the lab's, {stop}"
    return Finding(
        host.access.name,
        "leftovers",
        Level.ERROR,
        "; ".join(running),
        "no server or database running, and the ports of servers free",
        stop,
    )
