"""An inventory that has several benches in one listing, as a plugin's has: one for each.

Playbooks are written for the hosts of one bench.  So each bench gets a file of its own that
Ansible reads, with what the listing says of its hosts; it is written again at each reading.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from leaselab.archive.disk import write_private
from leaselab.lab.inventory import NEEDED_GROUPS, UNSAFE, VAULT, Inventory, InventoryHost
from leaselab.lab.logins import PARTS
from leaselab.model.errors import usage_error

BENCH = "leaselab_bench"
_HERE = re.compile(r"\{\{\s*inventory_dir\s*\}\}")
_OWN_FACTS = frozenset({"ansible_local"})
"""What Ansible adds to a listing by itself."""


def split(inventory: Inventory, kept: Path) -> tuple[Inventory, ...]:
    """Return the benches of an inventory; itself where it has one.

    `kept` is the folder of the files that are written, readable by their owner alone, as
    variables may be secrets.  A host that only builds and has no `leaselab_bench` is
    shared by all.  Raises a usage error for any other host without one.
    """
    measured = [host for host in inventory.hosts if not host.only_builds]
    named = dict.fromkeys(filter(None, map(_bench, inventory.hosts)))
    if len(named) <= 1:
        return (inventory,)
    names = list(named)
    lost = [host.access.name for host in measured if not _bench(host)]
    if lost:
        raise usage_error(
            f"it has several benches, and not all hosts have a {BENCH}",
            where=str(inventory.path),
            found=f"none for {', '.join(lost)}",
            wanted=f"one of {', '.join(names)}",
        )
    kept.mkdir(parents=True, exist_ok=True)
    benches = tuple(
        replace(
            inventory,
            path=_write(kept / f"{name}.json", _of(inventory, name), inventory.path),
            bench=name,
            hosts=_of(inventory, name),
        )
        for name in names
    )
    for file in set(kept.glob("*.json")) - {bench.path for bench in benches}:
        file.unlink()  # of a bench that is not there any more
    for bench in benches:
        _check_whole(bench, inventory.path)
    return benches


def _bench(host: InventoryHost) -> str:
    return str(host.variables.get(BENCH) or "")


def _of(inventory: Inventory, name: str) -> tuple[InventoryHost, ...]:
    return tuple(
        host
        for host in inventory.hosts
        if _bench(host) == name or (host.only_builds and not _bench(host))
    )


def _check_whole(bench: Inventory, source: Path) -> None:
    """Refuse a bench that lacks a part, in the words of the source."""
    for part in NEEDED_GROUPS:
        if not bench.group(part):
            raise usage_error(
                f"no host of bench {bench.bench} in group {part}",
                where=str(source),
                found=", ".join(host.access.name for host in bench.hosts),
                wanted="one host of the bench in each needed group",
            )


def _write(path: Path, hosts: Sequence[InventoryHost], source: Path) -> Path:
    groups: dict[str, Any] = {
        part: {"hosts": {host.access.name: {} for host in hosts if part in host.parts}}
        for part in PARTS
    }
    variables = {
        host.access.name: {
            key: _written(value, source)
            for key, value in host.listed.items()
            if key not in _OWN_FACTS
        }
        for host in hosts
    }
    # Only in JSON does Ansible read its own marks of what is no template, or is encrypted.
    text = json.dumps({"bench": {"hosts": variables, "children": groups}}, indent=1)
    write_private(path, text)
    return path


def _written(value: object, source: Path) -> object:
    """A value as a file elsewhere has to say it."""
    if isinstance(value, Mapping):
        if set(value) in ({UNSAFE}, {VAULT}):
            return value
        return {str(key): _written(one, source) for key, one in value.items()}
    if isinstance(value, list):
        return [_written(one, source) for one in value]
    if isinstance(value, str):
        folder = source if source.is_dir() else source.parent
        return _HERE.sub(lambda _: str(folder), value)
    return value
