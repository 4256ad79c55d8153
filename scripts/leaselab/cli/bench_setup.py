"""Bringing a bench to the point where a sweep can begin: the playbooks, in order."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaselab.cli.lab import LOCAL_BENCH
from leaselab.cli.options import checkout_root
from leaselab.cli.playbook import run_playbook
from leaselab.lab.build import build
from leaselab.lab.inventory import GENERATOR_GROUP, PARTNER_GROUP, read_inventory
from leaselab.lab.lock import refuse_in_use
from leaselab.lab.transport import connect
from leaselab.model.errors import LeaselabError
from leaselab.model.plan import Plan

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from leaselab.cli.playbook import Event, PlaybookStats
    from leaselab.lab.inventory import Inventory
    from leaselab.model.scenario import Scenario
    from leaselab.model.source import Commit


def add_inventory(parser: argparse.ArgumentParser) -> None:
    """Add ``-i``; `inventory_of` reads it."""
    parser.add_argument(
        "-i",
        "--inventory",
        metavar="INVENTORY",
        type=Path,
        help="file or folder of the inventory (default: inventory/docker of the checkout)",
    )


def inventory_of(args: argparse.Namespace) -> Inventory:
    """Read the inventory named, the local lab's by default."""
    return read_inventory(Path(args.inventory or checkout_root() / "inventory" / "docker"))


def check(scenario: Scenario, overrides: Mapping[str, Any], inventory: Inventory) -> None:
    """Refuse what can be refused without touching anything (usage errors)."""
    build(Plan, overrides, "sweep parameters").check_fits(scenario)
    if scenario.high_availability.pair:
        inventory.only(PARTNER_GROUP)


def prepare(inventory: Inventory, distribution: str = "") -> str:
    """Bring the bench up and provision it, for any scenario; return its environment.

    `distribution` is the release of what serves, for the local lab; its default without.
    """
    _refuse_in_use(inventory)
    if inventory.bench == LOCAL_BENCH:
        chosen = {"docker_lab_server_distribution": distribution} if distribution else {}
        _playbook("lab_up", inventory.path, chosen)
    return str(_playbook("provision", inventory.path, {}).custom["environment"])


def build_commit(
    server: str, commit: Commit, files: Path, inventory: Inventory
) -> Mapping[str, Any]:
    """Build a commit of a server on the builder, or find it built.

    `files` is the tar of its files.  Returns what is known of the artifact: its
    `key`, whether it was `cached`, how many `seconds` it took.
    """
    source = {"server": server, "commit": asdict(commit), "files": str(files)}
    stats = _playbook("build", inventory.path, {"leaselab_source": source})
    made: Mapping[str, Any] = stats.custom["build"]
    return made


def build_log(commit: Commit) -> Path:
    """Where the log of a commit's last build lies, once it was built."""
    return _builds() / f"{commit.tree}.log.gz"


def is_kept(build_key: str) -> bool:
    """Whether what was built under this key can be deployed without building it again."""
    return (_builds() / build_key / "build.json").exists()


def _builds() -> Path:
    return checkout_root() / ".leaselab" / "builds"


def deploy(
    scenario: str,
    inventory: Inventory,
    overrides: Mapping[str, Any],
    build_key: str = "",
    *,
    distribution: str = "",
) -> dict[str, Any]:
    """Deploy and tune a scenario on a prepared bench; return its bench document.

    `build_key` names what `build_commit` built; the distribution's packages without,
    in the version that the inventory wants or, on a `distribution` that was asked for, in
    the one that it has.
    """
    bench_file = checkout_root() / ".leaselab" / "bench.json"
    variables = {
        "scenario": scenario,
        "leaselab_plan": dict(overrides),
        "bench_file_path": str(bench_file),
        **({"leaselab_build": build_key} if build_key else {}),
        **({"kea_version": "", "dnsmasq_version": ""} if distribution else {}),
    }
    _playbook("deploy", inventory.path, variables)
    _playbook("tune", inventory.path, variables)
    document: dict[str, Any] = json.loads(bench_file.read_text(encoding="utf-8"))
    return {**document, "distribution": distribution}


def _refuse_in_use(inventory: Inventory) -> None:
    """Leave a bench that somebody holds at once: the playbooks' load would be measured too."""
    with ExitStack() as stack:
        try:
            generator = stack.enter_context(connect(inventory.only(GENERATOR_GROUP).access))
        except LeaselabError:
            return  # a lab that is down, or a host that the playbooks will name
        refuse_in_use(generator)


_TITLES = {
    "lab_up": "bringing the local lab up",
    "provision": "preparing the hosts",
    "build": "building the server",
    "deploy": "deploying the server",
    "tune": "tuning what it stands on",
}


def _playbook(name: str, inventory: Path, variables: Mapping[str, Any]) -> PlaybookStats:
    """Run one playbook, saying what it is about and what it changes."""
    stream = sys.stderr
    print(_TITLES[name], file=stream, flush=True)

    def show(event: Event) -> None:
        if event["event"] == "changed":
            item = f" ({event['item']})" if event["item"] else ""
            print(f"  {event['host']}: {event['task']}{item}", file=stream, flush=True)

    return run_playbook(name, inventory, variables, show)
