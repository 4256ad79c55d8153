"""What a bench was last prepared and deployed for, and whether that is still valid.

Playing every role again proves that nothing has changed, and takes a minute.  A record of
the last deployment proves the same in a second: hashes of what was played here, and of the
state in which it left each host.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from leaselab.archive.disk import write_whole
from leaselab.builds.artifacts import source_hash
from leaselab.catalog.roles import lab_roles
from leaselab.lab.hosts.inventory import (
    BUILDER_GROUP,
    SERVER_GROUP,
    Inventory,
    InventoryHost,
)
from leaselab.lab.hosts.transport import connect
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, lab_broken

_TIMEOUT_S = 20.0
_STATE = r"""
set -eu
cat /proc/sys/kernel/random/boot_id /proc/sys/kernel/osrelease
awk '{print $22}' /proc/1/stat
awk '/^Cpus_allowed_list|^Mems_allowed_list/' /proc/self/status
awk '/^MemTotal/' /proc/meminfo
ip -oneline address show scope global | awk '{print $2, $4}' | sort
for family in 4 6; do
  ip -$family route show table all 2>/dev/null | sed 's/ expires [0-9]*sec//'
done | sort
cat /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor 2>/dev/null | sort | uniq -c
cat /run/leaselab-host-tuning/before.json 2>/dev/null || echo not tuned
cd /sys/devices/system/cpu &&
cat smt/control intel_pstate/no_turbo cpufreq/boost cpu*/cpuidle/state*/disable 2>/dev/null || :
cd /proc/sys/net/core &&
cat rmem_default rmem_max netdev_max_backlog 2>/dev/null || :
sha256sum /var/lib/dpkg/status
find /opt/leaselab -maxdepth 3 -type f -exec sha256sum {} + | sort -k 2
find /etc -maxdepth 4 -path '*leaselab*' -type f -exec sha256sum {} + | sort -k 2
grep -lr '^# BEGIN leaselab' /etc/apparmor.d/local 2>/dev/null | sort | xargs -r sha256sum
cd /sys/kernel/security/apparmor 2>/dev/null &&
grep -E 'PROFILES' profiles 2>/dev/null | sort || :
"""
"""The state of a host that its record covers: a boot, a container that was made again, another
processor, address, route or package, tuning or its restoration, a profile of AppArmor, or a
changed file of ours alters it; a sweep does not.  PROFILES stands for those that may confine a
server.  Field 22 is the start of the first process, which differs between containers under the
same kernel.  A new route may lead from a test interface to another network: the playbooks,
played again, refuse it."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A record: what was played, and what it left."""

    played: str
    """Hash of what prepared the hosts: playbooks, roles, inventory, release."""
    environment: str
    """The lab's own state, as `provision` named it."""
    hosts: Mapping[str, str]
    """By inventory name: hash of the host's state after the last playbook."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the scenario tuned last has set on hosts, by role; none: they are as their inventory
    says."""
    benches: Mapping[str, Bench] = field(default_factory=dict)
    """What tuning wrote for each variant on the host, of any procedure, by the hash of its
    scenario and build; all with these settings on the hosts."""
    builds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By hash of the builder's state: the keys of what it has built, by request."""


def read_deployment(checkout: Path, bench: str) -> Deployment | None:
    """The record of a bench; None where there is none that this version can read."""
    try:
        return msgspec.json.decode(_file(checkout, bench).read_bytes(), type=Deployment)
    except (FileNotFoundError, UnicodeDecodeError, msgspec.MsgspecError):
        return None


def write_deployment(checkout: Path, bench: str, record: Deployment) -> None:
    """Keep the record of a bench."""
    path = _file(checkout, bench)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, msgspec.json.format(msgspec.json.encode(record, order="sorted")))


def forget_deployment(checkout: Path, bench: str) -> None:
    """Drop the record before a change, so that every playbook is played again next time."""
    _file(checkout, bench).unlink(missing_ok=True)


def distrust_deployment(checkout: Path, bench: str) -> None:
    """Mark the server to be deployed again next time, after a failure that this may cure."""
    record = read_deployment(checkout, bench)
    if record is not None:
        write_deployment(checkout, bench, replace(record, benches={}))


def played_hash(checkout: Path, inventory: Inventory, *choices: object) -> str:
    """Hash of all that prepares the hosts of a bench; `choices` are what else it depends on."""
    files = [
        path
        for folder in ("ansible", "roles")
        for path in sorted((checkout / folder).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    ]
    played = hashlib.sha256()
    played.update(source_hash().encode())
    for path in [checkout / "ansible.cfg", *files]:
        played.update(f"{path.relative_to(checkout)}\0".encode())
        played.update(hashlib.sha256(path.read_bytes()).digest())
    known = [asdict(host) for host in inventory.hosts]
    return digest(played.hexdigest(), str(inventory.path), known, *choices)


def digest(*parts: object) -> str:
    """Hash of values that JSON can write, such as a scenario's settings."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def host_states(inventory: Inventory) -> dict[str, str]:
    """Hash of the state of each host that is measured, by inventory name.

    Raises a broken-lab error for one that does not answer.
    """
    hosts = [host for host in inventory.hosts if not host.only_builds]
    with ThreadPoolExecutor(len(hosts)) as pool:
        states = list(pool.map(_state, hosts))
    return dict(zip((host.access.name for host in hosts), states, strict=True))


def builder_state(inventory: Inventory) -> str:
    """Hash of the state of the builder; raises a broken-lab error if it does not answer."""
    return _state(inventory.only(BUILDER_GROUP))


def variants_there(inventory: Inventory) -> frozenset[str]:
    """Names of the variants that lie on the host of the servers under test.

    A deployment removes those that were not used for longest.  Raises a broken-lab error for a
    host that does not answer.
    """
    with connect(inventory.only(SERVER_GROUP).access) as connection:
        done = connection.run(["ls", "/opt/leaselab/variants"], timeout_s=_TIMEOUT_S)
    return frozenset(done.stdout.decode().split()) if done.status == 0 else frozenset()


def stands(record: Deployment, inventory: Inventory, played: str) -> bool:
    """Whether playing this again would leave the hosts as the record says, and they are so."""
    if record.played != played:
        return False
    try:
        return host_states(inventory) == record.hosts
    except LeaselabError:
        return False  # the playbooks name the host and what is wrong with it


def _state(host: InventoryHost) -> str:
    profiles = {name for role in lab_roles().values() for name in role.profiles}
    script = _STATE.replace("PROFILES", "|".join(sorted(profiles)))
    with connect(host.access) as connection:
        done = connection.run(["sh", "-c", script], timeout_s=_TIMEOUT_S)
    if done.status != 0:
        raise lab_broken(
            "the host's state cannot be read",
            where=host.access.name,
            found=done.stderr.strip(),
            todo="see what of it fails there",
        )
    return hashlib.sha256(done.stdout).hexdigest()


def _file(checkout: Path, bench: str) -> Path:
    return checkout / ".leaselab" / "deployments" / f"{bench}.json"
