#!/usr/bin/python
"""Ansible module: read what can move a result on a host of a bench, and change nothing on it.

Only facts are kept that do not change by themselves between two sweeps: no uptime, no current
frequency, no counter.  They become part of the environment's name.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.lab_host_nic import nic

DOCUMENTATION = r"""
---
module: host_state
short_description: Read processors, kernel and test interface of a host of a bench
description:
  - Reads what a result depends on, and changes nothing; works the same in check mode.
  - What a host does not have or does not show is null.
options:
  addresses:
    description: >-
      Addresses of this host on the test network; the interface that has all of them is the
      test interface.
    type: list
    elements: str
    required: true
  sysctls:
    description: Names of the kernel's settings that are wanted.
    type: list
    elements: str
    default: []
author: the leaselab maintainers
"""

RETURN = r"""
interface:
  description: Name of the test interface; empty where no interface has the addresses.
  type: str
  returned: always
found:
  description: Every address that some interface has, for a message.
  type: list
  returned: always
state:
  description: >-
    cpu_model, cpu_count (processors that are on), cpus_allowed (the kernel's list form),
    processors (how many those are), cpu_limit (how many processors' worth of time this host's
    work may use; left out without a limit), governor (names, those of all processors),
    governors (processors by governor, the kernel's list form), smt, turbo (boolean),
    microcode, clocksource, command_line, mitigations (by weakness), sysctls (by name), nic (see
    lab_host_nic).
  returned: always
  type: dict
"""

_TIMEOUT_S = 20
_HIDDEN = "..."
# Values that name a place on a disk or a network, or open one, say nothing of speed and are
# private: the command line goes into every result.
_PLACE = re.compile(r"[/:@]")
_SECRET = re.compile(r"pass|secret|token|key|auth|cred|uuid", re.IGNORECASE)


def text(path: Path) -> str | None:
    """A file's text without its last line end; None where it cannot be read or is empty."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def output(*argv: str) -> str:
    """What a program prints; "" when it is missing, fails or hangs."""
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def interface_with(listing: list[dict], wanted: list[str]) -> str:
    """Name of the interface that has all wanted addresses, of ``ip -json address``; or ""."""
    for link in listing:
        present = {info.get("local") for info in link.get("addr_info", [])}
        if link["ifname"] != "lo" and wanted and all(address in present for address in wanted):
            return link["ifname"]
    return ""


def processor_model(listing: str) -> str | None:
    """The processor's name, from ``lscpu --json``; of each kind where there are several.

    /proc/cpuinfo has no name on ARM, where lscpu knows it by implementer and part.
    """
    names: list[str] = []

    def collect(rows: list[dict]) -> None:
        for row in rows:
            if row["field"] == "Model name:" and row.get("data") not in (None, "", "-"):
                names.append(row["data"])
            collect(row.get("children", []))

    try:
        collect(json.loads(listing)["lscpu"])
    except (ValueError, KeyError):
        return None
    return ", ".join(dict.fromkeys(names)) or None


def list_form(numbers: list[int]) -> str:
    """Numbers in the kernel's list form, such as ``0-3,8``."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def governors(cpus: Path) -> dict[str, str]:
    """Processors by governor, in the kernel's list form; those that show none left out."""
    found: dict[str, list[int]] = {}
    for folder in cpus.glob("cpu[0-9]*"):
        name = text(folder / "cpufreq/scaling_governor")
        if name:
            found.setdefault(name, []).append(int(folder.name[3:]))
    return {name: list_form(numbers) for name, numbers in sorted(found.items())}


def turbo(cpus: Path) -> bool | None:
    """Whether processors may exceed their nominal clock; None where that is unknown."""
    off = text(cpus / "intel_pstate/no_turbo")
    if off is not None:
        return off == "0"
    on = text(cpus / "cpufreq/boost")
    return None if on is None else on == "1"


def microcode(cpus: Path, cpuinfo: str) -> str | None:
    """Version of the processors' microcode; of each kind where there are several."""
    found = {text(path) for path in cpus.glob("cpu[0-9]*/microcode/version")} - {None}
    found = found or set(re.findall(r"^microcode\s*: (\S+)", cpuinfo, re.MULTILINE))
    return ", ".join(sorted(found)) or None


def command_line(line: str | None) -> str | None:
    """The kernel's command line, without what is not its own and what names a place."""
    if line is None:
        return None
    words = []
    for word in line.partition(" -- ")[0].split():
        name, equals, value = word.partition("=")
        secret = _SECRET.search(name) or _PLACE.search(value)
        words.append(f"{name}={_HIDDEN}" if equals and secret else word)
    return " ".join(words)


def sysctl(name: str, proc: Path) -> str | None:
    """A setting of the kernel, its numbers parted by single spaces."""
    found = text(proc / "sys" / name.replace(".", "/"))
    return None if found is None else " ".join(found.split())


def allowed(status: str) -> tuple[str | None, int | None]:
    """Processors that a process may use, in the kernel's list form, and how many they are."""
    found = re.search(r"^Cpus_allowed_list:\s*(\S+)", status, re.MULTILINE)
    if found is None:
        return None, None
    count = 0
    for part in found[1].split(","):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return found[1], count


def cpu_limit(groups: Path, membership: str) -> float | None:
    """Processors' worth of time that this host's work may use; None without a limit.

    `membership` is what the kernel says of a process's groups (/proc/self/cgroup): the least
    quota of its group and of those above counts, such as those of a container or a unit's
    CPUQuota.  In a container, its own group is the root of what it sees.
    """
    inner = Path()
    for line in membership.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "cpu" in controllers.split(",") or (number, controllers) == ("0", ""):
            inner = Path(path.lstrip("/"))
    least = None
    for group in (inner, *inner.parents):
        quota, _, period = (text(groups / group / "cpu.max") or "").partition(" ")
        if not period:
            quota = text(groups / "cpu" / group / "cpu.cfs_quota_us") or ""
            period = text(groups / "cpu" / group / "cpu.cfs_period_us") or ""
        if quota.isdecimal() and period.isdecimal():
            held = int(quota) / int(period)
            least = held if least is None else min(least, held)
    return least


def state(sysctls: list[str], interface: str, sys: Path, proc: Path) -> dict:
    """All of it; RETURN has the shape."""
    cpus = sys / "devices/system/cpu"
    cpus_allowed, processors = allowed(text(proc / "self/status") or "")
    by_governor = governors(cpus)
    held = cpu_limit(sys / "fs/cgroup", text(proc / "self/cgroup") or "")
    weaknesses = sorted((cpus / "vulnerabilities").glob("*"))
    return {
        "cpu_model": processor_model(output("lscpu", "--json")),
        "cpu_count": os.sysconf("SC_NPROCESSORS_ONLN"),
        "cpus_allowed": cpus_allowed,
        "processors": processors,
        # Without one, nothing is said of it: the names of environments stay what they are.
        **({} if held is None else {"cpu_limit": held}),
        "governor": ", ".join(by_governor) or None,
        "governors": by_governor,
        "smt": text(cpus / "smt/control"),
        "turbo": turbo(cpus),
        "microcode": microcode(cpus, text(proc / "cpuinfo") or ""),
        "clocksource": text(
            sys / "devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "command_line": command_line(text(proc / "cmdline")),
        "mitigations": {path.name: text(path) for path in weaknesses},
        "sysctls": {name: sysctl(name, proc) for name in sysctls},
        "nic": nic(interface, sys) if interface else None,
    }


def main() -> None:
    """Read and return."""
    module = AnsibleModule(
        argument_spec={
            "addresses": {"type": "list", "elements": "str", "required": True},
            "sysctls": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    listing = json.loads(output("ip", "-json", "address") or "[]")
    interface = interface_with(
        listing, [param for param in module.params["addresses"] if param]
    )
    module.exit_json(
        changed=False,
        interface=interface,
        found=[
            info["local"]
            for link in listing
            for info in link.get("addr_info", [])
            if "local" in info
        ],
        state=state(module.params["sysctls"], interface, Path("/sys"), Path("/proc")),
    )


if __name__ == "__main__":
    main()
