"""Bringing a bench to the point where a sweep can begin: the playbooks, in order."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaselab.archive.live import LiveFeed
from leaselab.cli.build_progress import BuildFollower
from leaselab.cli.options import checkout_root, kept_folder
from leaselab.cli.playbook import run_playbook
from leaselab.cli.procedure_options import procedure_overrides
from leaselab.cli.recovery import recover
from leaselab.lab.benches import bench_named, free_bench, read_benches
from leaselab.lab.build_record import read_record
from leaselab.lab.catalog import find_procedure, find_scenario
from leaselab.lab.deployment import (
    Deployment,
    forget_deployment,
    host_states,
    played_hash,
    read_deployment,
    stands,
    write_deployment,
)
from leaselab.lab.hold import read_hold
from leaselab.lab.inventory import BUILDER_GROUP, GENERATOR_GROUP, PARTNER_GROUP
from leaselab.lab.lock import refuse_in_use
from leaselab.lab.transport import connect
from leaselab.measure.generators import check_fits
from leaselab.model.errors import LeaselabError
from leaselab.model.source import Commit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from leaselab.cli.playbook import Event, PlaybookStats
    from leaselab.lab.inventory import Inventory
    from leaselab.model.procedures import AnyProcedure
    from leaselab.model.record import Scenario


def add_inventory(parser: argparse.ArgumentParser) -> None:
    """Add ``-i`` and ``--bench``; `inventory_of` and `benches_of` read them."""
    add_place(parser)
    parser.add_argument(
        "--bench",
        metavar="NAME",
        help="of an inventory with several benches, this one (default: one that this checkout "
        "holds, else the first that is free)",
    )


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add ``-i`` alone, for a command whose argument names the bench or a host."""
    parser.add_argument(
        "-i",
        "--inventory",
        metavar="INVENTORY",
        type=Path,
        help="file or folder of the inventory (default: inventory/docker of the checkout)",
    )


def add_full(parser: argparse.ArgumentParser) -> None:
    """Add ``--full``, read as `args.full`."""
    parser.add_argument(
        "--full",
        action="store_true",
        help="play every playbook again, also where hosts, inventory, roles and scenario are "
        "those of the last deployment and nothing has changed since",
    )


def benches_of(args: argparse.Namespace) -> tuple[Inventory, ...]:
    """Read the benches of the inventory named, the local lab by default; or the one named."""
    path = Path(args.inventory or checkout_root() / "inventory" / "docker")
    benches = read_benches(path, checkout_root() / ".leaselab" / "inventories")
    return (bench_named(benches, args.bench),) if args.bench else benches


def inventory_of(args: argparse.Namespace) -> Inventory:
    """Read one bench: the one named; of several one that is held here, else a free one."""
    benches = benches_of(args)
    held = [one for one in benches if read_hold(checkout_root(), one.bench)]
    bench = free_bench(held or benches)
    if len(benches) > 1:
        print(f"bench {bench.bench}, of {len(benches)}", file=sys.stderr, flush=True)
    return bench


def check(scenario: Scenario, procedure: AnyProcedure, inventory: Inventory) -> None:
    """Refuse what can be refused without touching anything (usage errors)."""
    check_fits(scenario, procedure)
    if scenario.needs_partner:
        inventory.only(PARTNER_GROUP)


def asked(args: argparse.Namespace) -> tuple[Scenario, AnyProcedure, Inventory]:
    """Read what one step of a run is of: scenario, procedure, bench; as `check` wants.

    For commands with ``SCENARIO`` and the options of `add_inventory` and `add_procedure`.
    """
    folder = checkout_root() / "scenarios"
    scenario = find_scenario(folder, args.scenario)
    procedure = find_procedure(folder, scenario.name, procedure_overrides(args))
    inventory = inventory_of(args)
    check(scenario, procedure, inventory)
    return scenario, procedure, inventory


def prepare(inventory: Inventory, distribution: str = "", *, full: bool = True) -> str:
    """Bring the bench up and provision it, for any scenario; return its environment.

    Hosts that do not answer get their power cycled first, where something switches them.

    `distribution` is the release of what serves, for the local lab; its default without.
    Unless `full`, nothing is played where hosts, inventory and roles are what they were.
    """
    root = checkout_root()
    refuse_bench_in_use(inventory)
    if recover(inventory):
        refuse_bench_in_use(inventory)
    played = played_hash(root, inventory, distribution)
    record = read_deployment(root, inventory.bench)
    if not full and record is not None and stands(record, inventory, played):
        print("the hosts are prepared as they were", file=sys.stderr, flush=True)
        return record.environment
    forget_deployment(root, inventory.bench)
    if inventory.made_by:
        bring_up(inventory, distribution)
    environment = str(play("provision", inventory.path, {}).custom["environment"])
    _provisioned(inventory).parent.mkdir(parents=True, exist_ok=True)
    _provisioned(inventory).write_text(environment, encoding="utf-8")
    prepared = Deployment(played, environment, host_states(inventory))
    write_deployment(root, inventory.bench, prepared)
    return environment


def bring_up(
    inventory: Inventory,
    distribution: str = "",
    *,
    take_over: bool = False,
    force: bool = False,
) -> int:
    """Bring a lab of this machine up; return how many changes that took.

    Parameters as those of `prepare` and of ``lab up``.
    """
    role = inventory.made_by
    chosen: dict[str, Any] = {f"{role}_take_over": take_over, f"{role}_force": force}
    if distribution:
        chosen[f"{role}_server_distribution"] = distribution
    return play("lab_up", inventory.path, chosen).changed


def environment_of(inventory: Inventory) -> str:
    """Return the environment that provisioning a bench last named; empty if it never was."""
    path = _provisioned(inventory)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _provisioned(inventory: Inventory) -> Path:
    return checkout_root() / ".leaselab" / "provisioned" / inventory.bench


def install_lock(inventory: Inventory) -> None:
    """Install the bench lock's program, for a bench that is taken before it is prepared."""
    play("take", inventory.path, {})


def build_commit(
    server: str, commit: Commit, files: Path, inventory: Inventory, place: Path
) -> Mapping[str, Any]:
    """Build a commit of a server or generator, or find it built, showing how far it is.

    `files` is the tar of its files, `place` where `leaselab watch` looks for a build under
    way.  Returns what is known of the artifact: its `key`, whether it was `cached`, how
    many `seconds` it took.
    """
    source = {"server": server, "commit": asdict(commit), "files": str(files)}
    place.parent.mkdir(parents=True, exist_ok=True)
    builder = inventory.only(BUILDER_GROUP).access
    with (
        closing(LiveFeed(place)) as feed,
        closing(BuildFollower(builder, server, commit.hash, feed)) as follower,
    ):
        stats = play("build", inventory.path, {"leaselab_source": source}, follower.event)
    made: Mapping[str, Any] = stats.custom["build"]
    return made


def build_log(commit: Commit) -> Path:
    """Where the log of a commit's last build lies, once it was built."""
    return _builds() / f"{commit.tree}.log.gz"


def is_kept(build_key: str) -> bool:
    """Whether what was built under this key can be deployed without building it again."""
    try:
        read_record(_builds(), build_key)
    except LeaselabError:  # such as what an older release built
        return False
    return True


def built_commit(build_key: str) -> Commit:
    """Return the commit that was built under a key; a usage error where nothing was."""
    return Commit(**read_record(_builds(), build_key)["source"])


def _builds() -> Path:
    return kept_folder("builds")


def refuse_bench_in_use(inventory: Inventory) -> None:
    """Leave a bench that somebody else has at once: a playbook's load would be measured too.

    The hold that this checkout has is prolonged.
    """
    with ExitStack() as stack:
        try:
            generator = stack.enter_context(connect(inventory.only(GENERATOR_GROUP).access))
        except LeaselabError:
            return  # a lab that is down, or a host that the playbooks will name
        hold = read_hold(checkout_root(), inventory.bench)
        refuse_in_use(generator, hold.request() if hold else None)


_TITLES = {
    "lab_up": "bringing the local lab up",
    "take": "installing the bench lock",
    "provision": "preparing the hosts",
    "build": "building the commit",
    "deploy": "deploying the server",
    "tune": "tuning what it stands on",
    "retune": "tuning the hosts as their inventory says",
}


def play(
    names: str | Sequence[str],
    inventory: Path,
    variables: Mapping[str, Any],
    on_event: Callable[[Event], None] = lambda _: None,
) -> PlaybookStats:
    """Run one playbook or several, saying what each is about and what it changes."""

    def show(event: Event) -> None:
        on_event(event)
        if event["event"] == "playbook":
            print(_TITLES[event["name"]], file=sys.stderr, flush=True)
        if event["event"] == "changed":
            item = f" ({event['item']})" if event["item"] else ""
            host = "" if event["host"] == "localhost" else f"{event['host']}: "
            print(f"  {host}{event['task']}{item}", file=sys.stderr, flush=True)

    return run_playbook(names, inventory, variables, show)
