#!/usr/bin/python
"""Ansible module: read the state of a host, and change nothing on it.

It does not judge these facts: `leaselab.lab.checks.findings` does.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
---
module: lab_probe
short_description: Read what a host of a bench is
description:
  - Reads addresses, routes, links, processors, disks, servers and package versions.
  - Changes nothing, and works the same in check mode.
options:
  packages:
    description: Debian packages whose installed and candidate versions are wanted.
    type: list
    elements: str
    default: []
  folders:
    description: Folders whose free space is wanted; for one that is not there, its parent's.
    type: list
    elements: str
    default: []
  ports:
    description: UDP ports whose listeners are wanted.
    type: list
    elements: int
    default: []
  programs:
    description: Names of programs whose running processes are wanted.
    type: list
    elements: str
    default: []
author: the leaselab maintainers
"""

RETURN = r"""
probe:
  description: >-
    Facts by name. os {id, version, name}; python, kernel; uid (of the process that reads);
    tools {ip, apt: whether there}; addresses [{interface, address, prefix}];
    routes [{destination, interface}] with C(default) for the default ones;
    management (the host's own address that this login came to, "" where that is unknown);
    links {interface: {state, speed_mbps or null, mtu, virtual}};
    governors {cpu: name or null} of the processors that may be used; memory_mib;
    free_mib {folder: n}; processes [{pid, name}];
    listeners [{port, address, pid or null, name}];
    versions {package: {installed, candidate}} with "" for none;
    container, hypervisor (booleans); apparmor {enforced [profiles], parser (whether
    there), added [profiles that have the lab's additions]}, or null where the kernel has none
    or shows none;
    deployed [the server role's record of each variant].
  returned: always
  type: dict
"""

_TIMEOUT_S = 20


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


def text(path: str) -> str:
    """A file's text without its last line end; "" when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def parse_addresses(listing: str) -> list[dict]:
    """From ``ip -json address``."""
    return [
        {"interface": link["ifname"], "address": info["local"], "prefix": info["prefixlen"]}
        for link in json.loads(listing or "[]")
        for info in link.get("addr_info", [])
        if "local" in info
    ]


def parse_routes(listing: str) -> list[dict]:
    """From ``ip -json route``: those that lead somewhere, not a host's routes to itself."""
    kinds = ("local", "broadcast", "multicast", "anycast")
    return [
        {"destination": route["dst"], "interface": hop.get("dev", "")}
        for route in json.loads(listing or "[]")
        # One with several ways has them apart, and no interface of its own.
        for hop in route.get("nexthops") or [route]
        if route.get("type", "unicast") not in kinds and hop.get("dev") != "lo"
    ]


def parse_policy(listing: str) -> dict[str, dict[str, str]]:
    """From ``apt-cache policy``."""
    versions: dict[str, dict[str, str]] = {}
    package = ""
    for line in listing.splitlines():
        word, _, rest = line.strip().partition(": ")
        if line and not line.startswith(" "):
            package = line.rstrip(":")
            versions[package] = {"installed": "", "candidate": ""}
        elif word in ("Installed", "Candidate") and rest != "(none)":
            versions[package][word.lower()] = rest
    return versions


def parse_sockets(table: str, ports: list[int]) -> list[tuple[int, str, str]]:
    """Port, address and inode of the UDP sockets on `ports`, from /proc/net/udp or udp6."""
    found = []
    for line in table.splitlines()[1:]:
        fields = line.split()
        place, port = fields[1].split(":")
        if int(port, 16) in ports:
            # Four bytes at a time in the order of a little-endian processor.
            words = [bytes.fromhex(place[i : i + 8])[::-1] for i in range(0, len(place), 8)]
            found.append((int(port, 16), str(ipaddress.ip_address(b"".join(words))), fields[9]))
    return found


def management(place: str = "/proc") -> str:
    """Address of this host that the login came to; "" where that is unknown.

    sudo takes SSH_CONNECTION away, so that of the processes above counts, too.
    """
    pid = os.getpid()
    while pid > 1:
        for setting in text(f"{place}/{pid}/environ").split("\0"):
            name, _, value = setting.partition("=")
            if name == "SSH_CONNECTION" and len(value.split()) == 4:
                return value.split()[2].partition("%")[0]
        # The name, in parentheses, may hold spaces.
        fields = text(f"{place}/{pid}/stat").rpartition(")")[2].split()
        pid = int(fields[1]) if len(fields) > 1 else 0
    return ""


def links() -> dict[str, dict]:
    """Every interface but the loopback one."""
    found = {}
    for folder in sorted(Path("/sys/class/net").iterdir()):
        if folder.name == "lo" or not folder.is_dir():
            continue
        # Reading the speed of a link that is down, or has none, is an error or -1.
        speed = text(f"{folder}/speed")
        found[folder.name] = {
            "state": text(f"{folder}/operstate"),
            "speed_mbps": int(speed) if speed.isdigit() and int(speed) > 0 else None,
            "mtu": int(text(f"{folder}/mtu") or 0),
            "virtual": not (folder / "device").exists(),
        }
    return found


def owners() -> dict[str, int]:
    """Process id by the inode of each socket it holds, as far as this user may see."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # ended meanwhile, or another user's
            for link in (folder / "fd").iterdir():
                target = str(link.readlink())
                if target.startswith("socket:["):
                    found[target[8:-1]] = int(folder.name)
    return found


def listeners(ports: list[int]) -> list[dict]:
    """UDP sockets bound to these ports."""
    sockets = parse_sockets(text("/proc/net/udp"), ports)
    sockets += parse_sockets(text("/proc/net/udp6"), ports)
    holders = owners() if sockets else {}
    return [
        {
            "port": port,
            "address": address,
            "pid": holders.get(inode),
            "name": program(holders[inode]) if inode in holders else "",
        }
        for port, address, inode in sockets
    ]


def program(pid: int) -> str:
    """Name of a process's program; unlike `comm` it is not cut at 15 letters."""
    argv = text(f"/proc/{pid}/cmdline").split("\0")
    return Path(argv[0]).name or text(f"/proc/{pid}/comm")


def processes(programs: list[str]) -> list[dict]:
    """Running processes of these programs."""
    pids = sorted(
        int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()
    )
    named = [{"pid": pid, "name": program(pid)} for pid in pids]
    return [process for process in named if process["name"] in programs]


def free_mib(folder: str) -> int:
    """Space that is free for a folder, there yet or not (MiB)."""
    place = Path(folder)
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free >> 20


def memory_mib() -> int:
    """Memory of the machine (MiB)."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def governors() -> dict[str, str | None]:
    """Governor of each processor that a program may use, None where none is shown."""
    place = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
    return {
        str(cpu): text(place.format(cpu)) or None for cpu in sorted(os.sched_getaffinity(0))
    }


def container() -> bool:
    """Whether this is a container."""
    marks = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")
    return any(Path(mark).exists() for mark in marks) or "container=" in text("/proc/1/environ")


def apparmor() -> dict | None:
    """What AppArmor confines, and which profiles have the lab's additions; None without it."""
    rows = text("/sys/kernel/security/apparmor/profiles").splitlines()
    if not rows or text("/sys/module/apparmor/parameters/enabled") != "Y":
        return None
    local = Path("/etc/apparmor.d/local")
    mark = "# BEGIN leaselab: "
    return {
        "enforced": sorted(
            row[: -len(" (enforce)")] for row in rows if row.endswith(" (enforce)")
        ),
        "parser": shutil.which("apparmor_parser", path="/usr/sbin:/sbin") is not None,
        "added": sorted(
            line[len(mark) :]
            for file in (local.iterdir() if local.is_dir() else ())
            for line in text(str(file)).splitlines()
            if line.startswith(mark)
        ),
    }


def deployed() -> list[dict]:
    """The records of the variants that the lab deployed here."""
    found = []
    for path in sorted(Path("/opt/leaselab/variants").glob("*/deployed.json")):
        with contextlib.suppress(ValueError):
            found.append(json.loads(text(str(path))))
    return found


def probe(parameters: dict) -> dict:
    """All of it; RETURN has the shape."""
    release = platform.freedesktop_os_release()
    return {
        "os": {
            "id": release.get("ID", ""),
            "version": release.get("VERSION_ID", ""),
            "name": release.get("PRETTY_NAME", ""),
        },
        "python": platform.python_version(),
        "kernel": platform.release(),
        "uid": os.geteuid(),
        "tools": {
            "ip": shutil.which("ip") is not None,
            "apt": shutil.which("apt-get") is not None,
        },
        "addresses": parse_addresses(output("ip", "-json", "address")),
        "routes": [
            route
            for family in ("-4", "-6")
            for route in parse_routes(
                output("ip", "-json", family, "route", "show", "table", "all")
            )
        ],
        "management": management(),
        "links": links(),
        "governors": governors(),
        "memory_mib": memory_mib(),
        "free_mib": {folder: free_mib(folder) for folder in parameters["folders"]},
        "processes": processes(parameters["programs"]),
        "listeners": listeners(parameters["ports"]),
        "versions": parse_policy(output("apt-cache", "policy", *parameters["packages"]))
        if parameters["packages"]
        else {},
        "container": container(),
        "hypervisor": " hypervisor" in text("/proc/cpuinfo"),
        "apparmor": apparmor(),
        "deployed": deployed(),
    }


def main() -> None:
    """Read and return."""
    lists = dict.fromkeys(("packages", "folders", "programs"), "str") | {"ports": "int"}
    module = AnsibleModule(
        argument_spec={
            name: {"type": "list", "elements": kind, "default": []}
            for name, kind in lists.items()
        },
        supports_check_mode=True,
    )
    try:
        found = probe(module.params)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"the host cannot be read: {error}")
    module.exit_json(changed=False, probe=found)


if __name__ == "__main__":
    main()
