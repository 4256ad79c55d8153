"""Bringing a bench to the point where a sweep can begin: the playbooks, in order."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from leaselab.archive.live import LiveFeed
from leaselab.cli.build_progress import BuildFollower
from leaselab.cli.options import checkout_root
from leaselab.cli.playbook import run_playbook
from leaselab.cli.procedure_options import procedure_overrides
from leaselab.cli.recovery import recover
from leaselab.lab.benches import bench_named, free_bench, read_benches
from leaselab.lab.build_record import read_record
from leaselab.lab.catalog import find_procedure, find_scenario
from leaselab.lab.deployment import (
    Deployment,
    digest,
    forget_deployment,
    host_states,
    played_hash,
    read_deployment,
    stands,
    variants_there,
    write_deployment,
)
from leaselab.lab.hold import read_hold
from leaselab.lab.inventory import BUILDER_GROUP, GENERATOR_GROUP, PARTNER_GROUP
from leaselab.lab.lock import refuse_in_use
from leaselab.lab.transport import connect
from leaselab.measure.generators import check_fits
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.source import Commit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

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
    held = refuse_bench_in_use(inventory)
    if recover(inventory):
        held = refuse_bench_in_use(inventory)
    played = played_hash(root, inventory, distribution)
    record = read_deployment(root, inventory.bench)
    if not full and record is not None and stands(record, inventory, played):
        print("the hosts are prepared as they were", file=sys.stderr, flush=True)
        return record.environment
    forget_deployment(root, inventory.bench)
    # A lab of this machine that is held here was brought up by `lab take`, as it was asked for.
    if inventory.made_by and (distribution or not held):
        bring_up(inventory, distribution)
    environment = str(_playbook("provision", inventory.path, {}).custom["environment"])
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
    return _playbook("lab_up", inventory.path, chosen).changed


def environment_of(inventory: Inventory) -> str:
    """Return the environment that provisioning a bench last named; empty if it never was."""
    path = _provisioned(inventory)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _provisioned(inventory: Inventory) -> Path:
    return checkout_root() / ".leaselab" / "provisioned" / inventory.bench


def install_lock(inventory: Inventory) -> None:
    """Install the bench lock's program, for a bench that is taken before it is prepared."""
    _playbook("take", inventory.path, {})


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
        closing(BuildFollower(builder, server, feed)) as follower,
    ):
        stats = _playbook("build", inventory.path, {"leaselab_source": source}, follower.event)
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
    return checkout_root() / ".leaselab" / "builds"


def deploy(
    scenario: str,
    inventory: Inventory,
    procedure: AnyProcedure,
    build_key: str = "",
    *,
    generator_build: str = "",
    distribution: str = "",
    full: bool = True,
    keep: Sequence[str] = (),
    at: int = 1,
) -> dict[str, Any]:
    """Deploy and tune a scenario on a prepared bench; return its bench document.

    `build_key` names what `build_commit` built; the distribution's packages without,
    in the version that the inventory wants or, on a `distribution` that was asked for, in
    the one that it has.  `generator_build` names what was built of the generator; what is
    packaged or installed without.  `at` is 2 for the second place on the test network, where it
    can run beside another variant (`leaselab.lab.servers.both_up`).  Of the variants that lie
    there those to `keep` stay, whatever else has to make room.  Unless `full`, nothing is
    played where the last deployment was of the same and still stands.
    """
    root = checkout_root()
    chosen = find_scenario(root / "scenarios", scenario)
    wanted = digest(
        *(msgspec.to_builtins(chosen), build_key, generator_build, distribution, at),
        *(["sampled"] if procedure.samples else []),
    )
    record = read_deployment(root, inventory.bench)
    as_tuned = record is not None and record.settings == chosen.hosts
    if (
        not full
        and record is not None
        and as_tuned
        and wanted in record.documents
        and stands(record, inventory, record.played)
    ):
        print(f"{scenario}: deployed as it was", file=sys.stderr, flush=True)
        return {**record.documents[wanted], "procedure": msgspec.to_builtins(procedure)}
    forget_deployment(root, inventory.bench)
    variables = _deploying(scenario, procedure, build_key)
    if generator_build:
        variables["leaselab_generator_build"] = generator_build
    if distribution:
        variables[f"{chosen.server.kind}_version"] = ""
    if at != 1:
        variables["leaselab_at"] = at
    if keep:
        variables["contract_variants"] = list(keep)
    try:
        document = _tuned(inventory, variables, distribution, "deploy", "tune")
    except LeaselabError as error:
        # Refused before anything was changed; `stands` looks whether that is so.
        if record is not None and error.outcome is Outcome.USAGE:
            write_deployment(root, inventory.bench, record)
        raise
    if record is not None:
        others = record.documents.items() if as_tuned else ()
        there = variants_there(inventory)
        stay = {
            key: one
            for key, one in others
            if _same_generator(one, generator_build)
            and one["servers"]["server"]["variant"] in there
        }
        documents = {**stay, wanted: document}
        deployed = replace(
            record,
            hosts=host_states(inventory),
            settings=chosen.hosts,
            documents=documents,
        )
        write_deployment(root, inventory.bench, deployed)
    return document


def _same_generator(document: Mapping[str, Any], build_key: str) -> bool:
    """Whether the generator of another deployment lies there still, after that of a build.

    A host keeps one build of a generator.
    """
    known = document["generator"].get("build") or {}
    return not build_key or known.get("key", build_key) == build_key


def install(
    scenario: str, inventory: Inventory, procedure: AnyProcedure, build_key: str = ""
) -> None:
    """Install a scenario's server on a prepared bench and prove that it serves."""
    with _still_prepared(inventory):
        _playbook("deploy", inventory.path, _deploying(scenario, procedure, build_key))


def tune(
    scenario: str, inventory: Inventory, procedure: AnyProcedure, build_key: str = ""
) -> dict[str, Any]:
    """Tune what a deployed scenario stands on; return its bench document."""
    settings = find_scenario(checkout_root() / "scenarios", scenario).hosts
    with _still_prepared(inventory, settings):
        return _tuned(inventory, _deploying(scenario, procedure, build_key), "", "tune")


def give_back(inventory: Inventory) -> None:
    """Tune hosts as their inventory says, after scenarios that have set something on them."""
    with _still_prepared(inventory, {}):
        _playbook("retune", inventory.path, {})


@contextmanager
def _still_prepared(
    inventory: Inventory, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[None]:
    """Change what is deployed; the hosts stay prepared, where they were and all goes well.

    `settings` is what is on the hosts then, None where that stays as it was.
    """
    root = checkout_root()
    record = read_deployment(root, inventory.bench)
    forget_deployment(root, inventory.bench)
    yield
    if record is not None:
        changed = replace(
            record,
            hosts=host_states(inventory),
            settings=record.settings if settings is None else settings,
            documents={},
        )
        write_deployment(root, inventory.bench, changed)


def _deploying(scenario: str, procedure: AnyProcedure, build_key: str = "") -> dict[str, Any]:
    """The variables of `deploy` and `tune`."""
    return {
        "scenario": scenario,
        "leaselab_procedure": msgspec.to_builtins(procedure),
        **({"leaselab_build": build_key} if build_key else {}),
    }


def _tuned(
    inventory: Inventory, variables: Mapping[str, Any], distribution: str, *playbooks: str
) -> dict[str, Any]:
    """Play what ends with `tune`; return the bench document that it writes."""
    bench_file = checkout_root() / ".leaselab" / "bench.json"
    _playbook(playbooks, inventory.path, {**variables, "bench_file_path": str(bench_file)})
    document: dict[str, Any] = json.loads(bench_file.read_text(encoding="utf-8"))
    return {**document, "distribution": distribution}


def refuse_bench_in_use(inventory: Inventory) -> bool:
    """Leave a bench that somebody else has at once: a playbook's load would be measured too.

    Returns whether it is up and held by this checkout, whose hold is prolonged.
    """
    with ExitStack() as stack:
        try:
            generator = stack.enter_context(connect(inventory.only(GENERATOR_GROUP).access))
        except LeaselabError:
            return False  # a lab that is down, or a host that the playbooks will name
        hold = read_hold(checkout_root(), inventory.bench)
        refuse_in_use(generator, hold.request() if hold else None)
        return hold is not None


_TITLES = {
    "lab_up": "bringing the local lab up",
    "take": "installing the bench lock",
    "provision": "preparing the hosts",
    "build": "building the commit",
    "deploy": "deploying the server",
    "tune": "tuning what it stands on",
    "retune": "tuning the hosts as their inventory says",
}


def _playbook(
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
