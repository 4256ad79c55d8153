"""What systemd does beside what is measured: timers, services, processors of slices."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from ansible.module_utils.host_tuning_knobs import Reading, numbers, text

_MANAGER = Path("/run/systemd/system")
_CGROUPS = Path("/sys/fs/cgroup")
_TIMEOUT_S = 180
"""How long systemctl may take; systemd itself waits up to 90 s for a service to stop."""
RUNNING = ("active", "activating", "reloading")
"""States of a unit in which it works or waits for its time."""


def is_there() -> bool:
    """Whether systemd manages this host."""
    return _MANAGER.is_dir()


def unit_states(units: list[str]) -> dict[str, str | None]:
    """State of each unit, such as ``active``; None for one that is not installed."""
    if not units or not is_there():
        return dict.fromkeys(units)
    return parse_units(units, _systemctl("show", "--property=LoadState,ActiveState", *units))


def parse_units(units: list[str], listing: str) -> dict[str, str | None]:
    """The same from ``systemctl show``: a block of lines a unit, in their order."""
    found: dict[str, str | None] = {}
    for unit, block in zip(units, re.split(r"\n\s*\n", listing.strip()), strict=False):
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        there = fields.get("LoadState") not in ("not-found", None)
        found[unit] = fields.get("ActiveState") if there else None
    return found


def change_units(verb: str, units: list[str]) -> None:
    """``start`` or ``stop`` units."""
    _systemctl(verb, *units)


def read_units(units: list[str]) -> Reading:
    """``running`` or ``stopped`` by unit; None for one that is not installed."""
    if not is_there():
        return Reading(None, holds=False, why="the host is not managed by systemd")
    states = unit_states(units)
    # Not whether a stopped one has failed: that moves from boot to boot.
    found = {
        unit: None
        if states[unit] is None
        else "running"
        if states[unit] in RUNNING
        else "stopped"
        for unit in units
    }
    return Reading(found, holds="running" not in found.values())


def slices(housekeeping: str, online: list[int]) -> dict[str, str]:
    """Processors of each part of a host, when `housekeeping` (list form) are the system's.

    Programs that are measured are started in sessions, which are below user.slice.
    """
    system = [cpu for cpu in numbers(housekeeping) if cpu in online]
    rest = [cpu for cpu in online if cpu not in system]
    if not system or not rest:
        return {}
    words = {
        part: ",".join(map(str, cpus)) for part, cpus in (("system", system), ("user", rest))
    }
    return {
        "init.scope": words["system"],
        "system.slice": words["system"],
        "user.slice": words["user"],
    }


def read_slices(housekeeping: str, online: list[int]) -> Reading:
    """Which processors each part of the host may use."""
    wanted = slices(housekeeping, online)
    why = _reason(wanted)
    if why:
        return Reading(None, holds=False, why=why)
    found = {
        unit: text(_CGROUPS / unit / "cpuset.cpus.effective") or "" for unit in sorted(wanted)
    }
    holds = all(numbers(found[unit]) == numbers(wanted[unit]) for unit in wanted)
    return Reading(found, holds)


def allowed_cpus(unit: str) -> str:
    """Processors that a unit was given, as ``set-property`` takes them; empty for all."""
    return _systemctl("show", "--property=AllowedCPUs", "--value", unit).strip()


def allow_cpus(unit: str, cpus: str) -> None:
    """Give a unit these processors until the next boot."""
    _systemctl("set-property", "--runtime", unit, f"AllowedCPUs={cpus}")


def _reason(wanted: dict[str, str]) -> str:
    if not wanted:
        return "no processor would be left for what is measured, or none of them is on"
    if not is_there():
        return "the host is not managed by systemd"
    if "cpuset" not in (text(_CGROUPS / "cgroup.controllers") or "").split():
        return "the kernel has no cpuset controller of cgroup version 2"
    if not (text(Path("/proc/self/cgroup")) or "").startswith("0::/user.slice/"):
        return "sessions are not below user.slice: libpam-systemd is not installed"
    return ""


def _systemctl(*argv: str) -> str:
    command = ["systemctl", *argv]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{' '.join(command)}: no end within {_TIMEOUT_S} s") from error
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
